package hdf5

// The kinds of B-trees of version 1.
const (
	treeOfGroup  = 0
	treeOfChunks = 1
)

// tree1 walks a B-tree of version 1.
type tree1 struct {
	f       *File
	kind    uint8
	keySize int // bytes
	visit   func(key *cursor, child uint64) error
	meter   *meter
}

// walk calls visit for the children of all leaves, in order, with the key before each.
func (t *tree1) walk(address uint64) error { return t.node(address, -1) }

// node walks the node at an address; level is the one it must have, -1 for the root.
func (t *tree1) node(address uint64, level int) error {
	f := t.f
	head := uint64(8 + 2*f.offsetSize)
	c, err := f.at(address, head, t.meter.what)
	if err != nil {
		return err
	}
	c.expect("TREE")
	kind, found, count := c.u8(), int(c.u8()), int(c.u16())
	switch {
	case c.err != nil:
		return c.err
	case kind != t.kind:
		return corrupt("%s at %#x: a tree of kind %d, expected %d", t.meter.what, address, kind, t.kind)
	case level >= 0 && found != level:
		return corrupt("%s at %#x: a node of level %d, expected %d", t.meter.what, address, found, level)
	}
	size := uint64(count*(t.keySize+f.offsetSize) + t.keySize)
	if err := t.meter.block(address, head+size); err != nil {
		return err
	}
	if c, err = f.at(address+head, size, t.meter.what); err != nil {
		return err
	}
	for range count {
		key := f.cursor(c.bytes(t.keySize), t.meter.what)
		child := c.address()
		if c.err != nil {
			return c.err
		}
		if found > 0 {
			err = t.node(child, found-1)
		} else {
			err = t.visit(key, child)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
