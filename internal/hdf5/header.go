package hdf5

// The kinds of header messages that this package reads.
const (
	messageDataspace     = 0x01
	messageLinkInfo      = 0x02
	messageDatatype      = 0x03
	messageFillOld       = 0x04
	messageFill          = 0x05
	messageLink          = 0x06
	messageExternal      = 0x07
	messageLayout        = 0x08
	messageGroupInfo     = 0x0a
	messageFilters       = 0x0b
	messageAttribute     = 0x0c
	messageContinuation  = 0x10
	messageSymbolTable   = 0x11
	messageAttributeInfo = 0x15
	messageLast          = 0x18 // messages beyond are of a later format
)

const (
	flagShared       = 0x02 // the body says where the message is
	flagMustBeKnown  = 0x80 // fail on an unknown message
	flagCreationTime = 0x20 // of a header of version 2: it holds times
	flagPhase        = 0x10 // ... and limits of dense attributes
	flagOrder        = 0x04 // ... and each message its creation order
)

// message is one message of an object header.
type message struct {
	kind  uint16
	flags uint8
	body  []byte
}

// header is an object header with all its continuations.
type header struct {
	address  uint64
	messages []message
	pending  []block // continuations to be read
	meter    *meter
}

type block struct{ address, size uint64 }

// readHeader reads the object header at an address.
func (f *File) readHeader(address uint64) (*header, error) {
	const shortest = 16 // of version 1; one of version 2 can be shorter, but not at the end of a file
	c, err := f.at(address, min(shortest, f.size-min(address, f.size)), "object header")
	if err != nil {
		return nil, err
	}
	h := &header{address: address, meter: f.ledger.open(f, address, "object header")}
	if c.left() >= 4 && string(c.b[:4]) == "OHDR" {
		err = h.readVersion2(f)
	} else {
		err = h.readVersion1(f, c)
	}
	f.ledger.close(f, address, h.meter)
	return h, err
}

func (h *header) readVersion1(f *File, c *cursor) error {
	c.version(1)
	c.skip(1)
	count := int(c.u16())
	c.skip(4) // references
	size := uint64(c.u32())
	if c.err != nil {
		return c.err
	}
	h.pending = []block{{h.address + 16, size}}
	for i := 0; i < len(h.pending); i++ {
		b := h.pending[i]
		if err := h.meter.block(b.address, b.size); err != nil {
			return err
		}
		c, err := f.at(b.address, b.size, "object header")
		if err != nil {
			return err
		}
		for c.left() >= 8 && len(h.messages) < count {
			m := message{kind: c.u16()}
			n := int(c.u16())
			m.flags = c.u8()
			c.skip(3)
			m.body = c.bytes(n)
			if c.err != nil {
				return c.err
			}
			if err := h.add(f, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (h *header) readVersion2(f *File) error {
	c, err := f.at(h.address, min(34, f.size-h.address), "object header")
	if err != nil {
		return err
	}
	c.expect("OHDR")
	c.version(2)
	flags := c.u8()
	if flags&flagCreationTime != 0 {
		c.skip(16)
	}
	if flags&flagPhase != 0 {
		c.skip(4)
	}
	size := c.uint(1 << (flags & 3))
	if c.err != nil {
		return c.err
	}
	prefix := c.pos
	if size > f.size {
		return corrupt("object header at %#x: a block of %d bytes in a file of %d", h.address, size, f.size)
	}
	h.pending = []block{{h.address, uint64(prefix) + size + 4}}
	for i := 0; i < len(h.pending); i++ {
		b := h.pending[i]
		if err := h.meter.block(b.address, b.size); err != nil {
			return err
		}
		c, err := f.at(b.address, b.size, "object header")
		if err != nil {
			return err
		}
		if err := f.verify(c.b, "object header"); err != nil {
			return err
		}
		if i == 0 {
			c.skip(prefix)
		} else {
			c.expect("OCHK")
		}
		c.b = c.b[:len(c.b)-4]
		if err := h.readMessages2(f, c, flags); err != nil {
			return err
		}
	}
	return nil
}

func (h *header) readMessages2(f *File, c *cursor, flags uint8) error {
	fixed := 4
	if flags&flagOrder != 0 {
		fixed = 6
	}
	for c.err == nil && c.left() >= fixed { // less than that is a gap
		m := message{kind: uint16(c.u8())}
		n := int(c.u16())
		m.flags = c.u8()
		c.skip(fixed - 4)
		m.body = c.bytes(n)
		if c.err != nil {
			return c.err
		}
		if err := h.add(f, m); err != nil {
			return err
		}
	}
	return c.err
}

func (h *header) add(f *File, m message) error {
	if m.kind > messageLast && m.flags&flagMustBeKnown != 0 {
		return unsupported("header message %#x, which readers must know", m.kind)
	}
	if m.kind == messageContinuation {
		c := f.cursor(m.body, "header continuation")
		b := block{c.address(), c.length()}
		if c.err != nil {
			return c.err
		}
		h.pending = append(h.pending, b)
	}
	h.messages = append(h.messages, m)
	return nil
}

// has says whether the header holds a message of the kind.
func (h *header) has(kind uint16) bool {
	for _, m := range h.messages {
		if m.kind == kind {
			return true
		}
	}
	return false
}

// find gives a cursor on the first message of a kind, following a shared message; nil where there is none.
func (h *header) find(f *File, kind uint16, what string) (*cursor, error) {
	for _, m := range h.messages {
		if m.kind == kind {
			body, err := f.body(m, kind, what)
			if err != nil {
				return nil, err
			}
			return f.cursor(body, what), nil
		}
	}
	return nil, nil
}

// body gives the body of a message, which may be shared: then it stands in another object's header (a committed type).
func (f *File) body(m message, kind uint16, what string) ([]byte, error) {
	if m.flags&flagShared == 0 {
		return m.body, nil
	}
	c := f.cursor(m.body, "shared "+what)
	version := c.version(1, 2, 3)
	place := c.u8()
	if version == 1 {
		c.skip(6)
	}
	if c.err == nil && version == 3 && place == 1 {
		return nil, unsupported("%s in a table of shared messages", what)
	}
	address := c.address()
	if c.err != nil {
		return nil, c.err
	}
	h, err := f.readHeader(address)
	if err != nil {
		return nil, err
	}
	for _, m := range h.messages {
		if m.kind == kind {
			if m.flags&flagShared != 0 {
				return nil, corrupt("a shared %s refers to a shared one", what)
			}
			return m.body, nil
		}
	}
	return nil, corrupt("a shared %s refers to an object without one", what)
}
