//go:build !unix

package parameterserver

// syncDirectory does nothing: directories cannot be synced here.
func syncDirectory(string) error { return nil }
