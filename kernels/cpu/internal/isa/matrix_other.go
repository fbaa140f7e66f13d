//go:build !linux || !amd64

package isa

// askForMatrixRegisters does not know how to ask other systems.
func askForMatrixRegisters() bool { return false }
