package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// extremist grows programs of operations whose results are exact or correctly rounded, with any element type and axes
// of any length, including 0. Numbers include NaN, infinities, signed zeros and the limits of integers.
type extremist struct {
	*ir.Program
	rng    *rand.Rand
	inputs []reference.Value
	values []ir.Value
	budget int
}

// denormals is a tolerance that only allows for results below the smallest normal number.
const denormals = 1e-9

var extremeTypes = []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.Float64, ir.Float16, ir.BFloat16, ir.Int8, ir.Uint8, ir.Int16, ir.Uint16,
	ir.Int32, ir.Uint32, ir.Int64, ir.Uint64, ir.Bool}

func extremes(seed uint64) *extremist {
	e := &extremist{Program: ir.New(fmt.Sprint("extremes ", seed)), rng: rand.New(rand.NewPCG(seed, 77)), budget: 5000}
	dtype, shape := extremeTypes[e.rng.IntN(len(extremeTypes))], e.shape()
	e.input(dtype, shape)
	e.input(dtype, shape)
	if e.rng.IntN(2) == 0 {
		e.input(ir.Bool, shape)
	}
	if e.rng.IntN(3) == 0 {
		e.input(dtype, shape[min(1, len(shape)):])
	}
	for range 1 + e.rng.IntN(9) {
		e.grow()
	}
	used := map[ir.Value]bool{}
	for _, n := range e.Nodes {
		for _, v := range n.Inputs {
			used[v] = true
		}
	}
	for _, v := range e.values {
		if !used[v] || e.rng.IntN(6) == 0 {
			e.AddOutput(fmt.Sprint("out", len(e.Outputs)), v)
		}
	}
	return e
}

func (e *extremist) shape() ir.Shape {
	s, size := make(ir.Shape, e.rng.IntN(5)), 1
	for i := range s {
		n := []int{1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 100, 127, 129, 200, 257, 1025, 2100}[e.rng.IntN(22)]
		if e.rng.IntN(3) > 0 {
			n = 1 + e.rng.IntN(9)
		}
		if e.rng.IntN(40) == 0 {
			n = 0
		}
		if size*n > e.budget {
			n = e.budget / max(size, 1)
		}
		s[i] = n
		size *= max(n, 1)
	}
	return s
}

func (e *extremist) input(d ir.DType, shape ir.Shape) {
	t := ir.Type{DType: d, Shape: shape}
	var data []byte
	plain := e.rng.IntN(3) == 0 // numbers as they mostly are
	for range shape.Size() {
		v := e.rng.NormFloat64() * 3
		if d == ir.Bool {
			v = float64(e.rng.IntN(2))
		} else if !d.IsFloat() {
			v = float64(e.rng.IntN(256) - 128)
			if !d.IsSigned() {
				v += 128
			}
		}
		if d != ir.Bool && !plain && e.rng.IntN(6) == 0 {
			v = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2.5, 1e9, -1e9, 65519, 1e30, 2147483648, -2147483648, 127.5, 255.5}[e.rng.IntN(18)]
		}
		data = ir.AppendElement(data, d, v)
	}
	v, err := reference.FromBytes(t, data)
	if err != nil {
		panic(err)
	}
	e.values = append(e.values, e.AddInput(fmt.Sprint("in", len(e.Inputs)), t))
	e.inputs = append(e.inputs, v)
}

func (e *extremist) add(op ir.Op, attrs ir.Attrs, in ...ir.Value) []ir.Value {
	out, err := e.Add("layer", op, attrs, in...)
	if err != nil {
		panic(err)
	}
	e.values = append(e.values, out...)
	return out
}

// relu is not among the operations that others may pick.
func (e *extremist) relu(v ir.Value) ir.Value {
	out := e.add(ir.Relu, nil, v)[0]
	e.values = e.values[:len(e.values)-1]
	return out
}

func (e *extremist) pick() ir.Value {
	if n := len(e.values); e.rng.IntN(2) == 0 {
		return e.values[n-1-e.rng.IntN(min(n, 3))]
	}
	return e.values[e.rng.IntN(len(e.values))]
}

func (e *extremist) constant(d ir.DType, x float64, shape ...int) ir.Value {
	out, err := e.Add("", ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(d, x, shape...)})
	if err != nil {
		panic(err)
	}
	return out[0]
}

// partner returns another value of v's type: an existing one, a broadcast, or a number.
func (e *extremist) partner(v ir.Value) ir.Value {
	t := e.Type(v)
	for range 12 {
		w := e.pick()
		u := e.Type(w)
		if u.Equal(t) {
			return w
		}
		if u.DType == t.DType && len(u.Shape) <= len(t.Shape) {
			axes, fits := make([]int, len(u.Shape)), true
			for i := range axes {
				axes[i] = len(t.Shape) - len(u.Shape) + i
				fits = fits && (u.Shape[i] == 1 || u.Shape[i] == t.Shape[axes[i]])
			}
			if fits {
				return e.add(ir.Broadcast, ir.BroadcastAttrs{Shape: t.Shape, Axes: axes}, w)[0]
			}
		}
	}
	number := []float64{0, 1, 2, 3, 0.5, math.Inf(1), 255}[e.rng.IntN(7)]
	if t.DType == ir.Float32 && e.rng.IntN(8) == 0 {
		number = math.NaN()
	}
	return e.constant(t.DType, number, t.Shape...)
}

func oneOf[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (e *extremist) grow() {
	v := e.pick()
	t, r := e.Type(v), e.rng
	d, rank := t.DType, len(t.Shape)
	axis := 0
	if rank > 0 {
		axis = r.IntN(rank)
	}
	var axes []int
	for a := range rank {
		if r.IntN(2) == 0 {
			axes = append(axes, a)
		}
	}
	switch k := r.IntN(16); {
	case k == 0:
		e.add(ir.Convert, ir.ConvertAttrs{DType: extremeTypes[r.IntN(len(extremeTypes))]}, v)
	case k == 1:
		e.add(ir.Compare, ir.CompareAttrs{Direction: oneOf(r, ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge)}, v, e.partner(v))
	case k == 2:
		m := e.add(ir.Compare, ir.CompareAttrs{Direction: oneOf(r, ir.Eq, ir.Ne, ir.Lt, ir.Ge)}, v, e.partner(v))[0]
		e.add(ir.Select, nil, m, v, e.partner(v))
	case k == 3 && d != ir.Bool: // which zero ReLU gives is open
		e.add(ir.Abs, nil, e.relu(v))
	case k == 4 && d != ir.Bool:
		e.add(oneOf(r, ir.Neg, ir.Abs, ir.Sign), nil, v)
	case k == 3:
		e.add(ir.Not, nil, v)
	case k == 4:
		number := e.add(ir.Convert, ir.ConvertAttrs{DType: oneOf(r, ir.Float32, ir.Float64, ir.Int32)}, v)[0]
		e.add(ir.Mul, nil, number, e.partner(number))
	case k <= 8:
		e.elementwise(v, d)
	case k <= 10:
		e.move(v, t, axis)
	case k == 11 && (d.IsFloat() || d == ir.Bool):
		kind := oneOf(r, ir.Max, ir.Min)
		if d == ir.Bool {
			kind = oneOf(r, ir.And, ir.Or)
		}
		e.add(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: axes}, v)
	case k == 11:
		e.add(ir.Reduce, ir.ReduceAttrs{Kind: oneOf(r, ir.Sum, ir.Prod, ir.Max, ir.Min), Axes: axes}, v)
	case rank == 0 || d == ir.Bool:
	case k == 12 && t.Shape[axis] > 0:
		e.add(oneOf(r, ir.ArgMax, ir.ArgMin), ir.AxisAttrs{Axis: axis}, v)
	case k == 13:
		kinds := []ir.Kind{ir.Max, ir.Min}
		if !d.IsFloat() {
			kinds = append(kinds, ir.Sum, ir.Prod)
		}
		e.add(ir.Cumulative, ir.CumulativeAttrs{Kind: oneOf(r, kinds...), Axis: axis, Exclusive: r.IntN(2) == 0, Reverse: r.IntN(2) == 0}, v)
	case k == 14:
		e.add(ir.Sort, ir.SortAttrs{Axis: axis, Descending: r.IntN(2) == 0}, v)
	case t.Shape[rank-1] > 0:
		e.add(ir.TopK, ir.TopKAttrs{K: 1 + r.IntN(t.Shape[rank-1])}, v)
	}
}

func (e *extremist) elementwise(v ir.Value, d ir.DType) {
	r, w := e.rng, e.partner(v)
	switch {
	case d == ir.Bool:
		e.add(oneOf(r, ir.BitAnd, ir.BitOr, ir.BitXor), nil, v, w)
	case d.IsFloat() && r.IntN(4) == 0:
		e.add(oneOf(r, ir.Floor, ir.Ceil, ir.Round, ir.Sqrt, ir.IsFinite), nil, v)
	case d.IsFloat():
		e.add(oneOf(r, ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Maximum, ir.Minimum, ir.Rem), nil, v, w)
	case r.IntN(5) == 0:
		e.add(ir.Not, nil, v)
	default:
		e.add(oneOf(r, ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Rem, ir.Maximum, ir.Minimum, ir.BitAnd, ir.BitOr, ir.BitXor, ir.ShiftLeft, ir.ShiftRight), nil, v, w)
	}
}

func (e *extremist) move(v ir.Value, t ir.Type, axis int) {
	r, rank := e.rng, len(t.Shape)
	if rank == 0 {
		e.add(ir.Broadcast, ir.BroadcastAttrs{Shape: e.shape()}, v)
		return
	}
	switch r.IntN(7) {
	case 0:
		e.add(ir.Transpose, ir.TransposeAttrs{Perm: r.Perm(rank)}, v)
	case 1:
		e.add(ir.Reverse, ir.AxesAttrs{Axes: []int{axis}}, v)
	case 2:
		start, limit, stride := make([]int, rank), make([]int, rank), make([]int, rank)
		for i, n := range t.Shape {
			start[i] = r.IntN(n + 1)
			limit[i] = start[i] + r.IntN(n-start[i]+1)
			if r.IntN(2) == 0 {
				start[i], limit[i] = 0, n
			}
			stride[i] = 1 + r.IntN(3)*r.IntN(2)
		}
		e.add(ir.Slice, ir.SliceAttrs{Start: start, Limit: limit, Stride: stride}, v)
	case 3:
		low, high, interior := make([]int, rank), make([]int, rank), make([]int, rank)
		for i, n := range t.Shape {
			if low[i], high[i] = r.IntN(3), r.IntN(3); r.IntN(3) == 0 {
				low[i] = -min(n, 1)
			}
			if r.IntN(3) == 0 {
				interior[i] = r.IntN(3)
			}
		}
		if t.Shape.Size() < e.budget/8 {
			e.add(ir.Pad, ir.PadAttrs{Low: low, High: high, Interior: interior}, v, e.constant(t.DType, 1))
		}
	case 4:
		e.add(ir.Concat, ir.AxisAttrs{Axis: axis}, v, e.partner(v))
	case 5:
		n := 1 + r.IntN(3)
		if t.Shape.Size()*n <= e.budget && rank < 6 {
			shape := append(append(append(ir.Shape{}, t.Shape[:axis]...), n), t.Shape[axis:]...)
			var axes []int
			for i := range shape {
				if i != axis {
					axes = append(axes, i)
				}
			}
			e.add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: axes}, v)
		}
	case 6:
		e.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{t.Shape.Size()}}, v)
	}
}

// TestRandomExtremes compares such programs with the reference, number by number, fused or not, with vectors or
// without.
func TestRandomExtremes(t *testing.T) {
	defer WithoutExcess()()
	count := uint64(3000)
	if testing.Short() {
		count = 600
	}
	paths := isa.Paths()
	for seed := range count {
		e := extremes(seed)
		if len(e.Outputs) == 0 {
			continue
		}
		require.NoError(t, e.Verify())
		want, err := (reference.Interpreter{Round: true}).Run(e.Program, e.inputs)
		require.NoError(t, err)
		for _, path := range []isa.Features{paths[0], paths[len(paths)-1]} {
			restore := isa.Override(path)
			for _, plain := range []bool{false, true} {
				got := runOnce(t, e.Program, e.inputs, plain)
				for i := range want {
					require.NoError(t, kernelstest.Compare(got[i], want[i], denormals, false), "%v, alone %v, output %d of\n%v", path, plain, i, e.Program)
				}
			}
			restore()
		}
	}
}
