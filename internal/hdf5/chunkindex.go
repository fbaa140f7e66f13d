package hdf5

import (
	"math"
	"math/bits"
)

// chunk is one chunk that the file holds.
type chunk struct {
	number  uint64 // in the grid of the dataset, row-major
	address uint64
	size    uint64 // bytes in the file
	mask    uint32 // filters that were left out
}

// grid is a dataset cut into chunks.
type grid struct {
	chunk []uint64
	axes  []uint64 // chunks along each axis
	count uint64   // product of axes
}

func newGrid(shape []int, chunk []uint64) grid {
	g := grid{chunk: chunk, count: 1}
	for i, n := range shape {
		along := (uint64(n) + chunk[i] - 1) / chunk[i]
		g.axes = append(g.axes, along)
		g.count *= along
	}
	return g
}

// number gives the number of the chunk at a place of the grid, false where the place lies outside.
func (g grid) number(place []uint64) (uint64, bool) {
	n := uint64(0)
	for i, p := range place {
		if p >= g.axes[i] {
			return 0, false
		}
		n = n*g.axes[i] + p
	}
	return n, true
}

// place is the inverse of number.
func (g grid) place(number uint64, into []uint64) {
	for i := len(g.axes) - 1; i >= 0; i-- {
		into[i] = number % g.axes[i]
		number /= g.axes[i]
	}
}

// chunks lists the chunks of the dataset that the file holds.
func (d *Dataset) chunks(g grid) ([]chunk, error) {
	l := &d.layout
	if l.address == undefined || g.count == 0 {
		return nil, nil
	}
	w := &chunkWalk{f: d.f, d: d, grid: g, meter: d.f.newMeter("chunk index")}
	var err error
	switch l.index {
	case indexTree1:
		err = w.tree1()
	case indexSingle:
		size := l.chunkBytes
		if l.singleSize != 0 {
			size = l.singleSize
		}
		err = w.add(chunk{0, l.address, size, l.singleMask})
	case indexImplicit:
		for i := uint64(0); i < g.count && err == nil; i++ {
			high, offset := bits.Mul64(i, l.chunkBytes)
			if high != 0 || offset > d.f.size {
				return nil, corrupt("chunk %d lies beyond the end of the file", i)
			}
			err = w.add(chunk{i, l.address + offset, l.chunkBytes, 0})
		}
	case indexFixed:
		err = w.fixedArray()
	case indexExtensible:
		err = w.extensibleArray()
	case indexTree2:
		err = w.tree2()
	}
	return w.found, err
}

// chunkWalk collects chunks from an index.
type chunkWalk struct {
	f     *File
	d     *Dataset
	grid  grid
	meter *meter
	found []chunk
}

// add takes a chunk; one that was never written has no address.
func (w *chunkWalk) add(c chunk) error {
	if c.address == undefined {
		return nil
	}
	if err := w.f.inside(c.address, c.size, "chunk"); err != nil {
		return err
	}
	w.found = append(w.found, c)
	return nil
}

// addAt takes a chunk at a place of the grid. Places outside the shape are leftovers of a larger shape.
func (w *chunkWalk) addAt(place []uint64, c chunk) error {
	number, ok := w.grid.number(place)
	if !ok {
		return nil
	}
	c.number = number
	return w.add(c)
}

// tree1 reads a B-tree of version 1, whose keys hold the size, the filter mask and the offset in elements of a chunk.
func (w *chunkWalk) tree1() error {
	rank := len(w.grid.chunk)
	place := make([]uint64, rank)
	t := tree1{f: w.f, kind: treeOfChunks, keySize: 8 + 8*(rank+1), meter: w.meter}
	t.visit = func(key *cursor, child uint64) error {
		c := chunk{address: child, size: uint64(key.u32()), mask: key.u32()}
		for i := range place {
			offset := key.u64()
			if key.err == nil && offset%w.grid.chunk[i] != 0 {
				return corrupt("a chunk at offset %d of axis %d, which has chunks of %d", offset, i, w.grid.chunk[i])
			}
			place[i] = offset / w.grid.chunk[i]
		}
		if key.err != nil {
			return key.err
		}
		return w.addAt(place, c)
	}
	return t.walk(w.d.layout.address)
}

// tree2 reads a B-tree of version 2, whose records hold the place in the grid.
func (w *chunkWalk) tree2() error {
	place := make([]uint64, len(w.grid.chunk))
	t := tree2{f: w.f, kind: recordChunk, meter: w.meter}
	sizeBytes := 0
	if len(w.d.filters) > 0 {
		t.kind = recordFilteredChunk
	}
	t.visit = func(record *cursor) error {
		if t.kind == recordFilteredChunk {
			sizeBytes = t.recordSize - w.f.offsetSize - 4 - 8*len(place)
		}
		c := w.element(record, sizeBytes)
		for i := range place {
			place[i] = record.u64()
		}
		if record.err != nil {
			return record.err
		}
		return w.addAt(place, c)
	}
	return t.walk(w.d.layout.address)
}

// element reads the address of a chunk and, where the dataset has filters, its size in sizeBytes bytes and its mask.
func (w *chunkWalk) element(c *cursor, sizeBytes int) chunk {
	found := chunk{address: c.address(), size: w.d.layout.chunkBytes}
	if len(w.d.filters) > 0 {
		found.size, found.mask = c.uint(sizeBytes), c.u32()
	}
	return found
}

// order is how an array numbers chunks: row-major in the grid of the largest shape, an axis without limit first.
type order struct {
	axes  []uint64 // of the grid of the largest shape, in the array's order
	first int      // the axis that was put first; 0 where none was
}

func (w *chunkWalk) newOrder() (order, error) {
	largest := w.d.space.largest
	o := order{}
	for i := range w.grid.axes {
		along := w.grid.axes[i]
		if largest != nil {
			along = largest[i]/w.grid.chunk[i] + min(1, largest[i]%w.grid.chunk[i])
		}
		if largest != nil && largest[i] == math.MaxUint64 {
			if i > 0 && o.first > 0 {
				return o, corrupt("an array of chunks with two axes without limit")
			}
			o.first = i
		}
		o.axes = append(o.axes, along)
	}
	if o.first > 0 {
		unlimited := o.axes[o.first]
		copy(o.axes[1:o.first+1], o.axes[:o.first])
		o.axes[0] = unlimited
	}
	return o, nil
}

// place gives the place in the grid of the element with a number, false where it lies outside.
func (o order) place(number uint64, into []uint64) {
	for i := len(o.axes) - 1; i > 0; i-- {
		into[i] = number % max(1, o.axes[i])
		number /= max(1, o.axes[i])
	}
	if len(into) == 0 {
		return
	}
	first := number
	copy(into, into[1:o.first+1])
	into[o.first] = first
}
