package collective

import (
	"errors"
	"unsafe"
)

// inflow is the reading half of a socket: it lets the kernel write payloads of HTTP/2 frames directly to their
// destination in gRPC, or even in the collective.
//
// gRPC reads the nine bytes of a frame's header, asks its pool for memory, and reads the payload into it. A tensor
// message is a sequence of 16 KiB frames, so the next frames can be predicted: one system call fills headers and
// payloads of many frames, each payload in memory of its own, which the pool then passes to gRPC. If the prediction was
// wrong, the data are copied to the right places.
//
// If a collective has said where a message belongs, its payload lands: it is read directly into the tensor, or added to
// it while in the processor's cache, and gRPC gets the message without the payload; see passing.
type inflow struct {
	socket *socket
	reader vectorReader
	plain  int // bytes before the first frame

	frames  []arrival // in the order of their coming; all but the last are complete
	first   int       // of them that was not handed out
	handed  int       // bytes of its header and payload that were handed out
	opening bool      // the last of them begins a message, perhaps, and was not looked at yet
	message passing
	offered *slot  // memory of the payload that gRPC reads next
	hot     []byte // memory for the payloads of a batch that are added to a tensor, and stay in the processor's cache until then
	aligned []byte // for what is to be added and does not begin where an element may
	spill   []byte // what came after the frames, in no place yet
	sorting []byte // memory of spill
	vector  [][]byte
	err     error
}

const (
	slotBytes    = 16 << 10
	batchFrames  = 32                       // are read at once at most
	messageStart = prefixBytes + headerSize // is all of the header that says anything
	unpooled     = 1 << 10                  // payloads up to here do not come from gRPC's pool
	prefaceBytes = 24                       // come before the first frame of a client
	elementBytes = 8                        // of the largest type
)

// Types of frames, and a flag.
const (
	kindData         = 0
	kindWindowUpdate = 8
	flagPadded       = 8
)

var (
	errLargeFrame = errors.New("collective: a frame is larger than allowed")
	errStrayFrame = errors.New("collective: a frame does not fit the message that it is part of")
)

func (in *inflow) init(s *socket, plain int) {
	in.socket, in.plain = s, plain
	in.frames = make([]arrival, 0, batchFrames+1)
	in.reader.init(s.Conn)
}

// read implements net.Conn's Read.
func (in *inflow) read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if in.plain > 0 {
		n, err := in.socket.Conn.Read(b[:min(len(b), in.plain)])
		in.plain -= n
		in.socket.t.received.Add(int64(n))
		return n, err
	}
	for {
		for in.first < len(in.frames) && in.frames[in.first].taken {
			in.next()
		}
		if in.first < len(in.frames) {
			if n := in.hand(&in.frames[in.first], b); n > 0 {
				return n, nil
			}
		}
		if in.err != nil {
			return 0, in.err
		}
		in.err = in.fill()
	}
}

// hand copies the received part of a frame that is meant for gRPC to b, unless it is already there.
func (in *inflow) hand(a *arrival, b []byte) int {
	switch last := in.first == len(in.frames)-1; {
	case a.lands, a.got < frameHeader, last && in.opening:
		return 0
	}
	if in.handed < frameHeader {
		n := copy(b, a.header[in.handed:])
		if in.handed += n; in.handed == frameHeader {
			switch {
			case a.length == 0:
				in.next()
			case a.plainData() && a.length > unpooled && a.length <= len(a.slot.memory):
				in.offered = a.slot
			}
		}
		return n
	}
	in.offered = nil
	from := in.handed - frameHeader
	n := min(len(b), a.got-in.handed)
	if n == 0 {
		return 0
	}
	if piece := a.slot.memory[from : from+n]; unsafe.SliceData(piece) != unsafe.SliceData(b) {
		copy(b, piece)
	}
	if in.handed += n; in.handed == frameHeader+a.length {
		in.next()
	}
	return n
}

// next moves on to the following frame after one was handed out.
func (in *inflow) next() {
	in.frames[in.first].drop()
	in.first++
	in.handed = 0
}

// fill takes more data, from what was read before or from the kernel, and waits if there is none. At most one frame, a
// partial one, is present.
func (in *inflow) fill() error {
	if in.first > 0 {
		n := copy(in.frames, in.frames[in.first:])
		in.frames, in.first = in.frames[:n], 0
		if n > 0 && in.frames[0].hot {
			a := &in.frames[0]
			copy(in.hot, a.place[:max(a.got-frameHeader, 0)])
			a.place = in.hot[:len(a.place)]
		}
	}
	if len(in.spill) > 0 {
		return in.sort()
	}
	at := in.message.offset // in the message, of what is foretold
	if len(in.frames) == 0 {
		in.foretell(&at)
	} else if in.frames[0].got < frameHeader {
		at += in.expected(at)
	}
	if in.message.underway() {
		for at < in.message.end && len(in.frames) < batchFrames {
			in.foretell(&at)
		}
		if at >= in.message.end && in.message.end > 2*slotBytes { // probably another one follows
			in.foretell(&at)
		}
	}
	n, err := in.readVector()
	if stray := in.land(n); stray != nil {
		return stray
	}
	return err
}

// expected returns the predicted size in bytes of a frame at an offset of the current message, or of a new one.
func (in *inflow) expected(at int) int {
	if at < in.message.end {
		return min(slotBytes, in.message.end-at)
	}
	return slotBytes
}

// foretell appends a predicted frame.
func (in *inflow) foretell(at *int) {
	m, size, index := &in.message, in.expected(*at), len(in.frames)
	var a arrival
	switch {
	case !m.lands || m.target == nil || *at+size > m.end:
		a.slot = ownSlot()
	case m.add:
		if in.hot == nil {
			in.hot = make([]byte, (batchFrames+1)*slotBytes)
		}
		a.place, a.hot = in.hot[index*slotBytes:][:size], true
	default:
		from := *at - m.start
		a.place = m.target[from : from+size : from+size]
	}
	in.frames = append(in.frames, a)
	*at += size
}

// readVector fills the frames from the kernel. While it reads into parts of a tensor, the collective cannot end.
func (in *inflow) readVector() (int, error) {
	in.vector = in.vector[:0]
	tensor := false
	for i := range in.frames {
		a := &in.frames[i]
		tensor = tensor || a.place != nil && !a.hot
		if a.got < frameHeader {
			in.vector = append(in.vector, a.header[a.got:], a.memory())
		} else {
			in.vector = append(in.vector, a.memory()[a.got-frameHeader:a.length])
		}
	}
	var guard *landing
	if tensor {
		guard = &in.socket.t.landing
	}
	n, err := in.reader.read(in.socket.Conn, in.vector, guard, in.message.serial)
	clear(in.vector)
	in.socket.t.received.Add(int64(n))
	if err == errLanded {
		in.message.target = nil
		for i := range in.frames {
			in.frames[i].keep()
		}
		return 0, nil
	}
	return n, err
}

// land notes that the kernel has put n bytes where readVector said.
func (in *inflow) land(n int) error {
	for i := range in.frames {
		a := &in.frames[i]
		known := a.got >= frameHeader
		if !known {
			k := min(n, frameHeader-a.got)
			a.got, n = a.got+k, n-k
			if a.got < frameHeader {
				if a.got > 0 {
					i++
				}
				in.cut(i)
				return nil
			}
			a.length = int(a.header[0])<<16 | int(a.header[1])<<8 | int(a.header[2])
		}
		room := len(a.memory())
		if known {
			room = a.length
		}
		k := min(n, room-(a.got-frameHeader))
		a.got, n = a.got+k, n-k
		if !known && !in.fits(a) { // something else has come: its payload, too, is sorted
			in.scatter(i, 0, n)
			a.got = frameHeader
			a.keep()
		} else if over := a.got - frameHeader - a.length; over > 0 {
			in.scatter(i, a.length, n)
			a.got = frameHeader + a.length
		}
		if err := in.look(a, !known); err != nil {
			return err
		}
		if len(in.spill) > 0 || !a.complete() {
			in.cut(i + 1)
			return nil
		}
	}
	return nil
}

// fits reports whether the payload of a frame belongs where it was read to.
func (in *inflow) fits(a *arrival) bool {
	if a.place == nil {
		return a.length <= slotBytes
	}
	return a.plainData() && in.message.underway() && a.stream() == in.message.stream && a.length <= len(a.place)
}

// cut drops the frames from an index on, into which nothing was read.
func (in *inflow) cut(from int) {
	for i := from; i < len(in.frames); i++ {
		in.frames[i].drop()
	}
	in.frames = in.frames[:from]
}

// scatter collects what was read into frame i, from an offset of its payload on, and the n bytes that were read into
// the frames after it.
func (in *inflow) scatter(i, from, n int) {
	a := &in.frames[i]
	in.sorting = append(in.sorting[:0], a.memory()[from:a.got-frameHeader]...)
	for i++; n > 0; i++ {
		a := &in.frames[i]
		for _, b := range [][]byte{a.header[:], a.memory()} {
			k := min(n, len(b))
			in.sorting = append(in.sorting, b[:k]...)
			n -= k
		}
	}
	in.spill = in.sorting
}

// sort moves one frame, or the received part of it, from the spilt data to its place.
func (in *inflow) sort() error {
	if len(in.frames) == 0 {
		in.frames = append(in.frames, arrival{})
	}
	a := &in.frames[0]
	fresh := a.got < frameHeader
	if fresh {
		a.got += in.pour(a.header[a.got:])
		if a.keep(); a.slot == nil {
			a.slot = ownSlot()
		}
		if a.got < frameHeader {
			return nil
		}
		a.length = int(a.header[0])<<16 | int(a.header[1])<<8 | int(a.header[2])
	}
	if a.length > slotBytes {
		return errLargeFrame
	}
	a.got += in.pour(a.memory()[a.got-frameHeader : a.length])
	return in.look(a, fresh)
}

func (in *inflow) pour(b []byte) int {
	n := copy(b, in.spill)
	in.spill = in.spill[n:]
	return n
}
