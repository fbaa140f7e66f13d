//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package atomicfile

import (
	"os"

	"golang.org/x/sys/unix"
)

// claim locks a new file for its writer, and reports whether it is still there: another process may have swept it
// between its creation and the lock. If the file system has no locks, nothing is swept either.
func claim(f *os.File) bool {
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK {
		return false // it is just being swept
	}
	var own, there unix.Stat_t
	return unix.Fstat(int(f.Fd()), &own) == nil && unix.Stat(f.Name(), &there) == nil && own.Dev == there.Dev && own.Ino == there.Ino
}

// removeAbandoned removes a file that nobody holds a lock on.
func removeAbandoned(path string) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return // it is gone, or not ours
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return
	}
	_ = os.Remove(path) // the lock keeps a writer from it, and no two make files of one name
}

// replace gives a file its name while it is locked, so that nobody sweeps it, and closes it. It is on the disk already.
func replace(f *os.File, path string) error {
	err := os.Rename(f.Name(), path)
	_ = f.Close() // see above
	return err
}
