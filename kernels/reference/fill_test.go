package reference_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/kernels/reference"
)

// meeting is a program of x (batch, 3), a column of indices (batch) and y (batch, 2) in which the examples meet.
type meeting struct {
	p       *ir.Program
	x, i, y ir.Value
}

func newMeeting() meeting {
	b := dim.Symbol("batch")
	p := ir.New("meeting")
	return meeting{p, p.AddInput("x", ir.Type{DType: ir.Float64, Shape: ir.Shape{b, 3}}), p.AddInput("i", ir.Type{DType: ir.Int32, Shape: ir.Shape{b}}),
		p.AddInput("y", ir.Type{DType: ir.Float64, Shape: ir.Shape{b, 2}})}
}

func (m meeting) add(t *testing.T, op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
	t.Helper()
	out, err := m.p.Add("layer", op, attrs, in...)
	require.NoError(t, err)
	return out[0]
}

// Rows that fill a batch up change nothing where examples meet, whatever numbers they hold.
func TestFilledRows(t *testing.T) {
	b := dim.Symbol("batch")
	results := map[string]func(m meeting) ir.Value{
		"count": func(m meeting) ir.Value {
			ones := m.add(t, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float64, 1, b)})
			return m.add(t, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, ones)
		},
		"products of rows": func(m meeting) ir.Value {
			return m.add(t, ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, m.x, m.y)
		},
		"segments": func(m meeting) ir.Value {
			zeros := m.add(t, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float64, 0, 4, 3)})
			return m.add(t, ir.Scatter, ir.ScatterAttrs{Axis: 0, Kind: ir.Sum}, zeros, m.i, m.x)
		},
		"picked": func(m meeting) ir.Value {
			flat := m.add(t, ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{dim.Mul(b, 3)}}, m.x)
			place := m.add(t, ir.Mul, nil, m.add(t, ir.Iota, ir.IotaAttrs{Type: ir.Type{DType: ir.Int32, Shape: ir.Shape{b}}}),
				m.add(t, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, 3, b)}))
			return m.add(t, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, m.add(t, ir.Gather, ir.GatherAttrs{}, flat, place))
		},
	}
	numbers := func(m meeting) ir.Value {
		return m.add(t, ir.Iota, ir.IotaAttrs{Type: ir.Type{DType: ir.Int32, Shape: ir.Shape{b}}})
	}
	results["looked up by number"] = func(m meeting) ir.Value {
		table := m.add(t, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float64, 2, 5, 2)})
		return m.add(t, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, m.add(t, ir.Embedding, nil, table, numbers(m)))
	}
	results["segments by number"] = func(m meeting) ir.Value {
		zeros := m.add(t, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float64, 0, 5, 3)})
		return m.add(t, ir.Scatter, ir.ScatterAttrs{Axis: 0, Kind: ir.Sum}, zeros, numbers(m), m.x)
	}
	for _, kind := range []ir.Kind{ir.Sum, ir.Prod, ir.Max, ir.Min} {
		results["reduce "+string(kind)] = func(m meeting) ir.Value {
			flat := m.add(t, ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{dim.Mul(b, 3)}}, m.x)
			return m.add(t, ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{0}}, flat)
		}
	}
	for name, result := range results {
		t.Run(name, func(t *testing.T) {
			m := newMeeting()
			m.p.AddOutput("result", result(m))
			filled, err := ir.FillRows(m.p, "batch")
			require.NoError(t, err)
			require.NoError(t, filled.Verify())
			for _, n := range []int{1, 2, 5} {
				want := runMeeting(t, m.p, n, n)
				require.Equal(t, want, runMeeting(t, filled, n, 8), "%d examples", n)
			}
		})
	}
}

// runMeeting gives the result for n examples and rows-n rows of numbers that would be seen.
func runMeeting(t *testing.T, p *ir.Program, n, rows int) []float64 {
	t.Helper()
	p, err := ir.Specialize(p, map[string]int{"batch": rows})
	require.NoError(t, err)
	require.NoError(t, p.Verify())
	fill := func(width int, of func(k int) float64) []float64 {
		out := make([]float64, rows*width)
		for k := range out {
			if out[k] = of(k); k >= n*width && width > 1 {
				out[k] = math.NaN()
			}
		}
		return out
	}
	in := []reference.Value{
		value(t, ir.Float64, ir.Shape{rows, 3}, fill(3, func(k int) float64 { return float64(k*k%7) - 2.5 })...),
		value(t, ir.Int32, ir.Shape{rows}, fill(1, func(k int) float64 { return float64(k % 4) })...),
		value(t, ir.Float64, ir.Shape{rows, 2}, fill(2, func(k int) float64 { return float64(k%5) - 1.5 })...),
	}
	if len(p.Inputs) > 3 {
		in = append(in, value(t, ir.Int32, nil, float64(n)))
	}
	out, err := reference.Run(p, in)
	require.NoError(t, err)
	list := make([]float64, out[0].Type.Shape.Size())
	for i := range list {
		list[i] = out[0].At(i)
	}
	return list
}

func value(t *testing.T, d ir.DType, s ir.Shape, elements ...float64) reference.Value {
	t.Helper()
	v, err := reference.New(d, s, elements...)
	require.NoError(t, err)
	return v
}

// An index after the examples is an error, also where there are rows after them.
func TestFilledRowsAreNotPicked(t *testing.T) {
	m := newMeeting()
	index := m.add(t, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, 3, 1)})
	m.p.AddOutput("result", m.add(t, ir.Gather, ir.GatherAttrs{}, m.x, index))
	filled, err := ir.FillRows(m.p, "batch")
	require.NoError(t, err)
	p, err := ir.Specialize(filled, map[string]int{"batch": 5})
	require.NoError(t, err)
	zeros := func(d ir.DType, s ...int) reference.Value {
		return value(t, d, s, make([]float64, ir.Shape(s).Size())...)
	}
	in := []reference.Value{zeros(ir.Float64, 5, 3), zeros(ir.Int32, 5), zeros(ir.Float64, 5, 2), value(t, ir.Int32, nil, 3)}
	_, err = reference.Run(p, in)
	require.ErrorContains(t, err, "index")
	in[3] = value(t, ir.Int32, nil, 4)
	_, err = reference.Run(p, in)
	require.NoError(t, err)
}

// What works across the examples in other ways is refused.
func TestRowsThatCannotBeLeftOut(t *testing.T) {
	for name, result := range map[string]func(m meeting) ir.Value{
		"sort": func(m meeting) ir.Value {
			return m.add(t, ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0, 1}}, m.add(t, ir.Sort, ir.SortAttrs{}, m.x))
		},
		"pairs": func(m meeting) ir.Value {
			pairs := m.add(t, ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, m.x, m.x)
			return m.add(t, ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{0, 1}}, pairs)
		},
		"the last one": func(m meeting) ir.Value {
			return m.add(t, ir.Gather, ir.GatherAttrs{Mode: ir.IndexClip}, m.x, m.add(t, ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, 99, 1)}))
		},
		"examples": func(m meeting) ir.Value { return m.x },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMeeting()
			m.p.AddOutput("result", result(m))
			_, err := ir.FillRows(m.p, "batch")
			require.Error(t, err)
		})
	}
}
