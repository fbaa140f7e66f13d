//go:build arm64 && !linux && !darwin

package isa

// hasBF16 returns false, because there is no known way to ask this system.
func hasBF16() bool { return false }
