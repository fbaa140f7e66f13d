package cpu

import (
	"errors"
	"slices"
	"sync"
	"weak"
)

// ErrMeasuring is the error of [StartMeasurement] while another measurement is under way.
var ErrMeasuring = errors.New("cpu: another measurement is under way in this process; stop it first")

// Measurement times the steps of all executables of this process, those that exist already and those that are compiled meanwhile. There is one at a
// time. Timing takes below a microsecond a step.
type Measurement struct{ stopped bool }

// measured holds every executable that is in use, for measurements.
var measured struct {
	mu      sync.Mutex
	current *Measurement
	all     []weak.Pointer[session]
}

// StartMeasurement begins to measure; the times of all executables start from 0. It waits for runs in progress.
func StartMeasurement() (*Measurement, error) {
	m := &Measurement{}
	measured.mu.Lock()
	if measured.current != nil {
		measured.mu.Unlock()
		return nil, ErrMeasuring
	}
	measured.current = m
	all := executables() // those that are compiled from here on are measured from the beginning
	measured.mu.Unlock()
	for _, e := range all {
		e.measure(true)
	}
	return m, nil
}

// Stop ends the measurement and returns what ran meanwhile, in the order in which the programs were compiled; replicas have a program each. It waits
// for runs in progress. What has been closed is not in it, and a second Stop returns nothing.
func (m *Measurement) Stop() []ProgramProfile {
	measured.mu.Lock()
	if m == nil || m.stopped {
		measured.mu.Unlock()
		return nil
	}
	m.stopped, measured.current = true, nil
	running := executables()
	measured.mu.Unlock()
	var all []ProgramProfile
	for _, e := range running {
		e.measure(false)
		if ops := e.Profile(); len(ops) > 0 {
			all = append(all, ProgramProfile{Program: e.name, Ops: ops})
		}
	}
	return all
}

// executables returns those that are in use; the caller holds the lock.
func executables() []*session {
	var all []*session
	for _, p := range measured.all {
		if e := p.Value(); e != nil {
			all = append(all, e)
		}
	}
	return all
}

// enlist makes the executable known to measurements.
func (e *session) enlist() {
	measured.mu.Lock()
	defer measured.mu.Unlock()
	e.unmeasured = e.rt.profiling
	e.rt.profiling = e.rt.profiling || measured.current != nil
	measured.all = append(slices.DeleteFunc(measured.all, func(p weak.Pointer[session]) bool { return p.Value() == nil }), weak.Make(e))
}

// measure begins, with all times 0, or ends.
func (e *session) measure(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !on {
		e.rt.profiling = e.unmeasured
		return
	}
	if e.schedule != nil {
		e.schedule.forgetTimes()
	}
	e.unmeasured, e.rt.profiling = e.rt.profiling, true
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
