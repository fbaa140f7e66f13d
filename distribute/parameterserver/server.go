package parameterserver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/internal/memory"
)

// Server holds variables for the workers of a job: a task "ps" of the cluster.
type Server struct {
	settings *settings
	grpc     *grpc.Server
	listener net.Listener
	stopped  chan struct{} // closed when the coordinator says that the job is over
	stop     sync.Once
	methods  map[string]method
	// lingering is how long, as a time.Duration, workers are told of the end afterwards.
	lingering atomic.Int64
	dismissed chan struct{} // closed when the next job begins
	dismiss   sync.Once
	// coordinated is true once a coordinator has come.
	coordinated atomic.Bool

	// With two copies of everything; see copied.
	root      *Server // that owns the port; nil: this one
	copied    *copied
	copies    map[int]*Server // in this process, by group
	others    []*link
	process   uint64
	life      context.Context
	endLife   context.CancelFunc
	attending sync.Mutex
	heard     []protocol.View // of all groups, guarded by mu

	mu       sync.RWMutex
	state    *protocol.State
	store    *store // nil: nothing is kept
	identity uint64
	broken   error // of the log: nothing more is acknowledged

	rowsRead, rowsWritten, bytesRead, bytesWritten, commands, repeated atomic.Uint64
	queue                                                              atomic.Int64
}

// NewServer opens a parameter server. It reads what an earlier run left in Directory, and accepts connections once
// Serve is called.
func NewServer(o Options) (*Server, error) { return openServer(context.Background(), o) }

// openServer is NewServer; the end of ctx ends the wait for the address.
func openServer(ctx context.Context, o Options) (*Server, error) {
	s, err := o.resolve()
	if err != nil {
		return nil, err
	}
	if s.task.Type != cluster.ParameterServer {
		return nil, fmt.Errorf("parameterserver: task %v holds no variables; only tasks of type ps do", s.task)
	}
	limits := protocol.Limits{MaxBytes: s.MaxBytes}
	if limits.MaxBytes == 0 {
		if all := memory.Limit(); all < memory.Addressable {
			limits.MaxBytes = all / 2
		}
	}
	server := &Server{settings: s, stopped: make(chan struct{}), dismissed: make(chan struct{})}
	limits.TableMemory, limits.SpillDirectory = s.TableMemory, s.Directory
	if server.grpc, err = s.newServer(); err != nil {
		return nil, err
	}
	if err = s.succeed(ctx, s.servers[s.task.Index]); err != nil {
		return nil, err
	}
	if server.listener, err = s.listen(ctx, s.servers[s.task.Index].Address); err != nil {
		return nil, err
	}
	if server.name(); s.Replicas > 1 {
		err = server.replicate(limits)
	} else {
		server.store, server.state, server.identity, err = openStore(s.Directory, s.SyncWrites, limits)
	}
	if err != nil {
		return nil, errors.Join(err, server.listener.Close())
	}
	desc := &grpc.ServiceDesc{ServiceName: serverService, HandlerType: (*any)(nil)}
	for name := range server.methods {
		desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: name, Handler: server.handler(name)})
	}
	desc.Methods = append(desc.Methods, grpc.MethodDesc{MethodName: "Shared", Handler: server.shared}, grpc.MethodDesc{MethodName: dismissMethod, Handler: server.dismissal})
	server.grpc.RegisterService(desc, server)
	return server, nil
}

// Address is where the server listens.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Serve answers requests until the coordinator says that the job is over, and then returns nil, or until ctx ends.
// Meanwhile it makes the garbage collector keep little garbage beside the variables, unless the environment variable
// GOGC is set.
func (s *Server) Serve(ctx context.Context) error {
	defer s.tend()()
	ended := make(chan struct{})
	defer close(ended)
	go s.stand(ended)
	done := make(chan error, 1)
	go func() { done <- s.grpc.Serve(s.listener) }()
	var err error
	select {
	case <-s.stopped:
		time.Sleep(20 * time.Millisecond) // the answer to the call that ended it is on its way
		s.farewell(ctx)
	case <-ctx.Done():
		err = ctx.Err()
	case err = <-done:
		err = fmt.Errorf("parameterserver: %v: %w", s.settings.task, err)
	}
	return errors.Join(err, s.Close())
}

// Close ends the server at once, as if it were killed, and frees its port.
func (s *Server) Close() error {
	if s.endLife != nil {
		s.endLife() // nobody waits for a backup any more
		for _, l := range s.others {
			l.lanes.close()
			_ = l.conn.Close() // only what was being sent is lost
		}
	}
	s.grpc.Stop()
	_ = s.listener.Close() // it is closed by Stop where Serve was called
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.store.close(), s.state.Close())
}

// The first byte of an answer after the server's identity.
const (
	answered byte = iota
	refused
	stale
	inLane           // the answer is in the lane, and here is its length
	unmapped         // the server cannot map the lane
	roomless         // or a room
	headerBytes = 16 // keeps arrays aligned
)

// handler wraps a method: it checks the caller, and answers with the server's identity and the result of the call.
func (s *Server) handler(method string) grpc.MethodHandler {
	return func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		if err := s.settings.recognize(ctx); err != nil {
			return nil, err
		}
		var in message
		if err := decode(&in); err != nil {
			return nil, err
		}
		over := s.goesOn()
		if over != nil && !afterEnd[method] {
			return nil, over
		}
		one, err := s.copyFor(ctx, method)
		if over != nil && err != nil {
			return nil, over
		}
		if err != nil {
			return nil, err
		}
		w := &protocol.Writer{B: make([]byte, headerBytes)}
		c, _ := ctx.Value(connectionKey{}).(*connection)
		if err := one.answer(one.methods[method], c, w, in.data); err != nil {
			return nil, err
		}
		if over != nil {
			w.B[9] = afterwards
		}
		return &message{w.B}, nil
	}
}

// answer calls a method and writes the result after a header.
func (s *Server) answer(handle method, c *connection, w *protocol.Writer, request []byte) error {
	s.queue.Add(1)
	defer s.queue.Add(-1)
	err := handle(c, w, request)
	var lost *logError
	switch {
	case errors.As(err, &lost):
		return status.Error(codes.Internal, err.Error())
	case errors.Is(err, protocol.ErrView):
		return status.Error(codes.Aborted, err.Error())
	case errors.Is(err, errEnding):
		return status.Error(codes.Unavailable, err.Error())
	case err != nil:
		w.B = w.B[:headerBytes]
		w.B[8] = refused
		if errors.Is(err, protocol.ErrStale) {
			w.B[8] = stale
		} else if isRoomless(err) {
			w.B[8] = roomless
		}
		w.String(err.Error())
	}
	s.mu.RLock()
	binary.LittleEndian.PutUint64(w.B, s.identity)
	s.mu.RUnlock()
	return nil
}

// shared answers a request in a lane.
func (s *Server) shared(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	if err := s.settings.recognize(ctx); err != nil {
		return nil, err
	}
	if err := s.goesOn(); err != nil {
		return nil, err
	}
	var in message
	if err := decode(&in); err != nil {
		return nil, err
	}
	c, _ := ctx.Value(connectionKey{}).(*connection)
	return s.answerShared(ctx, c, in.data)
}

func (s *Server) answerShared(ctx context.Context, c *connection, request []byte) (*message, error) {
	var q laneRequest
	if err := q.decode(request); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	one, err := s.copyFor(ctx, q.method)
	if err != nil {
		return nil, err
	}
	head := protocol.Writer{B: make([]byte, headerBytes, headerBytes+16)}
	one.mu.RLock()
	binary.LittleEndian.PutUint64(head.B, one.identity)
	one.mu.RUnlock()
	m, err := c.open(q.note)
	if err != nil {
		head.B[8] = unmapped
		return &message{head.B}, nil
	}
	defer c.release(m)
	handle := one.methods[q.method]
	if !shareable[q.method] || q.length > q.answer || q.answer%64 != 0 || q.answer > len(m.Bytes)-headerBytes {
		return nil, status.Errorf(codes.InvalidArgument, "a request of %d bytes for %.20q, the answer at %d of %d bytes", q.length, q.method, q.answer, len(m.Bytes))
	}
	place := m.Bytes[q.answer:]
	clear(place[:headerBytes])
	w := &protocol.Writer{B: place[:headerBytes]}
	if err := one.answer(handle, c, w, m.Bytes[:q.length:q.length]); err != nil {
		return nil, err
	}
	if !inside(place, w.B) {
		return &message{w.B}, nil
	}
	head.B[8] = inLane
	head.Uint(uint64(len(w.B)))
	return &message{head.B}, nil
}

// logError says that the log cannot be written, so the server cannot make updates durable.
type logError struct{ error }

// change executes a command in this process. It returns the number of the command if it must also go to a backup,
// otherwise 0.
func (s *Server) change(w *protocol.Writer, b []byte, c protocol.Command) (number uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changeLocked(w, b, c)
}

// changeLocked is change with the lock held.
func (s *Server) changeLocked(w *protocol.Writer, b []byte, c protocol.Command) (number uint64, err error) {
	if s.broken != nil {
		return 0, &logError{s.broken}
	}
	if s.copied != nil {
		if err := s.copied.machine.Serves(protocol.View{}); err != nil {
			return 0, err
		}
	}
	if err := s.state.Check(c); err != nil {
		return 0, err
	}
	if err := s.affords(c); err != nil {
		return 0, err
	}
	if s.store != nil && !s.state.Seen(c) {
		if err := s.store.append(b); err != nil {
			s.broken = err
			return 0, &logError{err}
		}
	}
	reply, err := s.state.Execute(c)
	if err != nil {
		return 0, err
	}
	if err := s.state.Fault(); err != nil { // what was changed is in the log, and may be incomplete here
		s.broken = err
		return 0, &logError{err}
	}
	if s.copied != nil && !reply.Repeated {
		number = s.copied.machine.Advance()
	}
	s.count(c, len(b), reply)
	s.noteCoordinator(c)
	s.grown(c)
	w.Bool(reply.Repeated)
	w.Uint(uint64(reply.Number))
	if s.store != nil && s.store.size > s.logLimit() {
		if err := s.store.snapshot(s.state, s.identity); err != nil {
			s.settings.Observe(fmt.Sprintf("%v cannot write a snapshot, its log goes on: %v", s.settings.task, err))
			s.settings.LogBytes = 2 * s.store.size // not at once again
		}
	}
	return number, nil
}

func (s *Server) logLimit() int64 {
	if s.settings.LogBytes > 0 {
		return s.settings.LogBytes
	}
	return max(256<<20, 2*int64(s.state.Bytes()))
}

func (s *Server) count(c protocol.Command, bytes int, reply protocol.Reply) {
	s.commands.Add(1)
	s.bytesWritten.Add(uint64(bytes))
	if reply.Repeated {
		s.repeated.Add(1)
	}
	if push, ok := c.(*protocol.Push); ok && !reply.Repeated {
		for i := range push.Updates {
			u := &push.Updates[i]
			if u.Sparse {
				s.rowsWritten.Add(uint64(len(u.IDs)))
			} else if t, err := s.state.Table(u.Table); err == nil {
				s.rowsWritten.Add(uint64(t.Rows))
			}
		}
	}
}

// list answers with the coordinator's term and all tables.
func (s *Server) list(w *protocol.Writer, _ []byte) error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w.Uint(s.state.Term())
	settled := s.state.Settled()
	settled.Encode(w)
	w.Uint(uint64(len(s.state.Tables())))
	for _, t := range s.state.Tables() {
		t.Encode(w)
		w.Uint(t.Version)
		w.Uint(t.Step)
		w.Uint(uint64(t.Len()))
	}
	w.Uint(s.state.Staleness.Gradients)
	w.Uint(s.state.Staleness.Sum)
	w.Uint(s.state.Staleness.Max)
	return nil
}

// tableNumber reads a request that names a table.
func tableNumber(b []byte) (uint32, error) {
	r := protocol.NewReader(b)
	number := uint32(r.Uint())
	return number, r.End()
}

// slots answers with the state of the optimizer for a table.
func (s *Server) slots(w *protocol.Writer, b []byte) error {
	number, err := tableNumber(b)
	if err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.state.Table(number)
	if err != nil {
		return err
	}
	if t.Dynamic {
		return fmt.Errorf("parameterserver: table %s is dynamic: its state cannot be asked for", t.Name)
	}
	w.Uint(t.Step)
	names := t.Rule.SlotNames()
	w.Uint(uint64(len(names)))
	for i := range names {
		w.Floats(t.Slot(i))
	}
	return nil
}

// note answers with a note.
func (s *Server) note(w *protocol.Writer, b []byte) error {
	r := protocol.NewReader(b)
	key := r.String()
	if err := r.End(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	w.Bytes(s.state.Note(key))
	return nil
}

// end handles the coordinator's message that the job is over.
func (s *Server) end(_ *protocol.Writer, b []byte) error {
	r := protocol.NewReader(b)
	term, linger := r.Uint(), r.Uint()
	if err := r.End(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	if term != s.term() {
		return fmt.Errorf("%w: the coordinator has term %d, received %d", protocol.ErrStale, s.term(), term)
	}
	s.stop.Do(func() {
		s.lingering.Store(int64(min(linger, uint64(time.Hour))))
		close(s.stopped)
	})
	return nil
}
