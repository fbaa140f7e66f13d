package hdf5

import (
	"sort"
)

// readChunks reads a chunked dataset.
func (d *Dataset) readChunks(dst []byte) error {
	l := &d.layout
	g := newGrid(d.space.shape, l.chunk)
	found, err := d.chunks(g)
	if err != nil {
		return err
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].number < found[j].number })
	for i := 1; i < len(found); i++ {
		if found[i].number == found[i-1].number {
			return corrupt("chunk %d is stored twice", found[i].number)
		}
	}
	// Chunks may reach far over the edges, which costs time without adding to the size of the dataset.
	if limit := d.limit(); uint64(len(found)) > limit/l.chunkBytes {
		return corrupt("%d chunks of %d bytes in a file of %d", len(found), l.chunkBytes, d.f.size)
	}
	if uint64(len(found)) < g.count {
		d.fillWith(dst)
	}
	place := make([]uint64, len(g.axes))
	decode := &decoder{filters: d.filters, want: int(l.chunkBytes)}
	var stored []byte
	for _, c := range found {
		g.place(c.number, place)
		if l.rawEdges && d.overEdge(place) {
			c.mask = ^uint32(0)
		}
		if c.size > uint64(2*decode.most()) {
			return corrupt("a chunk of %d bytes is stored in %d", l.chunkBytes, c.size)
		}
		if uint64(cap(stored)) < c.size {
			stored = make([]byte, c.size)
		}
		stored = stored[:c.size]
		if err := d.f.readInto(stored, c.address, "chunk"); err != nil {
			return err
		}
		b, err := decode.decode(stored, c.mask)
		if err != nil {
			return err
		}
		d.copyChunk(dst, b, place)
	}
	return nil
}

// overEdge says whether the chunk at a place of the grid reaches over an edge of the dataset.
func (d *Dataset) overEdge(place []uint64) bool {
	for i, p := range place {
		if (p+1)*d.layout.chunk[i] > uint64(d.space.shape[i]) {
			return true
		}
	}
	return false
}

// copyChunk copies the part of a chunk that lies in the dataset, row by row of the last axis.
func (d *Dataset) copyChunk(dst, chunk []byte, place []uint64) {
	rank, size := len(place), d.typ.Size
	shape, sizes := d.space.shape, d.layout.chunk
	count := make([]int, rank) // elements to copy along each axis
	strideTo, strideFrom := make([]int, rank), make([]int, rank)
	to, stride, strideChunk := 0, size, size
	for i := rank - 1; i >= 0; i-- {
		start := int(place[i] * sizes[i])
		count[i] = min(int(sizes[i]), shape[i]-start)
		strideTo[i], strideFrom[i] = stride, strideChunk
		to += start * stride
		stride *= shape[i]
		strideChunk *= int(sizes[i])
	}
	row := size
	if rank > 0 {
		row *= count[rank-1]
	}
	at := make([]int, rank)
	for from := 0; ; {
		copy(dst[to:to+row], chunk[from:from+row])
		axis := rank - 2
		for ; axis >= 0; axis-- {
			at[axis]++
			to += strideTo[axis]
			from += strideFrom[axis]
			if at[axis] < count[axis] {
				break
			}
			to -= count[axis] * strideTo[axis]
			from -= count[axis] * strideFrom[axis]
			at[axis] = 0
		}
		if axis < 0 {
			return
		}
	}
}
