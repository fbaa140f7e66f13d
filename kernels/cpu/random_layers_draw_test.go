package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// composer grows programs of composite operations, each on the result of another, with elementwise operations and
// movements in between. Axes have odd lengths, 0 or 1. Numbers stay small, so that errors do.
type composer struct {
	*ir.Program
	rng    *rand.Rand
	inputs []reference.Value
	values []ir.Value
	dtype  ir.DType
	budget int // of elements of a value
	units  float64
	empty  int     // one in so many axes has length 0
	odd    float64 // the share of numbers of inputs that are NaN, infinite or zeros of both signs
}

func compose(seed uint64) *composer {
	c := &composer{Program: ir.New(fmt.Sprint("composites ", seed)), rng: rand.New(rand.NewPCG(seed, 4711)), budget: 3000, units: 1 << 12}
	switch c.rng.IntN(24) { // enough for several workers
	case 0, 1:
		c.budget = 60000
	case 2:
		c.budget = 400000
	}
	c.empty = oneOf(c.rng, 5, 60, 60, 60, 60, 60)
	if c.rng.IntN(6) == 0 {
		c.odd = oneOf(c.rng, 0.3, 0.02, 0.002)
	}
	c.dtype = oneOf(c.rng, ir.Float32, ir.Float32, ir.Float32, ir.Float64, ir.BFloat16, ir.Float16)
	if c.dtype.Size() == 2 {
		c.units = 32
	}
	x := c.input(c.shape(1 + c.rng.IntN(5))...)
	c.values = append(c.values, x)
	layers := 1 + c.rng.IntN(4)
	if c.odd > 0 { // what is finite afterwards depends on which of these they were
		layers = 1
	}
	for range layers {
		x := c.values[len(c.values)-1]
		if c.rng.IntN(4) == 0 {
			x = c.values[c.rng.IntN(len(c.values))]
		}
		if y, ok := c.layer(x); ok {
			c.values = append(c.values, c.after(y))
		}
	}
	c.finish()
	return c
}

// finish makes outputs of all values that nothing reads, and of some others. An output may replace an input of its
// type.
func (c *composer) finish() {
	read, taken := map[ir.Value]bool{}, map[int]bool{}
	for _, n := range c.Nodes {
		for _, v := range n.Inputs {
			read[v] = true
		}
	}
	for _, n := range c.Nodes {
		for _, v := range n.Outputs {
			if wide := c.dtype.Size() == 2 && c.Type(v).DType.IsFloat() && c.Type(v).DType.Size() > 2; wide || read[v] && c.rng.IntN(12) > 0 {
				continue
			}
			alias := -1
			for i, in := range c.Inputs {
				if !taken[i] && c.Type(in.Value).Equal(c.Type(v)) && c.rng.IntN(3) == 0 {
					alias = i
				}
			}
			name := fmt.Sprint("out", len(c.Outputs))
			if alias < 0 {
				c.AddOutput(name, v)
				continue
			}
			taken[alias] = true
			c.AddAlias(name, v, alias)
		}
	}
}

// length returns the length of an axis, often next to a power of two, and now and then 0 or 1.
func (c *composer) length(most int) int {
	r := c.rng
	if r.IntN(c.empty) == 0 {
		return 0
	}
	n := 1 + r.IntN(70)
	switch r.IntN(4) {
	case 0:
		n = 1<<r.IntN(8) + r.IntN(3) - 1
	case 1:
		n = 1 + r.IntN(5)
	}
	if c.budget > 3000 && r.IntN(5) == 0 {
		n = 1 + r.IntN(1200)
	}
	return max(1, min(n, most))
}

func (c *composer) shape(rank int) []int {
	s, size := make([]int, rank), 1
	for _, i := range c.rng.Perm(rank) {
		s[i] = c.length(c.budget / max(size, 1))
		size *= max(s[i], 1)
	}
	return s
}

func (c *composer) input(shape ...int) ir.Value { return c.typed(c.dtype, shape...) }

func (c *composer) typed(d ir.DType, shape ...int) ir.Value {
	return c.fill(d, func(int) float64 {
		if d == ir.Bool {
			return float64(c.rng.IntN(2))
		}
		if c.odd > 0 && c.rng.Float64() < c.odd {
			return oneOf(c.rng, math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 100)
		}
		return c.rng.NormFloat64() / 2
	}, shape...)
}

func (c *composer) below(d ir.DType, n int, shape ...int) ir.Value {
	return c.fill(d, func(int) float64 { return float64(c.rng.IntN(max(n, 1))) }, shape...)
}

func (c *composer) positive(shape ...int) ir.Value {
	return c.fill(c.dtype, func(int) float64 { return 0.5 + c.rng.Float64() }, shape...)
}

func (c *composer) fill(d ir.DType, f func(i int) float64, shape ...int) ir.Value {
	elements := make([]float64, ir.Shape(shape).Size())
	for i := range elements {
		elements[i] = f(i)
	}
	v, err := reference.New(d, shape, elements...)
	if err != nil {
		panic(err)
	}
	c.inputs = append(c.inputs, v)
	return c.AddInput(fmt.Sprint("in", len(c.Inputs)), v.Type)
}

func (c *composer) ops(op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
	out, err := c.Add("layer", op, attrs, in...)
	if err != nil {
		panic(fmt.Sprintf("%v\n%v", err, c.Program))
	}
	return out
}

func (c *composer) op(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
	return c.ops(op, attrs, in...)[0]
}

func (c *composer) number(x float64, shape ...int) ir.Value {
	return c.op(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(c.dtype, x, shape...)})
}

func (c *composer) spread(v ir.Value, shape ir.Shape, axes ...int) ir.Value {
	return c.op(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: axes}, v)
}

func (c *composer) reshape(v ir.Value, shape ...int) ir.Value {
	return c.op(ir.Reshape, ir.ReshapeAttrs{Shape: shape}, v)
}

// ranked gives v another rank. It joins leading axes, or inserts axes of length 1.
func (c *composer) ranked(v ir.Value, rank int) ir.Value {
	s := c.Type(v).Shape.Clone()
	if len(s) == rank {
		return v
	}
	for len(s) > rank {
		i := 0
		if c.rng.IntN(3) == 0 {
			i = c.rng.IntN(len(s) - 1)
		}
		s = append(append(s[:i:i], s[i]*s[i+1]), s[i+2:]...)
	}
	for len(s) < rank {
		i := c.rng.IntN(len(s) + 1)
		s = append(append(s[:i:i], 1), s[i:]...)
	}
	return c.reshape(v, s...)
}

// after adds what may follow a layer: a bias, an activation, another operand, a movement; usually nothing.
func (c *composer) after(v ir.Value) ir.Value {
	for range c.rng.IntN(4) {
		if c.odd > 0 && c.rng.IntN(2) == 0 {
			continue
		}
		s := c.Type(v).Shape
		rank := len(s)
		switch k := c.rng.IntN(12); {
		case k == 0 && rank > 0:
			v = c.op(ir.Add, nil, v, c.spread(c.input(s[rank-1]), s, rank-1))
		case k == 1 && rank > 0:
			a := c.rng.IntN(rank)
			v = c.op(ir.Mul, nil, v, c.spread(c.positive(s[a]), s, a))
		case k == 2:
			v = c.op(ir.Relu, nil, v)
		case k == 3:
			v = c.op(oneOf(c.rng, ir.Tanh, ir.Gelu, ir.Sigmoid, ir.Sin, ir.Erf), nil, v)
		case k == 4:
			v = c.op(oneOf(c.rng, ir.Add, ir.Sub, ir.Maximum), nil, v, c.input(s...))
		case k == 5 && rank > 1:
			v = c.op(ir.Transpose, ir.TransposeAttrs{Perm: c.rng.Perm(rank)}, v)
		case k == 6 && rank > 0:
			v = c.cut(v)
		case k == 7 && rank > 0 && s.Size() < c.budget/8:
			low, high, interior := make([]int, rank), make([]int, rank), make([]int, rank)
			size := 1
			for i, n := range s {
				low[i], high[i], interior[i] = c.rng.IntN(3), c.rng.IntN(3), c.rng.IntN(2)*c.rng.IntN(2)
				size *= low[i] + high[i] + n + max(n-1, 0)*interior[i]
			}
			if size <= 2*c.budget {
				v = c.op(ir.Pad, ir.PadAttrs{Low: low, High: high, Interior: interior}, v, c.number(0))
			}
		case k == 8: // to another type and back
			d := oneOf(c.rng, ir.Float32, ir.Float64)
			if c.dtype.Size() < 4 {
				v = c.op(ir.Convert, ir.ConvertAttrs{DType: c.dtype}, c.op(ir.Tanh, nil, c.op(ir.Convert, ir.ConvertAttrs{DType: d}, v)))
			}
		case k == 9 && rank > 0:
			a := c.rng.IntN(rank)
			w := c.input(s...)
			v = c.op(ir.Concat, ir.AxisAttrs{Axis: a}, oneOf(c.rng, [][]ir.Value{{v, w}, {w, v}, {v, v}, {v, w, v}}...)...)
		case k == 10:
			v = c.op(ir.Add, nil, v, c.op(ir.Tanh, nil, v))
		}
	}
	return v
}

func (c *composer) cut(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	start, limit, stride := make([]int, len(s)), make([]int, len(s)), make([]int, len(s))
	for i, n := range s {
		limit[i], stride[i] = n, 1
		if n > 0 && c.rng.IntN(2) == 0 {
			start[i] = c.rng.IntN(n)
			limit[i] = start[i] + 1 + c.rng.IntN(n-start[i])
			stride[i] = 1 + c.rng.IntN(3)*c.rng.IntN(2)
		}
	}
	return c.op(ir.Slice, ir.SliceAttrs{Start: start, Limit: limit, Stride: stride}, v)
}

// layer adds a composite operation on v, for some with gradients, and returns its result. It returns false if v does
// not suit the operation.
func (c *composer) layer(v ir.Value) (ir.Value, bool) {
	if len(c.Type(v).Shape) == 0 {
		return c.spread(v, c.shape(2)), true
	}
	families := []func(ir.Value) ir.Value{c.dot, c.dot, c.dot, c.conv, c.conv, c.pool, c.norm, c.soft, c.entropy, c.attention, c.rnn, c.cell, c.index,
		c.reduce, c.resample, c.fourier, c.packed, c.order, c.update, c.loop, c.eliminate, c.dynamic, c.random, c.integers}
	y := families[c.rng.IntN(len(families))](v)
	return y, y >= 0 && c.Type(y).Shape.Size() <= 2*c.budget
}

const unsuitable = ir.Value(-1)

func (c *composer) dot(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	var a ir.DotAttrs
	var w, free []int
	inner, outer, work := 1, 1, s.Size()
	for i, n := range s {
		switch c.rng.IntN(3) {
		case 0:
			a.LhsBatch = append(a.LhsBatch, i)
			outer *= n
		case 1:
			a.LhsContract = append(a.LhsContract, i)
			inner *= max(n, 1)
		default:
			outer *= n
		}
	}
	for range c.rng.IntN(3) {
		n := c.length(min(c.budget/max(outer, 1), 4_000_000/max(work, 1), c.budget/inner))
		free = append(free, n)
		outer, work, inner = outer*max(n, 1), work*max(n, 1), inner*max(n, 1)
	}
	contract := 1
	for _, i := range a.LhsContract {
		contract *= s[i]
	}
	lengths := append([]int{}, free...)
	order := c.rng.Perm(len(free) + len(a.LhsBatch) + len(a.LhsContract))
	for _, i := range append(append([]int{}, a.LhsBatch...), a.LhsContract...) {
		lengths = append(lengths, s[i])
	}
	w = make([]int, len(order))
	at := make([]int, len(order))
	for i, k := range order {
		w[i] = lengths[k]
		at[k] = i
	}
	for i := range a.LhsBatch {
		a.RhsBatch = append(a.RhsBatch, at[len(free)+i])
	}
	for i := range a.LhsContract {
		a.RhsContract = append(a.RhsContract, at[len(free)+len(a.LhsBatch)+i])
	}
	x, y := v, c.input(w...)
	if c.rng.IntN(3) == 0 {
		y = c.op(ir.Tanh, nil, y)
	}
	if c.rng.IntN(3) == 0 {
		x, y = y, x
		a.LhsBatch, a.RhsBatch, a.LhsContract, a.RhsContract = a.RhsBatch, a.LhsBatch, a.RhsContract, a.LhsContract
	}
	p := c.op(ir.Dot, a, x, y)
	return c.op(ir.Mul, nil, p, c.number(1/math.Sqrt(float64(max(contract, 1))), c.Type(p).Shape...))
}

// image joins axes until v has one axis of examples, the returned number of spatial axes, and channels.
func (c *composer) image(v ir.Value) (ir.Value, int) {
	rank := 1 + c.rng.IntN(3)
	return c.ranked(v, rank+2), rank
}

func (c *composer) conv(v ir.Value) ir.Value {
	x, rank := c.image(v)
	s := c.Type(x).Shape
	channels := s[rank+1]
	a := ir.ConvAttrs{Groups: 1}
	var w []int
	window := 1
	for i := range rank {
		k := 1 + c.rng.IntN(4)
		dilation, stride := 1, 1
		switch c.rng.IntN(5) {
		case 0:
			dilation = 1 + c.rng.IntN(3)
		case 1:
			stride = 1 + c.rng.IntN(3)
		}
		reach := (k-1)*dilation + 1
		low, high := c.rng.IntN(reach+1), c.rng.IntN(reach+1)
		if s[i+1]+low+high < reach {
			high += reach
		}
		a.Strides, a.Dilation = append(a.Strides, stride), append(a.Dilation, dilation)
		a.PadLow, a.PadHigh = append(a.PadLow, low), append(a.PadHigh, high)
		w = append(w, k)
		window *= k
	}
	filters := c.length(96)
	for g := 2; g <= channels; g++ {
		if channels%g == 0 && c.rng.IntN(4) == 0 {
			a.Groups = g
			filters = g * (1 + c.rng.IntN(4))
			break
		}
	}
	if channels > 1 && c.rng.IntN(6) == 0 {
		a.Groups, filters = channels, channels*(1+c.rng.IntN(2))
	}
	w = append(w, channels/a.Groups, filters)
	padded := slices.Max(a.PadLow)+slices.Max(a.PadHigh) > 0
	if c.odd > 0 && padded { // padding times what is no number is none, or nothing
		return unsuitable
	}
	y, err := ir.ConvShape(s, w, a)
	if err != nil || y.Size() > c.budget || y.Size()*window*channels/a.Groups > 8_000_000 {
		return unsuitable
	}
	kernel := c.input(w...)
	out := c.op(ir.Conv, a, x, kernel)
	if c.rng.IntN(3) == 0 {
		dy := c.input(y...)
		c.op(ir.ConvInputGrad, ir.ConvGradAttrs{Conv: a, Shape: s}, dy, kernel)
		c.op(ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: a, Shape: w}, x, dy)
	}
	return c.op(ir.Mul, nil, out, c.number(1/math.Sqrt(float64(max(window*channels/a.Groups, 1))), y...))
}

func (c *composer) pool(v ir.Value) ir.Value {
	x, rank := c.image(v)
	s := c.Type(x).Shape
	var a ir.PoolAttrs
	for i := range rank {
		window := 1 + c.rng.IntN(5)
		low, high := c.rng.IntN(window), c.rng.IntN(window)
		if c.rng.IntN(2) == 0 {
			low, high = 0, 0
		}
		if s[i+1] == 0 || s[i+1]+low+high < window {
			window, low, high = 1, 0, 0
		}
		a.Window, a.Strides = append(a.Window, window), append(a.Strides, 1+c.rng.IntN(4))
		a.PadLow, a.PadHigh = append(a.PadLow, low), append(a.PadHigh, high)
	}
	kind := oneOf(c.rng, ir.MaxPool, ir.AvgPool)
	y := c.op(kind, a, x)
	if c.rng.IntN(2) == 0 {
		dy := c.input(c.Type(y).Shape...)
		if kind == ir.AvgPool {
			c.op(ir.AvgPoolGrad, ir.PoolGradAttrs{Pool: a, Shape: s}, dy)
		} else if c.settled(x) {
			c.op(ir.MaxPoolGrad, a, x, y, dy)
		}
	}
	return y
}

// settled reports whether a value is an input, possibly moved, so that comparing its elements has only one answer.
func (c *composer) settled(v ir.Value) bool {
	for _, in := range c.Inputs {
		if in.Value == v {
			return true
		}
	}
	for _, n := range c.Nodes {
		for _, out := range n.Outputs {
			if out == v {
				return (n.Op == ir.Reshape || n.Op == ir.Transpose || n.Op == ir.Slice || n.Op == ir.Relu) && c.settled(n.Inputs[0])
			}
		}
	}
	return false
}
