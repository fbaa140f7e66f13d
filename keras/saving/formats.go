package saving

import (
	"io"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Format is a file format that holds only weights, as arrays named by the paths of their variables ("dense/kernel").
// Keras's own formats, HDF5 and sharded sets, store more of a model and are not among them.
type Format struct {
	// Ending is the ending of file names: ".npz".
	Ending string
	// Write writes variables.
	Write func(w io.Writer, variables distribute.Variables) error
	// Open opens a file of the given size in bytes. The caller closes the file after the last value is read.
	Open func(r io.ReaderAt, size int64) (*Named, error)
}

// Named are the arrays of a file.
type Named struct {
	Names    []string
	Type     func(i int) (ir.Type, error)     // returns the type of the array named Names[i], without reading the array
	ReadInto func(i int, memory []byte) error // reads its elements into memory of the same size
}

// formats lists all formats, in the order in which messages list them.
var formats = []Format{
	{".safetensors", WriteSafetensors, openSafetensors},
	{".npz", WriteNPZ, openNPZ},
}

// FormatOf returns the format of a file by the ending of its name.
func FormatOf(path string) (Format, bool) {
	for _, f := range formats {
		if strings.HasSuffix(path, f.Ending) {
			return f, true
		}
	}
	return Format{}, false
}

// FormatEndings lists the endings of all formats.
func FormatEndings() []string {
	endings := make([]string, len(formats))
	for i, f := range formats {
		endings[i] = f.Ending
	}
	return endings
}
