package cpu

import (
	"cmp"
	"os"
	"slices"
	"time"
)

// OpProfile is the time spent in one step of an executable.
type OpProfile struct {
	Name  string // the ops of the step, joined by "+"
	Scope string // the layer of the last one
	Calls int
	Time  time.Duration
}

// Profiler is implemented by this backend's executables. It times steps when the environment variable GOKERAS_PROFILE was 1 at
// compilation, and after Profiling(true).
type Profiler interface {
	// Profiling switches timing on or off; the times collected so far are kept. It waits for a run in progress.
	Profiling(on bool)
	// Profile returns the times of all steps that ran, in sub-programs too, the longest first.
	Profile() []OpProfile
}

var _ Profiler = (*executable)(nil)

var profileAll = os.Getenv("GOKERAS_PROFILE") == "1"

// Profiling switches timing on or off.
func (e *executable) Profiling(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.rt.profiling = on
}

// Profile returns the times of all steps that ran.
func (e *executable) Profile() []OpProfile {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []OpProfile
	if e.schedule != nil {
		all = e.schedule.profile(nil)
	}
	slices.SortStableFunc(all, func(a, b OpProfile) int { return cmp.Compare(b.Time, a.Time) })
	return all
}

func (s *schedule) profile(all []OpProfile) []OpProfile {
	for i := range s.steps {
		if st := &s.steps[i]; st.calls > 0 {
			all = append(all, OpProfile{Name: st.name, Scope: st.scope, Calls: st.calls, Time: st.time})
		}
	}
	for _, c := range s.children {
		all = c.schedule.profile(all)
	}
	return all
}

// timed runs the steps and notes how long each takes.
func (s *schedule) timed(rt *runtime) {
	for i := range s.steps {
		st := &s.steps[i]
		begin := time.Now()
		st.run()
		st.time += time.Since(begin)
		st.calls++
		if rt.err != nil {
			return
		}
	}
}
