package parameterserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/internal/ports"
	"github.com/gokeras/gokeras/internal/processors"
	"github.com/gokeras/gokeras/internal/supervisor"
)

// worker runs closures that the coordinator sends.
type worker struct {
	s           *settings
	client      *client
	incarnation uint64
	server      *grpc.Server
	listener    net.Listener
	news        broadcast
	over        chan struct{}
	unshare     func()
	ending      sync.Once

	mu        sync.Mutex
	functions map[string]parameters.Function
	term      uint64
	leave     context.CancelFunc // ends the connection with the present coordinator
	alone     time.Time          // since when there is no coordinator; zero: there is one
	missed    bool               // that was said
}

func newWorker(ctx context.Context, s *settings, c *client) (*worker, error) {
	w := &worker{s: s, client: c, incarnation: rand.Uint64(), over: make(chan struct{}), functions: map[string]parameters.Function{}, alone: time.Now()}
	var err error
	if w.server, err = s.newServer(); err != nil {
		return nil, err
	}
	if w.listener, err = s.listen(ctx, s.workers[s.task.Index].Address); err != nil {
		return nil, err
	}
	w.server.RegisterService(&grpc.ServiceDesc{ServiceName: workerService, HandlerType: (*any)(nil), Streams: []grpc.StreamDesc{
		{StreamName: "Work", ClientStreams: true, ServerStreams: true, Handler: w.work},
	}}, w)
	w.unshare = processors.Share(s.neighbours())
	go func() { _ = w.server.Serve(w.listener) }() // it ends with close
	return w, nil
}

func (w *worker) register(name string, f parameters.Function) {
	w.mu.Lock()
	if f == nil {
		delete(w.functions, name)
	} else {
		w.functions[name] = f
	}
	w.mu.Unlock()
	w.news.tell()
}

func (w *worker) waitOver(ctx context.Context) error {
	var asked time.Time
	for {
		w.mu.Lock()
		alone := w.alone
		w.mu.Unlock()
		news := w.news.wait()
		var timeout, look <-chan time.Time
		if !alone.IsZero() {
			if w.s.over() {
				return nil
			}
			if time.Since(asked) > askEvery {
				if w.client.heardEnd(ctx) {
					return nil
				}
				asked = time.Now()
			}
			timeout, look = time.After(max(w.s.JoinTimeout-time.Since(alone), 0)), time.After(overEvery)
		}
		select {
		case <-w.over:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		case <-news:
		case <-look:
			w.miss(alone)
		case <-timeout:
			return fmt.Errorf("parameterserver: %v has heard of no coordinator for %v; start %s, or end this worker if the job is over", w.s.task, w.s.JoinTimeout, w.s.chief())
		}
	}
}

// overEvery is the time between checks by a worker without a coordinator whether the job is over.
const overEvery = 200 * time.Millisecond

// askEvery is the time between its questions to the servers.
const askEvery = time.Second

// over reports whether the program that has started this worker says that the job is over.
func (s *settings) over() bool { return s.task.Type == cluster.Worker && supervisor.Over() }

// neighbours is the number of workers on this host, including this one.
func (s *settings) neighbours() int {
	all := make([]string, len(s.workers))
	for i, m := range s.workers {
		all[i] = m.Address
	}
	return ports.Neighbours(all[s.task.Index], all)
}

func (w *worker) close() {
	w.ending.Do(func() { close(w.over) })
	w.unshare()
	w.server.Stop()
	_ = w.listener.Close() // it is open where Serve has not come to it
}

// work is the connection with a coordinator.
func (w *worker) work(_ any, stream grpc.ServerStream) error {
	if err := w.s.recognize(stream.Context()); err != nil {
		return err
	}
	var in message
	if err := stream.RecvMsg(&in); err != nil {
		return err
	}
	r := protocol.NewReader(in.data)
	r.Byte()
	term := r.Uint()
	if err := r.End(); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	ctx, cancel := context.WithCancel(stream.Context())
	defer cancel()
	w.mu.Lock()
	if term < w.term {
		w.mu.Unlock()
		return errSuperseded
	}
	if w.leave != nil {
		w.leave()
	}
	since, missed := w.alone, w.missed
	w.term, w.leave, w.alone, w.missed = term, cancel, time.Time{}, false
	w.mu.Unlock()
	if missed {
		w.s.Observe(fmt.Sprintf("%v has a coordinator after %v", w.s.task, time.Since(since).Round(time.Millisecond)))
	}
	w.news.tell()
	defer func() {
		w.mu.Lock()
		if w.term == term {
			w.alone = time.Now()
		}
		w.mu.Unlock()
		w.news.tell()
	}()
	v := &visit{worker: w, term: term, stream: stream, ctx: ctx, cancel: cancel}
	var hello protocol.Writer
	hello.Byte(helloMessage)
	hello.Uint(w.incarnation)
	hello.Uint(uint64(max(len(w.s.Devices), 1)))
	if err := v.send(hello.B); err != nil {
		return err
	}
	go v.beat()
	ends := make(chan error, 1)
	go func() { ends <- v.listen() }()
	select {
	case err := <-ends:
		return err
	case <-ctx.Done():
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.term == term { // the coordinator has come anew
			return nil
		}
		return errSuperseded
	}
}

var errSuperseded = status.Error(codes.Aborted, "another coordinator has taken over; run one only")

// visit is one connection with a coordinator.
type visit struct {
	*worker
	term   uint64
	stream grpc.ServerStream
	ctx    context.Context
	cancel context.CancelFunc
	told   atomic.Bool  // that the job is over: nothing else will come
	silent atomic.Int64 // beats since the coordinator sent something; a stopped process has none
	out    sync.Mutex

	results sync.Mutex
	waiting []byte // results that nobody sends yet
	sending bool
}

func (v *visit) send(b []byte) error {
	v.out.Lock()
	defer v.out.Unlock()
	return v.stream.SendMsg(&message{b})
}

// beat sends heartbeats. If none from the coordinator has arrived for two deadlines, its host is gone or its messages
// are lost; it may connect again.
func (v *visit) beat() {
	ticker := time.NewTicker(v.s.beat())
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			if time.Duration(v.silent.Add(1))*v.s.beat() > 2*v.s.Deadline && !v.told.Load() {
				v.cancel()
				return
			}
			if v.send([]byte{beatMessage}) != nil {
				return
			}
		case <-v.ctx.Done():
			return
		}
	}
}

func (v *visit) listen() error {
	for {
		var in message
		if err := v.stream.RecvMsg(&in); err != nil {
			return nil // the coordinator is gone
		}
		v.silent.Store(0)
		r := protocol.NewReader(in.data)
		switch r.Byte() {
		case overMessage:
			v.told.Store(true)
			v.ending.Do(func() { close(v.over) }) // the connection stays until this worker leaves, so that the coordinator waits for it
		case viewsMessage:
			views := decodeViews(r)
			if err := r.End(); err != nil || v.client.routes == nil {
				return status.Error(codes.InvalidArgument, "views of servers; give all processes the same Options.Replicas")
			}
			v.client.routes.adopt(views)
		case assignMessage:
			for more := true; more; more = r.Left() > 0 && r.Byte() == assignMessage {
				id := protocol.ClosureID{Term: v.term, Sequence: r.Uint()}
				low, attempt := r.Uint(), r.Int()
				c := &parameters.Closure{Term: id.Term, Sequence: id.Sequence, Attempt: attempt, Function: r.String(), Argument: r.Bytes(), Worker: v.s.task.Index}
				if err := r.Err(); err != nil {
					return status.Error(codes.InvalidArgument, err.Error())
				}
				go v.run(id, low, c)
			}
			if err := r.End(); err != nil {
				return status.Error(codes.InvalidArgument, err.Error())
			}
		}
	}
}

// run runs a closure and reports how it went.
func (v *visit) run(id protocol.ClosureID, low uint64, c *parameters.Closure) {
	value, err := v.perform(id, low, c)
	how := ranWell
	if err != nil {
		how, value = ranBadly, []byte(err.Error())
		if v.ctx.Err() != nil || errors.Is(err, protocol.ErrStale) || errors.Is(err, parameters.ErrElsewhere) {
			how = ranElsewhere
		}
	}
	var out protocol.Writer
	out.Byte(resultMessage)
	out.Uint(id.Sequence)
	out.Byte(how)
	out.String(c.Function)
	out.Bytes(value)
	v.answer(out.B)
}

// answer sends a result, together with others that arrive while one is being sent. If it is lost, the coordinator sends
// the closure again.
func (v *visit) answer(result []byte) {
	v.results.Lock()
	v.waiting = append(v.waiting, result...)
	if v.sending {
		v.results.Unlock()
		return
	}
	v.sending = true
	for len(v.waiting) > 0 {
		all := v.waiting
		v.waiting = nil
		v.results.Unlock()
		_ = v.send(all)
		v.results.Lock()
	}
	v.sending = false
	v.results.Unlock()
}

func (v *visit) perform(id protocol.ClosureID, low uint64, c *parameters.Closure) ([]byte, error) {
	f, err := v.function(c.Function)
	if err != nil {
		return nil, err
	}
	o, err := protect(v.ctx, f, c)
	if err != nil {
		return nil, err
	}
	err = v.client.push(v.ctx, id, low, &o)
	if o.Release != nil {
		o.Release()
	}
	if errors.Is(err, protocol.ErrStale) && o.Round > 0 {
		return o.Value, nil // the round was settled without it
	}
	return o.Value, err
}

// protect turns a panic into an error.
func protect(ctx context.Context, f parameters.Function, c *parameters.Closure) (o parameters.Outcome, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v\n%s", r, debug.Stack())
		}
	}()
	return f(ctx, c)
}

// function returns the function registered under a name. This worker's program may register it later.
func (v *visit) function(name string) (parameters.Function, error) {
	registered := func() parameters.Function {
		v.mu.Lock()
		defer v.mu.Unlock()
		return v.functions[name]
	}
	if f := registered(); f != nil {
		return f, nil
	}
	timeout := time.NewTimer(v.s.JoinTimeout)
	defer timeout.Stop()
	for {
		news := v.news.wait()
		if f := registered(); f != nil {
			return f, nil
		}
		select {
		case <-news:
		case <-v.ctx.Done():
			return nil, v.ctx.Err()
		case <-timeout.C:
			return nil, fmt.Errorf("%v has no function %q after %v; register it on the workers too, before the job begins", v.s.task, name, v.s.JoinTimeout)
		}
	}
}
