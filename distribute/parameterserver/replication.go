package parameterserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// With Options.Replicas 2 the server process number i holds two copies of tables: those of its own group i, and those
// of the previous group. Each copy is a separate Server behind the same port. protocol.Replica decides which one
// answers.

const (
	keyView      = "gokeras-view-bin"
	copyHeader   = 128 // of what goes to a backup: a view and a number; what follows is aligned
	restoreChunk = 64 << 20
)

// errEnding is the error of a server that is being closed and acknowledges nothing more.
var errEnding = errors.New("the server ends")

// copied is the additional state of a Server that is one of two copies.
type copied struct {
	s       *Server
	group   int
	machine *protocol.Replica // guarded by Server.mu, as the state is
	order   sync.Mutex        // held while a command, or the whole state, goes to the backup
	view    context.Context   // ends with the present view
	over    context.CancelFunc
	limits  protocol.Limits
	coming  []byte // of the state that the primary is giving
}

// replicate creates the copies of a server that holds nothing yet.
func (s *Server) replicate(limits protocol.Limits) error {
	n := len(s.settings.servers)
	s.process, s.copies, s.heard = rand.Uint64()|1, map[int]*Server{}, make([]protocol.View, n)
	s.life, s.endLife = context.WithCancel(context.Background())
	for i, group := range []int{s.settings.task.Index, (s.settings.task.Index + n - 1) % n} {
		one := s
		if i > 0 {
			one = &Server{settings: s.settings, stopped: s.stopped, root: s}
			one.name()
		}
		c := &copied{s: one, group: group, limits: limits, machine: protocol.NewReplica(protocol.Holder{Server: s.settings.task.Index, Process: s.process}, limits)}
		c.view, c.over = context.WithCancel(s.life)
		one.copied, one.state, s.copies[group] = c, c.machine.State(), one
	}
	for _, m := range s.settings.servers {
		l, err := s.settings.newLink(m)
		if err != nil {
			return err
		}
		s.others = append(s.others, l)
	}
	return nil
}

// copyFor returns the copy that a call addresses.
func (s *Server) copyFor(ctx context.Context, method string) (*Server, error) {
	if s.copies == nil || method == "Attend" || method == "Stop" {
		return s, nil
	}
	md, _ := metadata.FromIncomingContext(ctx)
	text := md.Get(keyView)
	if len(text) != 1 {
		return nil, status.Errorf(codes.FailedPrecondition, "%v holds copies and the caller knows of none; give all processes the same Options.Replicas", s.settings.task)
	}
	r := protocol.NewReader([]byte(text[0]))
	group := r.Int()
	var v protocol.View
	v.Decode(r)
	if err := r.End(); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	one := s.copies[group]
	if one == nil {
		return nil, status.Errorf(codes.Aborted, "%v holds no copy of group %d", s.settings.task, group)
	}
	if method == "Forward" || method == "Restore" {
		return one, nil
	}
	one.mu.RLock()
	defer one.mu.RUnlock()
	if err := one.copied.machine.Serves(v); err != nil {
		return nil, status.Error(codes.Aborted, err.Error())
	}
	return one, nil
}

// meaning adds to a call the group that it addresses, and the view.
func meaning(ctx context.Context, group int, v protocol.View) context.Context {
	var w protocol.Writer
	w.Uint(uint64(group))
	v.Encode(&w)
	return metadata.AppendToOutgoingContext(ctx, keyView, string(w.B))
}

// term returns the coordinator's term.
func (s *Server) term() uint64 {
	most := s.state.Term()
	for _, v := range s.heard {
		most = max(most, v.Term)
	}
	return most
}

// attend receives the coordinator's views and reports which copies are here.
func (s *Server) attend(w *protocol.Writer, b []byte) error {
	if s.copies == nil {
		return fmt.Errorf("parameterserver: %v holds no copies; give all processes the same Options.Replicas", s.settings.task)
	}
	r := protocol.NewReader(b)
	term := r.Uint()
	views := decodeViews(r)
	if err := r.End(); err != nil {
		return err
	}
	if len(views) != 0 && len(views) != len(s.heard) {
		return fmt.Errorf("parameterserver: views of %d groups; there are %d", len(views), len(s.heard))
	}
	s.attending.Lock()
	defer s.attending.Unlock()
	s.mu.RLock()
	known := s.term()
	s.mu.RUnlock()
	if term != 0 && term < known {
		return fmt.Errorf("%w: a coordinator with term %d has taken over, received term %d", protocol.ErrStale, known, term)
	}
	for group, v := range views {
		if one := s.copies[group]; one != nil {
			v = one.copied.adopt(v)
		}
		s.mu.Lock()
		if v.Newer(s.heard[group]) { // requests that were given up may come late
			s.heard[group] = v
		}
		s.mu.Unlock()
	}
	held := make([]bool, len(s.heard))
	s.mu.RLock()
	now := slices.Clone(s.heard)
	s.mu.RUnlock()
	for group, one := range s.copies {
		one.mu.RLock()
		held[group], now[group] = one.copied.machine.Complete(), one.copied.machine.View()
		one.mu.RUnlock()
	}
	w.Uint(s.process)
	w.Uint(known)
	encodeViews(w, now)
	for _, h := range held {
		w.Bool(h)
	}
	return nil
}

func encodeViews(w *protocol.Writer, views []protocol.View) {
	w.Uint(uint64(len(views)))
	for i := range views {
		views[i].Encode(w)
	}
}

func decodeViews(r *protocol.Reader) []protocol.View {
	views := make([]protocol.View, r.Count(9))
	for i := range views {
		views[i].Decode(r)
	}
	return views
}

// adopt accepts a view and returns the latest one.
func (c *copied) adopt(v protocol.View) protocol.View {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.machine.Adopt(v) {
		s.state, s.identity = c.machine.State(), v.Lineage
		c.over()
		c.view, c.over = context.WithCancel(s.base().life)
		if c.machine.Serves(v) == nil && c.machine.Lags() {
			go func() {
				c.order.Lock()
				defer c.order.Unlock()
				_ = c.bringUp() // else the next command does
			}()
		}
	}
	return c.machine.View()
}

// present returns the view, and a context that ends with it.
func (c *copied) present() (v protocol.View, ctx context.Context, lags bool, err error) {
	c.s.mu.RLock()
	defer c.s.mu.RUnlock()
	v = c.machine.View()
	return v, c.view, c.machine.Lags(), c.machine.Serves(v)
}

// execute executes a command here and on the backup.
func (c *copied) execute(w *protocol.Writer, b []byte, command protocol.Command) error {
	c.order.Lock()
	defer c.order.Unlock()
	if err := c.bringUp(); err != nil {
		return err
	}
	position, err := c.s.change(w, b, command)
	if err != nil || position == 0 {
		return err
	}
	for {
		view, ctx, lags, err := c.present()
		switch {
		case c.s.base().life.Err() != nil:
			return errEnding
		case err != nil:
			return err
		case view.Backup == protocol.Nobody:
			return nil
		case lags:
			return c.bringUp()
		}
		if c.send(ctx, view, "Forward", position, len(b), func(w *protocol.Writer) { w.B = append(w.B, b...) }) == nil {
			return nil
		}
		c.pause(ctx)
	}
}

// pause waits for another view, or briefly.
func (c *copied) pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Millisecond):
	}
}

// send makes one attempt to send a message to the backup.
func (c *copied) send(ctx context.Context, v protocol.View, method string, number uint64, size int, build func(w *protocol.Writer)) error {
	base := c.s.base()
	if base.life.Err() != nil {
		return errEnding
	}
	_, done, err := base.others[v.Backup.Server].exchange(meaning(ctx, c.group, v), method, copyHeader+size, headerBytes, func(w *protocol.Writer) {
		v.Encode(w)
		w.Uint(number)
		w.B = append(w.B, make([]byte, copyHeader-len(w.B))...)
		build(w)
	}, 0)
	done()
	return err
}

// bringUp sends the backup the whole state if it lacks it. The caller holds the order.
func (c *copied) bringUp() error {
	for {
		view, ctx, lags, err := c.present()
		if c.s.base().life.Err() != nil {
			return errEnding
		}
		if err != nil || !lags {
			return err
		}
		c.s.mu.RLock()
		var w protocol.Writer
		c.machine.State().EncodeSnapshot(&w)
		position := c.machine.Position()
		c.s.mu.RUnlock()
		for from := 0; from < len(w.B) && err == nil; from += restoreChunk {
			part := w.B[from:min(from+restoreChunk, len(w.B))]
			err = c.send(ctx, view, "Restore", position, 32+len(part), func(out *protocol.Writer) {
				out.Uint(uint64(len(w.B)))
				out.Uint(uint64(from))
				out.Bytes(part)
			})
		}
		if err != nil {
			c.pause(ctx)
			continue
		}
		c.s.mu.Lock()
		c.machine.Confirm(view)
		c.s.mu.Unlock()
		if ctx.Err() != nil {
			continue // another view has come
		}
		base := c.s.base().settings
		base.Observe(fmt.Sprintf("%v has a copy of group %d again, from %v", base.servers[view.Backup.Server].Task, c.group, base.task))
	}
}

// fromPrimary splits the header from a primary's message.
func fromPrimary(b []byte) (v protocol.View, number uint64, rest []byte, err error) {
	if len(b) < copyHeader {
		return v, 0, nil, fmt.Errorf("%w: %d bytes from a primary", protocol.ErrMessage, len(b))
	}
	r := protocol.NewReader(b[:copyHeader])
	v.Decode(r)
	number = r.Uint()
	return v, number, b[copyHeader:], r.Err()
}

// forward receives a command that the primary has executed.
func (s *Server) forward(_ *protocol.Writer, b []byte) error {
	if s.copied == nil {
		return fmt.Errorf("parameterserver: %v holds no copies", s.settings.task)
	}
	v, position, rest, err := fromPrimary(b)
	if err != nil {
		return err
	}
	command, err := protocol.DecodeCommand(rest)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copied.machine.Accept(v, position, command)
}

// restore receives a part of the primary's state.
func (s *Server) restore(_ *protocol.Writer, b []byte) error {
	if s.copied == nil {
		return fmt.Errorf("parameterserver: %v holds no copies", s.settings.task)
	}
	v, position, rest, err := fromPrimary(b)
	if err != nil {
		return err
	}
	r := protocol.NewReader(rest)
	total, from, part := r.Int(), r.Int(), r.Bytes()
	if err := r.End(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.copied
	if from == 0 {
		c.coming = nil
	}
	if from != len(c.coming) || len(part) > total-from {
		return fmt.Errorf("%w: bytes from %d of a state, %d of %d are here", protocol.ErrMessage, from, len(c.coming), total)
	}
	c.coming = append(c.coming, part...)
	if len(c.coming) < total {
		return nil
	}
	state, err := protocol.DecodeSnapshot(c.coming, c.limits)
	c.coming = nil
	if err == nil {
		err = c.machine.Restore(v, position, state)
	}
	s.state = c.machine.State()
	return err
}

// base is the server that owns the port.
func (s *Server) base() *Server {
	if s.root != nil {
		return s.root
	}
	return s
}

// name lists the methods.
func (s *Server) name() {
	s.methods = map[string]method{"Execute": s.execute, "Read": s.read, "ExecuteRead": s.executeRead, "List": plain(s.list), "Slots": plain(s.slots), "Rows": plain(s.rows), "Note": plain(s.note),
		"Stop": plain(s.end), "Attend": plain(s.attend), "Forward": plain(s.forward), "Restore": plain(s.restore)}
}

// shareable lists the methods whose messages may be in lanes.
var shareable = map[string]bool{"Execute": true, "Read": true, "ExecuteRead": true, "Forward": true, "Restore": true}
