//go:build !linux || !amd64

package isa

// askForMatrixRegisters returns false: other systems have no known way to ask.
func askForMatrixRegisters() bool { return false }
