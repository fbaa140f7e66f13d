package collective

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective/internal/membership"
)

// Group is this worker's membership in a group of workers. Its methods may be called from any goroutine; collectives
// run one at a time, in an order that must be the same on all workers.
type Group struct {
	settings  *settings
	transport *transport
	start     time.Time

	mu       sync.Mutex // guards what follows
	machine  *membership.Machine
	session  *session      // of the last view installed; nil: none yet
	changed  chan struct{} // closed and replaced when the session or its state change
	heard    chan struct{} // closed and replaced when another worker said something
	own      *mapping      // shared memory of this worker for the next or current view
	note     string
	mapped   map[int]*mapping // memory of candidates, by task
	tried    map[int]string   // notes that were tried, by task
	lastSeen map[int]string   // why a task cannot be reached
	told     map[int]string   // what a task said of itself
	refusals map[int]refusal  // by task
	closed   bool
	closing  bool
	gone     string // why this worker has withdrawn, "" where it has not, or was taken back
	stats    Stats
	watchdog watchdog

	opMu     sync.Mutex // held by a collective, and while the group changes
	hasState bool
	step     uint64

	stop    chan struct{}
	running sync.WaitGroup
}

// Join waits until a group that includes this worker has formed. It fails with a *JoinError that names the missing
// workers if that takes longer than Options.JoinTimeout, or if others refuse this worker for two deadlines, because
// their cluster, secret or version of the protocol differs. It fails with ErrLeft if so many others have left an
// earlier group that no group can form, and none of them has come back for two deadlines: then the job is over.
func Join(ctx context.Context, o Options) (*Group, error) {
	s, err := o.resolve()
	if err != nil {
		if o.Listener != nil {
			_ = o.Listener.Close() // it was handed over
		}
		return nil, err
	}
	g := &Group{settings: s, start: time.Now(), changed: make(chan struct{}), heard: make(chan struct{}), stop: make(chan struct{}), lastSeen: map[int]string{}, told: map[int]string{}, refusals: map[int]refusal{},
		hasState: o.HasState, step: o.Step}
	g.machine = membership.New(membership.Config{Task: s.self, Size: len(s.members), Incarnation: uint64(g.start.UnixNano()), About: s.About, Heartbeat: s.Heartbeat,
		Deadline: s.Deadline, Describe: g.describe}, 0)
	g.mu.Lock() // until everything is in place
	g.transport, err = newTransport(ctx, s, g)
	g.mu.Unlock()
	if err != nil {
		if o.Listener != nil {
			_ = o.Listener.Close()
		}
		return nil, err
	}
	g.running.Add(1)
	go g.tick()
	if err := g.form(ctx, s.MinMembers, s.MaxMembers, s.Patience); err != nil {
		_ = g.Close() // the first error is the one to report
		return nil, err
	}
	return g, nil
}

func (g *Group) now() time.Duration { return time.Since(g.start) }

// tick tells the state machine regularly that time passes.
func (g *Group) tick() {
	defer g.running.Done()
	ticker := time.NewTicker(min(g.settings.Heartbeat/2, 20*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-g.stop:
			return
		case <-ticker.C:
			g.mu.Lock()
			g.machine.Tick(g.now())
			g.watchdog.look(g)
			g.update()
			g.mu.Unlock()
		}
	}
}

// reset ends the current session and prepares for the next one. The caller holds g.mu.
func (g *Group) reset(ctx context.Context) error {
	if g.closed {
		return ErrClosed
	}
	if s := g.session; s != nil {
		g.settle(ctx)
		if g.closed {
			return ErrClosed
		}
		if s.verdict == nil {
			s.verdict = errors.New("collective: a new group is being formed")
		}
		s.end(s.verdict)
		s.release()
	}
	if g.own != nil {
		g.own.close()
		g.own, g.note = nil, ""
	}
	g.dropMapped()
	g.mapped, g.tried = map[int]*mapping{}, map[int]string{}
	if !g.settings.NoSharedMemory {
		g.own, g.note, _ = newMapping() // without shared memory the network is used
	}
	return nil
}

// form gathers workers and waits for the next view. Callers other than Join hold g.opMu.
func (g *Group) form(ctx context.Context, least, most int, patience time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err := g.reset(ctx); err != nil {
		return err
	}
	before := uint64(0)
	if v := g.machine.View(); v != nil {
		before = v.ID.Generation
	}
	g.gone = ""
	g.machine.Gather(g.now(), membership.Terms{Min: least, Max: most, Patience: patience, Timeout: g.settings.JoinTimeout, HasState: g.hasState, Step: g.step,
		Note: []byte(g.note)})
	g.update()
	look, since := time.NewTicker(g.settings.Heartbeat), time.Now()
	defer look.Stop()
	waits := since.Add(2 * g.settings.Deadline)
	for {
		if v := g.machine.View(); v != nil && v.ID.Generation > before && g.session.view.ID == v.ID {
			step, source := v.Agreed()
			if source >= 0 {
				g.hasState, g.step = g.hasState && g.step == step, step
			}
			return nil
		}
		if g.excluded(least) {
			g.machine.GiveUp(g.now())
			g.update()
		}
		if e := g.machine.JoinError(); e != nil {
			return g.joinError(e)
		}
		over := g.session == nil && len(g.settings.members)-len(g.left(true)) < least
		if !over {
			since = time.Now()
		}
		if text := g.unheard(); text != "" && time.Now().After(waits) {
			waits = waits.Add(g.settings.JoinTimeout)
			g.observe("waiting up to %v for a group%s", g.settings.JoinTimeout, text)
		}
		changed := g.changed
		g.mu.Unlock()
		var err error
		select {
		case <-changed:
		case <-look.C:
			if over && time.Since(since) >= 2*g.settings.Deadline {
				err = fmt.Errorf("collective: waiting for a group: %w", ErrLeft)
			}
		case <-ctx.Done():
			err = ctx.Err()
		case <-g.stop:
			err = ErrClosed
		}
		g.mu.Lock()
		if err != nil {
			if errors.Is(err, ctx.Err()) {
				err = fmt.Errorf("collective: waiting for a group%s: %w", g.unheard(), err)
			}
			if !g.closed {
				g.machine.Abandon(g.now(), bounded(err.Error()))
				g.update()
			}
			return err
		}
	}
}

// settle waits until the others have completed the collectives that this worker has completed, so that nothing they
// still need is cut off. The caller holds g.mu; settle releases it while waiting.
func (g *Group) settle(ctx context.Context) {
	s := g.session
	if s == nil || s.ended() || s.n == 1 {
		return
	}
	g.machine.Settle()
	g.update()
	timeout := time.NewTimer(g.settings.Deadline)
	defer timeout.Stop()
	for !g.machine.Settled(g.now()) && !s.ended() {
		heard := g.heard
		g.mu.Unlock()
		late := false
		select {
		case <-heard:
		case <-timeout.C:
			late = true
		case <-ctx.Done():
			late = true
		}
		g.mu.Lock()
		if late {
			return
		}
	}
}

// Terms of a Regroup.
type Terms struct {
	HasState bool          // this worker has the state of the training
	Step     uint64        // the last step it completed
	Min, Max int           // as Options.MinMembers and MaxMembers; 0: those
	Patience time.Duration // how long to wait for more than Min, for example for the return of a worker; 0: continue at once
}

// Regroup forms the next group: with the survivors after an error, or between two steps to admit the workers of
// Pending. All living members must call it. It fails with a *JoinError if that takes longer than Options.JoinTimeout.
func (g *Group) Regroup(ctx context.Context, t Terms) error {
	g.opMu.Lock()
	defer g.opMu.Unlock()
	if t.Min == 0 {
		t.Min = g.settings.MinMembers
	}
	if t.Max == 0 {
		t.Max = g.settings.MaxMembers
	}
	if t.Min < 1 || t.Min > t.Max || t.Max > len(g.settings.members) || t.Patience < 0 {
		return fmt.Errorf("collective: Regroup with Min %d, Max %d and Patience %v does not fit a cluster of %d", t.Min, t.Max, t.Patience, len(g.settings.members))
	}
	g.hasState, g.step = t.HasState, t.Step
	return g.form(ctx, t.Min, t.Max, t.Patience)
}

// Member is one worker of the group.
type Member struct {
	Task     cluster.Task
	Address  string
	HasState bool   // it brought the state of the training
	Step     uint64 // its last completed step then
}

// View describes the group as it formed.
type View struct {
	Generation   uint64
	Members      []Member // by rank
	Rank         int      // of this worker
	Step         uint64   // the last step that any member has completed
	Source       int      // rank of a member that has the state after Step; -1: none has
	Behind       []int    // ranks that need that state
	SharedMemory bool     // all members are on one host and use its memory
}

// View returns the current group, or the last one if it has ended.
func (g *Group) View() View {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.session == nil {
		return View{Source: -1}
	}
	v := g.session.view
	out := View{Generation: v.ID.Generation, Rank: g.session.rank, SharedMemory: g.session.shared != nil}
	out.Step, out.Source = v.Agreed()
	for rank, m := range v.Members {
		member := g.settings.members[m.Task]
		out.Members = append(out.Members, Member{member.Task, member.Address, m.HasState, m.Step})
		if out.Source >= 0 && (!m.HasState || m.Step < out.Step) {
			out.Behind = append(out.Behind, rank)
		}
	}
	return out
}

// Size is the number of workers of the group.
func (g *Group) Size() int { return len(g.View().Members) }

// Rank is the number of this worker in the group, from 0. It may change with the group.
func (g *Group) Rank() int { return g.View().Rank }

// IsChief reports whether this worker has rank 0: it saves checkpoints and writes summaries. When the chief is lost,
// the next group has another.
func (g *Group) IsChief() bool { return g.Rank() == 0 }

// First reports whether this worker is the first of those members of its last group that are still there: those before
// it are gone, but not in good order, and the others have not removed it. If a group has ended and no other will form,
// this worker does what a chief does at the end.
func (g *Group) First() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.machine.First(g.now())
}

// Pending lists the workers that are waiting to join by a Regroup.
func (g *Group) Pending() []cluster.Task {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tasks(g.machine.Pending(g.now()))
}

// Left lists the workers that have left the job in good order, with Close, and not come back. A worker that gave up
// waiting for a group is not among them.
func (g *Group) Left() []cluster.Task {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tasks(g.left(false))
}

// left lists the workers that have left, with worked only those that were in a group before. Workers that were stopped
// while they waited for a group are included, those that gave up waiting are not. The caller holds g.mu.
func (g *Group) left(worked bool) []int {
	var list []int
	for task := range g.settings.members {
		if s := g.machine.Peer(task); task != g.settings.self && s != nil && s.Phase == membership.Left && !strings.HasPrefix(s.Why, inVain) && (!worked || s.View.Generation > 0) {
			list = append(list, task)
		}
	}
	return list
}

// Err returns why the group has ended, or nil if it has not.
func (g *Group) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return ErrClosed
	case g.session != nil && g.session.ended():
		return g.session.err
	}
	return nil
}

// Ended returns a channel that is closed when the current group has ended, and a function that then returns the reason.
// It does not wait for collectives: programs that wait for other workers by other means learn from it that one is gone.
func (g *Group) Ended() (over <-chan struct{}, why func() error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := g.session
	if s == nil {
		closed := make(chan struct{})
		close(closed)
		return closed, func() error { return ErrClosed }
	}
	return s.over, func() error { return s.err }
}

// Withdraw leaves the group at once, with a reason that the others get in a *MemberError. They can continue without
// this worker; Regroup asks to be readmitted. If this worker closes the group instead of regrouping, it has not left in
// good order: the others wait for its return as if it had been killed.
func (g *Group) Withdraw(why string) {
	g.mu.Lock()
	s := g.session
	if s != nil && !s.ended() {
		g.gone = bounded(why)
	}
	g.mu.Unlock()
	if s != nil && !s.ended() {
		g.withdraw(s, bounded(why))
	}
}

// Close leaves the group and tells the others. Before that, it waits for at most Options.Deadline until they have
// completed the collectives that this worker has completed. When it returns, no goroutine, socket or memory of the
// group is left.
func (g *Group) Close() error {
	g.mu.Lock()
	if g.closed || g.closing {
		g.mu.Unlock()
		return ErrClosed
	}
	g.closing = true
	if g.opMu.TryLock() { // else a collective is running here, which this ends
		g.settle(context.Background())
		g.opMu.Unlock()
	}
	g.closed = true
	if g.gone == "" {
		g.machine.Leave(g.now())
	} else {
		g.machine.Explain(g.gone)
	}
	g.update()
	if g.session != nil {
		g.session.end(ErrClosed)
	}
	close(g.stop)
	g.mu.Unlock()
	g.transport.farewell()
	g.transport.close()
	g.running.Wait()
	g.opMu.Lock() // a collective that was running returns now
	defer g.opMu.Unlock()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.session != nil {
		g.session.release()
	}
	if g.own != nil {
		g.own.close()
		g.own = nil
	}
	g.dropMapped()
	return nil
}
