package data

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"

	"github.com/gokeras/gokeras/kernels/ir"
)

// NPZ is a .npz file of NumPy that is open for reading, array by array. It may be used until the file is closed.
type NPZ struct {
	// Names are the arrays of the file, in its order.
	Names []string

	members []npzMember
}

// npzMember is an array of a file: its position, or the array itself if the file does not store it in the memory layout
// of arrays.
type npzMember struct {
	file  *zip.File
	t     ir.Type
	value Array
}

// OpenNPZ opens an archive of the given size in bytes, with the kinds of arrays that [LoadNPZ] reads. It reads the
// whole file once, so a truncated or damaged file is an error here. It does not keep numbers in row-major,
// little-endian order; they are read again on request.
func OpenNPZ(r io.ReaderAt, size int64) (*NPZ, error) {
	z, err := openNPZ(r, size)
	if err != nil {
		return nil, fmt.Errorf("data: OpenNPZ: %w", err)
	}
	return z, nil
}

func openNPZ(r io.ReaderAt, size int64) (*NPZ, error) {
	names, files, err := npzFiles(r, size)
	if err != nil {
		return nil, err
	}
	z := &NPZ{Names: names, members: make([]npzMember, len(files))}
	buffer := make([]byte, min(1<<18, max(size, 512)))
	for i, f := range files {
		if z.members[i], err = openMember(f, size, buffer); err != nil {
			return nil, fmt.Errorf("member %q: %w", f.Name, err)
		}
	}
	return z, nil
}

func openMember(f *zip.File, archiveSize int64, buffer []byte) (npzMember, error) {
	r, err := f.Open()
	if err != nil {
		return npzMember{}, err
	}
	defer r.Close()
	h, n, err := beginNPY(r)
	if err != nil {
		return npzMember{}, err
	}
	if !h.plain() {
		a, err := readMember(f, archiveSize)
		return npzMember{t: a.Type, value: a}, err
	}
	had, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, io.LimitReader(r, int64(n*h.item)), buffer)
	if errors.Is(err, io.ErrUnexpectedEOF) || err == nil && had < int64(n*h.item) {
		err = shortOf(n*h.item, int(had))
	}
	if err != nil {
		return npzMember{}, err
	}
	return npzMember{file: f, t: ir.Type{DType: h.dtype, Shape: h.shape}}, expectEnd(r)
}

// plain reports whether values are stored in the memory layout of arrays, so that they can be read directly to their
// destination.
func (h *npyHeader) plain() bool {
	return !h.half && !h.complex && !h.swap && h.text == 0 && (!h.fortran || len(h.shape) < 2)
}

// Type returns element type and shape of array i, without reading the array.
func (z *NPZ) Type(i int) (ir.Type, error) {
	m, err := z.member(i)
	return m.t, err
}

// Read reads array i.
func (z *NPZ) Read(i int) (Array, error) {
	m, err := z.member(i)
	if err != nil {
		return Array{}, err
	}
	if m.file == nil {
		return m.value.Clone(), nil
	}
	a := newArray(m.t.DType, m.t.Shape...)
	return a, z.ReadInto(i, a.Data)
}

// ReadInto reads the elements of array i into memory of their size.
func (z *NPZ) ReadInto(i int, memory []byte) error {
	m, err := z.member(i)
	if err != nil {
		return err
	}
	if len(memory) != m.t.Bytes() {
		return fmt.Errorf("data: NPZ: received memory of %d bytes for array %q, which has %d", len(memory), z.Names[i], m.t.Bytes())
	}
	if m.file == nil {
		copy(memory, m.value.Data)
		return nil
	}
	if err := m.readInto(memory); err != nil {
		return fmt.Errorf("data: NPZ: member %q: %w", m.file.Name, err)
	}
	return nil
}

func (m npzMember) readInto(memory []byte) error {
	r, err := m.file.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	if _, err := readNPYHeader(r); err != nil {
		return err
	}
	if _, err := io.ReadFull(r, memory); err != nil {
		return noEOF(err)
	}
	fromNative(m.t.DType, memory)
	return expectEnd(r) // the checksum is that of the values which were read now
}

func (z *NPZ) member(i int) (npzMember, error) {
	if i < 0 || i >= len(z.members) {
		return npzMember{}, fmt.Errorf("data: NPZ: received the number %d of an array; the file has %d, counted from 0", i, len(z.members))
	}
	return z.members[i], nil
}
