package parameterserver

import (
	"context"
	"fmt"
	"sync"

	"google.golang.org/grpc/stats"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/internal/shared"
)

// Large messages between processes on one host are passed in memory that both have mapped; only a notification travels
// over the network. A lane is such a piece of memory, created by the client. It holds one request at its beginning and
// the answer after it, and serves one call at a time. After a failed call the lane is not reused, because the server
// may still be using it; the request is repeated over the network.

const (
	leastShared = 32 << 10 // bytes of a request and its answer below which the network is as good
	leastLane   = 1 << 20
	keptLanes   = 8
	maxLanes    = 64 // that a server maps for a connection
	laneSlack   = 4096
)

// lanes holds the lanes of a client to one server.
type lanes struct {
	mu      sync.Mutex
	free    []*shared.Memory
	refused bool // the server cannot map them
}

// take returns a lane with room for the given number of bytes, or nil if there is none.
func (l *lanes) take(size int) *shared.Memory {
	if size < leastShared {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused || size > maxMessage {
		return nil
	}
	for i, m := range l.free {
		if len(m.Bytes) >= size {
			l.free = append(l.free[:i], l.free[i+1:]...)
			return m
		}
	}
	room := leastLane
	for room < size {
		room *= 2
	}
	m, err := shared.New(room)
	if err != nil {
		l.refused = true
		return nil
	}
	return m
}

// give returns a lane for reuse.
func (l *lanes) give(m *shared.Memory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, m)
	if len(l.free) > keptLanes || l.refused {
		l.free[0].Close()
		l.free = l.free[1:]
	}
}

// close releases unused lanes; the others are released when they are returned.
func (l *lanes) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = true
	for _, m := range l.free {
		m.Close()
	}
	l.free = nil
}

// inside reports whether b is still at the beginning of place. It has moved if it grew beyond the room there.
func inside(place, b []byte) bool { return len(b) > 0 && &b[0] == &place[0] }

// laneRequest says where a request is and where its answer goes.
type laneRequest struct {
	note, method   string
	length, answer int
}

func (q *laneRequest) encode() []byte {
	var w protocol.Writer
	w.String(q.note)
	w.String(q.method)
	w.Uint(uint64(q.length))
	w.Uint(uint64(q.answer))
	return w.B
}

func (q *laneRequest) decode(b []byte) error {
	r := protocol.NewReader(b)
	q.note, q.method, q.length, q.answer = r.String(), r.String(), r.Int(), r.Int()
	return r.End()
}

// connection is the server's view of a client: the client's lanes that it has mapped.
type connection struct {
	mu    sync.Mutex
	lanes map[string]*mapped // and rooms
	users int
	calls int
	ended bool
}

// mapped is memory of a client.
type mapped struct {
	*shared.Memory
	note  string
	users int
	last  int // call that has used it
}

type connectionKey struct{}

// open maps memory until release.
func (c *connection) open(note string) (*mapped, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.lanes[note]
	if m == nil {
		if c.ended || len(c.lanes) >= maxLanes && !c.forget() {
			return nil, fmt.Errorf("parameterserver: a client has mapped %d pieces of memory", len(c.lanes))
		}
		memory, err := shared.Open(note)
		if err != nil {
			return nil, err
		}
		if c.lanes == nil {
			c.lanes = map[string]*mapped{}
		}
		m = &mapped{Memory: memory, note: note}
		c.lanes[note] = m
	}
	c.calls++
	c.users++
	m.users++
	m.last = c.calls
	return m, nil
}

// forget removes the least recently used mapping that is not in use, if there is one. Its client may have given it up.
// The caller holds the lock.
func (c *connection) forget() bool {
	var oldest *mapped
	for _, m := range c.lanes {
		if m.users == 0 && (oldest == nil || m.last < oldest.last) {
			oldest = m
		}
	}
	if oldest != nil {
		delete(c.lanes, oldest.note)
		oldest.Close()
	}
	return oldest != nil
}

func (c *connection) release(m *mapped) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m.users--
	c.users--
	c.unmap()
}

func (c *connection) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.unmap()
}

// unmap removes the lanes of a client that is gone, once they are no longer read. The caller holds the lock.
func (c *connection) unmap() {
	if !c.ended || c.users > 0 {
		return
	}
	for _, m := range c.lanes {
		m.Close()
	}
	c.lanes = nil
}

// connections tracks the clients.
type connections struct{}

func (connections) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context {
	return context.WithValue(ctx, connectionKey{}, &connection{})
}

func (connections) HandleConn(ctx context.Context, s stats.ConnStats) {
	if _, over := s.(*stats.ConnEnd); over {
		if c, ok := ctx.Value(connectionKey{}).(*connection); ok {
			c.end()
		}
	}
}

func (connections) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }
func (connections) HandleRPC(context.Context, stats.RPCStats)                       {}
