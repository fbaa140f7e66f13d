package hdf5

import "sync"

// globalHeap reads the collections that hold data of variable length. What it has read is kept as long as the file, so
// that no collection is read twice, however many elements refer to it, and elements that refer to the same object share
// its memory. As collections do not overlap, that is no more than the file.
type globalHeap struct {
	f           *File
	mutex       sync.Mutex
	meter       *meter
	collections map[uint64]collection
}

// collection is what was read at one address.
type collection struct {
	objects map[uint16]string
	err     error
}

func (f *File) newGlobalHeap() *globalHeap {
	return &globalHeap{f: f, meter: f.newMeter("global heap"), collections: map[uint64]collection{}}
}

// object gives one object of the collection at an address.
func (h *globalHeap) object(address uint64, index uint32) (string, error) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	c, ok := h.collections[address]
	if !ok {
		c.objects, c.err = h.read(address)
		h.collections[address] = c
	}
	if c.err != nil {
		return "", c.err
	}
	s, ok := c.objects[uint16(index)]
	if !ok || index > 0xffff {
		return "", corrupt("global heap at %#x has no object %d", address, index)
	}
	return s, nil
}

func (h *globalHeap) read(address uint64) (map[uint16]string, error) {
	head := uint64(8+h.f.lengthSize+7) / 8 * 8 // of the collection and of each object: 8 bytes and a length, aligned
	c, err := h.f.at(address, head, "global heap")
	if err != nil {
		return nil, err
	}
	c.expect("GCOL")
	c.version(1)
	c.skip(3)
	size := c.length()
	switch {
	case c.err != nil:
		return nil, c.err
	case size < head:
		return nil, corrupt("global heap of %d bytes", size)
	}
	if err := h.meter.block(address, size); err != nil {
		return nil, err
	}
	if c, err = h.f.at(address, size, "global heap"); err != nil {
		return nil, err
	}
	data := string(c.b)
	c.pos = int(head)
	objects := map[uint16]string{}
	for c.left() >= int(head) {
		index := c.u16()
		if index == 0 { // free space to the end
			break
		}
		c.skip(6) // references, reserved
		n := c.length()
		c.align(8)
		start := c.pos
		if n > uint64(c.left()) {
			return nil, corrupt("global heap: object %d of %d bytes, %d are left", index, n, c.left())
		}
		c.skip(int(n))
		c.align(8)
		objects[index] = data[start : start+int(n)]
	}
	return objects, c.err
}
