package cpu

import (
	"slices"
	"sort"
	"time"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/ir"
)

// OpProfile is the time spent in one step of an executable, and the amount of work of the step.
type OpProfile struct {
	Name  string // the ops of the step, joined by "+"
	Scope string // the layer of the last op
	Calls int
	Time  time.Duration // without the steps of the sub-program of a loop or branch
	Bytes int64         // per call: the values that the step reads from memory and writes to it
	FLOPs int64         // per call: multiplications and additions of products, convolutions and attention, including padding; 0 for other ops
	Peak  float64       // FLOPs per second that are 100 % for the step, on devices of other backends, infinite if unknown; 0: those of this machine
	// Bandwidth is the memory bandwidth in bytes per second of a device of another backend; 0: unknown.
	Bandwidth float64
}

// ProgramProfile is the profile of an executable.
type ProgramProfile struct {
	Program string
	Ops     []OpProfile // in order of decreasing time
}

// Profiler is implemented by this backend's sessions. It times steps after Profiling(true), and in runs that are
// measured.
type Profiler interface {
	// Profiling switches timing on or off. Times collected so far are kept. It waits for a run in progress.
	Profiling(on bool)
	// Profile returns the times of all steps that ran, including those of sub-programs, in decreasing order.
	Profile() []OpProfile
}

var _ Profiler = (*session)(nil)

// Profiling switches timing on or off.
func (e *session) Profiling(on bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.timing = on
	e.rt.profiling = on || e.measured != nil
}

// Profile returns the times of all steps that ran.
func (e *session) Profile() []OpProfile {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.profile()
}

// profile is Profile without locking. The caller holds the session's lock.
func (e *session) profile() []OpProfile {
	var all []OpProfile
	if e.schedule != nil {
		all = e.schedule.profile(nil)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Time > all[j].Time })
	return all
}

func (s *schedule) profile(all []OpProfile) []OpProfile {
	for i := range s.steps {
		if st := &s.steps[i]; st.calls > 0 {
			all = append(all, OpProfile{Name: st.name, Scope: st.scope, Calls: st.calls, Time: st.time, Bytes: st.bytes, FLOPs: st.flops})
		}
	}
	for i, c := range s.children {
		switch {
		case c.share == nil:
			all = c.schedule.profile(all)
		case i == 0 || s.children[i-1].share != c.share:
			all = append(all, s.profileTogether(c.share)...)
		}
	}
	return all
}

// profileTogether adds up the times of children that ran at the same time, step by step, scaled so that their sum is
// the time that passed.
func (s *schedule) profileTogether(share *timeShare) []OpProfile {
	var sums []OpProfile
	for _, c := range s.children {
		if c.share != share {
			continue
		}
		for _, op := range c.schedule.profile(nil) {
			i := slices.IndexFunc(sums, func(o OpProfile) bool { return o.Name == op.Name && o.Scope == op.Scope })
			if i < 0 {
				sums, i = append(sums, OpProfile{Name: op.Name, Scope: op.Scope}), len(sums)
			}
			o := &sums[i]
			calls := int64(o.Calls + op.Calls)
			o.Bytes = (o.Bytes*int64(o.Calls) + op.Bytes*int64(op.Calls)) / calls
			o.FLOPs = (o.FLOPs*int64(o.Calls) + op.FLOPs*int64(op.Calls)) / calls
			o.Time += op.Time
			o.Calls += op.Calls
		}
	}
	for i := range sums {
		sums[i].Time = time.Duration(float64(sums[i].Time) * float64(share.took) / float64(max(share.spent, 1)))
	}
	return sums
}

// timed runs the steps and records how long each takes, or would take with simulated workers.
func (s *schedule) timed(rt *runtime) {
	clock := wallTime
	if rt.pool.IsSimulated() {
		clock = func() time.Duration { return pool.ThreadTime() - rt.pool.Saved() }
	}
	for i := range s.steps {
		st := &s.steps[i]
		before := rt.nested
		rt.nested = 0
		begin := clock()
		st.run()
		took := clock() - begin
		st.time += took - rt.nested
		rt.nested = before + took
		st.calls++
		if rt.err != nil {
			return
		}
	}
}

var processStart = time.Now()

// wallTime is the time that passes.
func wallTime() time.Duration { return time.Since(processStart) }

// describe records the amount of work of a step, for profiles.
func (st *step) describe(p *placement, u *fuse.Unit) {
	for _, list := range [][]ir.Value{u.Reads, u.Writes} {
		for _, v := range list {
			st.bytes += int64(p.Program.Type(v).Bytes())
		}
	}
	for _, i := range u.Nodes {
		st.flops += p.Program.FLOPs(&p.Program.Nodes[i])
	}
}
