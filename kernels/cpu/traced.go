package cpu

import (
	"time"

	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
)

// role is what a step is in a trace.
type role uint8

const (
	computes role = iota
	starts        // an all-reduce that goes on
	waits         // for the oldest that goes on
	meets         // a collective that is over when the step is
)

func (g *placement) roleOf(u *fuse.Unit) role {
	switch {
	case g.Overlaps(u):
		return starts
	case len(u.Nodes) == 1 && g.Program.Nodes[u.Nodes[0]].Op.IsCollective():
		return meets
	}
	return computes
}

var categories = [...]string{computes: "op", starts: "collective", waits: "collective", meets: "collective"}

// traced runs the program and reports each step. What goes on in loops is reported as one step.
func (e *session) traced(rec *tracing.Recorder) {
	lane, whole := tracing.Replica(e.replica), time.Now()
	var under []int // all-reduces that go on
	var names []*step
	for i := range e.schedule.steps {
		st := &e.schedule.steps[i]
		begin := time.Now()
		if st.role == starts {
			pair := rec.Pair()
			rec.Begin(lane, "collective", st.name+" of a bucket", st.scope, st.bytes/2, pair) // counted as read and written
			under, names = append(under, pair), append(names, st)
		}
		st.run()
		name := st.name
		if st.role == starts {
			name += " start"
		}
		rec.Span(lane, categories[st.role], name, st.scope, st.bytes, begin)
		if st.role == waits && len(under) > 0 {
			rec.End(lane, "collective", names[0].name+" of a bucket", names[0].scope, under[0])
			under, names = under[1:], names[1:]
		}
		if e.rt.profiling {
			st.time += time.Since(begin)
			st.calls++
		}
		if e.rt.err != nil {
			break
		}
	}
	rec.Span(lane, "program", e.name, "", 0, whole)
}
