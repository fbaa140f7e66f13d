package reference_test

import (
	"flag"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/kernels/reference"
)

var fillPrograms = flag.Int("fill-programs", 150, "how many random programs are filled up")

// fillSizes are the numbers of examples that programs run with, filled up to the last.
var fillSizes = []int{1, 2, 3, 5}

// TestFilledRowsOfRandomPrograms: whatever nodes a program has that [ir.FillRows] takes, rows that fill the batch up
// are not seen in its results. Float numbers of those rows are NaN, other numbers are wild, and indices are copies.
func TestFilledRowsOfRandomPrograms(t *testing.T) {
	across := map[string]int{}
	ran, failed := 0, 0
	for seed := range *fillPrograms {
		g := newFillGrower(t, uint64(seed))
		for range 4 + g.rng.IntN(20) {
			g.grow()
		}
		g.finish()
		filled, err := ir.FillRows(g.p, "batch")
		require.NoError(t, err)
		require.NoError(t, filled.Verify())
		for op, n := range g.across {
			across[op] += n
		}
		for _, n := range fillSizes {
			want, wantErr := g.run(g.p, n, n)
			got, gotErr := g.run(filled, n, fillSizes[len(fillSizes)-1])
			require.Equal(t, wantErr != nil, gotErr != nil, "program %d, %d examples: %v, filled up: %v\n%v", seed, n, wantErr, gotErr, g.p)
			if wantErr != nil {
				failed++
				continue
			}
			ran++
			for i := range want {
				require.Equal(t, want[i].Type, got[i].Type)
				for k := range want[i].Type.Shape.Size() {
					x, y := want[i].At(k), got[i].At(k)
					require.True(t, x == y || x != x && y != y, "program %d, %d examples, output %d, element %d: %v, filled up: %v\n%v", seed, n, i, k, x, y, g.p)
				}
			}
		}
	}
	t.Log(ran, "runs,", failed, "with an error,", across)
	if *fillPrograms >= 150 {
		require.Greater(t, ran, 2*failed)
		for _, op := range []string{"reduce sum", "reduce prod", "reduce max", "reduce min", "reduce and", "reduce or", "dot ", "scatter sum", "gather ", "gather drop", "iota "} {
			require.NotZero(t, across[op], "no program has %s across the examples: %v", op, across)
		}
	}
}

// fillGrower adds random nodes that FillRows takes to a program of open batches.
type fillGrower struct {
	t      *testing.T
	p      *ir.Program
	rng    *rand.Rand
	b      int
	values []ir.Value
	index  []ir.Value     // of the values: they hold numbers from 0, also in rows that fill up
	across map[string]int // nodes in which examples meet
}

func newFillGrower(t *testing.T, seed uint64) *fillGrower {
	g := &fillGrower{t: t, p: ir.New("filled"), rng: rand.New(rand.NewPCG(seed, 7)), b: dim.Symbol("batch"), across: map[string]int{}}
	for _, in := range []ir.Type{
		{DType: ir.Float64, Shape: ir.Shape{g.b, 3}}, {DType: ir.Float64, Shape: ir.Shape{g.b, 2, 2}}, {DType: ir.Float64, Shape: ir.Shape{g.b}},
		{DType: ir.Int32, Shape: ir.Shape{g.b}}, {DType: ir.Bool, Shape: ir.Shape{g.b, 3}}, {DType: ir.Float64, Shape: ir.Shape{3, 4}},
		{DType: ir.Float64, Shape: ir.Shape{3}}, {DType: ir.Float64, Shape: ir.Shape{2, 2}}, {DType: ir.Float64},
	} {
		g.values = append(g.values, g.p.AddInput("in", in))
	}
	for _, in := range []ir.Type{{DType: ir.Int32, Shape: ir.Shape{g.b}}, {DType: ir.Int32, Shape: ir.Shape{g.b, 2}}, {DType: ir.Int64, Shape: ir.Shape{2}}} {
		v := g.p.AddInput("index", in)
		g.values, g.index = append(g.values, v), append(g.index, v)
	}
	return g
}

// run runs the program on n examples and what fills them up.
func (g *fillGrower) run(p *ir.Program, n, rows int) ([]reference.Value, error) {
	p, err := ir.Specialize(p, map[string]int{"batch": rows})
	require.NoError(g.t, err)
	require.NoError(g.t, p.Verify())
	var in []reference.Value
	for k, input := range p.Inputs {
		typ := p.Type(input.Value)
		if input.Name == "rows" {
			in = append(in, value(g.t, ir.Int32, nil, float64(n)))
			continue
		}
		rng := rand.New(rand.NewPCG(uint64(k), 1))
		list := make([]float64, typ.Shape.Size())
		each := len(list)
		if open := g.p.Type(g.p.Inputs[k].Value).Shape; len(open) > 0 && open[0] == g.b {
			each /= rows
		}
		for i := range list {
			outside := each < len(list) && i >= n*each
			switch {
			case input.Name == "index" && outside:
				list[i] = list[i%each]
			case input.Name == "index":
				list[i] = float64(rng.IntN(4))
			case typ.DType == ir.Bool:
				list[i] = float64(rng.IntN(2))
			case typ.DType == ir.Int32 && outside:
				list[i] = math.MinInt32
			case outside:
				list[i] = math.NaN()
			default:
				list[i] = float64(rng.IntN(17)-8) / 4
			}
		}
		in = append(in, value(g.t, typ.DType, typ.Shape, list...))
	}
	return reference.Run(p, in)
}

// try adds a node, unless it is not valid or FillRows does not take it.
func (g *fillGrower) try(op ir.Op, attrs ir.Attrs, in ...ir.Value) (ir.Value, bool) {
	out, err := g.p.Add("layer", op, attrs, in...)
	if err != nil {
		return 0, false
	}
	reject := func() (ir.Value, bool) {
		g.p.Nodes = g.p.Nodes[:len(g.p.Nodes)-1]
		return 0, false
	}
	for _, v := range out {
		size := 1
		for _, n := range g.p.Type(v).Shape {
			if !dim.Known(n) {
				var err error
				if n, err = dim.Eval(n, map[string]int{"batch": 5}); err != nil {
					return reject()
				}
			}
			size *= n
		}
		if size > 500 || size == 0 {
			return reject()
		}
	}
	if _, err := ir.FillRows(g.p, "batch"); err != nil {
		return reject()
	}
	for _, n := range fillSizes { // an open axis fits any length until it has one
		if _, err := ir.Specialize(g.p, map[string]int{"batch": n}); err != nil {
			return reject()
		}
	}
	only := *g.p
	only.Nodes, only.Outputs = only.Nodes[len(only.Nodes)-1:], nil
	if ir.RowWise(&only, "batch") != nil {
		name := op.String() + " "
		switch a := attrs.(type) {
		case ir.ReduceAttrs:
			name += string(a.Kind)
		case ir.ScatterAttrs:
			name += string(a.Kind)
		case ir.GatherAttrs:
			name += string(a.Mode)
		}
		g.across[name]++
	}
	g.values = append(g.values, out...)
	return out[0], true
}

// pick returns a value, one of the latest more often.
func (g *fillGrower) pick() ir.Value {
	if g.rng.IntN(2) == 0 {
		return g.values[len(g.values)-1-g.rng.IntN(min(5, len(g.values)))]
	}
	return g.values[g.rng.IntN(len(g.values))]
}

func (g *fillGrower) oneOf(d ...ir.DType) ir.Value {
	for {
		if v := g.pick(); slices.Contains(d, g.p.Type(v).DType) {
			return v
		}
	}
}

func (g *fillGrower) float() ir.Value { return g.oneOf(ir.Float64) }

// axis returns an axis of a value, 0 where it has none: then what asked for it is not valid.
func (g *fillGrower) axis(v ir.Value) int { return g.rng.IntN(max(1, len(g.p.Type(v).Shape))) }

func (g *fillGrower) number(d ir.DType, x float64, shape ...int) ir.Value {
	v, _ := g.try(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(d, x, shape...)})
	return v
}

// fitted returns a value of the same type, broadcast where it must be.
func (g *fillGrower) fitted(v ir.Value) ir.Value {
	t := g.p.Type(v)
	for range 10 {
		w := g.pick()
		if g.p.Type(w).Equal(t) {
			return w
		}
		if g.p.Type(w).DType != t.DType {
			continue
		}
		axes := g.rng.Perm(len(t.Shape))[:min(len(t.Shape), len(g.p.Type(w).Shape))]
		slices.Sort(axes)
		if w, ok := g.try(ir.Broadcast, ir.BroadcastAttrs{Shape: t.Shape, Axes: axes}, w); ok {
			return w
		}
	}
	return v
}

func (g *fillGrower) someAxes(v ir.Value) (axes []int) {
	for k := range g.p.Type(v).Shape {
		if g.rng.IntN(2) == 0 {
			axes = append(axes, k)
		}
	}
	return axes
}

func among[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

func (g *fillGrower) grow() {
	switch k := g.rng.IntN(14); {
	case k < 2:
		g.elementwise()
	case k < 6:
		g.move()
	case k < 9:
		g.meet()
	case k < 11:
		g.indexed()
	case k < 12:
		g.along()
	case k < 13:
		g.layer()
	default:
		g.control()
	}
}

func (g *fillGrower) elementwise() {
	v := g.pick()
	switch d := g.p.Type(v).DType; {
	case d == ir.Bool:
		g.try(among(g.rng, ir.BitAnd, ir.BitOr, ir.BitXor), nil, v, g.fitted(v))
		g.try(ir.Convert, ir.ConvertAttrs{DType: among(g.rng, ir.Int32, ir.Float64)}, v)
	case d.IsInteger():
		g.try(among(g.rng, ir.Add, ir.Sub, ir.Mul, ir.Maximum, ir.BitXor), nil, v, g.fitted(v))
		g.try(ir.Convert, ir.ConvertAttrs{DType: ir.Float64}, v)
	default:
		g.try(among(g.rng, ir.Neg, ir.Exp, ir.Tanh, ir.Relu, ir.Sqrt, ir.IsFinite, ir.Identity, ir.Sign, ir.Log), nil, v)
		w := g.fitted(v)
		g.try(among(g.rng, ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Maximum, ir.Minimum, ir.Pow), nil, v, w)
		if c, ok := g.try(ir.Compare, ir.CompareAttrs{Direction: among(g.rng, ir.Lt, ir.Ne, ir.Ge)}, v, w); ok {
			g.try(ir.Select, nil, c, g.fitted(v), w)
		}
	}
}

func (g *fillGrower) move() {
	v := g.pick()
	s := g.p.Type(v).Shape
	if g.rng.IntN(4) == 0 {
		g.try(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float64, float64(g.rng.IntN(3)), s...)})
		if len(s) > 0 {
			g.try(ir.Iota, ir.IotaAttrs{Type: ir.Type{DType: among(g.rng, ir.Float64, ir.Int32), Shape: s}, Axis: g.axis(v)})
		}
	}
	start, limit, stride, zeros := make([]int, len(s)), slices.Clone(s), make([]int, len(s)), make([]int, len(s))
	low, high := slices.Clone(zeros), slices.Clone(zeros)
	for k := range s {
		if stride[k] = 1; g.rng.IntN(3) == 0 {
			low[k], high[k] = g.rng.IntN(2), g.rng.IntN(2)
			if dim.Known(s[k]) {
				start[k], stride[k] = g.rng.IntN(s[k]), 1+g.rng.IntN(2) //dim:known just looked
			}
		}
	}
	switch g.rng.IntN(9) {
	case 0, 1: // neighbours become one
		if k := g.axis(v); k+1 < len(s) {
			g.try(ir.Reshape, ir.ReshapeAttrs{Shape: slices.Concat(s[:k], ir.Shape{dim.Mul(s[k], s[k+1])}, s[k+2:])}, v)
		}
	case 2: // one becomes two, in both orders
		if len(s) > 0 {
			k, n := g.axis(v), 1+g.rng.IntN(3)
			rest := dim.FloorDiv(s[k], n)
			g.try(ir.Reshape, ir.ReshapeAttrs{Shape: slices.Concat(s[:k], among(g.rng, ir.Shape{rest, n}, ir.Shape{n, rest}), s[k+1:])}, v)
		}
	case 3:
		g.try(ir.Transpose, ir.TransposeAttrs{Perm: g.rng.Perm(len(s))}, v)
	case 4:
		k := g.rng.IntN(len(s) + 1)
		axes := make([]int, len(s))
		for i := range axes {
			if axes[i] = i; i >= k {
				axes[i]++
			}
		}
		g.try(ir.Broadcast, ir.BroadcastAttrs{Shape: slices.Concat(s[:k], ir.Shape{among(g.rng, g.b, 2, dim.Mul(g.b, 2))}, s[k:]), Axes: axes}, v)
	case 5:
		g.try(ir.Slice, ir.SliceAttrs{Start: start, Limit: limit, Stride: stride}, v)
	case 6:
		g.try(ir.Pad, ir.PadAttrs{Low: low, High: high, Interior: zeros}, v, g.number(g.p.Type(v).DType, 1))
	case 7:
		g.try(ir.Concat, ir.AxisAttrs{Axis: g.axis(v)}, v, g.fitted(v))
	default:
		g.try(ir.Reverse, ir.AxesAttrs{Axes: []int{g.axis(v)}}, v)
	}
}

// meet adds sums over examples and the like.
func (g *fillGrower) meet() {
	v := g.pick()
	t := g.p.Type(v)
	kinds := []ir.Kind{ir.Sum, ir.Prod, ir.Max, ir.Min}
	if t.DType == ir.Bool {
		kinds = []ir.Kind{ir.And, ir.Or}
	}
	g.try(ir.Reduce, ir.ReduceAttrs{Kind: among(g.rng, kinds...), Axes: g.someAxes(v)}, v)
	v, w := g.float(), g.float()
	a, b := g.p.Type(v).Shape, g.p.Type(w).Shape
	var d ir.DotAttrs
	for i, n := range a {
		if j := slices.Index(b, n); j >= 0 && !slices.Contains(d.RhsContract, j) && !slices.Contains(d.RhsBatch, j) && g.rng.IntN(3) > 0 {
			if g.rng.IntN(4) == 0 {
				d.LhsBatch, d.RhsBatch = append(d.LhsBatch, i), append(d.RhsBatch, j)
			} else {
				d.LhsContract, d.RhsContract = append(d.LhsContract, i), append(d.RhsContract, j)
			}
		}
	}
	g.try(ir.Dot, d, v, w)
}

// indices returns indices for an axis of the given length.
func (g *fillGrower) indices(length int) ir.Value {
	i := among(g.rng, g.index...)
	t := g.p.Type(i)
	if g.rng.IntN(3) > 0 {
		switch {
		case dim.Known(length):
			i, _ = g.try(ir.Rem, nil, i, g.number(t.DType, float64(length), t.Shape...)) //dim:known just looked
		case g.rng.IntN(3) > 0:
			i, _ = g.try(ir.Iota, ir.IotaAttrs{Type: ir.Type{DType: among(g.rng, ir.Int32, ir.Int64), Shape: ir.Shape{g.b}}})
		default:
			i, _ = g.try(ir.Mul, nil, i, g.number(t.DType, 0, t.Shape...))
		}
		g.index = append(g.index, i)
	}
	return i
}

// indexed adds gathers, scatters and slices at places that are computed.
func (g *fillGrower) indexed() {
	v, mode := g.pick(), among(g.rng, ir.IndexError, ir.IndexClip, ir.IndexDrop)
	s := g.p.Type(v).Shape
	if len(s) == 0 {
		return
	}
	k := g.axis(v)
	switch g.rng.IntN(4) {
	case 0, 1:
		g.try(ir.Gather, ir.GatherAttrs{Axis: k, Mode: mode}, v, g.indices(s[k]))
	case 2:
		length := among(g.rng, 4, 4, g.b)
		i := g.indices(length)
		at := g.p.Type(i).Shape
		if k+len(at) > len(s) || !slices.Equal(s[k:k+len(at)], at) {
			return
		}
		base := g.number(g.p.Type(v).DType, 1, slices.Concat(s[:k], ir.Shape{length}, s[k+len(at):])...)
		g.try(ir.Scatter, ir.ScatterAttrs{Axis: k, Kind: among(g.rng, ir.Sum, ir.Sum, ir.Max, ir.Set, ir.Prod), Mode: mode}, base, i, v)
	default:
		place, ok := g.try(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, g.index[0])
		if !ok {
			return
		}
		in := []ir.Value{v}
		if sizes := slices.Clone(s); g.rng.IntN(2) == 0 {
			if dim.Known(sizes[k]) {
				sizes[k] = 1
			}
			g.try(ir.DynamicSlice, ir.DynamicSliceAttrs{Sizes: sizes}, append(in, slices.Repeat([]ir.Value{place}, len(s))...)...)
		} else {
			g.try(ir.DynamicUpdateSlice, nil, append(append(in, g.fitted(v)), slices.Repeat([]ir.Value{place}, len(s))...)...)
		}
	}
}

// along adds operations that work along an axis.
func (g *fillGrower) along() {
	v := g.float()
	k := g.axis(v)
	switch g.rng.IntN(5) {
	case 0:
		g.try(among(g.rng, ir.ArgMax, ir.ArgMin), ir.AxisAttrs{Axis: k}, v)
	case 1:
		g.try(ir.Cumulative, ir.CumulativeAttrs{Kind: among(g.rng, ir.Sum, ir.Max), Axis: k, Reverse: g.rng.IntN(2) == 0}, v)
	case 2:
		g.try(ir.Sort, ir.SortAttrs{Axis: k}, v)
	case 3:
		g.try(ir.TopK, ir.TopKAttrs{K: 1}, v)
	default:
		g.try(ir.Resample, ir.ResampleAttrs{Axis: k, Taps: 1, Cells: []int{1, 0, 0}, Weights: []float64{1, 2, 1}}, v)
	}
}

// layer adds operations of layers to what has their shape.
func (g *fillGrower) layer() {
	v := g.float()
	s := g.p.Type(v).Shape
	if len(s) == 0 {
		return
	}
	c := s[len(s)-1]
	switch g.rng.IntN(7) {
	case 0:
		g.try(among(g.rng, ir.Softmax, ir.LogSoftmax), nil, v)
	case 1:
		if dim.Known(c) {
			g.try(ir.LayerNorm, ir.NormAttrs{Epsilon: 0.1}, v, g.number(ir.Float64, 2, c), g.number(ir.Float64, 1, c))
		}
	case 2:
		g.try(ir.Embedding, nil, v, g.indices(s[0]))
	case 3:
		g.try(ir.SparseSoftmaxCrossEntropy, nil, v, g.indices(c))
	case 4:
		conv := ir.ConvAttrs{Strides: []int{1}, Dilation: []int{1}, PadLow: []int{1}, PadHigh: []int{0}, Groups: 1}
		g.try(ir.Conv, conv, v, g.float())
		g.try(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: conv, Shape: ir.Shape{2, 2, 2}}, v, v)
	case 5:
		g.try(among(g.rng, ir.MaxPool, ir.AvgPool), ir.PoolAttrs{Window: []int{2}, Strides: []int{1}, PadLow: []int{0}, PadHigh: []int{0}}, v)
	default:
		if heads, ok := g.try(ir.Reshape, ir.ReshapeAttrs{Shape: slices.Insert(slices.Clone(s), len(s)-1, 1)}, v); ok {
			g.try(ir.Attention, ir.AttentionAttrs{Scale: 1, Causal: g.rng.IntN(2) == 0}, heads, heads, heads)
		}
	}
}

// control adds loops and branches whose number and choice may come from a sum over examples.
func (g *fillGrower) control() {
	v := g.float()
	t := g.p.Type(v)
	scalar := g.number(ir.Float64, 0.5)
	for range 10 {
		if w := g.float(); len(g.p.Type(w).Shape) == 0 {
			scalar = w
			break
		}
	}
	scalar, _ = g.try(ir.Tanh, nil, scalar)
	unary := func(op ir.Op, attrs ir.Attrs) *ir.Program {
		p := ir.New("body")
		x := p.AddInput("x", t)
		out, err := p.Add("", op, attrs, x)
		if err != nil {
			out = []ir.Value{x}
		}
		p.AddOutput("", out[0])
		return p
	}
	switch g.rng.IntN(3) {
	case 0:
		half := g.number(ir.Float64, 0.25)
		if which, ok := g.try(ir.Compare, ir.CompareAttrs{Direction: ir.Lt}, scalar, half); ok {
			g.try(ir.Cond, ir.CondAttrs{Then: unary(ir.Neg, nil), Else: unary(ir.Reverse, ir.AxesAttrs{Axes: []int{g.axis(v)}})}, which, v)
		}
	case 1:
		g.try(ir.Scan, ir.ScanAttrs{Body: unary(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Sum, Axis: g.axis(v)}), Length: 2, Carry: 1}, v)
	default:
		cond, body := ir.New("cond"), ir.New("body")
		number := func(p *ir.Program, x float64) ir.Value {
			out, err := p.Add("", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float64, x)})
			require.NoError(g.t, err)
			return out[0]
		}
		n := cond.AddInput("n", ir.Type{DType: ir.Float64})
		cond.AddInput("x", t)
		less, err := cond.Add("", ir.Compare, ir.CompareAttrs{Direction: ir.Lt}, n, number(cond, 2))
		require.NoError(g.t, err)
		cond.AddOutput("", less[0])
		n, x := body.AddInput("n", ir.Type{DType: ir.Float64}), body.AddInput("x", t)
		more, err := body.Add("", ir.Add, nil, n, number(body, 1))
		require.NoError(g.t, err)
		twice, err := body.Add("", ir.Sin, nil, x)
		require.NoError(g.t, err)
		body.AddOutput("", more[0])
		body.AddOutput("", twice[0])
		g.try(ir.While, ir.WhileAttrs{Cond: cond, Body: body, State: 2}, scalar, v)
	}
}

// finish combines the examples of what has any, and makes everything a result.
func (g *fillGrower) finish() {
	for _, v := range slices.Clone(g.values) {
		t := g.p.Type(v)
		if dim.AllKnown(t.Shape) {
			g.p.AddOutput("", v)
			continue
		}
		kind := among(g.rng, ir.Sum, ir.Max, ir.Min)
		switch {
		case t.DType == ir.Bool:
			kind = among(g.rng, ir.And, ir.Or)
		case t.DType.IsInteger():
			kind = ir.Sum
		}
		axis := slices.IndexFunc(t.Shape, func(n int) bool { return !dim.Known(n) })
		if r, ok := g.try(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{axis}}, v); ok {
			g.p.AddOutput("", r)
		}
	}
}
