package parameterserver

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/internal/shared"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// link is the connection to one server. Every call may safely be repeated, so it is repeated until the server answers
// or has been lost for too long.
type link struct {
	s        *settings
	member   cluster.Member
	conn     *grpc.ClientConn
	identity atomic.Uint64 // of its state; 0: not known yet
	lost     atomic.Bool
	lanes    lanes
	roomless atomic.Bool // the server cannot see rooms
	alien    atomic.Bool // who is there has another secret
	opened   atomic.Pointer[opened]

	group  int     // of tables that calls are about
	routes *routes // who answers for it; nil: this server
}

func (s *settings) newLink(m cluster.Member) (*link, error) {
	l := &link{s: s, member: m}
	var err error
	if l.conn, err = s.dial(m, &l.alien, &l.opened); err != nil {
		return nil, fmt.Errorf("parameterserver: address of %v: %w", m.Task, err)
	}
	return l, nil
}

// stranger is a process at the address of a task that does not belong to the job.
type stranger struct {
	first, last time.Time
	why         string
}

func (x *stranger) seen(err error) {
	x.last, x.why = time.Now(), status.Convert(err).Message()
	if x.first.IsZero() {
		x.first = x.last
	}
}

// stays reports whether the stranger is likely to stay, rather than about to end: it may be gone by now, because it
// sees strangers too.
func (x *stranger) stays(deadline time.Duration) bool {
	return x.last.Sub(x.first) >= deadline && time.Since(x.first) >= 2*deadline
}

func (x *stranger) error(m cluster.Member) error {
	return fmt.Errorf("parameterserver: %v at %s: %s; give all processes the same Options.Security", m.Task, m.Address, x.why)
}

// target returns the link to the server that currently answers, its view, and a context that ends when that changes.
func (l *link) target() (*link, protocol.View, context.Context) {
	if l.routes == nil {
		return l, protocol.View{}, nil
	}
	v, ends := l.routes.of(l.group)
	if v.Lineage == 0 { // nobody does yet
		return l, v, ends
	}
	return l.routes.links[v.Primary.Server], v, ends
}

// renew opens a new connection after a call that got no answer: the host at the other end, or the route to it, may be
// gone, and the operating system takes many minutes to notice.
func (l *link) renew(err error) {
	if c := l.opened.Load(); c != nil && c.scarce == nil && status.Code(err) == codes.DeadlineExceeded && time.Since(c.since) >= l.s.Deadline {
		_ = c.Close() // gRPC has closed it, perhaps
	}
}

// scarce returns the reason why this process cannot open a connection; nil if none is known.
func (l *link) scarce() error {
	if c := l.opened.Load(); c != nil {
		return c.scarce
	}
	return nil
}

// slowestBytes is the speed, in bytes per second, below which a server counts as lost.
const slowestBytes = 20 << 20

// call sends a request and returns the answer.
func (l *link) call(ctx context.Context, method string, request []byte, patience time.Duration) (*protocol.Reader, error) {
	return l.repeat(ctx, patience, len(request), func(ctx context.Context, to *link) ([]byte, error) { return to.invoke(ctx, method, request) })
}

func (l *link) invoke(ctx context.Context, method string, request []byte) ([]byte, error) {
	var out message
	err := l.conn.Invoke(ctx, "/"+serverService+"/"+method, &message{request}, &out)
	return out.data, err
}

// exchange is call for large messages. build writes the request, of about size bytes; answer is the approximate size of
// the answer. Data from the reader are valid until done is called.
func (l *link) exchange(ctx context.Context, method string, size, answer int, build func(*protocol.Writer), patience time.Duration) (r *protocol.Reader, done func(), err error) {
	e := &exchange{link: l, method: method, build: func(w *protocol.Writer, _ bool) { build(w) }}
	return e.do(ctx, size, answer, patience)
}

// exchange is a call with a large message.
type exchange struct {
	*link
	method string
	// build writes the request, which may refer to rooms if inPlace is true. For a repetition without rooms it is
	// called again with false.
	build func(w *protocol.Writer, inPlace bool)
	rooms []*shared.Room // that it speaks of

	owner   *link
	lane    *shared.Memory // nil: the network alone
	size    int            // of the request's part of the lane
	request []byte
}

// do makes the call.
func (e *exchange) do(ctx context.Context, size, answer int, patience time.Duration) (r *protocol.Reader, done func(), err error) {
	var w protocol.Writer
	e.size = (size + laneSlack) &^ 63
	e.owner, _, _ = e.target()
	if e.lane = e.owner.lanes.take(e.size + answer + laneSlack); e.lane != nil {
		w.B = e.lane.Bytes[:0:e.size]
	}
	e.build(&w, len(e.rooms) > 0)
	e.request = w.B
	if e.lane != nil && !inside(e.lane.Bytes, e.request) {
		e.owner.lanes.give(e.lane)
		e.lane = nil
	}
	r, err = e.repeat(ctx, patience, len(e.request), func(ctx context.Context, to *link) ([]byte, error) {
		out, err := e.attempt(ctx, to)
		if err != nil {
			e.leave()
			return nil, err
		}
		if len(e.rooms) > 0 && len(out) >= headerBytes && out[8] == roomless {
			e.roomless.Store(true)
			e.rebuild()
			return to.invoke(ctx, e.method, e.request)
		}
		return out, nil
	})
	return r, func() {
		if e.lane != nil {
			e.owner.lanes.give(e.lane)
		}
	}, err
}

// attempt makes one attempt, through the lane if there is one.
func (e *exchange) attempt(ctx context.Context, to *link) ([]byte, error) {
	if e.lane != nil && to != e.owner {
		e.leave()
	}
	if e.lane == nil {
		return to.invoke(ctx, e.method, e.request)
	}
	out, err := to.invoke(ctx, "Shared", (&laneRequest{note: e.lane.Note(), method: e.method, length: len(e.request), answer: e.size}).encode())
	switch {
	case err != nil:
		return nil, err
	case len(out) < headerBytes || out[8] != inLane && out[8] != unmapped:
		return out, nil
	case out[8] == inLane:
		if out, err = laneAnswer(e.lane.Bytes[e.size:], out); err == nil {
			return out, nil
		}
		return nil, err
	}
	e.leave()
	e.owner.lanes.close() // the server is on another host, or sees another /proc
	return to.invoke(ctx, e.method, e.request)
}

// leave continues without the lane and the rooms, which the server may still be using.
func (e *exchange) leave() {
	lane := e.lane
	e.lane = nil
	if len(e.rooms) > 0 {
		for _, r := range e.rooms {
			r.Spoil()
		}
		e.rebuild()
	} else if lane != nil {
		e.request = slices.Clone(e.request)
	}
	if lane != nil {
		lane.Close()
	}
}

// rebuild writes the request without referring to rooms.
func (e *exchange) rebuild() {
	if e.lane != nil {
		e.owner.lanes.give(e.lane)
		e.lane = nil
	}
	var w protocol.Writer
	e.build(&w, false)
	e.request, e.rooms = w.B, nil
}

// laneAnswer returns the answer in a lane.
func laneAnswer(place, note []byte) ([]byte, error) {
	r := protocol.NewReader(note)
	r.Skip(headerBytes)
	n := r.Int()
	if err := r.End(); err != nil || n < headerBytes || n > len(place) {
		return nil, fmt.Errorf("%w: an answer of %d bytes in a lane of %d", protocol.ErrMessage, n, len(place))
	}
	return place[:n:n], nil
}

// repeat makes attempts until the server answers or has been silent for too long.
func (l *link) repeat(ctx context.Context, patience time.Duration, size int, try func(ctx context.Context, to *link) ([]byte, error)) (*protocol.Reader, error) {
	began, pause := time.Now(), 5*time.Millisecond
	var other stranger
	var left []byte // what servers say when the job has ended
	for {
		limit := l.s.Deadline + time.Duration(size)*time.Second/slowestBytes
		asked := time.Now()
		attempt, cancel := context.WithTimeout(l.s.introduce(ctx), limit)
		to, view, ends := l.target()
		stop := func() bool { return true }
		if ends != nil {
			attempt = meaning(attempt, l.group, view)
			stop = context.AfterFunc(ends, cancel)
		}
		out, err := try(attempt, to)
		stop()
		cancel()
		if err == nil && saidAfterwards(out) && l.s.task.Type == cluster.Worker {
			left, err = out, status.Error(ended, "the job has ended")
		}
		if err == nil {
			l.back(began, asked)
			return l.answer(out)
		}
		if ctx.Err() != nil {
			return nil, l.interrupted(ctx, began)
		}
		switch status.Code(err) {
		case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, ended:
		case codes.Aborted:
			if l.routes == nil {
				return nil, refusal(l.member, err)
			}
		default:
			to.lingerIfForeign(ctx, began, err)
			return nil, refusal(l.member, err)
		}
		if l.ended(asked, err) {
			return l.last(left)
		}
		if status.Code(err) == ended && l.s.task.Type != cluster.Worker && to.identity.Load() == 0 { // of this job it would have answered
			to.dismiss(ctx)
		}
		to.renew(err)
		silent := time.Since(began)
		if to.alien.Swap(false) {
			other.seen(err)
		}
		if other.stays(l.s.Deadline) && to.identity.Load() == 0 { // no server of the job has answered before
			return nil, other.error(to.member)
		}
		if silent > patience {
			return l.outOfPatience(to, left, silent, err)
		}
		if (status.Code(err) == codes.DeadlineExceeded || silent > l.s.Deadline) && !l.lost.Swap(true) {
			l.s.Observe(fmt.Sprintf("%v at %s has not answered for %v; waiting up to %v for it", l.member.Task, l.member.Address, silent.Round(time.Millisecond), patience))
		}
		if l.routes != nil {
			l.routes.refresh(ctx, l.s)
		}
		select {
		case <-ctx.Done():
			return nil, l.interrupted(ctx, began)
		case <-time.After(pause):
		}
		pause = min(2*pause, 100*time.Millisecond)
	}
}

// last returns the result of a call when the job is over: the answer that its servers left, or an error that says so.
func (l *link) last(left []byte) (*protocol.Reader, error) {
	if left != nil {
		return l.answer(left)
	}
	return nil, parameters.ErrOver
}

// outOfPatience returns the result of a call to a server that was silent for too long, or that says that the job has
// ended to a worker that no longer doubts it.
func (l *link) outOfPatience(to *link, left []byte, silent time.Duration, err error) (*protocol.Reader, error) {
	if status.Code(err) == ended && l.s.task.Type == cluster.Worker {
		return l.last(left)
	}
	return nil, to.gone(l.member, silent, err)
}

// back reports that a server that was lost answers a call, whose last attempt was made at asked.
func (l *link) back(began, asked time.Time) {
	l.s.news.goesOn(asked)
	if l.lost.Swap(false) {
		l.s.Observe(fmt.Sprintf("%v at %s answers again after %v", l.member.Task, l.member.Address, time.Since(began).Round(time.Millisecond)))
	}
}

// lingerIfForeign waits if a worker learns that it belongs to another job.
func (l *link) lingerIfForeign(ctx context.Context, began time.Time, err error) {
	if status.Code(err) == codes.FailedPrecondition && l.identity.Load() == 0 && l.s.task.Type == cluster.Worker {
		l.s.linger(ctx, began)
	}
}

// refusal returns the error for a server that answers, but refuses the call.
func refusal(m cluster.Member, err error) error {
	return fmt.Errorf("parameterserver: %v at %s: %s", m.Task, m.Address, status.Convert(err).Message())
}

// gone returns the error for a server that has been silent for too long; err is that of the last attempt.
func (l *link) gone(m cluster.Member, silent time.Duration, err error) error {
	late := ""
	if l.s.task.Type == cluster.Worker {
		late = "; or the job has ended, and nothing is left to do for this worker"
	}
	return &ServerError{Task: m.Task.String(), Address: m.Address, Silent: silent, Err: errors.New(status.Convert(err).Message()), late: late, scarce: l.scarce()}
}

// linger waits until two deadlines have passed since a process began. A coordinator learns that a worker does not
// belong to the job from the worker itself, which must still be there; the worker learns it from the servers, which end
// soon after their coordinator.
func (s *settings) linger(ctx context.Context, began time.Time) {
	select {
	case <-ctx.Done():
	case <-time.After(2*s.Deadline - time.Since(began)):
	}
}

// interrupted returns the error for a wait that the caller ended: if the wait was long, it names the server.
func (l *link) interrupted(ctx context.Context, began time.Time) error {
	silent := time.Since(began)
	if silent < l.s.Deadline {
		return ctx.Err()
	}
	return fmt.Errorf("parameterserver: waiting for %v at %s, which has not answered for %v: %w", l.member.Task, l.member.Address, silent.Round(time.Millisecond), ctx.Err())
}

// answer decodes an answer. If the identity of the server's state has changed, the variables on it are lost.
func (l *link) answer(b []byte) (*protocol.Reader, error) {
	if len(b) < headerBytes {
		return nil, fmt.Errorf("%w: an answer of %d bytes", protocol.ErrMessage, len(b))
	}
	identity := binary.LittleEndian.Uint64(b)
	if known := l.identity.Swap(identity); known != 0 && known != identity {
		l.identity.Store(known)
		return nil, fmt.Errorf("parameterserver: %v at %s: %w", l.member.Task, l.member.Address, ErrStateLost)
	}
	r := protocol.NewReader(b)
	r.Skip(headerBytes)
	switch b[8] {
	case answered:
		return r, nil
	case stale:
		return nil, fmt.Errorf("%w: %v: %s", protocol.ErrStale, l.member.Task, r.String())
	}
	return nil, errors.New(r.String())
}
