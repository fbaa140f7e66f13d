package pass_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// allExcess lets the pass do all that it can.
func allExcess(most int) pass.Pass {
	return pass.ExcessPrecision(pass.ExcessOptions{Type: func(d ir.DType) bool { return d.IsHalf() }, Most: most})
}

// mixed rewrites a program as mixed precision does: nodes that compute in float32 compute in type d instead, most of
// them, and operands are converted as needed. Inputs and outputs stay as they are. What moves numbers has their type:
// none is rounded for nothing else.
func mixed(t *testing.T, p *ir.Program, d ir.DType, rng *rand.Rand) *ir.Program {
	r := pass.NewRewriter(p)
	as := func(v ir.Value, d ir.DType) ir.Value {
		if r.To.Type(v).DType == d {
			return v
		}
		out, err := r.To.Add("", ir.Convert, ir.ConvertAttrs{DType: d}, v)
		require.NoError(t, err)
		return out[0]
	}
	float := func(v ir.Value) bool { return p.Type(v).DType == ir.Float32 }
	for i := range p.Nodes {
		n := &p.Nodes[i]
		in, to := r.Operands(n), ir.Float32
		if rng.IntN(4) > 0 && slices.ContainsFunc(n.Inputs, float) {
			to = d
		}
		if n.Op.Traits().Moves && len(n.Inputs) > 0 {
			to = r.To.Type(in[0]).DType
		}
		for j, v := range n.Inputs {
			if float(v) {
				in[j] = as(in[j], to)
			}
		}
		attrs := n.Attrs
		if a, ok := attrs.(ir.ConvertAttrs); ok && a.DType == ir.Float32 {
			a.DType = to
			attrs = a
		}
		out, err := r.To.Add(n.Scope, n.Op, attrs, in...)
		require.NoError(t, err)
		for j, v := range n.Outputs {
			r.Mapped[v] = out[j]
		}
	}
	for _, out := range p.Outputs {
		r.Mapped[out.Value] = as(r.Mapped[out.Value], p.Type(out.Value).DType)
	}
	return r.Finish()
}

// halfNodes counts what computes in 16 bits.
func halfNodes(p *ir.Program) (n int) {
	for i := range p.Nodes {
		node := &p.Nodes[i]
		if node.Op != ir.Convert && slices.ContainsFunc(node.Inputs, func(v ir.Value) bool { return p.Type(v).DType.IsHalf() }) {
			n++
		}
		for _, sub := range ir.SubPrograms(node.Attrs) {
			n += halfNodes(sub)
		}
	}
	return n
}

// sameMeaning checks that q computes what p does in float32, rounded to the types of its own outputs.
func sameMeaning(t *testing.T, p, q *ir.Program, inputs []reference.Value) {
	t.Helper()
	require.NoError(t, q.Verify())
	require.Len(t, q.Outputs, len(p.Outputs))
	want, err := reference.Interpreter{}.Run(p, inputs)
	require.NoError(t, err)
	got, err := reference.Interpreter{}.Run(q, inputs)
	require.NoError(t, err)
	for i := range want {
		require.Equal(t, p.Outputs[i].Alias, q.Outputs[i].Alias)
		require.NoError(t, kernelstest.Compare(got[i], want[i], 4, true), "output %d of\n%v\n%v", i, p, q)
	}
}

// TestExcessPrecisionKeepsMeaning: random programs of mixed precision mean the same without roundings, and compute
// nothing in 16 bits any more but what asks whether numbers of float16 are finite.
func TestExcessPrecisionKeepsMeaning(t *testing.T) {
	changed := 0
	for seed := range uint64(300) {
		p, inputs := kernelstest.RandomProgram(seed)
		d := []ir.DType{ir.BFloat16, ir.Float16}[seed%2]
		half := mixed(t, p, d, rand.New(rand.NewPCG(seed, 3)))
		q, err := allExcess(1 << 30).Run(half)
		require.NoError(t, err)
		sameMeaning(t, p, q, inputs)
		if halfNodes(half) == 0 {
			continue
		}
		changed++
		require.Zero(t, halfNodes(q), "%v\n%v", half, q)
	}
	require.Greater(t, changed, 100)
}

// loops is a program with each kind of loop and branch, which compute in type d.
func loops(t *testing.T, d ir.DType) *ir.Program {
	main := b{t, ir.New("loops")}
	half := func(b b, v ir.Value) ir.Value { return b.add(ir.Convert, ir.ConvertAttrs{DType: d}, v) }
	x, w, h := main.input("x", ir.Float32, 5, 2, 3), main.input("w", ir.Float32, 3, 3), main.input("h", ir.Float32, 2, 3)
	matmul := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	step := main
	step.p = ir.New("step")
	hs, xs, ws, bias := step.input("h", d, 2, 3), step.input("x", d, 2, 3), step.input("w", d, 3, 3), step.input("bias", ir.Float32, 2, 3)
	next := step.add(ir.Tanh, nil, step.add(ir.Add, nil, step.add(ir.Add, nil, step.add(ir.Dot, matmul, hs, ws), xs), half(step, bias)))
	step.p.AddOutput("h", next)
	step.p.AddOutput("y", step.add(ir.Mul, nil, next, next))
	out, err := main.p.Add("", ir.Scan, ir.ScanAttrs{Body: step.p, Length: 5, Carry: 1, Xs: 1}, half(main, h), half(main, x), half(main, w), h)
	require.NoError(t, err)
	again, until, branch := main, main, main
	again.p, until.p, branch.p = ir.New("body"), ir.New("condition"), ir.New("branch")
	v := again.input("v", d, 2, 3)
	again.p.AddOutput("v", again.add(ir.Add, nil, v, v))
	v = until.input("v", d, 2, 3)
	most := until.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{0, 1}}, v)
	until.p.AddOutput("go on", until.add(ir.Compare, ir.CompareAttrs{Direction: ir.Lt}, most, until.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(d, 3)})))
	looped, err := main.p.Add("", ir.While, ir.WhileAttrs{Cond: until.p, Body: again.p, State: 1}, main.add(ir.Exp, nil, out[0]))
	require.NoError(t, err)
	v = branch.input("v", d, 2, 3)
	branch.p.AddOutput("v", branch.add(ir.Neg, nil, v))
	chosen, err := main.p.Add("", ir.Cond, ir.CondAttrs{Then: branch.p, Else: again.p}, main.input("which", ir.Bool), looped[0])
	require.NoError(t, err)
	main.p.AddOutput("half", chosen[0])
	main.p.AddOutput("ys", main.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, out[1]))
	return main.p
}

// TestExcessPrecisionInLoops: states, stacked values and constants of 16 bits are those of float32.
func TestExcessPrecisionInLoops(t *testing.T) {
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		p := loops(t, d)
		q, err := allExcess(1 << 20).Run(p)
		require.NoError(t, err)
		require.Zero(t, halfNodes(q), "%v", q)
		inputs := inputsOf(t, p)
		want, err := reference.Interpreter{}.Run(loops(t, ir.Float32), inputs)
		require.NoError(t, err)
		got, err := reference.Interpreter{}.Run(q, inputs)
		require.NoError(t, err)
		require.InDeltaSlice(t, want[0].F, got[0].F, 0.1, "rounded once")
		require.InDeltaSlice(t, want[1].F, got[1].F, 1e-6)
	}
}

// TestExcessPrecisionOfInputs: where inputs of 16 bits count as others do, what is computed from them is computed in
// float32, loops included, and what moves them moves them as they are. They count towards the most bytes.
func TestExcessPrecisionOfInputs(t *testing.T) {
	product := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	network := func(d ir.DType) *ir.Program {
		main := b{t, ir.New("inputs")}
		x, w, table := main.input("x", ir.Float32, 5, 3), main.input("w", d, 3, 3), main.input("table", d, 7, 3)
		to := func(d ir.DType, v ir.Value) ir.Value { return main.add(ir.Convert, ir.ConvertAttrs{DType: d}, v) }
		rows := main.add(ir.Slice, ir.SliceAttrs{Start: []int{1, 0}, Limit: []int{6, 3}, Stride: []int{1, 1}}, table)
		bias := main.add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{5, 3}, Axes: []int{1}}, main.input("bias", d, 3))
		hidden := main.add(ir.Add, nil, main.add(ir.Add, nil, main.add(ir.Dot, product, to(d, x), w), bias), main.add(ir.Tanh, nil, rows))
		body := b{t, ir.New("body")}
		h, inside := body.input("h", d, 5, 3), body.input("w", d, 3, 3)
		next := body.add(ir.Tanh, nil, body.add(ir.Dot, product, h, inside))
		body.p.AddOutput("h", next)
		loop := main.add(ir.Scan, ir.ScanAttrs{Length: 3, Carry: 1, Body: body.p}, hidden, w)
		main.p.AddOutput("y", to(ir.Float32, loop))
		main.p.AddOutput("w", main.add(ir.Sub, nil, w, main.add(ir.Exp, nil, w)))
		return main.p
	}
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		p := network(d)
		options := pass.ExcessOptions{Type: func(d ir.DType) bool { return d.IsHalf() }, Most: 1 << 20, Inputs: true}
		q, err := pass.ExcessPrecision(options).Run(p)
		require.NoError(t, err)
		require.Equal(t, 1, halfNodes(q), "the slice\n%v", q)
		inputs := inputsOf(t, p)
		for i, v := range inputs {
			inputs[i], err = reference.FromBytes(v.Type, v.Bytes()) // rounded
			require.NoError(t, err)
		}
		for i, v := range inputs[0].F { // a conversion rounds in the interpreter, whatever it does else
			inputs[0].F[i] = math.Round(8*v) / 8
		}
		want, err := reference.Interpreter{}.Run(p, inputs)
		require.NoError(t, err)
		got, err := reference.Interpreter{Round: true}.Run(q, inputs)
		require.NoError(t, err)
		require.InDeltaSlice(t, want[0].F, got[0].F, 1e-6, "not rounded between")
		require.InDeltaSlice(t, want[1].F, got[1].F, 0.02, "rounded once")
		require.Equal(t, d, got[1].Type.DType)
		options.Most = 2*(9+21+3) + 1
		q, err = pass.ExcessPrecision(options).Run(p)
		require.NoError(t, err)
		require.Equal(t, p, q, "the inputs alone take the most")
	}
}

// TestExcessPrecisionOfUpdates: what serves only the outputs, element by element, takes no memory in float32. Where a
// program takes too much, or should stay in 16 bits, it alone is computed in float32, and rounded once.
func TestExcessPrecisionOfUpdates(t *testing.T) {
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		b := b{t, ir.New("updates")}
		w, x, slot := b.input("w", d, 6, 5), b.input("x", d, 7, 6), b.input("slot", d, 6, 5)
		y := b.add(ir.Tanh, nil, b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, w))
		g := b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, x, y)
		rate := b.add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{6, 5}}, b.add(ir.Exp, nil, b.input("rate", d)))
		next := b.add(ir.Add, nil, b.add(ir.Tanh, nil, slot), b.add(ir.Mul, nil, g, g))
		b.p.AddOutput("w", b.add(ir.Sub, nil, w, b.add(ir.Mul, nil, rate, b.add(ir.Div, nil, g, b.add(ir.Exp, nil, next)))))
		b.p.AddOutput("slot", next)
		excess := pass.ExcessOptions{Type: ir.DType.IsHalf, Inputs: true, Most: 2 * (30 + 42 + 35 + 35)} // w, x, a product and its tanh
		q, err := pass.ExcessPrecision(excess).Run(b.p)
		require.NoError(t, err)
		require.Zero(t, halfNodes(q))
		excess.Most -= 4
		q, err = pass.ExcessPrecision(excess).Run(b.p)
		require.NoError(t, err)
		require.Equal(t, b.p, q)

		q, err = pass.ExcessPrecision(pass.ExcessOptions{Type: ir.DType.IsHalf, Inputs: true, Updates: true}).Run(b.p)
		require.NoError(t, err)
		require.Equal(t, 3, halfNodes(q), "both products, and tanh of one\n%v", q)
		inputs := inputsOf(t, b.p)
		for i, v := range inputs {
			inputs[i], err = reference.FromBytes(v.Type, v.Bytes()) // rounded
			require.NoError(t, err)
		}
		want, err := reference.Interpreter{}.Run(b.p, inputs)
		require.NoError(t, err)
		got, err := reference.Interpreter{Round: true}.Run(q, inputs)
		require.NoError(t, err)
		for i, v := range got {
			require.Equal(t, d, v.Type.DType)
			for j, x := range v.F {
				require.InDelta(t, want[i].F[j], x, (1+math.Abs(x))*map[ir.DType]float64{ir.BFloat16: 0.05, ir.Float16: 0.01}[d])
			}
		}
	}
}

// TestExcessPrecisionOfResults: results of 16 bits are rounded next to the operation that computes them, so that they
// are part of its loop.
func TestExcessPrecisionOfResults(t *testing.T) {
	b := b{t, ir.New("results")}
	half := b.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float16}, b.input("x", ir.Float32, 4))
	first := b.add(ir.Exp, nil, half)
	second := b.add(ir.Sin, nil, first)
	b.p.AddOutput("second", second)
	b.p.AddOutput("first", first)
	b.p.AddOutput("third", b.add(ir.Neg, nil, second))
	q, err := allExcess(1 << 20).Run(b.p)
	require.NoError(t, err)
	var ops []ir.Op
	for _, n := range q.Nodes {
		ops = append(ops, n.Op)
	}
	require.Equal(t, []ir.Op{ir.Exp, ir.Convert, ir.Sin, ir.Convert, ir.Neg, ir.Convert}, ops)
}

// inputsOf makes numbers for the inputs of a program.
func inputsOf(t *testing.T, p *ir.Program) (in []reference.Value) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, i := range p.Inputs {
		values := make([]float64, p.Type(i.Value).Shape.Size())
		for j := range values {
			values[j] = r.NormFloat64()
		}
		v, err := reference.New(p.Type(i.Value).DType, p.Type(i.Value).Shape, values...)
		require.NoError(t, err)
		in = append(in, v)
	}
	return in
}

// TestExcessPrecisionStops: what stays in 16 bits.
func TestExcessPrecisionStops(t *testing.T) {
	b := b{t, ir.New("stops")}
	x, narrow := b.input("x", ir.Float32, 4), b.input("narrow", ir.Float16, 4)
	to := func(d ir.DType, v ir.Value) ir.Value { return b.add(ir.Convert, ir.ConvertAttrs{DType: d}, v) }
	half := to(ir.Float16, x)
	reversed := b.add(ir.Reverse, ir.AxesAttrs{Axes: []int{0}}, half)
	b.p.AddOutput("rounded", to(ir.Float32, reversed))
	b.p.AddOutput("of an input", to(ir.Float32, b.add(ir.Exp, nil, b.add(ir.Mul, nil, half, narrow))))
	sum := b.add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 1}, b.add(ir.Neg, nil, half))
	b.p.AddOutput("sum", to(ir.Float32, sum))
	big := b.add(ir.Mul, nil, half, half)
	b.p.AddOutput("finite", b.add(ir.IsFinite, nil, to(ir.Float32, big)))
	b.p.AddOutput("big", to(ir.Float32, big))
	b.p.AddOutput("of another layer", to(ir.Float32, reversed))
	b.p.Nodes[len(b.p.Nodes)-1].Scope = "another"
	q, err := allExcess(1 << 20).Run(b.p)
	require.NoError(t, err)
	in, err := reference.New(ir.Float32, ir.Shape{4}, 1.0001, 300, -2.0003, 0.5)
	require.NoError(t, err)
	other, err := reference.New(ir.Float16, ir.Shape{4}, 1, 2, 3, 4)
	require.NoError(t, err)
	inputs := []reference.Value{in, other}
	want, err := reference.Interpreter{Round: true}.Run(b.p, inputs)
	require.NoError(t, err)
	got, err := reference.Interpreter{Round: true}.Run(q, inputs)
	require.NoError(t, err)
	for i, name := range []string{"rounded", "of an input", "sum", "finite"} {
		require.Equal(t, want[i], got[i], name)
	}
	require.InDelta(t, 90000, got[4].F[1], 1, "beyond float16's range")
	require.InDelta(t, 1.0001, got[5].F[3], 1e-6, "not rounded for another layer")
	require.Equal(t, int64(0), got[3].I[1])
	kept, err := pass.ExcessPrecision(pass.ExcessOptions{Type: func(d ir.DType) bool { return d.IsHalf() }, Most: 1 << 20,
		Keep: func(_ *ir.Program, n *ir.Node) bool { return n.Op == ir.Mul }}).Run(b.p)
	require.NoError(t, err)
	got, err = reference.Interpreter{Round: true}.Run(kept, inputs)
	require.NoError(t, err)
	require.Equal(t, want[:5], got[:5])
}

// TestExcessPrecisionOfResultsThatLive: of results that follow each other two live at a time, and one that is read
// at the end, through a conversion, lives on; what is bound is the sum of those.
func TestExcessPrecisionOfResultsThatLive(t *testing.T) {
	const length, each = 100, 2 * 100 // bytes that a result takes more
	b := b{t, ir.New("chain")}
	half := b.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float16}, b.input("x", ir.Float32, length))
	first := b.add(ir.Neg, nil, half)
	v, kept := first, b.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{length}}, first)
	for range 5 {
		v = b.add(ir.Exp, nil, v)
	}
	product := b.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, b.add(ir.Mul, nil, v, kept))
	b.p.AddOutput("y", b.add(ir.Reverse, ir.AxesAttrs{Axes: []int{0}}, product)) // so that it is no update
	for _, c := range []struct {
		most int
		wide bool
	}{{3 * each, true}, {3*each - 1, false}} {
		q, err := pass.ExcessPrecision(pass.ExcessOptions{Type: func(d ir.DType) bool { return d.IsHalf() }, Most: c.most}).Run(b.p)
		require.NoError(t, err)
		require.Equal(t, c.wide, halfNodes(q) == 0, "%+v", c)
	}
}

// TestExcessPrecisionBehindBarriers: what is computed again behind a barrier has the bits of what was computed before,
// whatever the barrier waits for: numbers that were rounded, that were computed, and that stay in 16 bits.
func TestExcessPrecisionBehindBarriers(t *testing.T) {
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		b := b{t, ir.New("barriers")}
		x, narrow := b.input("x", ir.Float32, 4), b.input("narrow", d, 4)
		to := func(d ir.DType, v ir.Value) ir.Value { return b.add(ir.Convert, ir.ConvertAttrs{DType: d}, v) }
		rounded := to(d, x)
		values := []ir.Value{x, narrow, rounded, b.add(ir.Sin, nil, rounded), b.add(ir.Sin, nil, narrow)}
		for _, v := range values {
			for _, after := range values {
				for _, v := range []ir.Value{v, b.add(ir.Barrier, nil, v, after)} {
					b.p.AddOutput("", to(ir.Float32, v))
					b.p.AddOutput("", to(ir.Float32, b.add(ir.Exp, nil, v)))
				}
			}
		}
		q, err := allExcess(1 << 20).Run(b.p)
		require.NoError(t, err)
		got, err := reference.Interpreter{Round: true}.Run(q, inputsOf(t, b.p))
		require.NoError(t, err)
		for i := 0; i < len(got); i += 4 {
			require.Equal(t, got[i:i+2], got[i+2:i+4], "%v: value %d behind value %d", d, i/4/len(values), i/4%len(values))
		}
	}
}

// TestExcessPrecisionOfSums: numbers beyond the range of float16 are infinite where sums of them, over replicas too,
// are asked whether they are finite; those that are not asked stay as they are.
func TestExcessPrecisionOfSums(t *testing.T) {
	b := b{t, ir.New("sums")}
	x := b.input("x", ir.Float32, 4)
	to := func(d ir.DType, v ir.Value) ir.Value { return b.add(ir.Convert, ir.ConvertAttrs{DType: d}, v) }
	square := func(v ir.Value) ir.Value { return b.add(ir.Mul, nil, to(ir.Float16, v), to(ir.Float16, v)) }
	asked, other := to(ir.Float32, square(x)), to(ir.Float32, square(b.add(ir.Neg, nil, x)))
	sum := b.add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 1}, b.add(ir.Add, nil, asked, x))
	b.p.AddOutput("finite", b.add(ir.IsFinite, nil, sum))
	b.p.AddOutput("other", b.add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 1}, other))
	q, err := allExcess(1 << 20).Run(b.p)
	require.NoError(t, err)
	in, err := reference.New(ir.Float32, ir.Shape{4}, 1, 300, -2, 0.5)
	require.NoError(t, err)
	got, err := reference.Interpreter{Round: true}.Run(q, []reference.Value{in})
	require.NoError(t, err)
	require.Equal(t, []int64{1, 0, 1, 1}, got[0].I)
	require.InDelta(t, 90000, got[1].F[1], 1, "beyond float16's range")
}

// TestThereAndBack: a conversion of 16 bits to float32 and back to the same type is none; to the other type it is two.
func TestThereAndBack(t *testing.T) {
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		b := b{t, ir.New("there and back")}
		x := b.input("x", ir.BFloat16, 4)
		b.p.AddOutput("y", b.add(ir.Convert, ir.ConvertAttrs{DType: d}, b.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, x)))
		q, err := pass.Simplify(pass.SimplifyOptions{Replicas: 1}).Run(b.p)
		require.NoError(t, err)
		require.Equal(t, d == ir.BFloat16, q.Outputs[0].Value == q.Inputs[0].Value, "%v", q)
	}
}
