package hdf5

import "math/bits"

// The classes of the layout message.
const (
	layoutCompact    = 0
	layoutContiguous = 1
	layoutChunked    = 2
	layoutVirtual    = 3
)

// The kinds of chunk indexes.
const (
	indexSingle     = 1
	indexImplicit   = 2
	indexFixed      = 3
	indexExtensible = 4
	indexTree2      = 5
	indexTree1      = 100 // layouts before version 4 have only this one
)

// layout says where the elements of a dataset lie.
type layout struct {
	class   uint8
	data    []byte // compact: the elements themselves
	address uint64 // of contiguous data or of the chunk index
	size    uint64 // bytes of contiguous data; math.MaxUint64 where it is not said

	chunk      []uint64 // shape of a chunk
	chunkBytes uint64
	index      uint8
	rawEdges   bool   // chunks that reach over the edge are not filtered
	singleSize uint64 // bytes in the file of the single chunk; 0: it is not filtered
	singleMask uint32
	pageBits   uint8
}

// parseLayout reads a layout message of a dataset of the given rank and element size.
func parseLayout(c *cursor, rank, elementSize int) (layout, error) {
	version := c.version(1, 2, 3, 4, 5)
	if c.err != nil {
		return layout{}, c.err
	}
	if version < 3 {
		return parseLayout1(c, rank, elementSize)
	}
	l := layout{class: c.u8()}
	switch l.class {
	case layoutCompact:
		l.data = c.bytes(int(c.u16()))
	case layoutContiguous:
		l.address, l.size = c.address(), c.length()
	case layoutChunked:
		if version == 3 {
			n := int(c.u8())
			l.address, l.index = c.address(), indexTree1
			return l, l.setChunk(c, n, 4, rank, elementSize)
		}
		return parseLayout4(c, l, rank, elementSize)
	case layoutVirtual:
	default:
		return l, unsupported("data layout of class %d", l.class)
	}
	return l, c.err
}

// parseLayout1 reads what follows the version in versions 1 and 2.
func parseLayout1(c *cursor, rank, elementSize int) (layout, error) {
	n := int(c.u8())
	l := layout{class: c.u8(), size: undefined, index: indexTree1}
	c.skip(5)
	if l.class == layoutContiguous || l.class == layoutChunked {
		l.address = c.address()
	}
	switch l.class {
	case layoutChunked:
		return l, l.setChunk(c, n, 4, rank, elementSize)
	case layoutCompact:
		c.skip(4 * n)
		l.data = c.bytes(int(min(c.u32(), 1<<16)))
	case layoutContiguous:
	default:
		return l, unsupported("data layout of class %d", l.class)
	}
	return l, c.err
}

// parseLayout4 reads what follows the class of a chunked layout in versions 4 and 5.
func parseLayout4(c *cursor, l layout, rank, elementSize int) (layout, error) {
	flags := c.u8()
	l.rawEdges = flags&1 != 0
	n, width := int(c.u8()), int(c.u8())
	if err := l.setChunk(c, n, width, rank, elementSize); err != nil {
		return l, err
	}
	l.index = c.u8()
	switch l.index {
	case indexSingle:
		if flags&2 != 0 {
			l.singleSize, l.singleMask = c.length(), c.u32()
		}
	case indexImplicit:
	case indexFixed:
		l.pageBits = c.u8()
	case indexExtensible:
		c.skip(5) // repeated in the index
	case indexTree2:
		c.skip(6) // repeated in the index
	default:
		return l, unsupported("chunk index of kind %d", l.index)
	}
	l.address = c.address()
	return l, c.err
}

// setChunk reads n sizes of width bytes: the shape of a chunk and, last, the size of an element.
func (l *layout) setChunk(c *cursor, n, width, rank, elementSize int) error {
	if c.err == nil && n != rank+1 {
		return corrupt("chunks with %d axes in a dataset with %d", n-1, rank)
	}
	l.chunkBytes = 1
	for i := range n {
		v := c.uint(width)
		high, low := bits.Mul64(l.chunkBytes, v)
		switch {
		case c.err != nil:
			return c.err
		case v == 0 || high != 0 || low > 1<<32:
			return corrupt("axis %d of a chunk is %d", i, v)
		case i == rank && v != uint64(elementSize):
			return corrupt("chunks of elements of %d bytes, the type has %d", v, elementSize)
		}
		l.chunkBytes = low
		if i < rank {
			l.chunk = append(l.chunk, v)
		}
	}
	return c.err
}
