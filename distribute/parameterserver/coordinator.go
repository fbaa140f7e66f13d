package parameterserver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/internal/supervisor"
)

// coordinator connects the dispatcher to the workers, with a stream to each.
type coordinator struct {
	s        *settings
	client   *client
	term     uint64
	ctx      context.Context
	cancel   context.CancelFunc
	over     chan struct{} // closed when the job ends
	ending   sync.Once
	wait     sync.WaitGroup // for those that attend to workers, which end when the workers leave
	watching sync.WaitGroup // for those that follow servers with copies, which end with ctx
	news     broadcast
	pulse    pulse

	mu       sync.Mutex
	round    uint64 // that was settled last
	d        *protocol.Dispatcher
	pending  map[uint64]*pending
	devices  map[int]int  // of each worker
	told     map[int]bool // workers that know that the job is over
	fatal    error
	broken   chan struct{} // closed when there is a fatal error
	workless time.Time     // since when there is no worker; zero: there is one
}

func newCoordinator(ctx context.Context, s *settings, c *client) (*coordinator, error) {
	life, end := context.WithCancel(context.Background())
	co := &coordinator{s: s, client: c, over: make(chan struct{}), pending: map[uint64]*pending{}, broken: make(chan struct{}), devices: map[int]int{}, told: map[int]bool{}, ctx: life, cancel: end}
	if err := co.begin(ctx); err != nil {
		end()
		co.wait.Wait()
		co.watching.Wait()
		return nil, err
	}
	return co, nil
}

// begin takes over the job, and starts to serve the workers.
func (co *coordinator) begin(ctx context.Context) error {
	s, c := co.s, co.client
	ready := make(chan struct{})
	var own uint64
	if c.routes != nil {
		w, err := newWatch(ctx, s, c, rand.Uint64())
		if err != nil {
			return err
		}
		w.fail = func(err error) {
			select {
			case <-ready:
				co.fail(err)
			case <-co.ctx.Done():
			}
		}
		w.tell, own = co.news.tell, w.term
		for i := range c.links {
			co.watching.Go(func() { w.follow(co.ctx, i) })
		}
	}
	term, err := c.meet(ctx, s.JoinTimeout)
	if err != nil {
		return err
	}
	switch {
	case own == 0:
		term = nextTerm(term)
	case own <= term: // its views of the copies are refused
		return overtaken(protocol.ErrStale)
	default:
		term = own
	}
	if err := c.each(c.all(), func(server int) error {
		_, err := c.execute(ctx, server, &protocol.Take{Term: term})
		return err
	}); err != nil {
		if !errors.Is(err, protocol.ErrStale) || !c.tookOver(ctx, term) {
			return overtaken(err)
		}
	}
	settled, err := c.agree(ctx, term)
	if err != nil {
		return err
	}
	if err := c.refresh(ctx); err != nil {
		return err
	}
	co.term, co.round, co.d, co.workless = term, settled, protocol.NewDispatcher(term, s.InFlight), time.Now()
	co.d.Window = uint64(s.Consistency.Staleness)
	close(ready)
	co.watching.Go(func() {
		co.pulse.run(co.ctx, s.Deadline, func(gap time.Duration) {
			s.Observe(fmt.Sprintf("this coordinator was itself stopped for %v; tasks are not blamed for that time", gap.Round(time.Millisecond)))
		})
	})
	for i := range s.workers {
		co.wait.Add(1)
		go co.attend(i)
	}
	return nil
}

// changed wakes everything that waits for a change. The caller holds the lock.
func (c *coordinator) changed() {
	for _, o := range c.d.Ended() {
		if p := c.pending[o.Sequence]; p != nil {
			p.value, p.err = o.Value, o.Err
			close(p.done)
			delete(c.pending, o.Sequence)
		}
	}
	if c.d.Crowd() > 0 {
		c.workless = time.Time{}
	} else if c.workless.IsZero() {
		c.workless = time.Now()
	}
	c.news.tell()
}

// sleep waits for a change. The caller holds the lock; sleep releases it while waiting.
func (c *coordinator) sleep(ctx context.Context) error {
	news := c.news.wait()
	workless := c.workless
	c.mu.Unlock()
	defer c.mu.Lock()
	var timeout <-chan time.Time
	if !workless.IsZero() {
		timer := time.NewTimer(c.s.JoinTimeout - time.Since(workless))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-news:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout:
		return c.deserted()
	}
}

// fault waits until a failure is complete and returns it. The caller holds the lock.
func (c *coordinator) fault(ctx context.Context) error {
	for c.d.Failed() {
		if err := c.d.Fault(); err != nil {
			return err
		}
		if err := c.sleep(ctx); err != nil {
			return err
		}
	}
	if err := c.fatal; err != nil {
		return err
	}
	return nil
}

func (c *coordinator) schedule(ctx context.Context, what call, worker int) (parameters.Pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.fault(ctx); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-c.over:
		return nil, parameters.ErrOver
	default:
	}
	sequence, err := c.d.Schedule(what, worker)
	if err != nil {
		return nil, err
	}
	p := &pending{of: c, done: make(chan struct{})}
	c.pending[sequence] = p
	c.changed()
	return p, nil
}

func (c *coordinator) join(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.d.Idle() && c.fatal == nil {
		if err := c.sleep(ctx); err != nil {
			return err
		}
	}
	return c.fault(ctx)
}

func (c *coordinator) done() (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.d.Idle() {
		return false, nil
	}
	return true, c.fault(context.Background())
}

// attend serves one worker for the whole job.
func (c *coordinator) attend(i int) {
	defer c.wait.Done()
	pause := 10 * time.Millisecond
	var other stranger
	start := time.Now()
	for c.ctx.Err() == nil {
		began := time.Now()
		alien, err := c.visit(i)
		if c.ctx.Err() != nil {
			return
		}
		select {
		case <-c.over:
			return
		default:
		}
		if code := status.Code(err); code == codes.FailedPrecondition || code == codes.Aborted { // another coordinator has taken over
			if code == codes.FailedPrecondition {
				c.s.linger(c.ctx, start)
			}
			c.fail(fmt.Errorf("parameterserver: %v at %s: %s", c.s.workers[i].Task, c.s.workers[i].Address, status.Convert(err).Message()))
			return
		}
		if alien {
			other.seen(err)
		} else if time.Since(began) > c.s.Deadline {
			other = stranger{}
		}
		if !other.first.IsZero() && time.Since(other.first) >= 2*c.s.Deadline && c.deserts() {
			c.fail(other.error(c.s.workers[i]))
			return
		}
		if time.Since(began) > time.Second {
			pause = 10 * time.Millisecond
		}
		select {
		case <-time.After(pause):
		case <-c.over:
		case <-c.ctx.Done():
		}
		pause = min(2*pause, 200*time.Millisecond)
	}
}

// visit is one connection to a worker; alien says that a process without the job's secret is at its address.
func (c *coordinator) visit(i int) (alien bool, err error) {
	var strange atomic.Bool
	conn, err := c.s.dial(c.s.workers[i], &strange, nil)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	err = c.meet(i, conn)
	return strange.Load() || status.Code(err) == codes.Unimplemented, err // which another service says
}

// meet serves a worker for as long as the connection lasts.
func (c *coordinator) meet(i int, conn *grpc.ClientConn) error {
	m := c.s.workers[i]
	ctx, cancel := context.WithCancel(c.s.introduce(c.ctx))
	defer cancel()
	silent := c.pulse.silence(c.s.Deadline, cancel) // until something comes
	defer silent.timer.Stop()
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, workMethod)
	if err != nil {
		return err
	}
	var hello protocol.Writer
	hello.Byte(helloMessage)
	hello.Uint(c.term)
	if err := stream.SendMsg(&message{hello.B}); err != nil && status.Code(err) != codes.Unknown { // io.EOF: RecvMsg knows why
		return err
	}
	var in message
	if err := stream.RecvMsg(&in); err != nil {
		return err
	}
	r := protocol.NewReader(in.data)
	r.Byte()
	w := protocol.Worker{Task: i, Incarnation: r.Uint()}
	devices := r.Int()
	if err := r.End(); err != nil {
		return err
	}
	c.mu.Lock()
	c.devices[i] = devices
	if err := checkAccelerators(c.devices); err != nil {
		c.failed(err)
	}
	c.d.Joined(w)
	c.changed()
	c.mu.Unlock()
	var timedOut atomic.Bool
	go c.feed(ctx, stream, w)
	err = c.listen(stream, w, silent.heard)
	timedOut.Store(ctx.Err() != nil && c.ctx.Err() == nil)
	c.mu.Lock()
	c.d.Lost(w)
	c.changed()
	c.mu.Unlock()
	select {
	case <-c.over:
		return err
	default:
	}
	if timedOut.Load() {
		c.s.Observe(fmt.Sprintf("%v at %s was silent for %v; its closures go to others", m.Task, m.Address, c.s.Deadline))
	} else if c.ctx.Err() == nil {
		c.s.Observe(fmt.Sprintf("%v at %s is lost; its closures go to others", m.Task, m.Address))
	}
	return err
}

// feed sends closures to a worker.
func (c *coordinator) feed(ctx context.Context, stream grpc.ClientStream, w protocol.Worker) {
	told := 0
	beat := time.NewTicker(c.s.beat())
	defer beat.Stop()
	for {
		news := c.news.wait()
		if out := c.assignments(w); out != nil {
			if views := c.views(&told); views != nil && stream.SendMsg(&message{views}) != nil {
				return
			}
			if stream.SendMsg(&message{out}) != nil {
				return // the listener learns why
			}
			continue
		}
		select {
		case <-news:
		case <-beat.C:
			if stream.SendMsg(&message{[]byte{beatMessage}}) != nil {
				return
			}
		case <-ctx.Done():
			return
		case <-c.over:
			if stream.SendMsg(&message{[]byte{overMessage}}) == nil {
				c.mu.Lock()
				c.told[w.Task] = true
				c.mu.Unlock()
			}
			return
		}
	}
}

// views returns a message with the servers' views if they have changed since the worker was last told, so that no
// closure reads from a server that no longer answers for any variable.
func (c *coordinator) views(told *int) []byte {
	if c.client.routes == nil {
		return nil
	}
	views, changes := c.client.routes.known()
	if changes == *told {
		return nil
	}
	*told = changes
	var out protocol.Writer
	out.Byte(viewsMessage)
	encodeViews(&out, views)
	return out.B
}

// maxTrip is the largest size in bytes of closures that are sent together.
const maxTrip = 64 << 10

// assignments returns a message with the next closures for a worker; nil if there are none.
func (c *coordinator) assignments(w protocol.Worker) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out protocol.Writer
	for len(out.B) < maxTrip {
		a, ok := c.d.Next(w)
		if !ok {
			break
		}
		what := a.Call.(call)
		out.Byte(assignMessage)
		out.Uint(a.Closure.Sequence)
		out.Uint(a.Low)
		out.Uint(uint64(a.Attempt))
		out.String(what.function)
		out.Bytes(what.argument)
	}
	return out.B
}

// listen receives the results of a worker until the connection ends.
func (c *coordinator) listen(stream grpc.ClientStream, w protocol.Worker, heard func()) error {
	for {
		var in message
		if err := stream.RecvMsg(&in); err != nil {
			return err
		}
		heard()
		r := protocol.NewReader(in.data)
		if len(in.data) > 0 && in.data[0] == resultMessage {
			if err := c.results(w, r); err != nil {
				return err
			}
		}
	}
}

// results processes the results in a message.
func (c *coordinator) results(w protocol.Worker, r *protocol.Reader) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.changed()
	for r.Left() > 0 {
		r.Byte()
		sequence, how, function, value := r.Uint(), r.Byte(), r.String(), r.Bytes()
		if err := r.Err(); err != nil {
			return err
		}
		var err error
		if how != ranWell {
			err = &ClosureError{Function: function, Worker: w.Task, Text: string(value)}
			value = nil
		}
		c.d.Result(w, sequence, value, err, how == ranElsewhere)
	}
	return nil
}

// close ends the job.
func (c *coordinator) close() error {
	if err := supervisor.End(); err != nil {
		c.s.Observe(fmt.Sprintf("%v cannot tell the end of the job to who started it: %v", c.s.task, err))
	}
	c.mu.Lock()
	c.d.Cancel(fmt.Errorf("%w: the coordinator was closed", protocol.ErrCancelled))
	c.changed()
	c.mu.Unlock()
	c.ending.Do(func() { close(c.over) })
	ended := make(chan struct{})
	go func() {
		c.wait.Wait()
		close(ended)
	}()
	select { // workers take what they need and leave
	case <-ended:
	case <-time.After(c.s.JoinTimeout / 10):
	}
	c.cancel()
	<-ended
	c.watching.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), c.s.Deadline)
	defer cancel()
	var w protocol.Writer
	w.Uint(c.term)
	w.Uint(uint64(c.linger()))
	if c.client.routes != nil {
		return c.client.each(c.client.all(), func(server int) error {
			_, _ = c.client.links[server].invoke(c.s.introduce(ctx), "Stop", w.B) // who does not answer is lost, and belongs to nobody
			return nil
		})
	}
	return c.client.each(c.client.all(), func(server int) error {
		_, err := c.client.links[server].call(ctx, "Stop", w.B, c.s.Deadline)
		var gone *ServerError
		if err != nil && (errors.As(err, &gone) || ctx.Err() != nil || errors.Is(err, protocol.ErrStale)) {
			return nil // it has ended already, or belongs to another coordinator
		}
		return err
	})
}
