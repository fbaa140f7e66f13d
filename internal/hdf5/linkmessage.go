package hdf5

import "strings"

// readLink reads a link message: one member of a new-style group.
func readLink(c *cursor, l *links) error {
	c.version(1)
	flags := c.u8()
	kind := uint8(0)
	if flags&8 != 0 {
		kind = c.u8()
	}
	if flags&4 != 0 {
		c.skip(8) // creation order
	}
	if flags&16 != 0 {
		c.skip(1) // character set
	}
	name := string(c.bytes(int(min(c.uint(1<<(flags&3)), maxName))))
	entry := link{}
	switch kind {
	case 0:
		entry.address = c.address()
	case 1:
		entry.kind = softLink
		entry.soft = string(c.bytes(int(c.u16())))
	case 64:
		entry.kind = externalLink
		target := string(c.bytes(int(c.u16())))
		entry.soft = strings.ReplaceAll(strings.Trim(target, "\x00"), "\x00", ":")
	default:
		entry.kind = otherLink
	}
	if c.err != nil {
		return c.err
	}
	return l.add(name, entry)
}

// dense is where a group or an object keeps its links or attributes when there are many: messages in a fractal heap,
// found through a B-tree that is sorted by the hash of their names.
type dense struct{ heap, tree uint64 }

// readLinkInfo reads a link info message.
func readLinkInfo(c *cursor) (dense, error) {
	c.version(0)
	if flags := c.u8(); flags&1 != 0 {
		c.skip(8) // largest creation index
	}
	d := dense{c.address(), c.address()}
	return d, c.err
}

// readAttributeInfo reads an attribute info message.
func readAttributeInfo(c *cursor) (dense, error) {
	c.version(0)
	if flags := c.u8(); flags&1 != 0 {
		c.skip(2) // largest creation index
	}
	d := dense{c.address(), c.address()}
	return d, c.err
}

// The kinds of records of B-trees of version 2.
const (
	recordHuge          = 1
	recordLink          = 5
	recordAttribute     = 8
	recordChunk         = 10
	recordFilteredChunk = 11
)

// walk calls visit with every message that d holds.
func (d dense) walk(f *File, kind uint8, m *meter, visit func(body []byte, flags uint8) error) error {
	if d.heap == undefined {
		return nil
	}
	heap, err := f.readFractalHeap(d.heap, m)
	if err != nil {
		return err
	}
	tree := tree2{f: f, kind: kind, meter: m}
	tree.visit = func(record *cursor) error {
		var id []byte
		var flags uint8
		if kind == recordLink {
			record.skip(4) // hash
			id = record.bytes(heap.idSize)
		} else {
			id = record.bytes(heap.idSize)
			flags = record.u8()
		}
		if record.err != nil {
			return record.err
		}
		body, err := heap.object(id)
		if err != nil {
			return err
		}
		return visit(body, flags)
	}
	return tree.walk(d.tree)
}
