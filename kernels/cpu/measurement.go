package cpu

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels"
)

// ErrMeasuring is the error of [StartMeasurement] while another measurement of the same context is in progress.
var ErrMeasuring = errors.New("cpu: another measurement of this context is under way; stop it first")

// Measurement times the steps of all runs under one context. It includes existing programs, programs compiled during
// the measurement, and other backends that report to a [kernels.Meter]. A context has one measurement at a time, a
// process any number. Timing a step takes less than a microsecond.
type Measurement struct {
	slot *measurementSlot

	mu      sync.Mutex
	stopped bool
	runs    []*measuredRun
	others  []ProgramProfile // of other backends, in the order of their steps
}

// measuredRun is what a session did during a measurement.
type measuredRun struct {
	session *session
	ops     []OpProfile // nil while the session still holds them
}

// measurementSlot holds the current measurement.
type measurementSlot struct{ current atomic.Pointer[Measurement] }

type measurementKey struct{}

func slotOf(ctx context.Context) *measurementSlot {
	s, _ := ctx.Value(measurementKey{}).(*measurementSlot)
	return s
}

// measurements counts the current ones in the process. There are usually none, and runs then need not search their
// contexts.
var measurements atomic.Int32

// measurementOf returns the measurement that includes runs under the context, or nil.
func measurementOf(ctx context.Context) *Measurement {
	if measurements.Load() == 0 {
		return nil
	}
	if s := slotOf(ctx); s != nil {
		return s.current.Load()
	}
	return nil
}

// Measurable returns a context under which runs can be measured: ctx itself if it is one, else a new one derived from
// it. Runs under other contexts are not measured.
func Measurable(ctx context.Context) context.Context {
	if slotOf(ctx) != nil {
		return ctx
	}
	s := &measurementSlot{}
	return kernels.WithMeter(context.WithValue(ctx, measurementKey{}, s), func() kernels.Meter {
		if m := s.current.Load(); m != nil {
			return m
		}
		return nil
	})
}

// Ran adds the times of a launch on a device of another backend. Launches of programs with the same steps are added up.
func (m *Measurement) Ran(program string, ops []kernels.OpTime) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return
	}
	same := func(x OpProfile, y kernels.OpTime) bool { return x.Name == y.Name && x.Scope == y.Scope }
	i := slices.IndexFunc(m.others, func(p ProgramProfile) bool { return p.Program == program && slices.EqualFunc(p.Ops, ops, same) })
	if i < 0 {
		i = len(m.others)
		m.others = append(m.others, ProgramProfile{Program: program, Ops: make([]OpProfile, len(ops))})
	}
	for j, op := range ops {
		if op.Peak == 0 {
			op.Peak = math.Inf(1) // unknown; the peak of this machine does not apply there
		}
		sum := &m.others[i].Ops[j]
		*sum = OpProfile{Name: op.Name, Scope: op.Scope, Calls: sum.Calls + op.Calls, Time: sum.Time + op.Time, Bytes: op.Bytes, FLOPs: op.FLOPs, Peak: op.Peak, Bandwidth: op.Bandwidth}
	}
}

// StartMeasurement starts measuring runs under a [Measurable] context and contexts derived from it. All times start at
// 0.
func StartMeasurement(ctx context.Context) (*Measurement, error) {
	s := slotOf(ctx)
	if s == nil {
		return nil, errors.New("cpu: received a context that cannot be measured; expected one of cpu.Measurable")
	}
	m := &Measurement{slot: s}
	if !s.current.CompareAndSwap(nil, m) {
		return nil, ErrMeasuring
	}
	measurements.Add(1)
	return m, nil
}

// Stop ends the measurement. It returns the programs that ran, in the order in which they first ran; each replica
// counts as a program. It waits for runs in progress. A second Stop returns nothing.
func (m *Measurement) Stop() []ProgramProfile {
	if m == nil {
		return nil
	}
	if m.slot.current.CompareAndSwap(m, nil) {
		measurements.Add(-1)
	}
	m.mu.Lock()
	if m.stopped {
		m.mu.Unlock()
		return nil
	}
	m.stopped = true // nothing joins after this
	runs, all := m.runs, m.others
	m.mu.Unlock()
	for _, p := range all {
		slices.SortStableFunc(p.Ops, func(x, y OpProfile) int { return cmp.Compare(y.Time, x.Time) })
	}
	for _, r := range runs {
		r.session.leave(m)
		m.mu.Lock()
		if len(r.ops) > 0 {
			all = append(all, ProgramProfile{Program: r.session.name, Ops: r.ops})
		}
		m.mu.Unlock()
	}
	return all
}

// join adds a session and resets its times. It returns false if the measurement is over.
func (m *Measurement) join(e *session) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.stopped {
		return false
	}
	m.runs = append(m.runs, &measuredRun{session: e})
	return true
}

// keep takes over the times of a session.
func (m *Measurement) keep(e *session) {
	ops := e.profile()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range slices.Backward(m.runs) {
		if r.session == e { // the last time that it joined
			r.ops = ops
			return
		}
	}
}

// measure assigns the times of the session's steps to m from now on, or to none if m is nil. The caller holds the
// session's lock.
func (e *session) measure(m *Measurement) {
	if e.measured != nil {
		e.measured.keep(e)
	}
	if e.measured = nil; m != nil && m.join(e) {
		e.measured = m
		if e.schedule != nil {
			e.schedule.forgetTimes()
		}
	}
	e.rt.profiling = e.timing || e.measured != nil
}

// leave ends the session's part in a measurement.
func (e *session) leave(m *Measurement) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.measured == m {
		e.measure(nil)
	}
}

// forgetTimes sets the times of all steps to 0.
func (s *schedule) forgetTimes() {
	for i := range s.steps {
		s.steps[i].time, s.steps[i].calls = 0, 0
	}
	for _, c := range s.children {
		if c.share != nil {
			*c.share = timeShare{}
		}
		c.schedule.forgetTimes()
	}
}
