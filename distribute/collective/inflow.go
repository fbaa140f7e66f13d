package collective

import (
	"encoding/binary"
	"errors"
	"unsafe"
)

// inflow is the reading half of a socket: it has the kernel put payloads of HTTP/2 frames where gRPC, or even the collective, wants them.
//
// gRPC reads the nine bytes of a frame's header, asks its pool for memory, and reads the payload to it. A message of tensors is a row
// of frames with 16 KiB each, so what comes next can be foretold: one call to the kernel fills headers and payloads of many frames,
// each payload in memory of its own, which the pool then hands to gRPC. Where a collective has said that a message is a final
// result, its payload goes right into the tensor. When something else comes than was foretold, what was read is sorted by copying.
type inflow struct {
	socket *socket
	reader vectorReader
	plain  int // bytes before the first frame

	frames  []arrival // in the order of their coming; all but the last are complete
	first   int       // of them that was not handed out
	taken   int       // bytes of its header and payload that were handed out
	opening bool      // the last of them begins a message, perhaps, and was not looked at yet
	message passing
	serial  uint64 // of the landing that the tensor's memory in the frames belongs to
	offered *slot  // memory of the payload that gRPC reads next
	hot     []byte // memory for the payloads of a batch that are added to a tensor, and stay in the processor's cache until then
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

var (
	errLargeFrame  = errors.New("collective: a frame is larger than allowed")
	errOtherMemory = errors.New("collective: gRPC reads to other memory than its pool has given")
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
		if in.first < len(in.frames) {
			if n := in.hand(&in.frames[in.first], b); n > 0 {
				return n, nil
			}
		}
		if in.err == nil {
			in.err = in.fill()
		}
		if in.err == errOtherMemory || in.err != nil && (in.first == len(in.frames) || in.frames[in.first].got <= in.taken) {
			return 0, in.err
		}
	}
}

// hand copies what is there of a frame to b, if it is not there already.
func (in *inflow) hand(a *arrival, b []byte) int {
	if in.taken < frameHeader {
		n := copy(b, a.header[in.taken:min(a.got, frameHeader)])
		if in.taken += n; in.taken == frameHeader {
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
	from := in.taken - frameHeader
	n := min(len(b), a.got-in.taken)
	if n == 0 || a.term != nil && !a.added {
		return 0
	}
	if piece := a.slot.memory[from : from+n]; !a.dead && unsafe.SliceData(piece) != unsafe.SliceData(b) {
		if a.added { // gRPC never does that
			in.err = errOtherMemory
			return 0
		}
		copy(b, piece)
	}
	if in.taken += n; in.taken == frameHeader+a.length {
		in.next()
	}
	return n
}

// next goes on to the frame after one that was handed out.
func (in *inflow) next() {
	in.frames[in.first].drop()
	in.first++
	in.taken = 0
}

// fill takes in more, of what was read before or from the kernel, and waits if there is nothing. At most one frame is there, in part.
func (in *inflow) fill() error {
	if in.first > 0 {
		n := copy(in.frames, in.frames[in.first:])
		in.frames, in.first = in.frames[:n], 0
		if n > 0 && in.frames[0].term != nil {
			a := &in.frames[0]
			copy(in.hot, a.term[:max(a.got-frameHeader, 0)])
			a.term = in.hot[:len(a.term)]
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
	in.land(n)
	in.absorb()
	return err
}

// expected is how many bytes a frame at an offset of the message under way, or a new one, has.
func (in *inflow) expected(at int) int {
	if at < in.message.end {
		return min(slotBytes, in.message.end-at)
	}
	return slotBytes
}

// foretell appends a frame that is to come.
func (in *inflow) foretell(at *int) {
	size, index := in.expected(*at), len(in.frames)
	a := arrival{slot: in.place(*at, size)}
	if !a.slot.own && in.message.add {
		if in.hot == nil {
			in.hot = make([]byte, (batchFrames+1)*slotBytes)
		}
		a.term = in.hot[index*slotBytes:][:size]
	}
	in.frames = append(in.frames, a)
	*at += size
}

// place returns memory for the part of the message under way at an offset.
func (in *inflow) place(at, size int) *slot {
	if m := &in.message; m.target != nil && at >= m.start && at+size <= m.end && size > unpooled {
		s := places.Get().(*slot)
		s.memory = m.target[at-m.start : at-m.start+size : at-m.start+size]
		return s
	}
	return ownSlot()
}

// readVector fills the frames from the kernel. While parts of a tensor are among them, the collective cannot end.
func (in *inflow) readVector() (int, error) {
	in.vector = in.vector[:0]
	tensor := false
	for i := range in.frames {
		a := &in.frames[i]
		tensor = tensor || !a.slot.own
		if a.got < frameHeader {
			in.vector = append(in.vector, a.header[a.got:], a.memory())
		} else {
			in.vector = append(in.vector, a.memory()[a.got-frameHeader:a.length])
		}
	}
	var guard *landing
	if tensor {
		guard, in.serial = &in.socket.t.landing, in.message.serial
	}
	n, err := in.reader.read(in.socket.Conn, in.vector, guard, in.serial)
	clear(in.vector)
	in.socket.t.received.Add(int64(n))
	if err == errLanded {
		in.abandon()
		return 0, nil
	}
	return n, err
}

// abandon takes the parts of a tensor back that were to be read to, when its collective has ended.
func (in *inflow) abandon() {
	in.message.target = nil
	for i := range in.frames {
		if a := &in.frames[i]; !a.slot.own {
			if !a.given {
				a.slot.release()
			}
			a.slot, a.term, a.dead, a.given = ownSlot(), nil, true, false
		}
	}
}

// absorb adds the payloads to the tensor that are to be added to it and are there.
func (in *inflow) absorb() {
	l := &in.socket.t.landing
	locked := false
	for i := range in.frames {
		a := &in.frames[i]
		if a.term == nil || a.added || a.got < frameHeader || a.got < frameHeader+a.length {
			continue
		}
		if !locked {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.serial != in.serial {
				in.abandon()
				return
			}
			locked = true
		}
		sum := a.slot.memory[:a.length]
		reduceBytes(l.ring.dtype, l.ring.op, sum, a.term[:a.length], sum)
		a.added = true
	}
}

// land notes that the kernel has put n bytes where readVector said.
func (in *inflow) land(n int) {
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
				return
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
			a.slot.release()
			a.slot, a.term = ownSlot(), nil
		} else if over := a.got - frameHeader - a.length; over > 0 {
			in.scatter(i, a.length, n)
			a.got = frameHeader + a.length
		}
		if !known {
			in.follow(a)
		}
		if in.open(a); len(in.spill) > 0 || a.got < frameHeader+a.length {
			in.cut(i + 1)
			return
		}
	}
}

// fits reports whether the payload of a frame belongs to where it was read.
func (in *inflow) fits(a *arrival) bool {
	if a.slot.own || a.dead {
		return a.length <= slotBytes
	}
	if a.term != nil && a.length%elementBytes != 0 {
		return false // it does not hold whole elements
	}
	return a.plainData() && in.message.underway() && a.stream() == in.message.stream && a.length > unpooled && a.length <= len(a.slot.memory)
}

// cut forgets the frames from an index on, to which nothing was read.
func (in *inflow) cut(from int) {
	for i := from; i < len(in.frames); i++ {
		in.frames[i].drop()
	}
	in.frames = in.frames[:from]
}

// scatter collects what was read to frame i from an offset of its payload on, and the n bytes that were read to those after it.
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

// sort moves one frame, or what is there of it, from what was spilt to its place.
func (in *inflow) sort() error {
	if len(in.frames) == 0 {
		in.frames = append(in.frames, arrival{})
	}
	a := &in.frames[0]
	if a.got < frameHeader {
		a.got += in.pour(a.header[a.got:])
		if a.slot == nil {
			a.slot = ownSlot()
		}
		if a.got < frameHeader {
			return nil
		}
		a.length = int(a.header[0])<<16 | int(a.header[1])<<8 | int(a.header[2])
		in.follow(a)
	}
	if a.length > slotBytes {
		return errLargeFrame
	}
	a.got += in.pour(a.slot.memory[a.got-frameHeader : a.length])
	in.open(a)
	return nil
}

func (in *inflow) pour(b []byte) int {
	n := copy(b, in.spill)
	in.spill = in.spill[n:]
	return n
}

// follow notes the header of a frame: it belongs to the message under way, or begins one.
func (in *inflow) follow(a *arrival) {
	m := &in.message
	switch {
	case m.underway() && a.stream() == m.stream && !a.plainData(): // it is padded, or the stream has ended
		*m = passing{}
	case !a.plainData():
	case m.underway() && a.stream() == m.stream:
		m.offset += a.length
		m.align()
	default:
		in.opening = true
	}
}

// open looks at the begin of a message as soon as enough of it is there.
func (in *inflow) open(a *arrival) {
	if !in.opening || a.got < frameHeader+min(a.length, messageStart) {
		return
	}
	in.opening = false
	if a.length < messageStart {
		return
	}
	start := a.slot.memory[:messageStart]
	end := prefixBytes + int(binary.BigEndian.Uint32(start[1:]))
	if start[0] != 0 || end <= a.length || end > maxSegmentBytes+slotBytes {
		return // it ends with this frame, or is none of ours
	}
	in.message = passing{stream: a.stream(), offset: a.length, start: prefixBytes + headerBytes(end-prefixBytes), end: end}
	if in.socket.trusted.Load() {
		in.socket.t.landing.find(start[prefixBytes:], &in.message)
		in.message.align()
	}
}
