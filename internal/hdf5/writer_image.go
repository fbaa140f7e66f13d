package hdf5

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// What h5py's files say about their B-trees.
const (
	leafK        = 4  // half the entries of a symbol node
	internalK    = 16 // half the children of a node
	alignment    = 8
	heapSize     = 4096 // least bytes of a collection of the global heap
	heapHead     = 16
	symbolEntry  = 40
	superblock   = 96
	cacheOfGroup = 1
	maxHeader    = 1 << 30 // bytes; the format has 32 bits for them
)

// image is a file laid out: all metadata, and where the data of the datasets goes.
type image struct {
	meta  []byte
	data  []placed
	fixes []int // where in meta the addresses of data stand, in the order of data
	end   uint64

	heap     int // start of the present collection of the global heap in meta; 0: there is none
	heapUsed int // bytes of it that are taken
	heapSize int
	objects  int // in it
}

// placed is a dataset's data with its address.
type placed struct {
	path    string
	address uint64
	size    uint64
	data    Data
}

// layOut computes the whole file but its data.
func (w *Writer) layOut() (*image, error) {
	i := &image{meta: make([]byte, superblock)}
	root, err := i.group(w.root)
	if err != nil {
		return nil, err
	}
	i.closeHeap()
	i.end = uint64(len(i.meta))
	for n := range i.data {
		d := &i.data[n]
		i.end = (i.end + alignment - 1) / alignment * alignment
		d.address = i.end
		i.put64(i.fixes[n], d.address)
		i.end += d.size
	}
	i.superblock(root)
	return i, nil
}

// superblock writes a superblock of version 0.
func (i *image) superblock(root entry) {
	b := append([]byte(signature), 0, 0, 0, 0, 0, 8, 8, 0, leafK, 0, internalK, 0, 0, 0, 0, 0)
	for _, v := range []uint64{0, undefined, i.end, undefined} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	copy(i.meta, append(b, root.bytes(0)...))
}

func (i *image) put64(at int, v uint64) { binary.LittleEndian.PutUint64(i.meta[at:], v) }

// append adds bytes to the metadata and gives their address.
func (i *image) append(b []byte) uint64 {
	i.meta = pad(i.meta)
	at := len(i.meta)
	i.meta = append(i.meta, b...)
	return uint64(at)
}

// pad pads to a multiple of 8 bytes.
func pad(b []byte) []byte {
	for len(b)%alignment != 0 {
		b = append(b, 0)
	}
	return b
}

// entry is an object as its parent knows it.
type entry struct {
	header     uint64
	group      bool
	tree, heap uint64 // of a group
}

// bytes is the symbol table entry; name is the offset of the name in the local heap.
func (e entry) bytes(name uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, name)
	b = binary.LittleEndian.AppendUint64(b, e.header)
	if e.group {
		b = binary.LittleEndian.AppendUint32(b, cacheOfGroup)
		b = append(b, 0, 0, 0, 0)
		b = binary.LittleEndian.AppendUint64(b, e.tree)
		return binary.LittleEndian.AppendUint64(b, e.heap)
	}
	return append(b, make([]byte, symbolEntry-len(b))...)
}

// group lays out a group after its members.
func (i *image) group(g *GroupWriter) (entry, error) {
	names := slices.Sorted(maps.Keys(g.members))
	heap := make([]byte, alignment) // offset 0 is the empty name
	offsets := make([]uint64, len(names))
	entries := make([]entry, len(names))
	for n, name := range names {
		var err error
		switch m := g.members[name].(type) {
		case *GroupWriter:
			entries[n], err = i.group(m)
		case *DatasetWriter:
			entries[n], err = i.dataset(m)
		}
		if err != nil {
			return entry{}, err
		}
		offsets[n] = uint64(len(heap))
		heap = pad(append(append(heap, name...), 0))
	}
	e := entry{group: true, tree: i.tree(entries, offsets), heap: i.localHeap(heap)}
	body := binary.LittleEndian.AppendUint64(nil, e.tree)
	messages, err := i.attributes([]headerMessage{
		{messageSymbolTable, 0, binary.LittleEndian.AppendUint64(body, e.heap)},
	}, &g.attributeWriter)
	if err != nil {
		return entry{}, err
	}
	e.header = i.append(objectHeader(messages))
	return e, nil
}

// localHeap writes a heap without free space.
func (i *image) localHeap(data []byte) uint64 {
	const none = 1
	b := append([]byte("HEAP"), 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(data)))
	b = binary.LittleEndian.AppendUint64(b, none)
	at := i.append(b)
	i.meta = binary.LittleEndian.AppendUint64(i.meta, at+32)
	i.append(data)
	return at
}

// child is a node of a B-tree as its parent knows it.
type child struct {
	address uint64
	last    uint64 // heap offset of the largest name below it
}

// tree writes the symbol nodes of a group and the B-tree above them, all nodes full but the last of each level.
func (i *image) tree(entries []entry, offsets []uint64) uint64 {
	var level []child
	for from := 0; from < len(entries); from += 2 * leafK {
		n := min(2*leafK, len(entries)-from)
		b := append([]byte("SNOD"), 1, 0, byte(n), 0)
		for k := from; k < from+n; k++ {
			b = append(b, entries[k].bytes(offsets[k])...)
		}
		b = append(b, make([]byte, (2*leafK-n)*symbolEntry)...)
		level = append(level, child{i.append(b), offsets[from+n-1]})
	}
	for depth := byte(0); ; depth++ {
		level = i.treeLevel(level, depth)
		if len(level) == 1 {
			return level[0].address
		}
	}
}

// treeLevel writes the nodes of one level over their children. Each key is the largest name of the child before it; the
// first is the empty name, or the largest name of the node to the left.
func (i *image) treeLevel(children []child, depth byte) []child {
	const nodeSize = 24 + 8*(2*2*internalK+1)
	count := max(1, (len(children)+2*internalK-1)/(2*internalK))
	i.meta = pad(i.meta)
	start := uint64(len(i.meta))
	nodes := make([]child, 0, count)
	key := uint64(0)
	for k := range count {
		mine := children[min(k*2*internalK, len(children)):min((k+1)*2*internalK, len(children))]
		left, right := undefined, undefined
		if k > 0 {
			left = start + uint64(k-1)*nodeSize
		}
		if k < count-1 {
			right = start + uint64(k+1)*nodeSize
		}
		b := append([]byte("TREE"), treeOfGroup, depth, byte(len(mine)), 0)
		b = binary.LittleEndian.AppendUint64(b, left)
		b = binary.LittleEndian.AppendUint64(b, right)
		b = binary.LittleEndian.AppendUint64(b, key)
		for _, c := range mine {
			b = binary.LittleEndian.AppendUint64(b, c.address)
			b = binary.LittleEndian.AppendUint64(b, c.last)
			key = c.last
		}
		b = append(b, make([]byte, nodeSize-len(b))...)
		nodes = append(nodes, child{i.append(b), key})
	}
	return nodes
}

// dataset lays out a dataset's header. The address of its data is known later.
func (i *image) dataset(d *DatasetWriter) (entry, error) {
	data := d.data
	if d.typ.Variable {
		data = Bytes(i.putStrings(d.texts))
	}
	layout := append([]byte{3, layoutContiguous}, make([]byte, 16)...)
	binary.LittleEndian.PutUint64(layout[2:], undefined)
	binary.LittleEndian.PutUint64(layout[10:], d.size)
	messages, err := i.attributes([]headerMessage{
		{messageDataspace, 0, spaceMessage(d.shape)},
		{messageDatatype, 1, typeMessage(d.typ)},
		{messageFill, 1, []byte{2, 2, 2, 1, 0, 0, 0, 0}}, // allocated late, written if set, the default value
		{messageLayout, 0, layout},
	}, &d.attributeWriter)
	if err != nil {
		return entry{}, err
	}
	// The layout must be found again: it follows three messages of known sizes.
	at := 16 + 4*8 + 2
	for _, m := range messages[:3] {
		at += len(pad(slices.Clone(m.body)))
	}
	header := i.append(objectHeader(messages))
	if d.size > 0 {
		i.data = append(i.data, placed{path: d.path, size: d.size, data: data})
		i.fixes = append(i.fixes, int(header)+at)
	}
	return entry{header: header}, nil
}

// attributes adds the messages of attributes to those of an object.
func (i *image) attributes(messages []headerMessage, w *attributeWriter) ([]headerMessage, error) {
	if len(w.list)+len(messages) > math.MaxUint16 {
		return nil, unsupported("%d attributes of %q", len(w.list), w.owner)
	}
	size := 0
	for n := range w.list {
		a := &w.list[n]
		m := headerMessage{messageAttribute, 0, a.message(i.putStrings(a.texts))}
		if size += len(m.body); size > maxHeader {
			return nil, unsupported("attributes of %q that take more than %d bytes", w.owner, maxHeader)
		}
		messages = append(messages, m)
	}
	return messages, nil
}

// putStrings puts strings into the global heap and gives the elements that refer to them.
func (i *image) putStrings(texts []string) []byte {
	var b []byte
	for _, s := range texts {
		if s == "" {
			b = append(b, make([]byte, variableString.Size)...)
			continue
		}
		size := heapHead + (len(s)+alignment-1)/alignment*alignment
		if i.heap == 0 || i.heapUsed+size > i.heapSize || i.objects == math.MaxUint16 {
			i.openHeap(size)
		}
		i.objects++
		at := i.heap + i.heapUsed
		binary.LittleEndian.PutUint16(i.meta[at:], uint16(i.objects))
		i.put64(at+8, uint64(len(s)))
		copy(i.meta[at+heapHead:], s)
		i.heapUsed += size
		b = binary.LittleEndian.AppendUint32(b, uint32(len(s)))
		b = binary.LittleEndian.AppendUint64(b, uint64(i.heap))
		b = binary.LittleEndian.AppendUint32(b, uint32(i.objects))
	}
	return b
}

// openHeap starts a collection with room for an object of the given size.
func (i *image) openHeap(size int) {
	i.closeHeap()
	i.heapSize = max(heapSize, heapHead+size)
	i.heap = int(i.append(make([]byte, i.heapSize)))
	copy(i.meta[i.heap:], "GCOL\x01")
	i.put64(i.heap+8, uint64(i.heapSize))
	i.heapUsed, i.objects = heapHead, 0
}

// closeHeap marks what is left of the collection as free: object 0. A rest that is smaller than an object's head stays
// unused.
func (i *image) closeHeap() {
	if free := i.heapSize - i.heapUsed; i.heap != 0 && free >= heapHead {
		i.put64(i.heap+i.heapUsed+8, uint64(free))
	}
}
