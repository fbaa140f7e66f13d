package hdf5

import (
	"encoding/binary"
	"math/bits"
)

// fractalHeap holds the messages of dense links and attributes. Its address space is cut into blocks that double in
// size from row to row of a table; rows beyond a limit hold tables of their own.
type fractalHeap struct {
	f       *File
	meter   *meter // of the heap's blocks
	objects *meter // of what is read from them

	address      uint64
	idSize       int
	checksums    bool // direct blocks have one
	width        uint64
	start        uint64 // bytes of a block of the first row
	largest      uint64 // bytes of the largest direct block
	offsetBytes  int    // width of an offset in the heap
	lengthBytes  int    // width of a length in a heap ID
	root         uint64
	rootRows     int // rows of the root table; 0: the root is a direct block
	hugeTree     uint64
	hugeDirectly bool // IDs of huge objects hold their address

	blocks map[uint64][]byte // direct blocks, by address
	huge   map[uint64]block  // huge objects, by number; nil until they are needed
}

// readFractalHeap reads the header of a fractal heap.
func (f *File) readFractalHeap(address uint64, m *meter) (*fractalHeap, error) {
	n := uint64(26 + 12*f.lengthSize + 3*f.offsetSize)
	c, err := f.at(address, n, "fractal heap")
	if err != nil {
		return nil, err
	}
	if err := m.block(address, n); err != nil {
		return nil, err
	}
	h := &fractalHeap{f: f, meter: m, objects: f.newMeter("fractal heap objects"), address: address, blocks: map[uint64][]byte{}}
	c.expect("FRHP")
	c.version(0)
	h.idSize = int(c.u16())
	filters := c.u16()
	h.checksums = c.u8()&2 != 0
	largestObject := uint64(c.u32())
	c.length() // next huge number
	h.hugeTree = c.address()
	c.length() // free space
	c.address()
	c.skip(8 * f.lengthSize) // sizes and counts
	h.width = uint64(c.u16())
	h.start, h.largest = c.length(), c.length()
	spaceBits := int(c.u16())
	c.skip(2) // rows of a new root
	h.root, h.rootRows = c.address(), int(c.u16())
	switch {
	case c.err != nil:
		return nil, c.err
	case filters != 0:
		return nil, unsupported("a fractal heap with filters")
	}
	if err := f.verify(c.b, "fractal heap"); err != nil {
		return nil, err
	}
	power := func(v uint64) bool { return v != 0 && v&(v-1) == 0 }
	if !power(h.width) || !power(h.start) || !power(h.largest) || h.largest < h.start || spaceBits > 64 || h.idSize < 2 ||
		h.start > 1<<32 || h.largest > 1<<32 {
		return nil, corrupt("fractal heap: width %d, blocks of %d to %d bytes, %d bits, IDs of %d bytes", h.width, h.start,
			h.largest, spaceBits, h.idSize)
	}
	h.offsetBytes = (spaceBits + 7) / 8
	h.lengthBytes = min((bits.Len64(h.largest)-1+7)/8, bytesFor(largestObject))
	h.hugeDirectly = f.offsetSize+f.lengthSize <= h.idSize-1
	return h, nil
}

// object gives the bytes of the object with an ID.
func (h *fractalHeap) object(id []byte) ([]byte, error) {
	c := h.f.cursor(id, "fractal heap ID")
	first := c.u8()
	if first>>6 != 0 {
		return nil, unsupported("fractal heap ID of version %d", first>>6)
	}
	switch first >> 4 & 3 {
	case 0:
		at, n := c.uint(h.offsetBytes), c.uint(h.lengthBytes)
		if c.err != nil {
			return nil, c.err
		}
		return h.managed(at, n)
	case 1:
		return h.hugeObject(c)
	case 2:
		n := int(first&15) + 1
		if h.idSize-1 > 16 {
			n = int(first&15)<<8 + int(c.u8()) + 1
		}
		return c.bytes(n), c.err
	}
	return nil, corrupt("fractal heap ID of kind 3")
}

// managed gives n bytes at an offset of the heap.
func (h *fractalHeap) managed(at, n uint64) ([]byte, error) {
	if err := h.objects.add(n); err != nil {
		return nil, err
	}
	address, size, start := h.root, h.start, uint64(0)
	for rows := h.rootRows; rows > 0; {
		row, column, rowSize := h.place(at - start)
		if row >= rows {
			return nil, corrupt("fractal heap: offset %d in a table of %d rows", at, rows)
		}
		child, err := h.child(address, start, uint64(row)*h.width+column)
		if err != nil {
			return nil, err
		}
		if row > 0 {
			start += h.width * rowSize
		}
		start += column * rowSize
		address, size = child, rowSize
		rows = 0
		if rowSize > h.largest {
			rows = bits.Len64(rowSize) - bits.Len64(h.start*h.width) + 1
			if rows <= 0 {
				return nil, corrupt("fractal heap: a table of %d bytes", rowSize)
			}
		}
	}
	b, err := h.direct(address, size, start)
	if err != nil {
		return nil, err
	}
	if at-start > uint64(len(b)) || n > uint64(len(b))-(at-start) {
		return nil, corrupt("fractal heap: %d bytes at %d of a block of %d", n, at-start, len(b))
	}
	return b[at-start : at-start+n], nil
}

// place gives the row and the column of an offset in a table, and the size of the blocks of that row.
func (h *fractalHeap) place(at uint64) (row int, column, size uint64) {
	first := h.start * h.width
	if at < first {
		return 0, at / h.start, h.start
	}
	row = bits.Len64(at / first) // rows 0 and 1 have blocks of the first size, then they double
	size = h.start << (row - 1)
	return row, (at - h.width*size) / size, size
}

// child reads one address of the table (indirect block) at an address.
func (h *fractalHeap) child(address, start, index uint64) (uint64, error) {
	head := uint64(5 + h.f.offsetSize + h.offsetBytes)
	c, err := h.f.at(address, head, "fractal heap table")
	if err != nil {
		return 0, err
	}
	c.expect("FHIB")
	if err := h.checkHead(c, start); err != nil {
		return 0, err
	}
	width := uint64(h.f.offsetSize)
	if c, err = h.f.at(address+head+index*width, width, "fractal heap table"); err != nil {
		return 0, err
	}
	return c.address(), nil
}

func (h *fractalHeap) checkHead(c *cursor, start uint64) error {
	c.version(0)
	owner := c.address()
	offset := c.uint(h.offsetBytes)
	if c.err == nil && (owner != h.address || offset != start) {
		return corrupt("%s at offset %d of heap %#x, expected offset %d of heap %#x", c.what, offset, owner, start, h.address)
	}
	return c.err
}

// direct reads the direct block at an address, its header included, which counts in offsets.
func (h *fractalHeap) direct(address, size, start uint64) ([]byte, error) {
	if b, ok := h.blocks[address]; ok {
		return b, nil
	}
	if err := h.meter.block(address, size); err != nil {
		return nil, err
	}
	c, err := h.f.at(address, size, "fractal heap block")
	if err != nil {
		return nil, err
	}
	c.expect("FHDB")
	if err := h.checkHead(c, start); err != nil {
		return nil, err
	}
	if h.checksums {
		at := c.pos
		want := c.u32()
		if c.err != nil {
			return nil, c.err
		}
		binary.LittleEndian.PutUint32(c.b[at:], 0) // it was computed with zeros in its place
		if got := lookup3(c.b); got != want && !h.f.ignoreChecksums {
			return nil, corrupt("fractal heap block: checksum %08x, expected %08x", got, want)
		}
	}
	h.blocks[address] = c.b
	return c.b, nil
}

// hugeObject reads an object that is too large for the blocks and lies in the file on its own.
func (h *fractalHeap) hugeObject(id *cursor) ([]byte, error) {
	var b block
	if h.hugeDirectly {
		b = block{id.address(), id.length()}
	} else {
		number := id.uint(min(8, h.idSize-1))
		if err := h.readHuge(); err != nil {
			return nil, err
		}
		found, ok := h.huge[number]
		if !ok {
			return nil, corrupt("fractal heap: no huge object %d", number)
		}
		b = found
	}
	if id.err != nil {
		return nil, id.err
	}
	if err := h.meter.add(b.size); err != nil {
		return nil, err
	}
	return h.f.read(b.address, b.size, "huge object")
}

func (h *fractalHeap) readHuge() error {
	if h.huge != nil {
		return nil
	}
	h.huge = map[uint64]block{}
	t := tree2{f: h.f, kind: recordHuge, meter: h.meter}
	t.visit = func(c *cursor) error {
		b := block{c.address(), c.length()}
		h.huge[c.length()] = b
		return c.err
	}
	return t.walk(h.hugeTree)
}
