package hdf5

import "math/bits"

// arrayHead is what the headers of fixed and extensible arrays share.
type arrayHead struct {
	filtered    bool
	elementSize int
	sizeBytes   int // width of the size of a filtered chunk
}

// arrayElement reads the client and the element size of an array's header.
func (w *chunkWalk) arrayElement(c *cursor) (arrayHead, error) {
	c.version(0)
	client := c.u8()
	h := arrayHead{filtered: client == 1, elementSize: int(c.u8())}
	if c.err != nil {
		return h, c.err
	}
	want := w.f.offsetSize
	if h.filtered {
		h.sizeBytes = h.elementSize - want - 4
		want += h.sizeBytes + 4
	}
	if client > 1 || h.elementSize != want || h.sizeBytes < 0 || h.sizeBytes > 8 || h.filtered != (len(w.d.filters) > 0) {
		return h, corrupt("an array of chunks of kind %d with elements of %d bytes and %d filters", client, h.elementSize,
			len(w.d.filters))
	}
	return h, nil
}

// elements takes count elements, the first of which has the number from.
func (w *chunkWalk) elements(c *cursor, h arrayHead, o order, from, count uint64) error {
	place := make([]uint64, len(w.grid.axes))
	for i := range count {
		found := w.element(c, h.sizeBytes)
		if c.err != nil {
			return c.err
		}
		o.place(from+i, place)
		if err := w.addAt(place, found); err != nil {
			return err
		}
	}
	return nil
}

// structure reads n bytes that end in a checksum and begin with a signature.
func (w *chunkWalk) structure(address, n uint64, sign, what string) (*cursor, error) {
	if err := w.meter.block(address, n); err != nil {
		return nil, err
	}
	c, err := w.f.at(address, n, what)
	if err != nil {
		return nil, err
	}
	if err := w.f.verify(c.b, what); err != nil {
		return nil, err
	}
	c.expect(sign)
	return c, c.err
}

// pages takes count elements in pages of perPage, each of which ends in a checksum. written reports which were ever
// written.
func (w *chunkWalk) pages(address uint64, h arrayHead, o order, from, count, perPage uint64, written func(page uint64) bool) error {
	for page := uint64(0); count > 0; page++ {
		n := min(count, perPage)
		size := n*uint64(h.elementSize) + 4
		if written(page) {
			c, err := w.structure(address, size, "", "page of chunks")
			if err != nil {
				return err
			}
			if err := w.elements(c, h, o, from, n); err != nil {
				return err
			}
		}
		address, from, count = address+size, from+n, count-n
	}
	return nil
}

// fixedArray reads the index of datasets that cannot grow.
func (w *chunkWalk) fixedArray() error {
	f := w.f
	c, err := w.structure(w.d.layout.address, uint64(12+f.lengthSize+f.offsetSize), "FAHD", "fixed array")
	if err != nil {
		return err
	}
	h, err := w.arrayElement(c)
	if err != nil {
		return err
	}
	pageBits := c.u8()
	count, address := c.length(), c.address()
	switch {
	case c.err != nil:
		return c.err
	case address == undefined:
		return nil
	case pageBits > 32 || count > f.size/uint64(h.elementSize):
		return corrupt("fixed array of %d chunks in pages of 2^%d", count, pageBits)
	}
	o, err := w.newOrder()
	if err != nil {
		return err
	}
	perPage := uint64(1) << pageBits
	paged, head, bitmap := count > perPage, uint64(6+f.offsetSize), uint64(0)
	size := head + count*uint64(h.elementSize) + 4
	if paged {
		bitmap = ((count+perPage-1)/perPage + 7) / 8
		size = head + bitmap + 4
	}
	if c, err = w.structure(address, size, "FADB", "fixed array"); err != nil {
		return err
	}
	c.skip(int(head) - 4)
	if !paged {
		return w.elements(c, h, o, 0, count)
	}
	flags := c.bytes(int(bitmap))
	if c.err != nil {
		return c.err
	}
	return w.pages(address+size, h, o, 0, count, perPage, bit(flags))
}

// bit looks up a bitmap, the first bit of which is the highest of the first byte.
func bit(flags []byte) func(i uint64) bool {
	return func(i uint64) bool { return flags[i/8]>>(7-i%8)&1 != 0 }
}

// extensible is the geometry of an extensible array: an index block with the first elements and with the addresses of
// data blocks and, beyond them, of super blocks. Super block s stands for 2^(s/2) data blocks (the index block holds
// the addresses of those of the first super blocks itself) of 2^((s+1)/2)·least elements (integer division).
type extensible struct {
	arrayHead
	order
	inIndex   uint64 // elements in the index block
	least     uint64 // elements of the smallest data block
	blocks    int    // super blocks in all
	direct    int    // super blocks whose data blocks the index block lists
	perPage   uint64 // elements of a page; larger data blocks are paged
	offset    uint64 // bytes of the offset in blocks' heads
	allBlocks uint64 // data blocks that the index block lists
}

// extensibleArray reads the index of datasets that grow along one axis.
func (w *chunkWalk) extensibleArray() error {
	f := w.f
	c, err := w.structure(w.d.layout.address, uint64(16+6*f.lengthSize+f.offsetSize), "EAHD", "extensible array")
	if err != nil {
		return err
	}
	e := extensible{}
	if e.arrayHead, err = w.arrayElement(c); err != nil {
		return err
	}
	maxBits, inIndex, least, leastPointers, pageBits := c.u8(), c.u8(), c.u8(), c.u8(), c.u8()
	c.skip(6 * f.lengthSize)
	address := c.address()
	power := func(v uint8) bool { return v != 0 && v&(v-1) == 0 }
	switch {
	case c.err != nil:
		return c.err
	case address == undefined:
		return nil
	case maxBits > 64 || !power(least) || !power(leastPointers) || pageBits > 32 || bits.Len8(least)-1 > int(maxBits):
		return corrupt("extensible array of 2^%d chunks, blocks of %d, %d pointers, pages of 2^%d", maxBits, least, leastPointers,
			pageBits)
	}
	if e.order, err = w.newOrder(); err != nil {
		return err
	}
	e.inIndex, e.least, e.perPage = uint64(inIndex), uint64(least), 1<<pageBits
	e.offset = uint64(maxBits+7) / 8
	e.blocks = 1 + int(maxBits) - (bits.Len8(least) - 1)
	e.direct = min(e.blocks, 2*(bits.Len8(leastPointers)-1))
	e.allBlocks = 2 * (uint64(leastPointers) - 1)
	return w.indexBlock(&e, address)
}

func (w *chunkWalk) indexBlock(e *extensible, address uint64) error {
	width := uint64(w.f.offsetSize)
	size := 6 + width + e.inIndex*uint64(e.elementSize) + e.allBlocks*width + uint64(e.blocks-e.direct)*width + 4
	c, err := w.structure(address, size, "EAIB", "extensible array")
	if err != nil {
		return err
	}
	c.skip(2 + int(width))
	if err := w.elements(c, e.arrayHead, e.order, 0, e.inIndex); err != nil {
		return err
	}
	from := e.inIndex
	for s := range e.blocks {
		blocks, each := e.superBlock(s)
		if s >= e.direct {
			if child := c.address(); c.err == nil && child != undefined {
				err = w.superBlock(e, child, blocks, each, from)
			}
			from += blocks * each
		} else {
			for range blocks {
				if child := c.address(); c.err == nil && child != undefined && err == nil {
					err = w.dataBlock(e, child, each, from, nil)
				}
				from += each
			}
		}
		if c.err != nil || err != nil {
			return firstError(c.err, err)
		}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// superBlock gives the number of data blocks of super block s, and of elements in each.
func (e *extensible) superBlock(s int) (blocks, each uint64) {
	return 1 << (s / 2), e.least << ((s + 1) / 2)
}

func (w *chunkWalk) superBlock(e *extensible, address, blocks, each, from uint64) error {
	width := uint64(w.f.offsetSize)
	pages, bitmap := uint64(0), uint64(0) // of one data block, bytes for them
	if each > e.perPage {
		pages = each / e.perPage
		bitmap = (pages + 7) / 8
	}
	if blocks > w.f.size/(bitmap+width) {
		return corrupt("extensible array: a super block of %d blocks", blocks)
	}
	c, err := w.structure(address, 6+width+e.offset+blocks*(bitmap+width)+4, "EASB", "extensible array")
	if err != nil {
		return err
	}
	c.skip(2 + int(width+e.offset))
	// The bits of all data blocks follow each other without gaps, though there are bytes for each.
	written := bit(c.bytes(int(blocks * bitmap)))
	for i := range blocks {
		child := c.address()
		if c.err != nil {
			return c.err
		}
		if child != undefined {
			err := w.dataBlock(e, child, each, from, func(page uint64) bool { return written(i*pages + page) })
			if err != nil {
				return err
			}
		}
		from += each
	}
	return nil
}

// dataBlock reads each elements; written reports which pages of a paged block were ever written.
func (w *chunkWalk) dataBlock(e *extensible, address, each, from uint64, written func(page uint64) bool) error {
	head := 6 + uint64(w.f.offsetSize) + e.offset
	if each > w.f.size/uint64(e.elementSize) {
		return corrupt("extensible array: a block of %d chunks", each)
	}
	if each <= e.perPage {
		c, err := w.structure(address, head+each*uint64(e.elementSize)+4, "EADB", "extensible array")
		if err != nil {
			return err
		}
		c.skip(int(head) - 4)
		return w.elements(c, e.arrayHead, e.order, from, each)
	}
	if _, err := w.structure(address, head+4, "EADB", "extensible array"); err != nil {
		return err
	}
	if written == nil {
		return corrupt("extensible array: a block of pages in the index block")
	}
	return w.pages(address+head+4, e.arrayHead, e.order, from, each, e.perPage, written)
}
