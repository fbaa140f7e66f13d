package collective

import "encoding/binary"

// arrival is a frame that is being received.
type arrival struct {
	header [frameHeader]byte
	got    int    // bytes of header and payload that are there
	length int    // of the payload, once the header is there
	slot   *slot  // memory of its own for the payload; nil if it has a place
	place  []byte // where the payload comes in instead: in the tensor, or before it is added to the tensor
	hot    bool   // the place is not the tensor
	lands  bool   // it belongs to a message that lands: gRPC does not get it
	taken  bool   // such a payload has been dealt with
	given  bool   // the slot is gRPC's
}

func (a *arrival) stream() uint32 { return binary.BigEndian.Uint32(a.header[5:]) &^ (1 << 31) }

func (a *arrival) kind() byte { return a.header[3] }

// plainData reports whether the frame is of type DATA without padding.
func (a *arrival) plainData() bool { return a.kind() == kindData && a.header[4]&flagPadded == 0 }

func (a *arrival) complete() bool { return a.got >= frameHeader && a.got == frameHeader+a.length }

// memory returns the memory that receives the payload.
func (a *arrival) memory() []byte {
	if a.place != nil {
		return a.place
	}
	return a.slot.memory
}

// keep gives the frame its own memory instead of a place in the tensor.
func (a *arrival) keep() {
	if a.place != nil {
		a.slot, a.place, a.hot = ownSlot(), nil, false
	}
}

// drop releases the memory.
func (a *arrival) drop() {
	if a.slot != nil && !a.given {
		a.slot.release()
	}
	*a = arrival{}
}
