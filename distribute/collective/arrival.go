package collective

import "encoding/binary"

// arrival is a frame as it comes in.
type arrival struct {
	header [frameHeader]byte
	got    int // bytes of header and payload that are there
	length int // of the payload, once the header is there
	slot   *slot
	term   []byte // where the payload comes in that is to be added to the slot; nil: it comes to the slot
	added  bool
	given  bool // the slot is gRPC's
	dead   bool // the slot is a part of a tensor that must not be written to any more; nobody wants the payload
}

func (a *arrival) stream() uint32 { return binary.BigEndian.Uint32(a.header[5:]) &^ (1 << 31) }

// plainData reports whether the frame is of type DATA without padding.
func (a *arrival) plainData() bool { return a.header[3] == 0 && a.header[4]&8 == 0 }

// memory is where the payload comes in.
func (a *arrival) memory() []byte {
	if a.term != nil {
		return a.term
	}
	return a.slot.memory
}

// drop lets the memory go.
func (a *arrival) drop() {
	if a.slot != nil && !a.given {
		a.slot.release()
	}
	*a = arrival{}
}

// passing is a message of which some frames have come.
type passing struct {
	stream uint32
	offset int    // in it, of the next frame
	start  int    // of its payload
	end    int    // its bytes
	target []byte // where its payload belongs; nil: anywhere
	add    bool   // it is added to what stands there
	serial uint64 // of the landing
}

func (m *passing) underway() bool { return m.offset < m.end }

// align gives up the target of a sum when the next frame begins within an element.
func (m *passing) align() {
	if m.add && (m.offset-m.start)%elementBytes != 0 {
		m.target = nil
	}
}
