package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

func (c *composer) norm(v ir.Value) ir.Value {
	rank := len(c.Type(v).Shape)
	if rank < 2 {
		v = c.ranked(v, 2)
		rank = 2
	}
	s := c.Type(v).Shape
	channels := s[rank-1]
	gamma, beta := c.positive(channels), c.input(channels)
	gradient := c.rng.IntN(2) == 0
	a := ir.NormAttrs{Epsilon: 0.1}
	switch c.rng.IntN(3) {
	case 0:
		if s.Size() == 0 {
			return unsuitable
		}
		y := c.ops(ir.BatchNorm, a, v, gamma, beta)
		if gradient {
			c.ops(ir.BatchNormGrad, a, v, gamma, y[1], y[2], c.input(s...))
		}
		return y[0]
	case 1:
		if channels == 0 {
			return unsuitable
		}
		y := c.ops(ir.LayerNorm, a, v, gamma, beta)
		if gradient {
			c.ops(ir.LayerNormGrad, a, v, gamma, y[1], y[2], c.input(s...))
		}
		return y[0]
	}
	if s.Size() == 0 {
		return unsuitable
	}
	g := ir.GroupNormAttrs{Groups: 1, Epsilon: 0.1}
	for k := 2; k <= channels; k++ {
		if channels%k == 0 && c.rng.IntN(3) == 0 {
			g.Groups = k
			break
		}
	}
	y := c.ops(ir.GroupNorm, g, v, gamma, beta)
	if gradient {
		c.ops(ir.GroupNormGrad, g, v, gamma, y[1], y[2], c.input(s...))
	}
	return y[0]
}

// soft adds a softmax or its logarithm along any axis, with its gradient.
func (c *composer) soft(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	rank := len(s)
	axis := rank - 1
	if c.rng.IntN(2) == 0 {
		axis = c.rng.IntN(rank)
	}
	perm := make([]int, rank)
	for i := range perm {
		perm[i] = i
	}
	perm[axis], perm[rank-1] = rank-1, axis
	if axis != rank-1 {
		v = c.op(ir.Transpose, ir.TransposeAttrs{Perm: perm}, v)
	}
	op, gradient := ir.Softmax, ir.SoftmaxGrad
	if c.rng.IntN(3) == 0 {
		op, gradient = ir.LogSoftmax, ir.LogSoftmaxGrad
	}
	y := c.op(op, nil, v)
	if c.rng.IntN(2) == 0 {
		dx := c.op(gradient, nil, y, c.input(c.Type(v).Shape...))
		if axis != rank-1 {
			c.op(ir.Transpose, ir.TransposeAttrs{Perm: perm}, dx)
		}
	}
	if axis != rank-1 {
		y = c.op(ir.Transpose, ir.TransposeAttrs{Perm: perm}, y)
	}
	if op == ir.LogSoftmax {
		y = c.op(ir.Tanh, nil, y)
	}
	return y
}

func (c *composer) entropy(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	last := len(s) - 1
	if s[last] == 0 {
		return unsuitable
	}
	labels := c.below(oneOf(c.rng, ir.Int32, ir.Int64, ir.Uint8), min(s[last], 256), s[:last]...)
	y := c.ops(ir.SparseSoftmaxCrossEntropy, nil, v, labels)
	if c.rng.IntN(2) == 0 {
		c.op(ir.SparseSoftmaxCrossEntropyGrad, nil, v, labels, y[1], c.input(s[:last]...))
	}
	return c.op(ir.Tanh, nil, y[0])
}

func (c *composer) attention(v ir.Value) ir.Value {
	if c.odd > 0 { // whether what is hidden counts if it is not finite is open
		return unsuitable
	}
	q := c.ranked(v, 4)
	s := c.Type(q).Shape
	if s.Size() == 0 && c.rng.IntN(3) > 0 {
		return unsuitable
	}
	batch, steps, heads, depth := s[0], s[1], s[2], s[3]
	keys, width := c.length(max(c.budget/max(batch*heads, 1), 1)), c.length(96)
	for batch*keys*heads*max(width, depth, steps) > 8*c.budget {
		keys, width = keys/2, max(width/2, 1)
	}
	if c.rng.IntN(3) == 0 {
		keys = steps
	}
	if batch*keys*heads*max(width, depth, steps) > 30*c.budget {
		return unsuitable
	}
	k, w := c.input(batch, keys, heads, depth), c.input(batch, keys, heads, width)
	if keys == steps && c.rng.IntN(2) == 0 {
		k = q
	}
	a := ir.AttentionAttrs{Scale: 1 / math.Sqrt(float64(max(depth, 1))), Causal: c.rng.IntN(2) == 0, Masked: c.rng.IntN(2) == 0}
	in := []ir.Value{q, k, w}
	if a.Masked {
		m := []int{batch, heads, steps, keys}
		for i := range m {
			if c.rng.IntN(2) == 0 {
				m[i] = 1
			}
		}
		in = append(in, c.typed(ir.Bool, m...))
	}
	y := c.ops(ir.Attention, a, in...)
	if c.rng.IntN(2) == 0 {
		c.ops(ir.AttentionGrad, a, append([]ir.Value{q, k, w, y[0], y[1], c.input(c.Type(y[0]).Shape...)}, in[3:]...)...)
	}
	return y[0]
}

func (c *composer) rnn(v ir.Value) ir.Value {
	a := ir.RnnAttrs{Cell: oneOf(c.rng, "simple", "lstm", "gru", "gru_reset_before"), Activation: oneOf(c.rng, "tanh", "tanh", "sigmoid", "softsign", "hard_sigmoid"),
		RecurrentActivation: oneOf(c.rng, "sigmoid", "sigmoid", "hard_sigmoid", "tanh"),
		Reverse:             c.rng.IntN(3) == 0, Masked: c.rng.IntN(3) == 0, ZeroOutputForMask: c.rng.IntN(3) == 0}
	gates, states, bias, err := ir.RnnCell(a.Cell)
	if err != nil {
		panic(err)
	}
	x := c.ranked(v, 3)
	s := c.Type(x).Shape
	units := c.length(40)
	if s[0]*s[1]*gates*units > 2*c.budget {
		return unsuitable
	}
	x = c.op(ir.Dot, ir.DotAttrs{LhsContract: []int{2}, RhsContract: []int{0}}, x, c.input(s[2], gates*units))
	x = c.op(ir.Mul, nil, x, c.number(1/math.Sqrt(float64(max(s[2], 1))), c.Type(x).Shape...))
	if c.rng.IntN(2) == 0 {
		t := c.Type(x).Shape
		x = c.op(ir.Add, nil, x, c.spread(c.input(gates*units), t, 2))
	}
	scale := 1 / math.Sqrt(float64(max(units, 1)))
	in := []ir.Value{x, c.fill(c.dtype, func(int) float64 { return c.rng.NormFloat64() * scale }, units, gates*units)}
	if bias {
		in = append(in, c.input(gates*units))
	}
	for range states {
		in = append(in, c.input(s[0], units))
	}
	if a.Masked {
		in = append(in, c.typed(ir.Bool, s[0], s[1]))
	}
	return c.ops(ir.RnnScan, a, in...)[0]
}

func (c *composer) cell(v ir.Value) ir.Value {
	s := c.Type(v).Shape.Clone()
	last := len(s) - 1
	gates := s.Clone()
	if s.Size()*4 > 2*c.budget {
		return unsuitable
	}
	if c.rng.IntN(2) == 0 {
		gates[last] *= 4
		y := c.ops(ir.LstmCell, nil, c.input(gates...), v)
		if c.rng.IntN(2) == 0 {
			c.ops(ir.LstmCellGrad, nil, y[2], v, c.input(s...), c.input(s...))
		}
		return y[0]
	}
	if c.odd > 0 { // whether a gate is 0 or next to it decides on infinite states
		return unsuitable
	}
	gates[last] *= 3
	u := c.input(gates...)
	y := c.ops(ir.GruCell, nil, c.input(gates...), u, v)
	if c.rng.IntN(2) == 0 {
		c.ops(ir.GruCellGrad, nil, y[1], u, v, c.input(s...))
	}
	return y[0]
}

// index gathers from v or scatters into it along an axis.
func (c *composer) index(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	axis := c.rng.IntN(len(s))
	if c.rng.IntN(2) == 0 {
		axis = 0
	}
	n := s[axis]
	mode, most := ir.IndexError, n
	if c.rng.IntN(2) == 0 || n == 0 {
		mode, most = oneOf(c.rng, ir.IndexClip, ir.IndexDrop), n+3
	}
	rest := s.Size() / max(n, 1)
	where := make([]int, c.rng.IntN(3))
	count := 1
	for i := range where {
		where[i] = c.length(c.budget / max(rest*count, 1))
		count *= max(where[i], 1)
	}
	d := oneOf(c.rng, ir.Int32, ir.Int32, ir.Int64, ir.Uint8, ir.Int16)
	indices := c.fill(d, func(int) float64 {
		x := c.rng.IntN(max(most, 1))
		if mode != ir.IndexError && d.IsSigned() {
			x -= 2
		}
		return float64(min(x, 120))
	}, where...)
	switch k := c.rng.IntN(4); {
	case k < 2:
		return c.op(ir.Gather, ir.GatherAttrs{Axis: axis, Mode: mode}, v, indices)
	case k == 2 && axis == 0 && len(s) == 2 && mode == ir.IndexError:
		dy := append(append([]int{}, where...), s[1])
		c.op(ir.EmbeddingGrad, nil, v, indices, c.input(dy...))
		return c.op(ir.Embedding, nil, v, indices)
	}
	updates := append(append(append([]int{}, s[:axis]...), where...), s[axis+1:]...)
	return c.op(ir.Scatter, ir.ScatterAttrs{Axis: axis, Kind: oneOf(c.rng, ir.Sum, ir.Sum, ir.Max, ir.Min, ir.Set), Mode: mode}, v, indices, c.input(updates...))
}

func (c *composer) reduce(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	var axes []int
	n := 1
	for a := range s {
		if c.rng.IntN(2) == 0 {
			axes = append(axes, a)
			n *= max(s[a], 1)
		}
	}
	kind := oneOf(c.rng, ir.Sum, ir.Sum, ir.Max, ir.Min)
	if kind != ir.Sum && s.Size() == 0 {
		return unsuitable
	}
	r := c.op(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: axes}, v)
	if kind == ir.Sum {
		r = c.op(ir.Mul, nil, r, c.number(1/float64(n), c.Type(r).Shape...))
	}
	if c.rng.IntN(2) == 0 {
		return r
	}
	back := []int{}
	for a := range s {
		found := false
		for _, b := range axes {
			found = found || a == b
		}
		if !found {
			back = append(back, a)
		}
	}
	return c.op(ir.Sub, nil, v, c.spread(r, s, back...))
}

func (c *composer) resample(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	a := ir.ResampleAttrs{Axis: c.rng.IntN(len(s)), Taps: 1 + c.rng.IntN(6)}
	n := s[a.Axis]
	if n == 0 {
		return unsuitable
	}
	length := c.length(max(c.budget/max(s.Size()/n, 1), 1))
	for range length * a.Taps {
		a.Cells = append(a.Cells, c.rng.IntN(n))
		a.Weights = append(a.Weights, c.rng.NormFloat64()/float64(a.Taps))
	}
	if c.rng.IntN(2) == 0 { // neighbours, as interpolation has them
		for i := range a.Cells {
			a.Cells[i] = min(n-1, i/a.Taps*n/max(length, 1)+i%a.Taps)
		}
	}
	return c.op(ir.Resample, a, v)
}

func (c *composer) fourier(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	last := len(s) - 1
	n := s[last]
	for p := 2; p <= ir.LargestFourierPrime; p++ {
		for n > 0 && n%p == 0 {
			n /= p
		}
	}
	if n != 1 || c.dtype.Size() == 2 || c.odd > 0 { // what is always 0 may be or not
		return unsuitable
	}
	a := ir.FourierAttrs{Axis: last, Length: s[last]}
	scale := func(y ir.Value) ir.Value {
		return c.op(ir.Mul, nil, y, c.number(1/math.Sqrt(float64(a.Length)), c.Type(y).Shape...))
	}
	if c.rng.IntN(2) == 0 {
		z := c.ops(ir.Fourier, a, v, c.input(s...))
		return c.op(ir.Sub, nil, scale(z[0]), scale(z[1]))
	}
	z := c.ops(ir.RealFourier, a, v)
	if c.rng.IntN(2) == 0 {
		return scale(z[1])
	}
	return scale(scale(c.op(ir.HermitianFourier, a, z[0], z[1])))
}

func (c *composer) packed(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	rows := s[len(s)-1]
	a := ir.PackedDotAttrs{Columns: c.length(c.budget / max(s.Size()/max(rows, 1), rows, 1))}
	in := []ir.Value{v, c.fill(ir.Int8, func(int) float64 { return float64(c.rng.IntN(256) - 128) }, rows, (a.Columns+1)/2)}
	if c.rng.IntN(3) > 0 {
		a.Block = 1 + c.rng.IntN(max(rows, 1)+3)
		scales := []int{(rows + a.Block - 1) / a.Block, a.Columns}
		in = append(in, c.positive(scales...), c.fill(ir.Int8, func(int) float64 { return float64(c.rng.IntN(16) - 8) }, scales...))
	}
	y := c.op(ir.PackedDot, a, in...)
	return c.op(ir.Mul, nil, y, c.number(1/(6*math.Sqrt(float64(max(rows, 1)))), c.Type(y).Shape...))
}

func (c *composer) order(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	axis := c.rng.IntN(len(s))
	last := len(s) - 1
	switch k := c.rng.IntN(4); {
	case k == 0 && c.settled(v):
		return c.op(ir.Sort, ir.SortAttrs{Axis: axis, Descending: c.rng.IntN(2) == 0}, v)
	case k == 1 && c.settled(v) && s[last] > 0:
		return c.op(ir.TopK, ir.TopKAttrs{K: c.rng.IntN(s[last] + 1)}, v)
	case k == 2 && c.settled(v) && s[axis] > 0:
		c.op(oneOf(c.rng, ir.ArgMax, ir.ArgMin), ir.AxisAttrs{Axis: axis}, v)
		return v
	}
	y := c.op(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Sum, Axis: axis, Exclusive: c.rng.IntN(2) == 0, Reverse: c.rng.IntN(2) == 0}, v)
	return c.op(ir.Mul, nil, y, c.number(1/float64(max(s[axis], 1)), s...))
}

// update computes new weights, with a product or v itself as the gradient.
func (c *composer) update(v ir.Value) ir.Value {
	if c.odd > 0 { // weights that are infinite
		return unsuitable
	}
	g := v
	if s := c.Type(v).Shape; len(s) == 2 && c.rng.IntN(2) == 0 {
		n := c.length(c.budget / max(s[1], 1))
		g = c.op(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, c.input(s[0], n), v)
		g = c.op(ir.Mul, nil, g, c.number(1/math.Sqrt(float64(max(s[0], 1))), c.Type(g).Shape...))
	}
	s := c.Type(g).Shape
	rule := oneOf(c.rng, "sgd", "momentum", "nesterov", "adam")
	a := ir.OptimizerAttrs{Rule: rule, Values: map[string][]float64{"momentum": {0.9}, "nesterov": {0.8}, "adam": {0.9, 0.99, 1e-3}}[rule]}
	scalar := func(x float64) ir.Value { return c.fill(c.dtype, func(int) float64 { return x }) }
	in := []ir.Value{c.input(s...), g, scalar(0.05), scalar(float64(1 + c.rng.IntN(9)))}
	if rule != "sgd" {
		in = append(in, c.input(s...))
	}
	if rule == "adam" {
		in = append(in, c.positive(s...))
	}
	if c.rng.IntN(4) == 0 {
		in = append(in, c.typed(ir.Bool), scalar(4))
	}
	return c.op(ir.OptimizerUpdate, a, in...)
}

// loop runs a cell over the first axis of v, or a branch on it.
func (c *composer) loop(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	if len(s) < 2 || s[0] > 40 {
		return unsuitable
	}
	d, last := c.dtype, len(s)-1
	step := ir.Type{DType: d, Shape: s[1:]}
	body := ir.New("body")
	h, x := body.AddInput("h", step), body.AddInput("x", step)
	w := body.AddInput("w", ir.Type{DType: d, Shape: ir.Shape{s[last], s[last]}})
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		out, err := body.Add("cell", op, attrs, in...)
		if err != nil {
			panic(err)
		}
		return out[0]
	}
	product := h
	if s.Size()*s[last] < 2_000_000 {
		product = add(ir.Dot, ir.DotAttrs{LhsContract: []int{last - 1}, RhsContract: []int{0}}, h, w)
	}
	next := add(ir.Tanh, nil, add(ir.Add, nil, product, x))
	body.AddOutput("h", next)
	body.AddOutput("y", oneOf(c.rng, next, x, h))
	scale := 1 / math.Sqrt(float64(max(s[last], 1)))
	// At most 1, so that a cell of one unit does not amplify the errors of earlier steps.
	weights := c.fill(d, func(int) float64 { return max(-1, min(c.rng.NormFloat64()*scale, 1)) }, s[last], s[last])
	return c.ops(ir.Scan, ir.ScanAttrs{Body: body, Length: s[0], Carry: 1, Xs: 1, Reverse: c.rng.IntN(2) == 0}, c.input(s[1:]...), v, weights)[1-c.rng.IntN(2)]
}

func (c *composer) eliminate(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	if len(s) < 2 || s[len(s)-2] > 40 || s.Size()/max(s[len(s)-1], 1)*s[len(s)-2] > c.budget || c.dtype.Size() == 2 {
		return unsuitable
	}
	n := s[len(s)-2]
	order := c.rng.Perm(n)
	a := c.fill(c.dtype, func(i int) float64 {
		x := c.rng.NormFloat64() / float64(n)
		if order[i/n%n] == i%n {
			x += 4
		}
		return x
	}, append(append([]int{}, s[:len(s)-1]...), n)...)
	return c.ops(ir.Eliminate, nil, a, v)[0]
}

func (c *composer) dynamic(v ir.Value) ir.Value {
	s := c.Type(v).Shape
	sizes := make([]int, len(s))
	var starts []ir.Value
	for i, n := range s {
		sizes[i] = c.rng.IntN(n + 1)
		if c.rng.IntN(2) == 0 {
			sizes[i] = n
		}
		starts = append(starts, c.fill(ir.Int32, func(int) float64 { return float64(c.rng.IntN(n+4) - 2) }))
	}
	if c.rng.IntN(2) == 0 {
		return c.op(ir.DynamicSlice, ir.DynamicSliceAttrs{Sizes: sizes}, append([]ir.Value{v}, starts...)...)
	}
	return c.op(ir.DynamicUpdateSlice, nil, append([]ir.Value{v, c.input(sizes...)}, starts...)...)
}

func (c *composer) random(v ir.Value) ir.Value {
	state := c.fill(ir.Uint32, func(int) float64 { return float64(c.rng.Uint32()) }, 4)
	return c.op(ir.Dropout, ir.DropoutAttrs{Rate: oneOf(c.rng, 0.1, 0.5), Stream: uint32(c.rng.IntN(4))}, v, state)
}

// integers multiplies int8, with exact sums.
func (c *composer) integers(v ir.Value) ir.Value {
	k, n := c.length(c.budget), c.length(96)
	m := c.length(c.budget / max(n, k, 1))
	byteOf := func(int) float64 { return float64(c.rng.IntN(255) - 127) }
	x, w := c.fill(ir.Int8, byteOf, m, k), c.fill(ir.Int8, byteOf, k, n)
	y := c.op(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}, Sums: ir.Int32}, x, w)
	if c.rng.IntN(2) == 0 {
		c.op(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, y)
	}
	return v
}
