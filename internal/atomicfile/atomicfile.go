// Package atomicfile writes files that other programs see either not at all or complete.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Write creates or replaces the file at path with what write produces. It writes to a new file in the same folder and
// renames it at the end, so that an error or a crash leaves the previous file. Leftovers of killed writers of the same
// path are removed. The file has the permissions that the process gives to new files (0666 and its mask).
func Write(path string, write func(io.Writer) error) (err error) {
	sweepFor(path)
	f, err := create(path)
	if err != nil {
		return refused(path, err)
	}
	temporary := f.Name()
	defer func() {
		if err != nil {
			_ = os.Remove(temporary) // the first error is the one to report
		}
	}()
	if err := write(f); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Sync(); err != nil {
		_ = f.Close()
		return err
	}
	return replace(f, path)
}

// create makes the file that is written to, and locks it.
func create(path string) (*os.File, error) {
	for {
		f, err := os.OpenFile(fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if err == nil {
			if claim(f) {
				return f, nil
			}
			_ = f.Close() // it was swept, or is just being
			_ = os.Remove(f.Name())
		}
	}
}

// Named returns an error about a file preceded by the file's path, unless the error already names it, as those of the
// system and of [Write] do.
func Named(path string, err error) error {
	if p, ok := err.(*fs.PathError); ok && p.Path == path {
		return fmt.Errorf("%s: %w", path, raised(p.Err))
	}
	err = raised(err)
	text := " " + err.Error() + ":" // the path as a word, since "a" stands in nearly all errors, or a file in that folder
	if strings.Contains(text, " "+path+":") || strings.Contains(text, " "+path+string(filepath.Separator)) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// refused returns the error for a file that cannot be created. It names the requested file, and the folder if that is
// missing.
func refused(path string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	if folder := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) {
		return &noFolder{path, folder, err}
	}
	return fmt.Errorf("cannot write %s: %w", path, raised(err))
}

// RaiseLimit says what to do if a process has no file descriptors left.
const RaiseLimit = "raise the limit of open files (ulimit -n)"

// raised adds to an error of a process without file descriptors what to do.
func raised(err error) error {
	if scarce := errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE); !scarce || strings.Contains(err.Error(), RaiseLimit) {
		return err
	}
	return fmt.Errorf("%w; %s", err, RaiseLimit)
}

// noFolder says that a folder is missing, once: what the system says of it is left to errors.Is.
type noFolder struct {
	path, folder string
	cause        error
}

func (e *noFolder) Error() string {
	return fmt.Sprintf("cannot write %s: the folder %s does not exist", e.path, e.folder)
}

func (e *noFolder) Unwrap() error { return e.cause }
