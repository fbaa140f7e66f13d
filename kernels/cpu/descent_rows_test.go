package cpu

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// drawnInputs returns a function that adds an input of drawn numbers to a program, and these to the list.
func drawnInputs(t *testing.T, p *ir.Program, inputs *[]reference.Value) func(d ir.DType, draw func() float64, s ...int) ir.Value {
	return func(d ir.DType, draw func() float64, s ...int) ir.Value {
		numbers := make([]float64, ir.Shape(s).Size())
		for i := range numbers {
			numbers[i] = draw()
		}
		v, err := reference.New(d, s, numbers...)
		require.NoError(t, err)
		*inputs = append(*inputs, v)
		return p.AddInput(fmt.Sprint("in", len(*inputs)), v.Type)
	}
}

// tableStep is a step of plain gradient descent of a table in which some rows were looked up, most of them several
// times.
func tableStep(t *testing.T, r *rand.Rand, d, of ir.DType, rows, width, count int, looks, published bool) (p *ir.Program, inputs []reference.Value) {
	p = ir.New("table")
	input := drawnInputs(t, p, &inputs)
	few := 1 + r.IntN(rows)
	table := input(d, r.NormFloat64, rows, width)
	at := input(of, func() float64 { return float64(r.IntN(few)) }, 2, count)
	rate, step := input(d, r.Float64), input(d, func() float64 { return 1 })
	gradient, err := p.Add("", ir.EmbeddingGrad, nil, table, at, input(d, r.NormFloat64, 2, count, width))
	require.NoError(t, err)
	if published {
		p.AddOutput("gradient", gradient[0])
	}
	if looks {
		looked, err := p.Add("", ir.Embedding, nil, table, at)
		require.NoError(t, err)
		p.AddOutput("looked up", looked[0])
	}
	updated, err := p.Add("", ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: "sgd"}, table, gradient[0], rate, step)
	require.NoError(t, err)
	p.AddAlias("table", updated[0], 0)
	return p, inputs
}

// TestRowDescent: if only plain gradient descent reads the gradient of a table, just the rows that were looked up are
// updated, and no gradient is stored. The bits are the same as with separate steps.
func TestRowDescent(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 3))
	for i := range 40 {
		d := []ir.DType{ir.Float32, ir.Float64}[i%2]
		of := []ir.DType{ir.Int32, ir.Int64, ir.Uint16}[i%3]
		width := []int{1, 3, 16, 40}[r.IntN(4)]
		rows, published := fuse.BucketVariable/width+1+r.IntN(200), i%8 == 7
		p, inputs := tableStep(t, r, d, of, rows, width, []int{0, 1, 5, 300}[r.IntN(4)], true, published)
		g := fuse.NewGraph(p)
		g.Group()
		g.JoinDescent()
		g.ScheduleUpdates()
		joined := 0
		for _, u := range g.Units {
			if len(u.Nodes) == 2 && p.Nodes[u.Nodes[0]].Op == ir.EmbeddingGrad {
				joined++
			}
		}
		require.Equal(t, !published, joined == 1, "%v", p)
		require.Empty(t, plan.Place(g, true).Copies, "%v", p)
		want := runOnce(t, p, inputs, true)
		for which, got := range [][]reference.Value{runOnce(t, p, inputs, false), runInPlace(t, p, inputs)} {
			for k := range want {
				require.Equal(t, want[k].Bytes(), got[k].Bytes(), "%d, in place %d, output %d\n%v", i, which, k, p)
			}
		}
		four := pool.New(4)
		results, _ := runOn(t, p, inputs, four, func() {})
		four.Close()
		for k := range want {
			require.Equal(t, string(want[k].Bytes()), string(results[k]), "%d, four workers, output %d", i, k)
		}
	}
}

// TestRowDescentOfWrongIndices: an index beyond the table is an error, and leaves the table unchanged.
func TestRowDescentOfWrongIndices(t *testing.T) {
	p, inputs := tableStep(t, rand.New(rand.NewPCG(1, 1)), ir.Float32, ir.Int32, 300, 30, 20, false, false)
	inputs[1] = altered(t, inputs[1], func(i int, v float64) float64 {
		if i == 33 {
			return 300
		}
		return v
	})
	e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
	require.NoError(t, err)
	defer e.Close()
	var in []kernels.Buffer
	for _, v := range inputs {
		in = append(in, newBuffer(testDevice, v.Type))
		require.NoError(t, in[len(in)-1].Write(v.Bytes()))
	}
	err = e.Run(t.Context(), in, []kernels.Buffer{nil})
	var wrong *IndexError
	require.True(t, errors.As(err, &wrong), "%v", err)
	require.Equal(t, 33, wrong.Position)
	require.Equal(t, inputs[0].Bytes(), in[0].(interface{ Bytes() []byte }).Bytes())
}

// TestRowDescentAddsFirst: a row that was looked up many times changes by a sum of numbers each of which is too small
// to change it.
func TestRowDescentAddsFirst(t *testing.T) {
	const count = 1 << 14
	p, inputs := tableStep(t, rand.New(rand.NewPCG(1, 1)), ir.Float32, ir.Int32, 9000, 1, count/2, false, false)
	for i, v := range []float64{1, 17, 1, 1, 1e-8} { // table, indices, rate, step, gradients
		inputs[i] = altered(t, inputs[i], func(int, float64) float64 { return v })
	}
	require.InDelta(t, 1-count*1e-8, runOnce(t, p, inputs, false)[0].At(17), 1e-6)
}

// altered is an array of other numbers.
func altered(t *testing.T, v reference.Value, to func(i int, v float64) float64) reference.Value {
	numbers := make([]float64, v.Type.Shape.Size())
	for i := range numbers {
		numbers[i] = to(i, v.At(i))
	}
	out, err := reference.New(v.Type.DType, v.Type.Shape, numbers...)
	require.NoError(t, err)
	return out
}
