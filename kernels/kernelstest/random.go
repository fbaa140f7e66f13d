package kernelstest

import (
	"fmt"
	"math/rand/v2"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// RandomProgram returns a valid program of elementwise, reduction, shape, contraction and softmax ops, with inputs,
// made from a seed. It exercises fusion and memory planning: values are used several times or never, some outputs
// replace inputs, float32 and int32 mix. Its ops keep numbers and their errors small, so that outputs agree with the
// reference within 2^13 units of the precision, measured against the largest number of the output. Only exact numbers
// are compared.
func RandomProgram(seed uint64) (*ir.Program, []reference.Value) {
	rng := rand.New(rand.NewPCG(seed, 2))
	g := &grower{program: newProgram(fmt.Sprintf("random %d", seed)), rng: rng}
	dtype := []ir.DType{ir.Float32, ir.Float32, ir.Float64}[rng.IntN(3)]
	for range 2 + rng.IntN(4) {
		g.input(dtype, g.shape())
	}
	g.input(ir.Int32, g.shape())
	g.input(ir.Bool, g.shape())
	for range 5 + rng.IntN(50) {
		g.grow()
	}
	g.finish()
	return g.Program, g.inputs
}

// grower adds random nodes to a program.
type grower struct {
	program
	rng    *rand.Rand
	inputs []reference.Value
	values []ir.Value
	exact  map[ir.Value]bool // computed without rounding
}

func (g *grower) shape() ir.Shape {
	s := make(ir.Shape, g.rng.IntN(4))
	for i := range s {
		s[i] = []int{1, 2, 3, 4, 5, 7, 17}[g.rng.IntN(7)]
	}
	return s
}

func (g *grower) input(dtype ir.DType, shape ir.Shape) {
	v := g.AddInput(fmt.Sprintf("in%d", len(g.Inputs)), ir.Type{DType: dtype, Shape: shape})
	d := &draft{rng: g.rng}
	g.inputs = append(g.inputs, d.normal(dtype, shape...))
	g.keep(true, v)
}

func (g *grower) keep(exact bool, values ...ir.Value) {
	if g.exact == nil {
		g.exact = map[ir.Value]bool{}
	}
	for _, v := range values {
		if g.Type(v).Shape.Size() > 20000 {
			continue
		}
		g.values = append(g.values, v)
		g.exact[v] = exact
	}
}

// pick returns a value, more often a recent one.
func (g *grower) pick() ir.Value {
	n := len(g.values)
	if g.rng.IntN(2) == 0 {
		return g.values[n-1-g.rng.IntN(min(n, 5))]
	}
	return g.values[g.rng.IntN(n)]
}

// partner returns a value of the same type as v: an existing one, or one broadcast or made to fit.
func (g *grower) partner(v ir.Value) ir.Value {
	t := g.Type(v)
	for range 8 {
		w := g.pick()
		u := g.Type(w)
		if u.Equal(t) {
			return w
		}
		if u.DType != t.DType || len(u.Shape) > len(t.Shape) {
			continue
		}
		axes, fits := make([]int, len(u.Shape)), true
		for i := range axes {
			axes[i] = len(t.Shape) - len(u.Shape) + i
			fits = fits && (u.Shape[i] == 1 || u.Shape[i] == t.Shape[axes[i]])
		}
		if fits {
			b := g.op(ir.Broadcast, ir.BroadcastAttrs{Shape: t.Shape, Axes: axes}, w)
			g.keep(g.exact[w], b)
			return b
		}
	}
	return v
}

func (g *grower) grow() {
	v := g.pick()
	switch t := g.Type(v); {
	case g.rng.IntN(3) == 0:
		g.move(v)
	case t.DType == ir.Bool:
		g.growBool(v)
	case t.DType == ir.Int32:
		g.growInteger(v)
	default:
		g.growFloat(v)
	}
}

func (g *grower) growBool(v ir.Value) {
	switch g.rng.IntN(3) {
	case 0:
		g.keep(true, g.op(ir.Not, nil, v))
	case 1:
		g.keep(true, g.op([]ir.Op{ir.BitAnd, ir.BitOr, ir.BitXor}[g.rng.IntN(3)], nil, v, g.partner(v)))
	default:
		g.keep(true, g.op(ir.Convert, ir.ConvertAttrs{DType: []ir.DType{ir.Int32, ir.Float32, ir.Float64}[g.rng.IntN(3)]}, v))
	}
}

func (g *grower) growInteger(v ir.Value) {
	binary := []ir.Op{ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Rem, ir.Maximum, ir.Minimum, ir.BitAnd, ir.BitXor}
	switch g.rng.IntN(5) {
	case 0:
		g.keep(true, g.op([]ir.Op{ir.Neg, ir.Abs, ir.Sign, ir.Not, ir.Relu}[g.rng.IntN(5)], nil, v))
	case 1, 2:
		g.keep(true, g.op(binary[g.rng.IntN(len(binary))], nil, v, g.partner(v)))
	case 3:
		g.compareAndSelect(v)
	default:
		g.reduce(v, true)
	}
}

func (g *grower) growFloat(v ir.Value) {
	exactUnary := []ir.Op{ir.Neg, ir.Abs, ir.Relu, ir.Identity}
	unary := []ir.Op{ir.Tanh, ir.Sigmoid, ir.Sin, ir.Cos, ir.Erf, ir.Gelu, ir.Atan}
	exactBinary := []ir.Op{ir.Maximum, ir.Minimum}
	switch g.rng.IntN(9) {
	case 0:
		g.keep(g.exact[v], g.op(exactUnary[g.rng.IntN(len(exactUnary))], nil, v))
	case 1, 2:
		g.keep(false, g.op(unary[g.rng.IntN(len(unary))], nil, v))
	case 3:
		w := g.partner(v)
		g.keep(g.exact[v] && g.exact[w], g.op(exactBinary[g.rng.IntN(2)], nil, v, w))
	case 4, 5:
		g.keep(false, g.op([]ir.Op{ir.Add, ir.Sub}[g.rng.IntN(2)], nil, g.tamed(v), g.tamed(g.partner(v))))
	case 6:
		g.keep(false, g.op(ir.Mul, nil, g.tamed(v), g.tamed(g.partner(v))))
	case 7:
		if g.exact[v] {
			g.compareAndSelect(v)
		} else {
			g.reduce(v, false)
		}
	default:
		g.contract(v)
	}
}

// tamed bounds the numbers, and by that the growth of errors.
func (g *grower) tamed(v ir.Value) ir.Value {
	if g.rng.IntN(2) == 0 {
		return g.op(ir.Tanh, nil, v)
	}
	return g.op(ir.Sin, nil, v)
}

func (g *grower) compareAndSelect(v ir.Value) {
	w := v
	for range 4 {
		if other := g.partner(v); g.exact[other] {
			w = other
		}
	}
	direction := []ir.Direction{ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge}[g.rng.IntN(6)]
	predicate := g.op(ir.Compare, ir.CompareAttrs{Direction: direction}, v, w)
	other := g.partner(v)
	g.keep(true, predicate)
	g.keep(g.exact[other], g.op(ir.Select, nil, predicate, v, other))
}

func (g *grower) reduce(v ir.Value, integer bool) {
	s := g.Type(v).Shape
	var axes []int
	for a := range s {
		if g.rng.IntN(2) == 0 {
			axes = append(axes, a)
		}
	}
	kind := []ir.Kind{ir.Sum, ir.Max, ir.Min}[g.rng.IntN(3)]
	r := g.op(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: axes}, v)
	if kind == ir.Sum && !integer {
		r = g.op(ir.Mul, nil, r, g.constant(g.Type(r).DType, float64(g.Type(r).Shape.Size())/float64(s.Size()), g.Type(r).Shape...))
	}
	g.keep(integer || kind != ir.Sum && g.exact[v], r)
}

// contract adds a product of v with a value of matching shape, or a softmax.
func (g *grower) contract(v ir.Value) {
	s := g.Type(v).Shape
	if len(s) == 0 {
		g.keep(false, g.op(ir.Sigmoid, nil, v))
		return
	}
	last := len(s) - 1
	if g.rng.IntN(3) == 0 {
		g.keep(false, g.op(ir.Softmax, nil, v))
		return
	}
	l := g.tamed(v)
	for range 8 { // a matrix or vector that shares the last axis
		w := g.pick()
		u := g.Type(w)
		if u.DType != g.Type(v).DType || len(u.Shape) == 0 || len(u.Shape)+len(s) > 6 {
			continue
		}
		for axis, length := range u.Shape {
			if length != s[last] {
				continue
			}
			attrs := ir.DotAttrs{LhsContract: []int{last}, RhsContract: []int{axis}}
			product := g.op(ir.Dot, attrs, l, g.tamed(w))
			g.keep(false, g.op(ir.Mul, nil, product, g.constant(u.DType, 1/float64(length), g.Type(product).Shape...)))
			return
		}
	}
	g.keep(false, l)
}

// move adds an op that only moves elements.
func (g *grower) move(v ir.Value) {
	t := g.Type(v)
	s, rank := t.Shape, len(t.Shape)
	var r ir.Value
	switch choice := g.rng.IntN(8); {
	case choice == 0:
		r = g.op(ir.Reshape, ir.ReshapeAttrs{Shape: g.refactored(s.Size())}, v)
	case choice == 1 && rank < 4:
		n := 1 + g.rng.IntN(3)
		at := g.rng.IntN(rank + 1)
		shape := append(append(append(ir.Shape{}, s[:at]...), n), s[at:]...)
		var axes []int
		for i := range shape {
			if i != at {
				axes = append(axes, i)
			}
		}
		r = g.op(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: axes}, v)
	case rank == 0:
		return
	case choice <= 3:
		r = g.op(ir.Transpose, ir.TransposeAttrs{Perm: g.rng.Perm(rank)}, v)
	case choice == 4:
		start, limit, stride := make([]int, rank), make([]int, rank), make([]int, rank)
		for i, n := range s {
			start[i] = g.rng.IntN(n)
			limit[i] = start[i] + 1 + g.rng.IntN(n-start[i])
			stride[i] = 1 + g.rng.IntN(2)
		}
		r = g.op(ir.Slice, ir.SliceAttrs{Start: start, Limit: limit, Stride: stride}, v)
	case choice == 5:
		low, high, interior := make([]int, rank), make([]int, rank), make([]int, rank)
		for i := range s {
			low[i], high[i], interior[i] = g.rng.IntN(2), g.rng.IntN(2), g.rng.IntN(2)
		}
		r = g.op(ir.Pad, ir.PadAttrs{Low: low, High: high, Interior: interior}, v, g.constant(t.DType, 1))
	case choice == 6:
		w := g.partner(v)
		g.keep(g.exact[v] && g.exact[w], g.op(ir.Concat, ir.AxisAttrs{Axis: g.rng.IntN(rank)}, v, w))
		return
	default:
		r = g.op(ir.Reverse, ir.AxesAttrs{Axes: []int{g.rng.IntN(rank)}}, v)
	}
	g.keep(g.exact[v], r)
}

// refactored returns a random shape of n elements.
func (g *grower) refactored(n int) ir.Shape {
	var s ir.Shape
	for _, prime := range []int{2, 3, 5, 7, 17} {
		for n%prime == 0 && n > 0 {
			n /= prime
			if len(s) > 0 && (len(s) == 3 || g.rng.IntN(2) == 0) {
				s[g.rng.IntN(len(s))] *= prime
			} else {
				s = append(s, prime)
			}
		}
	}
	if n != 1 {
		s = append(s, n)
	}
	return s
}

// finish picks outputs; each input may be replaced by an output of its type.
func (g *grower) finish() {
	taken := map[int]bool{}
	for range 3 + g.rng.IntN(3) {
		v := g.pick()
		alias := -1
		for i, in := range g.Inputs {
			if !taken[i] && g.Type(in.Value).Equal(g.Type(v)) && g.rng.IntN(2) == 0 {
				alias = i
			}
		}
		if alias >= 0 {
			taken[alias] = true
			g.AddAlias(fmt.Sprintf("out%d", len(g.Outputs)), v, alias)
		} else {
			g.AddOutput(fmt.Sprintf("out%d", len(g.Outputs)), v)
		}
	}
}
