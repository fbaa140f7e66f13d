package monitor

import (
	"sync"
	"time"
)

// Traffic counts what the groups of a worker have done so far.
type Traffic struct {
	Generation     uint64        // of the group
	Size           int           // workers in it
	Sent, Received int64         // bytes over sockets
	Time           time.Duration // in collectives, waiting included
	Waiting        time.Duration // of it for other workers
	Lost           int64         // workers that were lost
	Groups         int64         // groups that formed
}

// Source reports the traffic of a worker. It must answer at once, even while a collective is stuck.
type Source interface{ Traffic() Traffic }

// Phases are the parts of the time of steps; see the package comment.
type Phases struct{ Input, Compute, Communication, Waiting time.Duration }

// Total is the time of all phases.
func (p Phases) Total() time.Duration { return p.Input + p.Compute + p.Communication + p.Waiting }

func (p Phases) plus(q Phases) Phases {
	return Phases{p.Input + q.Input, p.Compute + q.Compute, p.Communication + q.Communication, p.Waiting + q.Waiting}
}

// Options configure [New].
type Options struct {
	// Task is the worker's name in all samples, such as "worker:1".
	Task string
	// Restarts is how often this worker was restarted, if its launcher knows.
	Restarts int
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Monitor measures the steps of one worker. Its methods may be called from any goroutine, but Begin and End
// alternately, from one.
type Monitor struct {
	options Options

	mu     sync.Mutex // guards what follows
	source Source
	steps  int64
	total  Phases
	last   Phases
	mark   time.Time // end of the last step or, while one runs, its begin; zero before the first
	begun  bool
	before Traffic // at mark
	input  Phases  // of the step that runs: what passed before Begin
}

// New returns a monitor without steps.
func New(o Options) *Monitor {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Monitor{options: o}
}

// Watch makes the monitor get the traffic from s from now on; nil means a single worker.
func (m *Monitor) Watch(s Source) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.source = s
	m.before = m.traffic()
}

func (m *Monitor) traffic() Traffic {
	if m.source == nil {
		return Traffic{}
	}
	return m.source.Traffic()
}

// Start notes that training starts or continues now, after work that belongs to no step.
func (m *Monitor) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mark, m.before, m.begun, m.input = m.options.Now(), m.traffic(), false, Phases{}
}

// Begin notes that the input of the next step is ready and its program starts now.
func (m *Monitor) Begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mark.IsZero() {
		m.mark, m.before = m.options.Now(), m.traffic()
	}
	var other time.Duration
	other, m.input = m.pass()
	m.input.Input += other
	m.begun = true
}

// End notes that the step has ended; steps is the number of steps since Begin.
func (m *Monitor) End(steps int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.begun || steps < 1 {
		return
	}
	compute, p := m.pass()
	p.Compute += compute
	p = p.plus(m.input)
	m.begun, m.input = false, Phases{}
	m.total = m.total.plus(p)
	m.steps += int64(steps)
	n := time.Duration(steps)
	m.last = Phases{p.Input / n, p.Compute / n, p.Communication / n, p.Waiting / n}
}

// Record adds a step whose phases were measured elsewhere.
func (m *Monitor) Record(p Phases) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.total, m.last = m.total.plus(p), p
	m.steps++
}

// pass returns the time spent in collectives since the mark, and the rest of the time, and moves the mark to now.
func (m *Monitor) pass() (rest time.Duration, p Phases) {
	now, t := m.options.Now(), m.traffic()
	p.Waiting = max(t.Waiting-m.before.Waiting, 0)
	p.Communication = max(t.Time-m.before.Time-p.Waiting, 0)
	rest = max(now.Sub(m.mark)-p.Waiting-p.Communication, 0)
	m.mark, m.before = now, t
	return rest, p
}

// Steps returns the number of steps so far and their time by phases.
func (m *Monitor) Steps() (count int64, total Phases) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.steps, m.total
}
