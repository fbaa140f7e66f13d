package collective

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/gokeras/gokeras/distribute/internal/proof"
)

// socket is a connection that counts the bytes written, and moves HTTP/2 frames between gRPC and the kernel without
// copying them through buffers. gRPC uses it without buffers of its own, so it makes two kinds of calls: for the
// headers of frames, a few bytes, and for their payload.
//
// gRPC cuts a message into frames of 16 KiB. The socket holds them until the message is complete and writes them with
// few system calls: short pieces are copied, long ones are not. A long piece can be held only if a session has lent its
// memory, which then stays unchanged until gRPC releases the message; other pieces are written at once. For the other
// direction see inflow.
type socket struct {
	net.Conn
	t      *transport // counts bytes, and knows what is lent
	veiled bool       // by TLS: there are no frames to be seen, and nothing but the counting is done
	closed func()
	made   time.Time
	once   sync.Once
	heard  atomic.Bool  // something has come, or the end
	shut   *atomic.Bool // is set where the other end is none of a job without a secret, see proof.Foreign; nil: it has said something

	frame   int                 // bytes of the current DATA frame that are still to be written
	current *message            // to which they belong
	open    map[uint32]*message // by stream: messages of which a part was written
	copies  []byte              // short pieces that wait
	waiting [][]byte            // pieces that wait, in order
	size    int                 // their bytes
	batch   net.Buffers

	writing sync.Mutex // gRPC writes, and so does what lands
	updates []byte     // acknowledgements that wait for the end of a frame
	owed    int        // bytes that gRPC does not see and that are still to be acknowledged to the sender; the reader's, as is
	owedTo  uint32     // the stream on which they came

	in      inflow
	trusted atomic.Bool // a worker of the job sends on it
}

// message tracks a gRPC message that is being sent: five bytes with its length, and then that many bytes.
type message struct {
	prefix []byte
	left   int
}

const (
	frameHeader = 9       // bytes before the payload of an HTTP/2 frame
	prefixBytes = 5       // before a gRPC message
	copiesBytes = 8 << 10 // of short pieces wait at most
	shortBytes  = 256     // is the longest piece that is copied
	batchBytes  = 1 << 20 // wait at most, well below the window of a stream
)

// hostBuffer is the size in bytes of the kernel's queue between two processes of one host. By default the kernel lets
// it grow to several MB, which are no longer in any cache when they are read. For other hosts the kernel decides,
// because there the queue has to fill a line with latency.
const hostBuffer = 400 << 10

// sameHost reports whether both ends of a connection have the same address.
func sameHost(conn net.Conn) bool {
	near, ok := conn.LocalAddr().(*net.TCPAddr)
	far, other := conn.RemoteAddr().(*net.TCPAddr)
	return ok && other && near.IP.Equal(far.IP)
}

// newSocket wraps a connection on which the given number of plain bytes precedes the first frame.
func newSocket(conn net.Conn, t *transport, plain int, closed func()) *socket {
	if tcp, ok := conn.(*net.TCPConn); ok && sameHost(conn) {
		_ = tcp.SetWriteBuffer(hostBuffer) // it works without, somewhat slower
	}
	s := &socket{Conn: conn, t: t, closed: closed, made: time.Now(), veiled: t.buffer() > 0}
	if !s.veiled {
		s.open, s.copies = map[uint32]*message{}, make([]byte, 0, copiesBytes)
		s.in.init(s, plain)
	}
	return s
}

// Write implements net.Conn.
func (s *socket) Write(b []byte) (int, error) {
	if s.veiled {
		n, err := s.Conn.Write(b)
		s.t.sent.Add(int64(n))
		return n, err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.frame > 0 {
		n, err := s.payload(b)
		if err == nil && s.frame == 0 && len(s.updates) > 0 {
			err = s.update()
		}
		return n, err
	}
	if len(b) == frameHeader && b[3] == kindData {
		if s.frame = int(b[0])<<16 | int(b[1])<<8 | int(b[2]); s.frame > 0 {
			stream := binary.BigEndian.Uint32(b[5:])
			if s.current = s.open[stream]; s.current == nil {
				s.current = &message{prefix: make([]byte, 0, prefixBytes)}
				s.open[stream] = s.current
			}
			return len(b), s.hold(b)
		}
	}
	return len(b), s.leave(b)
}

// payload writes a piece of the payload of a frame.
func (s *socket) payload(b []byte) (int, error) {
	m, rest := s.current, b
	s.frame -= len(b)
	if need := prefixBytes - len(m.prefix); need > 0 {
		need = min(need, len(rest))
		m.prefix, rest = append(m.prefix, rest[:need]...), rest[need:]
		if len(m.prefix) == prefixBytes {
			m.left = int(binary.BigEndian.Uint32(m.prefix[1:]))
		}
	}
	m.left -= len(rest)
	complete := len(m.prefix) == prefixBytes && m.left <= 0
	if complete {
		for stream, other := range s.open {
			if other == m {
				delete(s.open, stream)
			}
		}
	}
	if complete || s.frame < 0 {
		s.frame = max(s.frame, 0)
		return len(b), s.leave(b)
	}
	return len(b), s.hold(b)
}

// hold keeps a piece until more follows.
func (s *socket) hold(b []byte) error {
	switch {
	case len(b) <= shortBytes && len(s.copies)+len(b) <= cap(s.copies):
		at := len(s.copies)
		s.copies = append(s.copies, b...)
		b = s.copies[at:]
	case !s.t.lent.holds(b):
		return s.leave(b)
	}
	s.waiting, s.size = append(s.waiting, b), s.size+len(b)
	if s.size < batchBytes {
		return nil
	}
	return s.leave(nil)
}

// leave writes all pieces that were held, and then b.
func (s *socket) leave(b []byte) error {
	if len(s.waiting) == 0 {
		n, err := s.Conn.Write(b)
		s.t.sent.Add(int64(n))
		return err
	}
	if len(b) > 0 {
		s.waiting = append(s.waiting, b)
	}
	s.batch = s.waiting
	n, err := s.batch.WriteTo(s.Conn)
	s.t.sent.Add(n)
	clear(s.waiting) // what was lent is let go
	s.waiting, s.copies, s.size = s.waiting[:0], s.copies[:0], 0
	return err
}

// owedBytes is the number of bytes that are acknowledged at once, small enough that the sender never waits.
const owedBytes = min(streamWindow, connWindow) / 8

// owe notes that bytes of a stream were received that gRPC has not seen.
func (s *socket) owe(stream uint32, n int) {
	if stream != s.owedTo {
		s.acknowledge()
		s.owedTo = stream
	}
	if s.owed += n; s.owed >= owedBytes {
		s.acknowledge()
	}
}

// acknowledge returns the owed bytes to the sender's flow-control windows: that of the stream, and that of the
// connection.
func (s *socket) acknowledge() {
	if s.owed <= 0 {
		return
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	for _, id := range []uint32{s.owedTo, 0} {
		s.updates = append(s.updates, 0, 0, 4, kindWindowUpdate, 0)
		s.updates = binary.BigEndian.AppendUint32(s.updates, id)
		s.updates = binary.BigEndian.AppendUint32(s.updates, uint32(s.owed))
	}
	if s.owed = 0; s.frame == 0 { // else gRPC is within a frame
		_ = s.update() // gRPC sees by itself when the connection is broken
	}
}

// update writes pending acknowledgements.
func (s *socket) update() error {
	err := s.leave(s.updates)
	s.updates = s.updates[:0]
	return err
}

// Read implements net.Conn.
func (s *socket) Read(b []byte) (int, error) {
	n, err := s.take(b)
	if !s.heard.Load() && (n > 0 || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		s.heard.Store(true)
	}
	return n, err
}

func (s *socket) take(b []byte) (int, error) {
	if !s.veiled {
		n, err := s.in.read(b)
		if s.shut != nil && (n > 0 || err != nil) {
			if proof.Foreign(b[:n], err) {
				s.shut.Store(true)
			}
			s.shut = nil
		}
		return n, err
	}
	n, err := s.Conn.Read(b)
	s.t.received.Add(int64(n))
	return n, err
}

// Close implements net.Conn.
func (s *socket) Close() error {
	if s.closed != nil {
		s.once.Do(s.closed)
	}
	return s.Conn.Close()
}

// loans are the ranges of memory that sessions have lent to gRPC.
type loans struct {
	mu     sync.Mutex
	ranges []loan
}

type loan struct{ from, to uintptr }

func loanOf(b []byte) loan {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return loan{from, from + uintptr(len(b))}
}

func (l *loans) add(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ranges = append(l.ranges, loanOf(b))
}

func (l *loans) remove(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.ranges, loanOf(b)); i >= 0 {
		last := len(l.ranges) - 1
		l.ranges[i] = l.ranges[last]
		l.ranges = l.ranges[:last]
	}
}

// holds reports whether all of b is lent.
func (l *loans) holds(b []byte) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := loanOf(b)
	return slices.ContainsFunc(l.ranges, func(r loan) bool { return r.from <= p.from && p.to <= r.to })
}
