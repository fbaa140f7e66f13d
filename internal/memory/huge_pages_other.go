//go:build !linux

package memory

// PreferHugePages does nothing: other systems decide for themselves.
func PreferHugePages([]byte) {}
