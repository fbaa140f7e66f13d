package pass_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// updating is a random program in which a third of the nodes are followed by a check or a collective of one replica,
// and outputs replace inputs where types allow it.
func updating(t *testing.T, seed uint64) (*ir.Program, []reference.Value) {
	from, inputs := kernelstest.RandomProgram(seed)
	r := pass.NewRewriter(from)
	for i := range from.Nodes {
		n := &from.Nodes[i]
		out, err := r.To.Add(n.Scope, n.Op, n.Attrs, r.Operands(n)...)
		require.NoError(t, err)
		if k := (uint64(i) + seed) % 9; k < 2 && i < len(from.Nodes)*2/3 && r.To.Type(out[0]).DType.IsFloat() {
			var more []ir.Value
			if k == 0 {
				more, err = r.To.Add("", ir.CheckFinite, ir.CheckFiniteAttrs{}, out[0])
			} else {
				more, err = r.To.Add("", ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 1}, out[0])
			}
			require.NoError(t, err)
			out = append(more, out[1:]...)
		}
		require.NoError(t, r.Define(n, out))
	}
	p := r.Finish()
	replaced := map[int]bool{}
	for _, out := range p.Outputs {
		replaced[out.Alias] = true
	}
	for v := p.NumValues() - 1; v >= len(p.Inputs); v-- {
		for i, in := range p.Inputs {
			taken := slices.ContainsFunc(p.Outputs, func(out ir.Output) bool { return out.Value == ir.Value(v) })
			if !taken && !replaced[i] && p.Type(in.Value).Equal(p.Type(ir.Value(v))) {
				replaced[i] = true
				p.AddAlias("new "+in.Name, ir.Value(v), i)
			}
		}
	}
	return p, inputs
}

// fallible returns the ops that may fail, in order, and the position of the last.
func fallible(p *ir.Program) (ops []ir.Op, last int) {
	last = -1
	for i := range p.Nodes {
		if op := p.Nodes[i].Op; op.Traits().MayFail {
			ops, last = append(ops, op), i
		}
	}
	return ops, last
}

// early returns the outputs, by name, whose new value is computed before a node that may fail or that reads the old.
func early(p *ir.Program) map[string]bool {
	_, last := fallible(p)
	_, def := pass.Uses(p)
	found := map[string]bool{}
	for _, out := range p.Outputs {
		if out.Alias < 0 || def[out.Value] < 0 {
			continue
		}
		old := p.Inputs[out.Alias].Value
		for i := range p.Nodes {
			if reads := slices.Contains(p.Nodes[i].Inputs, old); i > def[out.Value] && (reads || i <= last) {
				found[out.Name] = true
			}
		}
	}
	return found
}

// On random programs: the same bits, what may fail in the same order, and no new value before what may fail or reads
// the old one, unless it was there.
func TestScheduleUpdatesKeepsMeaning(t *testing.T) {
	moved := 0
	for seed := range uint64(300) {
		p, inputs := updating(t, seed)
		q, err := pass.ScheduleUpdates().Run(p)
		require.NoError(t, err)
		if q == p {
			continue
		}
		moved++
		require.NoError(t, q.Verify())
		want, err := reference.Interpreter{Round: true}.Run(p, inputs)
		require.NoError(t, err)
		got, err := reference.Interpreter{Round: true}.Run(q, inputs)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(want), fmt.Sprint(got), "seed %d", seed)
		before, _ := fallible(p)
		after, _ := fallible(q)
		require.Equal(t, before, after, "seed %d", seed)
		was := early(p)
		for name := range early(q) {
			require.True(t, was[name], "seed %d: %s moved too far\n%s\n%s", seed, name, p, q)
		}
		again, err := pass.ScheduleUpdates().Run(q)
		require.NoError(t, err)
		require.NoError(t, again.Verify())
	}
	require.Greater(t, moved, 50)
}

// What waits for a collective stays behind the work that overlaps with it.
func TestScheduleUpdatesLeavesWaits(t *testing.T) {
	p := ir.New("p")
	b := b{t, p}
	x, w := b.input("x", ir.Float32, 4), b.input("w", ir.Float32, 4)
	sum := b.add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2}, x)
	p.AddOutput("y", b.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, x))
	p.AddAlias("w", b.add(ir.Sub, nil, w, sum), 1)
	q, err := pass.ScheduleUpdates().Run(p)
	require.NoError(t, err)
	require.Same(t, p, q)
}
