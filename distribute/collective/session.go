package collective

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"

	"github.com/gokeras/gokeras/distribute/collective/internal/membership"
)

// remembered is the number of recent calls that a worker can still describe to others.
const remembered = 64

// session holds what belongs to one view: its streams, its shared memory and its collectives.
type session struct {
	group  *Group
	view   *membership.View
	rank   int
	n      int
	ctx    context.Context
	cancel context.CancelFunc

	over chan struct{} // closed when the view has ended
	once sync.Once
	err  error // why; set before over is closed

	verdict error         // how the view has ended, while the others are being told; guarded by the group
	decided time.Duration // when

	calls    [remembered]record
	callsMu  sync.Mutex
	sequence uint64 // of the last call

	active  atomic.Uint64             // the call under way; 0: none
	hurried atomic.Pointer[time.Time] // since when no wait is to take longer than the deadline, if that is so
	moves   atomic.Uint64             // counts what came, and what went

	in  []chan *frame // by rank
	out []grpc.ClientStream

	shared   []*mapping // by rank; nil: the streams are used
	windows  int        // used so far
	counter  uint32     // published so far
	reported bool
	warned   bool
	begun    time.Time // of the current wait
	waited   time.Duration
	timer    *time.Timer
	lent     *lending
	scratch  []byte
	staging  []byte
	parts    [][]byte
	spins    int
}

func newSession(g *Group, view *membership.View) *session {
	s := &session{group: g, view: view, rank: view.Rank(g.settings.self), n: len(view.Members), over: make(chan struct{}), lent: newLending(&g.transport.lent)}
	s.ctx, s.cancel = context.WithCancel(g.transport.ctx)
	s.in = make([]chan *frame, s.n)
	for rank := range s.in {
		s.in[rank] = make(chan *frame, 4*lead)
	}
	s.out = make([]grpc.ClientStream, s.n)
	s.parts = make([][]byte, s.n)
	s.timer = time.NewTimer(time.Hour)
	s.timer.Stop()
	return s
}

// end stops all waits of the session.
func (s *session) end(err error) {
	s.once.Do(func() {
		s.err = err
		close(s.over)
		s.cancel()
	})
}

func (s *session) ended() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// release releases the resources of the session. No collective may be running.
func (s *session) release() {
	s.timer.Stop()
	for _, inbox := range s.in {
		for len(inbox) > 0 {
			(<-inbox).free()
		}
	}
	for rank, m := range s.shared {
		if rank != s.rank && m != nil {
			m.close()
		}
	}
	s.shared = nil
}

// describe describes the collective with that sequence number, if this worker has begun it.
func (s *session) describe(sequence uint64) (string, bool) {
	s.callsMu.Lock()
	defer s.callsMu.Unlock()
	c := &s.calls[sequence%remembered]
	if sequence == 0 || c.sequence != sequence {
		return "", false
	}
	return c.describe(), true
}

// begin counts a call and records it for workers that ask about it.
func (s *session) begin(c *call) {
	s.callsMu.Lock()
	s.sequence++
	c.sequence = s.sequence
	c.digest()
	s.calls[c.sequence%remembered].set(c)
	s.callsMu.Unlock()
	s.begun, s.reported, s.warned = time.Time{}, false, false
	s.active.Store(c.sequence)
}

// done notes that the current call is over.
func (s *session) done() {
	s.moves.Add(1)
	s.active.Store(0)
}

// patience is how long a collective waits before it asks what the others are doing.
const patience = 100 * time.Millisecond

// overdue is called when a wait takes long. It asks the others what they are doing, and gives up after the timeout.
func (s *session) overdue(ctx context.Context, c *call) error {
	switch {
	case s.ended():
		return s.err
	case ctx.Err() != nil:
		s.group.withdraw(s, bounded(context.Cause(ctx).Error()))
		return s.failure(ctx.Err())
	}
	if s.begun.IsZero() {
		s.begun = time.Now()
		return nil
	}
	waited := time.Since(s.begun)
	if waited >= patience && !s.reported {
		s.reported = true
		s.group.report(s, c)
	}
	if waited >= s.group.settings.SlowAfter && !s.warned {
		s.warned = true
		s.group.straggling(s, c)
	}
	limit := s.group.settings.Timeout
	if c.timeout > 0 {
		limit = c.timeout
	}
	if since := s.hurried.Load(); since != nil {
		limit = min(limit, max(since.Sub(s.begun), 0)+s.group.settings.Deadline)
	}
	if waited >= limit {
		s.group.stall(s, c, limit.Round(time.Millisecond))
		return s.failure(nil)
	}
	return nil
}

// failure waits for the verdict about the view and returns it, or cause if there is one.
func (s *session) failure(cause error) error {
	select {
	case <-s.over:
	case <-time.After(4 * s.group.settings.Deadline): // the membership always comes to a verdict before; if not, this one goes, so that none waits
		s.group.withdraw(s, "the group broke without a verdict")
		s.end(fmt.Errorf("collective: group %d broke without a verdict", s.view.ID.Generation)) // it has ended, unless this worker leaves
	}
	if cause != nil {
		return fmt.Errorf("collective: %w", cause)
	}
	return s.err
}

// mismatch handles data that do not belong to the call: it asks the others, and the verdict names the difference.
func (s *session) mismatch(c *call, from int, what string) error {
	s.reported = true
	s.group.report(s, c)
	select {
	case <-s.over:
	case <-time.After(s.group.settings.Deadline):
		s.group.withdraw(s, fmt.Sprintf("received %s from rank %d", what, from))
		return s.failure(nil)
	}
	return s.err
}

// recv returns the next frame from a rank. The caller frees it.
func (s *session) recv(ctx context.Context, c *call, from int) (*frame, error) {
	inbox := s.in[from]
	select {
	case f := <-inbox:
		return s.checkFrame(c, from, f)
	default:
	}
	if s.begun.IsZero() {
		s.begun = time.Now()
	}
	for {
		s.timer.Reset(patience)
		select {
		case f := <-inbox:
			s.timer.Stop()
			return s.checkFrame(c, from, f)
		case <-s.over:
			return nil, s.err
		case <-ctx.Done():
		case <-s.timer.C:
		}
		if err := s.overdue(ctx, c); err != nil {
			return nil, err
		}
	}
}

func (s *session) checkFrame(c *call, from int, f *frame) (*frame, error) {
	s.waitOver()
	if f.view == s.view.ID.Digest && f.sequence == c.sequence&sequenceMask && f.call == c.hash {
		return f, nil
	}
	what := fmt.Sprintf("a message of collective %d (%016x) instead of %d (%016x)", f.sequence, f.call, c.sequence, c.hash)
	f.free()
	return nil, s.mismatch(c, from, what)
}

// send sends a payload to a rank. Lent memory must stay unchanged until s.lent is idle.
func (s *session) send(c *call, to int, round, index int, payload mem.Buffer) error {
	stream := s.out[to]
	if stream == nil {
		var err error
		if stream, err = s.group.transport.open(s.ctx, s.view.Members[to].Task, s.view.ID.Digest); err != nil {
			if payload != nil {
				payload.Free()
			}
			return s.broken(to, err)
		}
		s.out[to] = stream
	}
	f := frame{view: s.view.ID.Digest, sequence: c.sequence, call: c.hash, round: uint32(round), index: uint32(index), payload: payload}
	if err := stream.SendMsg(&f); err != nil {
		return s.broken(to, err)
	}
	s.moves.Add(1)
	return nil
}

// reason is how long the reason for the end of a stream may arrive after that end: the member that first learns of the
// end of the group ends its streams, and must not be blamed for it. If a connection broke, its control stream says so
// at once.
const reason = 100 * time.Millisecond

// broken handles a stream that cannot be used: it tells the membership if that does not know why, and returns its
// verdict.
func (s *session) broken(to int, err error) error {
	select {
	case <-s.over:
	case <-time.After(reason):
		s.group.disconnected(s.view.Members[to].Task, time.Now(), describe(err))
	}
	return s.failure(nil)
}

// await waits until all others have published as many times as this worker.
func (s *session) await(ctx context.Context, c *call) error {
	for rank, m := range s.shared {
		if rank == s.rank {
			continue
		}
		for spin := 0; int32(m.counter()-s.counter) < 0; spin++ {
			if spin == 0 && s.begun.IsZero() {
				s.begun = time.Now()
			}
			if spin < s.spins {
				continue
			}
			if s.ended() {
				return s.err
			}
			if ctx.Err() != nil || spin > s.spins+20 {
				if err := s.overdue(ctx, c); err != nil {
					return err
				}
			}
			if seen := m.counter(); int32(seen-s.counter) < 0 {
				m.sleep(seen, 5*time.Millisecond)
			}
		}
	}
	s.waitOver()
	return nil
}

// waitOver adds up the time spent waiting.
func (s *session) waitOver() {
	s.moves.Add(1)
	if !s.begun.IsZero() {
		s.waited += time.Since(s.begun)
		s.begun = time.Time{}
	}
}

// publish makes what this worker wrote to its memory visible to the others.
func (s *session) publish() {
	s.counter++
	s.shared[s.rank].publish()
}
