package membership

import (
	"container/heap"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The simulation plays a cluster in virtual time over a network that delays, overtakes, doubles and loses messages and
// falls into parts, with processes that are killed, restarted and stopped. On top of each machine runs a program that
// "trains": a step of a view is complete when all its members have begun it.

type event struct {
	at    time.Duration
	order int
	run   func()
}

type events []event

func (q events) Len() int { return len(q) }
func (q events) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].order < q[j].order
}
func (q events) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *events) Push(x any)   { *q = append(*q, x.(event)) }
func (q *events) Pop() any     { last := (*q)[len(*q)-1]; *q = (*q)[:len(*q)-1]; return last }

// begun is what the training programs send: the last step begun in a view, and whether newcomers wait.
type begun struct {
	from    int
	view    ViewID
	step    uint64
	pending bool
}

type process struct {
	sim         *simulation
	task        int
	incarnation uint64
	machine     *Machine
	frozen      time.Duration // until when
	dead        bool

	hasState bool
	step     uint64 // completed
	view     ViewID // at work in
	begun    begun
	others   map[int]begun
	working  bool

	gathers int            // how often it has asked for a group
	note    string         // of its memory, which is another one each time
	mapped  map[int]string // memory of candidates, by task
	tried   map[int]string // notes that were tried
	shared  map[int]string // memory of the members of the view, where they share it

	began, ticked time.Duration // when something came last, and when time passed last
}

type simulation struct {
	t         *testing.T
	rng       *rand.Rand
	now       time.Duration
	queue     events
	order     int
	nodes     []*process
	part      []int                       // the part of the network each task is in
	deaf      map[[2]int]bool             // from and to where nothing arrives
	links     map[[4]uint64]time.Duration // from when there is a connection between two processes (task and incarnation of both)
	faulty    bool
	streams   bool // a member that sees the end of a view ends its streams to the others
	clocks    bool // that of each process is another one
	terms     Terms
	deadline  time.Duration
	views     map[ViewID]string
	verdicts  map[ViewID]map[int]*Verdict
	installed int
	steps     int
	log       []string
}

func newSimulation(t *testing.T, seed uint64, size int, terms Terms) *simulation {
	s := &simulation{t: t, rng: rand.New(rand.NewPCG(seed, 7)), part: make([]int, size), nodes: make([]*process, size), terms: terms,
		deaf: map[[2]int]bool{}, links: map[[4]uint64]time.Duration{}, deadline: time.Second, views: map[ViewID]string{}, verdicts: map[ViewID]map[int]*Verdict{}}
	for task := range size {
		s.create(task)
	}
	for _, p := range s.nodes {
		p.begin()
	}
	return s
}

func (s *simulation) logf(format string, args ...any) {
	s.log = append(s.log, fmt.Sprintf("%8v ", s.now.Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

func (s *simulation) after(d time.Duration, run func()) {
	s.order++
	heap.Push(&s.queue, event{s.now + d, s.order, run})
}

func (s *simulation) start(task int) {
	s.create(task)
	s.nodes[task].begin()
}

func (s *simulation) create(task int) {
	incarnation := uint64(s.now) + 1
	if s.clocks {
		incarnation += uint64(s.rng.Int64N(int64(time.Hour)))
	}
	p := &process{sim: s, task: task, incarnation: incarnation, others: map[int]begun{}, mapped: map[int]string{}, tried: map[int]string{}}
	p.machine = New(Config{Task: task, Size: len(s.nodes), Incarnation: p.incarnation, Heartbeat: s.deadline / 10, Deadline: s.deadline}, s.now)
	s.nodes[task] = p
	s.logf("start %d", task)
}

func (p *process) begin() {
	s := p.sim
	first := s.terms
	first.Patience = max(first.Patience, s.deadline/2)
	p.gather(first)
	p.tick()
}

// gather asks for a group, with new memory.
func (p *process) gather(terms Terms) {
	p.gathers++
	p.note = fmt.Sprintf("memory %d of process %d of task %d", p.gathers, p.incarnation, p.task)
	clear(p.mapped)
	clear(p.tried)
	terms.Note = []byte(p.note)
	p.machine.Gather(p.sim.now, terms)
}

// reach maps the memory of candidates. Memory that has an owner no more cannot be mapped, but stays with those who have
// it.
func (p *process) reach() {
	s, m := p.sim, p.machine
	for task, q := range s.nodes {
		state := m.Peer(task)
		if task == p.task || m.Phase() != Gathering || state == nil || state.Phase != Gathering || len(state.Note) == 0 || p.tried[task] == string(state.Note) {
			continue
		}
		p.tried[task] = string(state.Note)
		delete(p.mapped, task)
		ok := !q.dead && q.note == string(state.Note)
		if ok {
			p.mapped[task] = q.note
		}
		m.Reached(s.now, task, state.Note, ok)
	}
}

func (p *process) tick() {
	if p.dead {
		return
	}
	if !p.stopped() {
		p.machine.Tick(p.sim.now)
		p.watch()
		p.react()
	}
	p.sim.after(20*time.Millisecond, p.tick)
}

// watch says when nothing came for this process although it waits. The steps of a view are its collectives.
func (p *process) watch() {
	s := p.sim
	if p.resumed(); !p.working || s.now-p.began < s.deadline*4/5 {
		p.machine.Unblock()
		return
	}
	p.machine.Block(s.now, p.begun.step)
}

// resumed restarts the wait where this process was stopped meanwhile.
func (p *process) resumed() {
	if p.sim.now-p.ticked > p.sim.deadline/2 {
		p.began = p.sim.now
	}
	p.ticked = p.sim.now
}

func (p *process) stopped() bool { return p.frozen > p.sim.now }

// react sends what the machine wants to send and does what the program does about a new view or a verdict.
func (p *process) react() {
	s := p.sim
	m := p.machine
	p.reach()
	if v := m.Verdict(); v != nil && s.verdicts[v.View][p.task] == nil {
		if s.verdicts[v.View] == nil {
			s.verdicts[v.View] = map[int]*Verdict{}
		}
		s.verdicts[v.View][p.task] = v
		s.logf("verdict at %d: %+v", p.task, v)
		s.checkVerdicts(v.View)
	}
	switch m.Phase() {
	case Failed:
		p.working = false
		if s.streams {
			s.breakStreams(p)
		}
		terms := s.terms
		terms.HasState, terms.Step = p.hasState, p.step
		p.gather(terms)
	case Serving:
		if view := m.View(); view.ID != p.view {
			p.enter(view)
		}
	}
	if state, ok := m.Poll(s.now); ok {
		data := Append(nil, 42, state)
		for task := range s.nodes {
			if task != p.task {
				s.send(p, task, func(q *process) {
					received, err := Decode(data, 42)
					require.NoError(s.t, err)
					q.machine.Receive(s.now, received)
					q.react()
				})
			}
		}
	}
}

func (p *process) enter(view *View) {
	s := p.sim
	s.installed++
	members := fmt.Sprint(view.Members)
	if known, ok := s.views[view.ID]; ok {
		require.Equal(s.t, known, members, "view %v", view.ID)
	}
	s.views[view.ID] = members
	s.logf("install at %d: %v", p.task, view)
	require.GreaterOrEqual(s.t, len(view.Members), s.terms.Min)
	p.view = view.ID
	step, source := view.Agreed()
	if source >= 0 {
		require.GreaterOrEqual(s.t, step, p.step, "a step of task %d was lost", p.task)
		p.step = step // streamed from the source
	}
	p.hasState = true
	p.shared = nil
	if view.Shared {
		p.shared = maps.Clone(p.mapped)
	}
	clear(p.others)
	p.beginStep()
}

func (p *process) beginStep() {
	p.working, p.began = true, p.sim.now
	p.begun = begun{p.task, p.view, p.step + 1, len(p.machine.Pending(p.sim.now)) > 0}
	p.repeat(p.begun)
	p.complete()
}

// repeat sends the message until the step is over.
func (p *process) repeat(message begun) {
	if p.dead || !p.working || p.begun != message {
		return
	}
	if !p.stopped() {
		for _, member := range p.machine.View().Members {
			if member.Task != p.task {
				p.tell(member.Task, message)
			}
		}
	}
	p.sim.after(50*time.Millisecond, func() { p.repeat(message) })
}

// tell sends what a member has begun: over the network, or by its memory, which shows it to those who have mapped that
// one.
func (p *process) tell(task int, message begun) {
	memory := p.note
	p.sim.send(p, task, func(q *process) {
		if q.view == message.view && q.shared != nil && q.shared[p.task] != memory {
			return
		}
		q.hear(message)
	})
}

func (p *process) hear(message begun) {
	if message.view == p.view && message.step >= p.others[message.from].step {
		if message != p.others[message.from] {
			p.began = p.sim.now
		}
		p.others[message.from] = message
		p.complete()
	}
}

func (p *process) complete() {
	if !p.working || p.machine.Phase() != Serving || p.machine.View().ID != p.view {
		return
	}
	pending := p.begun.pending
	for _, member := range p.machine.View().Members {
		if member.Task == p.task {
			continue
		}
		other := p.others[member.Task]
		if other.step < p.begun.step {
			return
		}
		// A member that went on to the next step knows that nobody was pending in this one.
		pending = pending || other.step == p.begun.step && other.pending
	}
	p.step++
	p.machine.Complete(p.step)
	p.sim.steps++
	p.working = false
	if pending {
		p.sim.logf("%d regroups after step %d", p.task, p.step)
		terms := p.sim.terms
		terms.HasState, terms.Step = true, p.step
		// The others may need this last message again.
		message := p.begun
		for range 3 {
			for _, member := range p.machine.View().Members {
				if member.Task != p.task {
					p.tell(member.Task, message)
				}
			}
		}
		p.gather(terms)
		return
	}
	view := p.view
	p.sim.after(time.Duration(p.sim.rng.IntN(30))*time.Millisecond, func() { p.resume(view) })
}

func (p *process) resume(view ViewID) {
	if p.dead || p.working || p.view != view || p.machine.Phase() != Serving {
		return
	}
	if p.stopped() {
		p.sim.after(p.frozen-p.sim.now, func() { p.resume(view) })
		return
	}
	p.beginStep()
}

func (s *simulation) send(from *process, to int, deliver func(q *process)) {
	cut := func() bool { return s.part[from.task] != s.part[to] || s.deaf[[2]int{from.task, to}] }
	if cut() {
		return
	}
	copies := 1
	delay := func() time.Duration { return time.Duration(s.rng.IntN(1000)) * time.Microsecond }
	if s.faulty {
		switch x := s.rng.IntN(20); {
		case x == 0:
			copies = 0
		case x < 3:
			copies = 2
		}
		delay = func() time.Duration { return time.Duration(s.rng.IntN(60)) * time.Millisecond }
	}
	target := s.nodes[to]
	delay = s.connected(from, target, delay)
	var arrive func()
	arrive = func() {
		switch {
		case target.dead || cut():
		case target.stopped():
			s.after(target.frozen-s.now+time.Duration(s.rng.IntN(5))*time.Millisecond, arrive)
		default:
			deliver(target)
		}
	}
	for range copies {
		s.after(delay(), arrive)
	}
}

// connected adds to a delay what it takes to connect to a process: one that is stopped does not answer, and the next
// attempt is a while off.
func (s *simulation) connected(from, target *process, delay func() time.Duration) func() time.Duration {
	key := [4]uint64{uint64(from.task), from.incarnation, uint64(target.task), target.incarnation}
	ready, known := s.links[key]
	if !known {
		ready = s.now
		if target.stopped() {
			ready = target.frozen + time.Duration(s.rng.IntN(300))*time.Millisecond
		}
		s.links[key] = ready
	}
	wait := max(0, ready-s.now)
	return func() time.Duration { return wait + delay() }
}

func (s *simulation) run(d time.Duration) {
	end := s.now + d
	for len(s.queue) > 0 && s.queue[0].at <= end {
		e := heap.Pop(&s.queue).(event)
		s.now = e.at
		e.run()
	}
	s.now = end
}

func (s *simulation) kill(task int, noticed bool) {
	s.logf("kill %d", task)
	s.nodes[task].dead = true
	if !noticed {
		return
	}
	for _, p := range s.nodes {
		if p.task != task && s.part[p.task] == s.part[task] {
			s.after(time.Duration(1+s.rng.IntN(20))*time.Millisecond, func() {
				if !p.dead && !p.stopped() {
					p.machine.Disconnected(s.now, s.now, task, "connection reset")
					p.react()
				}
			})
		}
	}
}

func (s *simulation) freeze(task int, d time.Duration) {
	s.logf("freeze %d for %v", task, d)
	s.nodes[task].frozen = s.now + d
}

// breakStreams tells the others of a view, of which a member has just seen the end, that its streams are gone: they may
// hear that before they hear why.
func (s *simulation) breakStreams(p *process) {
	view := p.machine.View()
	if view == nil {
		return
	}
	for _, member := range view.Members {
		q := s.nodes[member.Task]
		if q == p || s.part[q.task] != s.part[p.task] {
			continue
		}
		s.after(time.Duration(s.rng.IntN(3000))*time.Microsecond, func() {
			if !q.dead && !q.stopped() && q.machine.Phase() == Serving && q.machine.View().ID == view.ID {
				q.machine.Disconnected(s.now, s.now, p.task, "the stream ended")
				q.react()
			}
		})
	}
}

// checkVerdicts requires that members which both survive have the same verdict.
func (s *simulation) checkVerdicts(view ViewID) {
	if s.streams { // those who hear first that a stream ended blame the member at its end
		return
	}
	for i, a := range s.verdicts[view] {
		for j, b := range s.verdicts[view] {
			if !a.Removes(i) && !a.Removes(j) && !b.Removes(i) && !b.Removes(j) {
				require.Equal(s.t, a, b, "verdicts of %d and %d", i, j)
			}
		}
	}
}

// together reports whether all living tasks are at work in one view.
func (s *simulation) together() bool {
	var view ViewID
	for _, p := range s.nodes {
		if p.dead || p.machine.Phase() != Serving || view != (ViewID{}) && p.machine.View().ID != view {
			return false
		}
		view = p.machine.View().ID
	}
	return true
}

func (s *simulation) dump() {
	if s.t.Failed() {
		for _, line := range s.log[max(0, len(s.log)-60):] {
			s.t.Log(line)
		}
		for _, p := range s.nodes {
			s.t.Log(p.machine, "step", p.step)
		}
	}
}

func terms(least, most int) Terms { return Terms{Min: least, Max: most, Timeout: 20 * time.Second} }

func TestScripted(t *testing.T) {
	t.Run("killed", func(t *testing.T) {
		for victim := range 3 {
			s := newSimulation(t, 1, 3, terms(2, 3))
			s.run(2 * time.Second)
			require.True(t, s.together())
			view := s.nodes[0].machine.View().ID
			s.kill(victim, true)
			killed := s.now
			for s.now-killed < time.Second && s.nodes[(victim+1)%3].machine.View().ID == view {
				s.run(time.Millisecond)
			}
			require.Less(t, s.now-killed, 100*time.Millisecond, "the survivors are together again")
			for task, v := range s.verdicts[view] {
				require.Equal(t, 1, len(v.Removed), "verdict of %d", task)
				require.Equal(t, victim, v.Removed[0].Who)
				require.Equal(t, Lost, v.Removed[0].Reason)
			}
			require.Len(t, s.verdicts[view], 2)
			s.start(victim)
			s.run(2 * time.Second)
			require.True(t, s.together(), "the restarted worker is taken in")
			s.dump()
		}
	})
	// Most are killed at once: those who are left cannot tell whether it is they who were cut off, and form the next
	// group when the others are back, or by themselves where they may. What they know does not grow by waiting for the
	// deadline.
	t.Run("most killed at once", func(t *testing.T) {
		for _, c := range []struct {
			size, killed, least int
			atOnce              bool // those that were killed are back at once
		}{{3, 2, 3, false}, {3, 2, 1, false}, {5, 3, 5, false}, {5, 4, 1, false}, {4, 2, 4, false}, {3, 2, 3, true}, {3, 2, 1, true}, {5, 4, 5, true}} {
			for first := range c.size {
				s := newSimulation(t, 8, c.size, terms(c.least, c.size))
				s.run(2 * time.Second)
				require.True(t, s.together())
				for i := range c.killed {
					s.kill((first+i)%c.size, true)
				}
				killed, left := s.now, s.nodes[(first+c.killed)%c.size]
				view := left.view
				if c.atOnce {
					s.run(s.deadline / 20)
					for i := range c.killed {
						s.start((first + i) % c.size)
					}
				}
				for s.now-killed < 3*s.deadline && left.machine.Phase() == Serving && left.view == view {
					s.run(time.Millisecond)
				}
				require.Less(t, s.now-killed, s.deadline/5, "%+v: one that is left looks for the next group", c)
				for i := range c.killed {
					if !c.atOnce {
						s.start((first + i) % c.size)
					}
				}
				s.run(2 * time.Second)
				require.True(t, s.together())
				s.dump()
			}
		}
	})
	// So it is where most are stopped at once: the silence shows that nobody will tell a verdict.
	t.Run("most frozen at once", func(t *testing.T) {
		for _, c := range []struct{ size, frozen, least int }{{3, 2, 3}, {3, 2, 1}, {5, 3, 2}, {5, 4, 1}} {
			for first := range c.size {
				s := newSimulation(t, 8, c.size, terms(c.least, c.size))
				s.run(2 * time.Second)
				require.True(t, s.together())
				for i := range c.frozen {
					s.freeze((first+i)%c.size, 3*time.Second)
				}
				frozen, left := s.now, s.nodes[(first+c.frozen)%c.size]
				view := left.view
				for s.now-frozen < 3*s.deadline && left.machine.Phase() == Serving && left.view == view {
					s.run(time.Millisecond)
				}
				require.Less(t, s.now-frozen, s.deadline*13/10, "%+v: one that is left looks for the next group", c)
				s.run(6 * time.Second)
				require.True(t, s.together())
				s.dump()
			}
		}
	})
	t.Run("frozen", func(t *testing.T) {
		for victim := range 3 {
			s := newSimulation(t, 2, 3, terms(2, 3))
			s.run(2 * time.Second)
			view := s.nodes[0].machine.View().ID
			s.freeze(victim, 5*time.Second)
			frozen := s.now
			for s.now-frozen < 3*time.Second && s.nodes[(victim+1)%3].machine.View().ID == view {
				s.run(time.Millisecond)
			}
			require.Less(t, s.now-frozen, s.deadline+300*time.Millisecond)
			steps := s.nodes[(victim+1)%3].step
			s.run(7 * time.Second)
			require.True(t, s.nodes[victim].machine.View().ID != view && s.together(), "the thawed worker is taken back")
			require.True(t, s.verdicts[view][victim].Removes(victim), "it is told that it was expelled")
			require.Greater(t, s.nodes[(victim+1)%3].step, steps)
			s.dump()
		}
	})
	t.Run("partition", func(t *testing.T) {
		s := newSimulation(t, 3, 5, terms(3, 5))
		s.run(2 * time.Second)
		view := s.nodes[0].machine.View().ID
		s.part = []int{0, 0, 1, 1, 1}
		s.run(4 * time.Second)
		require.Equal(t, []int{2, 3, 4}, s.nodes[3].machine.View().Tasks(), "the majority goes on")
		require.Equal(t, Gathering, s.nodes[0].machine.Phase(), "the minority does not")
		require.Equal(t, view, s.nodes[0].machine.View().ID)
		s.part = make([]int, 5)
		s.run(2 * time.Second)
		require.True(t, s.together())
		s.dump()
	})
	t.Run("two groups meet", func(t *testing.T) {
		s := newSimulation(t, 4, 5, terms(1, 5))
		s.run(2 * time.Second)
		s.part = []int{0, 0, 1, 1, 1}
		s.run(4 * time.Second)
		require.Equal(t, []int{0, 1}, s.nodes[0].machine.View().Tasks())
		require.Equal(t, []int{2, 3, 4}, s.nodes[2].machine.View().Tasks())
		s.part = make([]int, 5)
		// Steps of the smaller group are given up: its members take over the state of the larger one.
		for _, p := range s.nodes[:2] {
			p.step = 0
		}
		s.run(3 * time.Second)
		require.True(t, s.together())
		s.dump()
	})
	// A link that is broken for good, or in one direction: one of the two at its ends stays out and waits, and the
	// others work.
	t.Run("broken link", func(t *testing.T) {
		for size := 3; size <= 5; size++ {
			for from := range size {
				for to := range size {
					for _, both := range []bool{false, true} {
						if from == to || both && from > to {
							continue
						}
						s := newSimulation(t, 6, size, terms(size-1, size))
						s.run(2 * time.Second)
						require.True(t, s.together())
						s.deaf[[2]int{from, to}], s.deaf[[2]int{to, from}] = true, both
						s.run(6 * time.Second)
						before, steps := s.installed, s.steps
						s.run(10 * time.Second)
						require.Equal(t, before, s.installed, "%d to %d of %d, both ways %v: groups form again and again", from, to, size, both)
						require.Greater(t, s.steps, steps+100*(size-1))
						clear(s.deaf)
						s.run(3 * time.Second)
						require.True(t, s.together(), "the one that stayed out is taken in")
						s.dump()
					}
				}
			}
		}
	})
	t.Run("one link", func(t *testing.T) {
		s := newSimulation(t, 5, 3, terms(2, 3))
		s.run(2 * time.Second)
		view := s.nodes[0].machine.View().ID
		s.nodes[0].machine.Disconnected(s.now, s.now, 1, "cable")
		s.nodes[0].react()
		s.run(time.Second)
		require.Equal(t, []Accusation{{0, 1, Lost, "cable"}}, s.verdicts[view][2].Removed)
		require.True(t, s.together())
		s.dump()
	})
}

func TestRandomSchedules(t *testing.T) {
	runs := 20
	if testing.Short() {
		runs = 8
	}
	for seed := range runs {
		for _, c := range []struct{ size, least int }{{3, 2}, {5, 3}, {4, 4}, {2, 1}} {
			t.Run(fmt.Sprintf("size %d min %d seed %d", c.size, c.least, seed), func(t *testing.T) {
				s := newSimulation(t, uint64(seed), c.size, terms(c.least, c.size))
				defer s.dump()
				s.chaos(c.least > c.size/2)
				s.heal()
				steps := s.steps
				s.run(30 * time.Second)
				require.True(t, s.together(), "all work together once the faults stop")
				require.Greater(t, s.steps, steps+100)
			})
		}
	}
}

// Processes are started by clocks that are an hour apart, as on machines that replace each other, or where one was set:
// a new process may seem older than the one before it. It is taken in all the same.
func TestClocksApart(t *testing.T) {
	runs := 10
	if testing.Short() {
		runs = 3
	}
	for seed := range runs {
		for _, c := range []struct{ size, least int }{{3, 3}, {3, 2}, {5, 3}} {
			s := newSimulation(t, uint64(seed), c.size, terms(c.least, c.size))
			s.clocks = true
			s.chaos(c.least > c.size/2)
			s.heal()
			steps := s.steps
			s.run(10 * time.Second)
			if !s.together() || s.steps < steps+100 {
				t.Errorf("size %d, at least %d, seed %d: %d steps after the faults", c.size, c.least, seed, s.steps-steps)
				s.dump()
				t.FailNow()
			}
		}
	}
}

// chaos plays thirty random faults.
func (s *simulation) chaos(parts bool) {
	s.faulty = true
	s.run(2 * time.Second)
	for range 30 {
		task := s.rng.IntN(len(s.nodes))
		switch kind := s.rng.IntN(5); {
		case kind == 4 && parts:
			s.deaf[[2]int{task, s.rng.IntN(len(s.nodes))}] = true
			s.logf("deaf %v", s.deaf)
		case kind == 0 && s.nodes[task].dead:
			s.start(task)
		case kind == 0:
			s.kill(task, s.rng.IntN(4) > 0)
			if s.rng.IntN(2) == 0 {
				s.after(time.Duration(s.rng.IntN(3000))*time.Millisecond, func() {
					if s.nodes[task].dead {
						s.start(task)
					}
				})
			}
		case kind == 1 && !s.nodes[task].dead:
			s.freeze(task, time.Duration(100+s.rng.IntN(4000))*time.Millisecond)
		case kind == 2 && parts:
			for i := range s.part {
				s.part[i] = s.rng.IntN(2)
			}
			s.logf("partition %v", s.part)
		default:
			clear(s.part)
			clear(s.deaf)
			s.logf("whole")
		}
		s.run(time.Duration(s.rng.IntN(2500)) * time.Millisecond)
	}
}

func (s *simulation) heal() {
	s.faulty = false
	clear(s.part)
	clear(s.deaf)
	for task, p := range s.nodes {
		p.frozen = min(p.frozen, s.now)
		if p.dead {
			s.start(task)
		}
	}
}

func TestRemove(t *testing.T) {
	a := func(pairs ...int) []Accusation {
		var list []Accusation
		for i := 0; i < len(pairs); i += 2 {
			list = append(list, Accusation{By: pairs[i], Who: pairs[i+1]})
		}
		return list
	}
	stalled := func(pairs ...int) []Accusation {
		list := a(pairs...)
		for i := range list {
			list[i].Reason = Stalled
		}
		return list
	}
	all := []int{0, 1, 2, 3}
	for _, c := range []struct {
		accusations []Accusation
		removed     []int
	}{
		{a(1, 0), []int{0}},
		{a(0, 1, 1, 0), []int{1}},
		{a(0, 1, 0, 2, 0, 3, 1, 0), []int{0}}, // 0 was cut off
		{a(2, 2), []int{2}},
		{a(2, 2, 1, 3), []int{2, 3}},
		{a(0, 2, 1, 2, 3, 2), []int{2}},
		{a(0, 2, 1, 3), []int{2, 3}},
		{stalled(0, 2, 0, 3), []int{2, 3}}, // 0 is not cut off: it hears those that it waits for
		{stalled(0, 1, 0, 2, 0, 3), []int{1, 2, 3}},
		{stalled(0, 1, 1, 0), []int{1}},
		{append(stalled(0, 2, 0, 3), a(1, 0, 3, 0)...), []int{0}},
		{nil, nil},
	} {
		require.Equal(t, c.removed, Remove(all, c.accusations), "%v", c.accusations)
		slices.Reverse(c.accusations)
		require.Equal(t, c.removed, Remove(all, c.accusations), "%v", c.accusations)
	}
}
