package hdf5

import (
	"errors"
	"fmt"
)

// Errors that a caller may want to tell apart, with errors.Is. Their text is always preceded by what was being read.
var (
	// ErrNotHDF5 says that the file does not start with an HDF5 superblock.
	ErrNotHDF5 = errors.New("not an HDF5 file")
	// ErrCorrupt says that the file contradicts itself or the format: truncated, wrong checksum, cyclic, absurd sizes.
	ErrCorrupt = errors.New("corrupt HDF5 file")
	// ErrNotFound says that a group has no such member, or an object no such attribute.
	ErrNotFound = errors.New("not found")
	// ErrLink says that a path leads through a soft or external link, which is not followed.
	ErrLink = errors.New("link is not followed")
	// ErrExternal says that the data of a dataset lies outside the file (external storage, virtual dataset).
	ErrExternal = errors.New("data lies outside the file")
	// ErrUnsupported says that the file uses a feature of HDF5 that this package does not read.
	ErrUnsupported = errors.New("unsupported HDF5 feature")
)

func corrupt(format string, arguments ...any) error {
	return fmt.Errorf("hdf5: %w: "+format, append([]any{ErrCorrupt}, arguments...)...)
}

func unsupported(format string, arguments ...any) error {
	return fmt.Errorf("hdf5: %w: "+format, append([]any{ErrUnsupported}, arguments...)...)
}
