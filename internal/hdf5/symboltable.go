package hdf5

import "strings"

// link is one entry of a group.
type link struct {
	address uint64 // of the object header, for a hard link
	soft    string // what a soft or external link points to, for the error
	kind    linkKind
}

type linkKind uint8

const (
	hardLink linkKind = iota
	softLink
	externalLink
	otherLink // defined by a user
)

// links collects the entries of a group.
type links struct {
	byName map[string]link
	meter  *meter
}

func (l *links) add(name string, entry link) error {
	if name == "" || name == "." || strings.Contains(name, "/") {
		return corrupt("group: a member named %q", clip(name))
	}
	if _, twice := l.byName[name]; twice {
		return corrupt("group: two members named %q", clip(name))
	}
	l.byName[name] = entry
	return nil
}

// clip shortens a name from a file for an error message.
func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

const maxName = 1 << 16 // bytes; the limit that header messages set

// readSymbolTable reads the members of an old-style group: a B-tree of symbol nodes and a local heap of names.
func (f *File) readSymbolTable(c *cursor, l *links) error {
	tree, heap := c.address(), c.address()
	if c.err != nil {
		return c.err
	}
	names, err := f.readLocalHeap(heap, l.meter)
	if err != nil {
		return err
	}
	walk := tree1{f: f, kind: treeOfGroup, keySize: f.lengthSize, meter: l.meter}
	walk.visit = func(_ *cursor, child uint64) error { return f.readSymbolNode(child, names, l) }
	return walk.walk(tree)
}

// readLocalHeap gives the data segment of a local heap.
func (f *File) readLocalHeap(address uint64, m *meter) (string, error) {
	c, err := f.at(address, uint64(8+2*f.lengthSize+f.offsetSize), "local heap")
	if err != nil {
		return "", err
	}
	c.expect("HEAP")
	c.version(0)
	c.skip(3)
	size := c.length()
	c.length() // free list
	data := c.address()
	if c.err != nil {
		return "", c.err
	}
	if err := m.block(data, size); err != nil {
		return "", err
	}
	b, err := f.read(data, size, "local heap")
	return string(b), err
}

func (f *File) readSymbolNode(address uint64, names string, l *links) error {
	const what = "symbol node"
	c, err := f.at(address, 8, what)
	if err != nil {
		return err
	}
	c.expect("SNOD")
	c.version(1)
	c.skip(1)
	count := int(c.u16())
	if c.err != nil {
		return c.err
	}
	size := uint64(count * (f.lengthSize + f.offsetSize + 4 + 4 + 16))
	if err := l.meter.block(address, 8+size); err != nil {
		return err
	}
	if c, err = f.at(address+8, size, what); err != nil {
		return err
	}
	for range count {
		nameAt := c.length()
		entry := link{address: c.address()}
		cache := c.u32()
		c.skip(4)
		scratch := f.cursor(c.bytes(16), what)
		target := uint64(scratch.u32())
		if c.err != nil {
			return c.err
		}
		name, err := heapString(names, nameAt)
		if err != nil {
			return err
		}
		if cache == 2 {
			entry.kind = softLink
			if entry.soft, err = heapString(names, target); err != nil {
				return err
			}
		}
		if err := l.add(name, entry); err != nil {
			return err
		}
	}
	return nil
}

// heapString gives the string that starts at an offset of a local heap and ends in NUL.
func heapString(heap string, at uint64) (string, error) {
	if at >= uint64(len(heap)) {
		return "", corrupt("local heap: a name at offset %d of %d bytes", at, len(heap))
	}
	rest := heap[at:min(uint64(len(heap)), at+maxName)]
	end := strings.IndexByte(rest, 0)
	if end < 0 {
		return "", corrupt("local heap: a name at offset %d without end", at)
	}
	return rest[:end], nil
}
