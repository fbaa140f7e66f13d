package hdf5

import (
	"encoding/binary"
	"math/bits"
)

// undefined is the address that stands for "nowhere", whatever the width of addresses in the file.
const undefined = ^uint64(0)

// cursor reads little-endian fields one after the other. Reading past the end sets err, after which every field is 0,
// so that a whole structure can be read before err is checked.
type cursor struct {
	f    *File
	b    []byte
	pos  int
	what string // what is being read, for errors
	err  error
}

func (f *File) cursor(b []byte, what string) *cursor { return &cursor{f: f, b: b, what: what} }

// at reads n bytes of the file at an address and gives a cursor on them.
func (f *File) at(address, n uint64, what string) (*cursor, error) {
	b, err := f.read(address, n, what)
	if err != nil {
		return nil, err
	}
	return f.cursor(b, what), nil
}

// bytes gives the next n bytes, which alias the cursor's memory.
func (c *cursor) bytes(n int) []byte {
	if c.err != nil {
		return nil
	}
	if n < 0 || n > len(c.b)-c.pos {
		c.err = corrupt("%s ends after %d bytes where %d more are due", c.what, len(c.b), n)
		return nil
	}
	c.pos += n
	return c.b[c.pos-n : c.pos : c.pos]
}

func (c *cursor) skip(n int) { c.bytes(n) }

// align skips to the next multiple of n bytes from the start of the cursor, or to its end where that comes first.
func (c *cursor) align(n int) { c.pos = min(len(c.b), (c.pos+n-1)/n*n) }

func (c *cursor) left() int { return len(c.b) - c.pos }

func (c *cursor) u8() uint8 {
	if b := c.bytes(1); b != nil {
		return b[0]
	}
	return 0
}

func (c *cursor) u16() uint16 {
	if b := c.bytes(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

func (c *cursor) u32() uint32 {
	if b := c.bytes(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (c *cursor) u64() uint64 { return c.uint(8) }

// uint reads an unsigned integer of 0 to 8 bytes.
func (c *cursor) uint(size int) uint64 {
	if size > 8 {
		if c.err == nil {
			c.err = corrupt("%s: an integer of %d bytes", c.what, size)
		}
		return 0
	}
	var v uint64
	for i, b := range c.bytes(size) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

// address reads a file address; one of all ones is undefined.
func (c *cursor) address() uint64 {
	v := c.uint(c.f.offsetSize)
	if c.f.offsetSize < 8 && v == 1<<(8*c.f.offsetSize)-1 {
		return undefined
	}
	return v
}

// length reads a size in the file's width of lengths.
func (c *cursor) length() uint64 { return c.uint(c.f.lengthSize) }

// expect reads a signature or a version and fails if it differs.
func (c *cursor) expect(want string) {
	if got := c.bytes(len(want)); c.err == nil && string(got) != want {
		c.err = corrupt("%s: expected the signature %q, found %q", c.what, want, got)
	}
}

// version reads a version byte and fails if it is not one of want.
func (c *cursor) version(want ...uint8) uint8 {
	got := c.u8()
	if c.err != nil {
		return 0
	}
	for _, w := range want {
		if got == w {
			return got
		}
	}
	c.err = unsupported("%s of version %d (this reader knows %v)", c.what, got, want)
	return 0
}

// verify compares the last four bytes of a structure with the checksum of those before them.
func (f *File) verify(b []byte, what string) error {
	if len(b) < 4 {
		return corrupt("%s has no room for its checksum", what)
	}
	n := len(b) - 4
	if got, want := lookup3(b[:n]), binary.LittleEndian.Uint32(b[n:]); got != want && !f.ignoreChecksums {
		return corrupt("%s: checksum %08x, expected %08x", what, got, want)
	}
	return nil
}

// lookup3 is Bob Jenkins's hash of that name with initial value 0, the checksum of HDF5's metadata.
// See "A hash function for hash table lookup", http://burtleburtle.net/bob/hash/doobs.html.
func lookup3(b []byte) uint32 {
	x := 0xdeadbeef + uint32(len(b))
	y, z := x, x
	word := func(i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }
	for ; len(b) > 12; b = b[12:] {
		x, y, z = x+word(0), y+word(4), z+word(8)
		x, z = (x-z)^bits.RotateLeft32(z, 4), z+y
		y, x = (y-x)^bits.RotateLeft32(x, 6), x+z
		z, y = (z-y)^bits.RotateLeft32(y, 8), y+x
		x, z = (x-z)^bits.RotateLeft32(z, 16), z+y
		y, x = (y-x)^bits.RotateLeft32(x, 19), x+z
		z, y = (z-y)^bits.RotateLeft32(y, 4), y+x
	}
	if len(b) == 0 {
		return z
	}
	var last [12]byte
	copy(last[:], b)
	b = last[:]
	x, y, z = x+word(0), y+word(4), z+word(8)
	z = (z ^ y) - bits.RotateLeft32(y, 14)
	x = (x ^ z) - bits.RotateLeft32(z, 11)
	y = (y ^ x) - bits.RotateLeft32(x, 25)
	z = (z ^ y) - bits.RotateLeft32(y, 16)
	x = (x ^ z) - bits.RotateLeft32(z, 4)
	y = (y ^ x) - bits.RotateLeft32(x, 14)
	z = (z ^ y) - bits.RotateLeft32(y, 24)
	return z
}
