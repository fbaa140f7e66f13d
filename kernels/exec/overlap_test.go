package exec

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// deep is a step with a chain of products and a bucket for each weight.
func deep(t *testing.T, layers int) *Function {
	t.Helper()
	s := newPlaced(2)
	s.at.BytesPerPack = 1
	var weights Variables
	for range layers {
		w := NewVariable(VariableSpec{Name: "w", Shape: ir.Shape{3, 3}, DType: ir.Float32}, nil)
		require.NoError(t, w.Place(s, 0))
		weights = append(weights, w)
	}
	return NewFunction(s, "deep", func(r *Replica, in []*ops.Tensor) []*ops.Tensor {
		tape := ops.NewTape(r)
		x := in[0]
		for _, w := range weights {
			x = ops.Tanh(ops.Matmul(x, r.Read(w)))
		}
		for i, g := range r.SumGradients(tape.Gradients(ops.Sum(x), weights).Values) {
			r.AssignMirrored(weights[i], ops.Subtract(r.Read(weights[i]), g))
		}
		return nil
	})
}

// opsOf lists the ops of a program that matter here.
func opsOf(p *ir.Program) (names []string) {
	for i := range p.Nodes {
		if op := p.Nodes[i].Op; op == ir.Dot || op == ir.AllReduce {
			names = append(names, op.String())
		}
	}
	return names
}

// A bucket is summed as soon as its gradients exist: the last layer's first.
func TestBucketsStartDuringTheBackwardPass(t *testing.T) {
	f := deep(t, 3)
	defer f.Close()
	inst, err := f.Acquire([][]ir.Type{{{DType: ir.Float32, Shape: ir.Shape{2, 3}}}, {{DType: ir.Float32, Shape: ir.Shape{1, 3}}}}, []int{2, 1})
	require.NoError(t, err)
	for i, p := range inst.owner.programs {
		require.NoError(t, p.program.Verify())
		names := opsOf(p.program)
		require.Equal(t, 3, strings.Count(strings.Join(names, " "), "all_reduce"))
		first, last := slices.Index(names, "all_reduce"), len(names)-1
		for names[last] != "dot" {
			last--
		}
		require.Less(t, first, last, "replica %d: %v", i, names)
		require.Equal(t, p.calls, collectiveCalls(p.program, nil))
	}
	step := uint32(0)
	run := func() {
		step++
		require.NoError(t, inst.Run(t.Context(), 1, step))
	}
	for range 5 {
		run()
	}
	require.Less(t, testing.AllocsPerRun(50, run), 1.0, "a step allocates nothing")
	f.Release(inst)
}

// Replicas whose programs would come to different orders keep the order of the trace.
func TestAllReducesStayWhereOrdersWouldDiffer(t *testing.T) {
	program := func(swap bool) *tracedProgram {
		p := ir.New("step")
		x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{2}})
		add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
			out, err := p.Add("", op, attrs, in...)
			require.NoError(t, err)
			return out[0]
		}
		a, b := add(ir.Tanh, nil, x), add(ir.Exp, nil, x)
		if swap { // the same computed in another order
			a, b = b, a
		}
		first := add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2, Bucket: 1}, a)
		second := add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Max, Replicas: 2, Bucket: 2}, b)
		p.AddOutput("y", add(ir.Add, nil, first, second))
		require.NoError(t, p.Verify())
		return &tracedProgram{program: p, calls: collectiveCalls(p, nil)}
	}
	kinds := func(p *tracedProgram) (kinds []ir.Kind) {
		for _, n := range p.program.Nodes {
			if a, ok := n.Attrs.(ir.CollectiveAttrs); ok {
				kinds = append(kinds, a.Kind)
			}
		}
		return kinds
	}
	for _, swap := range []bool{false, true} {
		programs := []*tracedProgram{program(false), program(swap)}
		old := slices.Clone(programs[0].program.Nodes)
		advanceAllReduces(programs)
		require.NoError(t, checkSamePrograms(programs, 0))
		require.Equal(t, kinds(programs[0]), kinds(programs[1]))
		require.Equal(t, swap, slices.EqualFunc(old, programs[0].program.Nodes, func(a, b ir.Node) bool { return a.Op == b.Op }), "only equal orders may change")
	}
}
