package hdf5

import (
	"errors"
	"fmt"
	"io"
	"math"
)

const signature = "\x89HDF\r\n\x1a\n"

// File is an HDF5 file opened for reading.
type File struct {
	r               io.ReaderAt
	base            uint64 // where address 0 lies in r
	size            uint64 // bytes from base to the end
	offsetSize      int    // width of addresses in bytes
	lengthSize      int    // width of sizes in bytes
	ignoreChecksums bool   // lets the fuzz test reach what lies behind checksums
	heap            *globalHeap
	ledger          ledger
	root            *Group
}

// Open reads the superblock and the root group of an HDF5 file of the given size in bytes. Nothing needs to be closed.
func Open(r io.ReaderAt, size int64) (*File, error) {
	return open(r, size, false)
}

func open(r io.ReaderAt, size int64, ignoreChecksums bool) (*File, error) {
	if r == nil {
		return nil, fmt.Errorf("hdf5: Open: the reader is nil; expected one of the bytes of the file")
	}
	if size < 0 {
		return nil, fmt.Errorf("hdf5: Open: size %d, expected the number of bytes of the file", size)
	}
	f := &File{r: r, size: uint64(size), offsetSize: 8, lengthSize: 8, ignoreChecksums: ignoreChecksums}
	at, err := f.findSuperblock()
	if err != nil {
		return nil, err
	}
	root, err := f.readSuperblock(at)
	if err != nil {
		return nil, fmt.Errorf("superblock: %w", err)
	}
	f.heap = f.newGlobalHeap()
	o, err := f.openObject(root, "/", nil)
	if err != nil {
		return nil, fmt.Errorf("root group: %w", err)
	}
	group, ok := o.(*Group)
	if !ok {
		return nil, corrupt("the root is not a group")
	}
	f.root = group
	return f, nil
}

// Root is the group "/".
func (f *File) Root() *Group { return f.root }

// findSuperblock looks for the signature at 0, 512, 1024, 2048, ...: a user block may stand before it.
func (f *File) findSuperblock() (uint64, error) {
	var b [len(signature)]byte
	for at := uint64(0); at+uint64(len(b)) <= f.size; at = max(512, 2*at) {
		if err := readFull(f.r, b[:], int64(at)); err != nil {
			return 0, fmt.Errorf("hdf5: superblock: %w", err)
		}
		if string(b[:]) == signature {
			return at, nil
		}
	}
	return 0, fmt.Errorf("%w: no HDF5 signature in its %d bytes", ErrNotHDF5, f.size)
}

// readSuperblock reads the superblock at an offset of r, sets the file's geometry and returns the address of the header
// of the root group.
func (f *File) readSuperblock(at uint64) (uint64, error) {
	c, err := f.at(at, min(128, f.size-at), "superblock")
	if err != nil {
		return 0, err
	}
	c.skip(len(signature))
	version := c.version(0, 1, 2, 3)
	if version < 2 {
		c.skip(4) // versions of the free space, the root entry, shared headers; reserved
	}
	f.offsetSize, f.lengthSize = int(c.u8()), int(c.u8())
	if c.err != nil {
		return 0, c.err
	}
	for _, n := range []int{f.offsetSize, f.lengthSize} {
		if n != 2 && n != 4 && n != 8 {
			return 0, corrupt("addresses and lengths of %d and %d bytes, expected 2, 4 or 8", f.offsetSize, f.lengthSize)
		}
	}
	if version < 2 {
		c.skip(1 + 2 + 2 + 4) // reserved, K of leaves and nodes, flags
		if version == 1 {
			c.skip(4) // K of chunk trees, reserved
		}
	} else {
		c.skip(1) // flags
	}
	base := c.address()
	c.address() // free space, or superblock extension
	end := c.address()
	var root uint64
	if version < 2 {
		c.address() // driver information
		c.length()  // the root's entry: offset of its name, address of its header
		root = c.address()
	} else {
		root = c.address()
		if c.skip(4); c.err == nil {
			if err := f.verify(c.b[:c.pos], "superblock"); err != nil {
				return 0, err
			}
		}
	}
	if c.err != nil {
		return 0, c.err
	}
	// If a user block was added or removed later, the file still holds the old base. What counts is where the
	// superblock was found.
	if base != at && base != 0 {
		return 0, corrupt("base address %d, but the superblock is at %d", base, at)
	}
	if end < base || end-base > f.size-at {
		return 0, corrupt("truncated: the superblock says that the file ends at %d, it has %d bytes", end, f.size)
	}
	f.base, f.size = at, f.size-at
	return root, nil
}

// read reads n bytes at an address. The size is checked before anything is allocated.
func (f *File) read(address, n uint64, what string) ([]byte, error) {
	if err := f.inside(address, n, what); err != nil {
		return nil, err
	}
	b := make([]byte, n)
	return b, f.readInto(b, address, what)
}

// inside checks that n bytes at an address lie in the file.
func (f *File) inside(address, n uint64, what string) error {
	if address > f.size || n > f.size-address || n > math.MaxInt {
		return corrupt("%s: %d bytes at address %#x, but the file has %d", what, n, address, f.size)
	}
	return nil
}

func (f *File) readInto(b []byte, address uint64, what string) error {
	if err := f.inside(address, uint64(len(b)), what); err != nil {
		return err
	}
	if err := readFull(f.r, b, int64(f.base+address)); err != nil {
		return fmt.Errorf("hdf5: %s: reading %d bytes at %d: %w", what, len(b), f.base+address, err)
	}
	return nil
}

// readFull fills b. A ReaderAt may return io.EOF together with the last bytes.
func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
