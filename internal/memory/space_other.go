//go:build !linux

package memory

// addressSpace is as large as can be: what other systems allow is not asked.
func addressSpace() int { return Addressable }
