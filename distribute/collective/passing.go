package collective

import (
	"crypto/rand"
	"encoding/binary"
	"unsafe"
)

// passing is a message that has been received in part. It lands if a collective has said where its payload belongs:
// then its frames are not passed to gRPC, but processed as they arrive. After the last one gRPC gets a message with the
// header alone, in which a mark replaces the payload. gRPC does not acknowledge to the sender what it has not seen, so
// this code does that too.
type passing struct {
	stream uint32
	offset int // in it, of the next frame
	start  int // of its payload
	end    int // its bytes

	lands   bool
	head    *slot  // its first frame, once that is complete
	done    int    // bytes of the frames that have been dealt with
	target  []byte // where its payload belongs; nil: its collective is over, and nobody wants it
	add     bool   // it is added to what stands there
	serial  uint64 // of the landing
	carry   uint64 // the begin of an element that a frame ended within,
	carried int    // and how many bytes that is
}

func (m *passing) underway() bool { return m.offset < m.end }

// landedMark precedes the size of the payload in the header of a message that has landed. It is random, so no peer can
// forge it.
var landedMark = func() (mark [8]byte) {
	_, _ = rand.Read(mark[:]) // it cannot fail
	return mark
}()

// markLanded notes in a long header that the payload has landed.
func markLanded(header []byte, size int) {
	copy(header[headerSize:], landedMark[:])
	binary.LittleEndian.PutUint64(header[headerSize+len(landedMark):], uint64(size))
}

// landedSize returns the size of the payload if the bytes that gRPC has received are those of a message that has
// landed.
func landedSize(message []byte) (int, bool) {
	if len(message) != longHeader || [8]byte(message[headerSize:]) != landedMark {
		return 0, false
	}
	return int(binary.LittleEndian.Uint64(message[headerSize+len(landedMark):])), true
}

// look processes the received part of a frame whose header is complete; fresh says that the header has just become
// complete.
func (in *inflow) look(a *arrival, fresh bool) error {
	if fresh {
		if err := in.follow(a); err != nil {
			return err
		}
	}
	in.open(a)
	if a.lands && a.complete() {
		in.take(a)
	}
	return nil
}

// follow notes the header of a frame, which may belong to the current message or begin a new one.
func (in *inflow) follow(a *arrival) error {
	m := &in.message
	same := m.underway() && a.stream() == m.stream
	switch {
	case same && a.plainData():
		m.offset += a.length
		if a.lands = m.lands; m.lands && m.offset > m.end {
			return errStrayFrame
		}
	case same && m.lands && a.kind() == kindData:
		return errStrayFrame // it is padded, which gRPC never does
	case same && a.kind() != kindWindowUpdate: // the stream has ended
		in.forget()
	case a.plainData() && !m.lands: // what comes on other streams while a message lands has nothing to do with it
		in.opening = true
	}
	return nil
}

// forget gives up the current message.
func (in *inflow) forget() {
	in.socket.acknowledge()
	if in.message.head != nil {
		in.message.head.release()
	}
	in.message = passing{}
}

// open reads the beginning of a message as soon as enough of it has arrived.
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
	if m := &in.message; in.socket.trusted.Load() && m.start == prefixBytes+longHeader && a.length >= m.start {
		in.socket.t.landing.find(start[prefixBytes:], m)
		m.lands = m.target != nil
		a.lands = m.lands
	}
}

// take processes a complete frame of a message that lands.
func (in *inflow) take(a *arrival) {
	m := &in.message
	payload, at := a.memory()[:a.length], m.done
	m.done += a.length
	in.socket.owe(m.stream, a.length)
	if m.head == nil {
		m.head, a.slot = a.slot, nil
		payload, at = payload[m.start:], m.start
	}
	if a.place == nil || a.hot {
		in.deliver(at-m.start, payload)
	}
	if a.slot != nil {
		a.slot.release()
		a.slot = nil
	}
	if a.taken = true; m.done == m.end {
		in.finish(a)
	}
}

// finish turns the last frame of a message that has landed into one that holds everything that gRPC gets.
func (in *inflow) finish(a *arrival) {
	m := &in.message
	memory := m.head.memory
	binary.BigEndian.PutUint32(memory[1:], longHeader)
	markLanded(memory[prefixBytes:], m.end-m.start)
	a.slot, a.place, a.hot, a.lands, a.taken = m.head, nil, false, false, false
	a.length, a.got = m.start, frameHeader+m.start
	a.header[0], a.header[1], a.header[2] = 0, 0, byte(m.start)
	in.socket.owe(m.stream, -m.start) // gRPC acknowledges what it sees
	in.message = passing{}
}

// deliver copies or adds a piece of a payload, which begins at an offset, to its destination.
func (in *inflow) deliver(offset int, piece []byte) {
	m, l := &in.message, &in.socket.t.landing
	if m.target == nil || len(piece) == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.serial != m.serial:
		m.target = nil
	case m.add:
		in.sum(l.ring, m.target[offset-m.carried:], piece)
	default:
		copy(m.target[offset:], piece)
	}
}

// sum adds whole elements to the target, and keeps the rest of the piece for the next one.
func (in *inflow) sum(r *ring, target, piece []byte) {
	m, size := &in.message, r.dtype.Size()
	carry := unsafe.Slice((*byte)(unsafe.Pointer(&m.carry)), elementBytes)
	if m.carried > 0 {
		n := copy(carry[m.carried:size], piece)
		piece = piece[n:]
		if m.carried += n; m.carried < size {
			return
		}
		reduceBytes(r.dtype, r.op, target[:size], carry[:size], target[:size])
		target, m.carried = target[size:], 0
	}
	whole := len(piece) / size * size
	m.carried = copy(carry, piece[whole:])
	if piece = piece[:whole]; whole == 0 {
		return
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(piece)))%uintptr(size) != 0 {
		in.aligned = grow(in.aligned, whole)
		copy(in.aligned, piece)
		piece = in.aligned
	}
	reduceBytes(r.dtype, r.op, target[:whole], piece, target[:whole])
}
