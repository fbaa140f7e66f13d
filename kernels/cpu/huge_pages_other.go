//go:build !linux

package cpu

// preferHugePages does nothing: other systems decide for themselves.
func preferHugePages([]byte) {}
