//go:build !unix

package memory

func addressSpace() int { return Addressable }
