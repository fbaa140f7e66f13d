package collective

import (
	"errors"
	"sync"
)

// landing says where the messages of the current ring belong: sockets read results directly into the tensor, and add
// partial sums to it while they are in the processor's cache.
type landing struct {
	mu     sync.Mutex
	serial uint64 // counts rings that began or ended
	ring   *ring
	head   frame // of its messages
	data   []byte
}

var errLanded = errors.New("collective: the memory is no longer to be read to")

// begin sets where messages of a ring belong.
func (l *landing) begin(r *ring, view uint64, c *call, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	l.ring, l.data, l.head = r, data, frame{view: view, sequence: c.sequence & sequenceMask, call: c.hash}
}

// end makes sure that nothing more is read into the memory.
func (l *landing) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.serial++
	l.ring, l.data = nil, nil
}

// find sets where the payload of a message belongs, if the message is part of the ring.
func (l *landing) find(header []byte, m *passing) {
	var f frame
	f.decode(header)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ring == nil || f.view != l.head.view || f.sequence != l.head.sequence || f.call != l.head.call {
		return
	}
	r, s := l.ring, segment{int(f.round), int(f.index)}
	if !r.valid(s) {
		return
	}
	from, to := r.span(r.incoming(s.round), s.index)
	m.add = s.round < r.n-1
	if to-from == m.end-m.start && (!m.add || !r.dtype.IsHalf()) { // what takes long is not added on the way
		m.target, m.serial = l.data[from:to], l.serial
	}
}
