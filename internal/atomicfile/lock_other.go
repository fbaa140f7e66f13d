//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package atomicfile

import "os"

// claim has nothing to do: here a file that is open cannot be removed.
func claim(*os.File) bool { return true }

// removeAbandoned removes a file that nobody has open; the system refuses the others.
func removeAbandoned(path string) { _ = os.Remove(path) }

// replace closes a file and gives it its name.
func replace(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
