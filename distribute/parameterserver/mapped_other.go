//go:build !unix

package parameterserver

import "os"

// openMapped returns the bytes of a file.
func openMapped(path string) (b []byte, done func() error, err error) {
	b, err = os.ReadFile(path)
	return b, func() error { return nil }, err
}
