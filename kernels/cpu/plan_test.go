package cpu

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

var testDevice = kernels.Device{Kind: Kind}

// chain returns a random program of long elementwise chains with broadcasts, slices, reshapes and reductions. Its index
// space is larger than a block, so that fusion, registers, periodic operands and sinks are all in use.
func chain(seed uint64) (*ir.Program, []reference.Value) {
	rng := rand.New(rand.NewPCG(seed, 7))
	shape := []ir.Shape{{37, 129}, {5, 40, 33}, {9, 3, 257}, {6000}, {3, 2000}, {2, 3, 5, 7, 11}}[rng.IntN(6)]
	dtype := []ir.DType{ir.Float32, ir.Float64, ir.BFloat16, ir.Float16}[rng.IntN(4)]
	p := ir.New(fmt.Sprint("chain ", seed))
	add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("chain", op, a, in...)
		if err != nil {
			panic(err)
		}
		return out[0]
	}
	var inputs []reference.Value
	input := func(s ir.Shape) ir.Value {
		values := make([]float64, s.Size())
		for i := range values {
			values[i] = rng.Float64()*2 - 1
		}
		v, err := reference.New(dtype, s, values...)
		if err != nil {
			panic(err)
		}
		inputs = append(inputs, v)
		return p.AddInput(fmt.Sprint("in", len(inputs)), v.Type)
	}
	// spread returns a value of the shape, broadcast along some axes from a slice of a larger input.
	spread := func() ir.Value {
		var small, axes []int
		for i, n := range shape {
			if rng.IntN(2) == 0 {
				small, axes = append(small, n), append(axes, i)
			}
		}
		big := slices.Clone(small)
		start := make([]int, len(big))
		stride := slices.Repeat([]int{1}, len(big))
		limit := slices.Clone(big)
		for i := range big {
			k := rng.IntN(4)
			big[i] += k
			start[i], limit[i] = k, k+small[i]
		}
		v := add(ir.Slice, ir.SliceAttrs{Start: start, Limit: limit, Stride: stride}, input(big))
		return add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: axes}, v)
	}
	values := []ir.Value{input(shape), spread()}
	pick := func() ir.Value { return values[rng.IntN(len(values))] }
	zero := add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(dtype, 0, shape...)})
	for range 4 + rng.IntN(40) {
		var v ir.Value
		switch rng.IntN(11) {
		case 9: // one row of a value, repeated
			start, limit := make([]int, len(shape)), slices.Clone(shape)
			start[0] = rng.IntN(shape[0])
			limit[0] = start[0] + 1
			row := add(ir.Slice, ir.SliceAttrs{Start: start, Limit: limit, Stride: slices.Repeat([]int{1}, len(shape))}, pick())
			all := make([]int, len(shape))
			for i := range all {
				all[i] = i
			}
			v = add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: all}, row)
		case 10: // a view that is read by an op with a kernel of its own
			flat := add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{shape.Size()}}, pick())
			a := ir.CumulativeAttrs{Kind: ir.Max, Reverse: rng.IntN(2) == 0}
			v = add(ir.Reshape, ir.ReshapeAttrs{Shape: shape}, add(ir.Cumulative, a, flat))
		case 0:
			v = spread()
		case 1:
			v = add(ir.Tanh, nil, pick())
		case 2:
			mask := add(ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, pick(), zero)
			v = add(ir.Select, nil, mask, pick(), zero)
		case 3:
			flat := add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{shape.Size()}}, pick())
			v = add(ir.Reshape, ir.ReshapeAttrs{Shape: shape}, add(ir.Neg, nil, flat))
		case 4:
			axes := []int{rng.IntN(len(shape))}
			if rng.IntN(3) == 0 {
				axes = axes[:0]
				for i := range shape {
					axes = append(axes, i)
				}
			}
			r := add(ir.Reduce, ir.ReduceAttrs{Kind: []ir.Kind{ir.Sum, ir.Max, ir.Min}[rng.IntN(3)], Axes: axes}, pick())
			r = add(ir.Tanh, nil, r)
			if rng.IntN(2) == 0 {
				p.AddOutput("reduced", r)
			}
			var rest []int
			for i := range shape {
				if !slices.Contains(axes, i) {
					rest = append(rest, i)
				}
			}
			v = add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: rest}, r)
		default:
			op := []ir.Op{ir.Add, ir.Sub, ir.Maximum, ir.Minimum, ir.Mul}[rng.IntN(5)]
			v = add(op, nil, pick(), pick())
			if op == ir.Add || op == ir.Sub {
				v = add(ir.Tanh, nil, v)
			}
		}
		values = append(values, v)
	}
	for i, v := range values[len(values)-2:] {
		p.AddOutput(fmt.Sprint("out", i), v)
	}
	return p, inputs
}

// runOnce compiles a program, with or without fusion, and runs it.
func runOnce(t *testing.T, p *ir.Program, inputs []reference.Value, plain bool) []reference.Value {
	t.Helper()
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, plain)
	require.NoError(t, err)
	defer e.Close()
	var in, out []kernels.Buffer
	for _, v := range inputs {
		b := newBuffer(testDevice, v.Type)
		require.NoError(t, b.Write(v.Bytes()))
		in = append(in, b)
	}
	for _, o := range p.Outputs { // filled with NaN, none of which may remain
		b := newBuffer(testDevice, p.Type(o.Value))
		require.NoError(t, b.Write(bytes.Repeat([]byte{0xff}, b.Type().Bytes())))
		out = append(out, b)
	}
	require.NoError(t, e.Run(context.Background(), in, out))
	results := make([]reference.Value, len(out))
	for i, b := range out {
		results[i], err = reference.FromBytes(b.Type(), b.Bytes())
		require.NoError(t, err)
	}
	return results
}

// programs yields the random programs of this package's tests.
func programs(t *testing.T, check func(t *testing.T, p *ir.Program, inputs []reference.Value)) {
	for seed := range uint64(60) {
		p, inputs := chain(seed)
		t.Run(p.Name, func(t *testing.T) { check(t, p, inputs) })
	}
	for seed := range uint64(120) {
		p, inputs := kernelstest.RandomProgram(1000 + seed)
		t.Run(p.Name, func(t *testing.T) { check(t, p, inputs) })
	}
}

func TestFusedEqualsUnfused(t *testing.T) {
	programs(t, func(t *testing.T, p *ir.Program, inputs []reference.Value) {
		fused, plain := runOnce(t, p, inputs, false), runOnce(t, p, inputs, true)
		for i := range fused {
			// Only reductions may differ, because of the order of their sums.
			if err := kernelstest.Compare(fused[i], plain[i], 256, true); err != nil {
				t.Errorf("output %d: %v\n%v", i, err, p)
			}
		}
	})
}

// owner tracks which value each storage holds, even if storages overlap in the arena.
type owner struct {
	*placement
	holds map[*plan.Storage]ir.Value
}

func overlap(a, b *plan.Storage) bool {
	if a == b {
		return true
	}
	return a.Kind == plan.InArena && b.Kind == plan.InArena && a.Bytes > 0 && b.Bytes > 0 && a.Offset < b.Offset+b.Bytes && b.Offset < a.Offset+a.Bytes
}

func (o *owner) write(m *plan.Storage, v ir.Value) {
	for other := range o.holds {
		if overlap(m, other) {
			delete(o.holds, other)
		}
	}
	o.holds[m] = v
}

// checkPlan replays the schedule. It requires that every operand is intact when it is read, and that results,
// workspaces and operands used in the same step do not share memory, unless the step may overwrite.
func checkPlan(t *testing.T, p *placement) {
	t.Helper()
	o := &owner{p, map[*plan.Storage]ir.Value{}}
	for v, operand := range p.Operands {
		if m := operand.Mem; m != nil && (m.Kind == plan.InInput || m.Kind == plan.InConstant) && p.Def[ir.Value(v)] < 0 {
			o.holds[m] = ir.Value(v)
		}
	}
	for i := range p.Program.Nodes {
		if n := &p.Program.Nodes[i]; n.Op == ir.Constant && p.Operands[n.Outputs[0]].Mem != nil {
			o.holds[p.Operands[n.Outputs[0]].Mem] = n.Outputs[0]
		}
	}
	requireHeld := func(v ir.Value, when string) {
		r, _ := p.Root(v)
		held, ok := o.holds[p.Operands[r].Mem]
		require.True(t, ok && held == r, "%s: %%%d (root %%%d) is not in its memory\n%v", when, v, r, p.Program)
	}
	for at, u := range p.Units {
		when := fmt.Sprintf("step %d", at)
		for _, v := range u.Reads {
			requireHeld(v, when)
		}
		for _, m := range p.Storages {
			if m.Kind != plan.InArena || m.First != at || m.Last != at || slices.ContainsFunc(u.Writes, func(v ir.Value) bool { return p.Operands[v].Mem == m }) {
				continue
			}
			for _, v := range slices.Concat(u.Reads, u.Writes) { // m is a workspace
				require.False(t, overlap(m, p.Operands[v].Mem), "%s: a workspace overlaps %%%d\n%v", when, v, p.Program)
			}
			o.write(m, -1)
		}
		for _, v := range u.Writes {
			for _, x := range u.Reads {
				r, _ := p.Root(x)
				if overlap(p.Operands[v].Mem, p.Operands[r].Mem) {
					require.True(t, p.Operands[v].Mem == p.Operands[r].Mem && p.Overwrites(u, v, r), "%s: %%%d overwrites %%%d\n%v", when, v, r, p.Program)
				}
			}
			o.write(p.Operands[v].Mem, v)
		}
	}
	for _, c := range p.Copies {
		require.NotNil(t, c.From.Mem)
	}
	for _, out := range p.Program.Outputs {
		requireHeld(out.Value, "end")
	}
}

func TestPlanNeverOverlapsLiveValues(t *testing.T) {
	programs(t, func(t *testing.T, p *ir.Program, _ []reference.Value) {
		rt := &runtime{pool: pool.Shared(), workers: make([]worker, pool.Shared().Size())}
		c := &compiler{rt: rt, replicas: 1, device: testDevice}
		q, err := pipelineFor(1).normal.Run(p)
		require.NoError(t, err)
		require.NoError(t, q.Verify())
		g := fuse.NewGraph(q)
		g.Group()
		pl := &placement{Placement: plan.Place(g, true)}
		s := &schedule{}
		for _, u := range g.Units {
			_, err := c.lower(pl, u, s)
			require.NoError(t, err)
		}
		plan.Memory(pl.Storages)
		checkPlan(t, pl)
	})
}

// TestCheckPlanFindsOverlaps breaks a plan on purpose.
func TestCheckPlanFindsOverlaps(t *testing.T) {
	storages := []*plan.Storage{{Bytes: 100, First: 0, Last: 2}, {Bytes: 64, First: 1, Last: 3}, {Bytes: 10, First: 3, Last: 4}}
	total := plan.Memory(storages)
	require.Equal(t, 192, total)
	require.False(t, overlap(storages[0], storages[1]))
	require.True(t, overlap(storages[0], storages[2]), "storages that live at different times share memory")
	storages[1].Offset = storages[0].Offset
	require.True(t, overlap(storages[0], storages[1]))
}

func TestNoAllocations(t *testing.T) {
	seen := map[ir.Op]bool{}
	for _, c := range kernelstest.Cases() {
		e, err := kernels.Load(Backend{}, c.Program, testDevice)
		require.NoError(t, err)
		var in, out []kernels.Buffer
		for _, v := range c.Inputs {
			b := newBuffer(testDevice, v.Type)
			require.NoError(t, b.Write(v.Bytes()))
			in = append(in, b)
		}
		for _, o := range c.Program.Outputs {
			out = append(out, newBuffer(testDevice, c.Program.Type(o.Value)))
		}
		ctx := context.Background()
		run := func() {
			if err := e.Run(ctx, in, out); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if n := testing.AllocsPerRun(10, run); n != 0 {
			t.Errorf("%s: a run allocates %v times", c.Name, n)
		}
		for i := range c.Program.Nodes {
			seen[c.Program.Nodes[i].Op] = true
		}
		e.Close()
	}
	require.Greater(t, len(seen), 80)
}

// TestReluMaskIsReadLate covers the case in which the kernel for a relu's gradient reads y later than the comparison
// that it replaces. Another result could overwrite y in between.
func TestReluMaskIsReadLate(t *testing.T) {
	p := ir.New("relu mask")
	typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{300}}
	add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("", op, a, in...)
		require.NoError(t, err)
		return out[0]
	}
	x, dy := p.AddInput("x", typ), p.AddInput("dy", typ)
	sorted, err := p.Add("", ir.Sort, ir.SortAttrs{}, x)
	require.NoError(t, err)
	y := sorted[0] // a value in the arena that dies in the elementwise unit
	zero := add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, 0, 300)})
	mask := add(ir.Compare, ir.CompareAttrs{Direction: ir.Gt}, y, zero)
	between := add(ir.Tanh, nil, dy)
	selected := add(ir.Select, nil, mask, between, zero)
	p.AddOutput("selected", add(ir.Neg, nil, add(ir.Tanh, nil, selected)))
	resorted, err := p.Add("", ir.Sort, ir.SortAttrs{}, between) // so between is written to memory
	require.NoError(t, err)
	p.AddOutput("resorted", resorted[0])
	inputs := make([]reference.Value, 2)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range inputs {
		values := make([]float64, 300)
		for j := range values {
			values[j] = rng.Float64()*2 - 1
		}
		inputs[i], err = reference.New(ir.Float32, typ.Shape, values...)
		require.NoError(t, err)
	}
	fused, plain := runOnce(t, p, inputs, false), runOnce(t, p, inputs, true)
	for i := range fused {
		require.NoError(t, kernelstest.Compare(fused[i], plain[i], 0, true))
	}
}
