//go:build arm64 && !linux && !darwin

package isa

// hasBF16 does not know how to ask other systems.
func hasBF16() bool { return false }
