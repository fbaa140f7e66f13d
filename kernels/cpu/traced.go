package cpu

import (
	"time"

	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
)

// role says what a step is in a trace.
type role uint8

const (
	computes role = iota
	starts        // starts an all-reduce that runs in the background
	waits         // waits for the oldest such all-reduce
	meets         // runs a collective to its end
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

// traced runs the program and reports each step. A loop is reported as one step.
func (e *session) traced(rec *tracing.Recorder) {
	lane, whole := tracing.Replica(e.replica), time.Now()
	var under []int // all-reduces in flight
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
