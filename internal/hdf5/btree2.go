package hdf5

const (
	maxTree2Depth  = 32
	nodeOverhead   = 10 // signature, version, kind, checksum
	nodeLeaf       = "BTLF"
	nodeInternal   = "BTIN"
	tree2HeadBytes = 4 + 1 + 1 + 4 + 2 + 2 + 1 + 1 + 2 + 4 // without the addresses and lengths
)

// tree2 walks a B-tree of version 2.
type tree2 struct {
	f     *File
	kind  uint8
	visit func(record *cursor) error
	meter *meter

	nodeSize, recordSize int
	countSize            int   // bytes of the number of records in a child
	totalSize            []int // bytes of the number of records in a child and below it, by the child's level
}

// walk calls visit for every record in order.
func (t *tree2) walk(address uint64) error {
	if address == undefined {
		return nil
	}
	n := uint64(tree2HeadBytes + t.f.offsetSize + t.f.lengthSize)
	c, err := t.f.at(address, n, "B-tree")
	if err != nil {
		return err
	}
	if err := t.f.verify(c.b, "B-tree"); err != nil {
		return err
	}
	if err := t.meter.block(address, n); err != nil {
		return err
	}
	c.expect("BTHD")
	c.version(0)
	kind := c.u8()
	nodeSize := c.u32()
	t.recordSize = int(c.u16())
	depth := int(c.u16())
	c.skip(2) // when to split and merge
	root, count := c.address(), int(c.u16())
	switch {
	case c.err != nil:
		return c.err
	case kind != t.kind:
		return corrupt("B-tree with records of kind %d, expected %d", kind, t.kind)
	case depth > maxTree2Depth || uint64(nodeSize) > t.f.size || t.recordSize == 0 || int(nodeSize) < nodeOverhead+t.recordSize:
		return corrupt("B-tree of depth %d with nodes of %d bytes and records of %d", depth, nodeSize, t.recordSize)
	case root == undefined:
		return nil
	}
	t.nodeSize = int(nodeSize)
	if err := t.geometry(depth); err != nil {
		return err
	}
	return t.node(root, depth, count)
}

// geometry computes the widths of the counts in internal nodes, which follow from how many records fit into a node.
func (t *tree2) geometry(depth int) error {
	most := uint64((t.nodeSize - nodeOverhead) / t.recordSize) // records in a leaf
	t.countSize = bytesFor(most)
	total := most
	t.totalSize = make([]int, depth+1)
	for level := 1; level <= depth; level++ {
		pointer := t.f.offsetSize + t.countSize + t.totalSize[level-1]
		if t.nodeSize < nodeOverhead+pointer {
			return corrupt("B-tree: nodes of %d bytes hold no pointer", t.nodeSize)
		}
		most = uint64((t.nodeSize - nodeOverhead - pointer) / (t.recordSize + pointer))
		if total > 1<<56/(most+2) {
			return corrupt("B-tree of depth %d", depth)
		}
		total = (most+1)*total + most
		t.totalSize[level] = bytesFor(total)
	}
	return nil
}

func (t *tree2) node(address uint64, level, count int) error {
	sign, size := nodeLeaf, nodeOverhead+count*t.recordSize
	pointer := 0
	if level > 0 {
		sign = nodeInternal
		pointer = t.f.offsetSize + t.countSize + t.totalSize[level-1]
		size += (count + 1) * pointer
	}
	if size > t.nodeSize {
		return corrupt("B-tree: %d records in a node of %d bytes", count, t.nodeSize)
	}
	if err := t.meter.block(address, uint64(size)); err != nil {
		return err
	}
	c, err := t.f.at(address, uint64(size), "B-tree node")
	if err != nil {
		return err
	}
	if err := t.f.verify(c.b, "B-tree node"); err != nil {
		return err
	}
	c.expect(sign)
	c.version(0)
	if kind := c.u8(); c.err == nil && kind != t.kind {
		return corrupt("B-tree node of kind %d, expected %d", kind, t.kind)
	}
	records := t.f.cursor(c.bytes(count*t.recordSize), "B-tree record")
	if c.err != nil {
		return c.err
	}
	for i := 0; ; i++ {
		if level > 0 {
			child, n := c.address(), int(c.uint(t.countSize))
			c.uint(t.totalSize[level-1])
			if c.err != nil {
				return c.err
			}
			if err := t.node(child, level-1, n); err != nil {
				return err
			}
		}
		if i == count {
			return nil
		}
		if err := t.visit(t.f.cursor(records.bytes(t.recordSize), "B-tree record")); err != nil {
			return err
		}
	}
}
