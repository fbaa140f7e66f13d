//go:build !amd64

package isa

// detect returns Portable: there are assembly kernels for amd64 only.
func detect() Level { return Portable }
