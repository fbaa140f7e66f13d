package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestDescentIsJoined: a product that is only the gradient of a variable is added directly to the variable, after all
// steps that read the old value. The numbers are small integers and a power of two, so that the results are exact.
func TestDescentIsJoined(t *testing.T) {
	for _, c := range []struct {
		name            string
		dtype           ir.DType
		x, y            ir.Shape // the gradient is the product over all axes but the last
		swap, published bool     // the gradient's factors change places; it is a result too
		joined          int
	}{
		{"few rows", ir.Float32, ir.Shape{5, 200}, ir.Shape{5, 48}, false, false, 1},
		{"the right side is the larger", ir.Float32, ir.Shape{5, 48}, ir.Shape{5, 200}, false, false, 1},
		{"swapped", ir.Float32, ir.Shape{5, 200}, ir.Shape{5, 48}, true, false, 1},
		{"steps", ir.Float64, ir.Shape{3, 4, 200}, ir.Shape{3, 4, 48}, false, false, 1},
		{"the gradient is a result", ir.Float32, ir.Shape{5, 200}, ir.Shape{5, 48}, false, true, 0},
		{"of bfloat16", ir.BFloat16, ir.Shape{5, 200}, ir.Shape{5, 48}, false, false, 1},
		{"of float16, swapped", ir.Float16, ir.Shape{5, 200}, ir.Shape{5, 48}, true, false, 1},
		{"of bfloat16, a result", ir.BFloat16, ir.Shape{5, 200}, ir.Shape{5, 48}, false, true, 0},
		{"a small variable", ir.Float32, ir.Shape{5, 20}, ir.Shape{5, 48}, false, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			p := ir.New("descent")
			var inputs []reference.Value
			wide := c.dtype
			if c.dtype.IsHalf() {
				wide = ir.Float32
			}
			input := func(d ir.DType, s ir.Shape, numbers ...float64) ir.Value {
				for len(numbers) < s.Size() {
					numbers = append(numbers, float64(random.IntN(9)-4))
				}
				v, err := reference.New(d, s, numbers...)
				require.NoError(t, err)
				inputs = append(inputs, v)
				return p.AddInput(fmt.Sprint("in", len(inputs)), v.Type)
			}
			add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
				out, err := p.Add("", op, a, in...)
				require.NoError(t, err)
				return out[0]
			}
			l, r := c.x, c.y
			if c.swap {
				l, r = r, l
			}
			x, y := input(c.dtype, l), input(c.dtype, r)
			w := input(wide, ir.Shape{l[len(l)-1], r[len(r)-1]})
			rate, step := input(wide, ir.Shape{}, 0.5), input(wide, ir.Shape{}, 1)
			var axes []int
			for i := range len(l) - 1 {
				axes = append(axes, i)
			}
			gradient := add(ir.Dot, ir.DotAttrs{LhsContract: axes, RhsContract: axes}, x, y)
			weights := w
			if c.dtype.IsHalf() {
				weights = add(ir.Convert, ir.ConvertAttrs{DType: c.dtype}, w)
			}
			p.AddOutput("of x", add(ir.Dot, ir.DotAttrs{LhsContract: []int{len(r) - 1}, RhsContract: []int{1}}, y, weights))
			if c.dtype.IsHalf() {
				gradient = add(ir.Convert, ir.ConvertAttrs{DType: wide}, gradient)
			}
			if c.published {
				p.AddOutput("gradient", gradient)
			}
			p.AddAlias("w", add(ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: "sgd"}, w, gradient, rate, step), 2)
			g := fuse.NewGraph(p)
			g.Group()
			g.JoinWidening()
			g.JoinDescent()
			g.ScheduleUpdates()
			joined := 0
			for _, u := range g.Units {
				if anchor := p.Nodes[u.Nodes[0]].Op; len(u.Nodes) > 1 && u.Fused == nil && anchor == ir.Dot {
					joined++
				}
			}
			require.Equal(t, c.joined, joined)
			require.Empty(t, plan.Place(g, true).Copies)
			got, want := runOnce(t, p, inputs, false), runOnce(t, p, inputs, true)
			for i := range want {
				require.NoError(t, kernelstest.Compare(got[i], want[i], 0, true), "output %d", i)
			}
			inPlace := runInPlace(t, p, inputs)
			require.Equal(t, want[len(want)-1].Bytes(), inPlace[len(want)-1].Bytes())
		})
	}
}

// TestUpdatesWidenGradients: the update of a large variable converts a 16-bit gradient itself, with the same bits.
func TestUpdatesWidenGradients(t *testing.T) {
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		for _, a := range []ir.OptimizerAttrs{{Rule: "sgd"}, {Rule: "nesterov", Values: []float64{0.9}}, {Rule: "adam", Values: []float64{0.9, 0.999, 1e-7}}} {
			for _, n := range []int{fuse.BucketVariable - 3, fuse.BucketVariable + 5001} {
				p, r := ir.New("widening"), rand.New(rand.NewPCG(uint64(n), 4))
				var inputs []reference.Value
				input := func(d ir.DType, s ir.Shape) ir.Value {
					numbers := make([]float64, s.Size())
					for i := range numbers {
						numbers[i] = math.Abs(r.NormFloat64())
					}
					v, err := reference.New(d, s, numbers...)
					require.NoError(t, err)
					inputs = append(inputs, v)
					return p.AddInput(fmt.Sprint("in", len(inputs)), v.Type)
				}
				g := input(d, ir.Shape{n})
				wide, err := p.Add("", ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, g)
				require.NoError(t, err)
				operands := []ir.Value{input(ir.Float32, ir.Shape{n}), wide[0], input(ir.Float32, nil), input(ir.Float32, nil)}
				slots := map[string]int{"sgd": 0, "nesterov": 1, "adam": 2}[a.Rule]
				for range slots {
					operands = append(operands, input(ir.Float32, ir.Shape{n}))
				}
				out, err := p.Add("", ir.OptimizerUpdate, a, operands...)
				require.NoError(t, err)
				for _, v := range out {
					p.AddOutput("", v)
				}
				joined := 0
				for _, u := range fuse.Build(p, fuse.Options{Updates: true}).Units {
					joined += len(u.Nodes) - 1
				}
				require.Equal(t, n > fuse.BucketVariable, joined == 1)
				got, want := runOnce(t, p, inputs, false), runOnce(t, p, inputs, true)
				for i := range want {
					require.NoError(t, kernelstest.Compare(got[i], want[i], 0, true), "%v %s: output %d", d, a.Rule, i)
				}
			}
		}
	}
}

// TestUpdatesOfHalves: the updates of variables of 16 bits read their gradients in float32, those of small ones all in
// one step, and give what the formulas give, rounded once. Pieces and their ends do not change that.
func TestUpdatesOfHalves(t *testing.T) {
	for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
		for _, a := range []ir.OptimizerAttrs{{Rule: "sgd"}, {Rule: "nesterov", Values: []float64{0.9}}, {Rule: "adam", Values: []float64{0.9, 0.999, 1e-7}}} {
			p, r := ir.New("halves"), rand.New(rand.NewPCG(7, 4))
			var inputs []reference.Value
			input := func(d ir.DType, s ir.Shape) ir.Value {
				numbers := make([]float64, s.Size())
				for i := range numbers {
					numbers[i] = math.Abs(r.NormFloat64())
				}
				v, err := reference.New(d, s, numbers...)
				require.NoError(t, err)
				inputs = append(inputs, v)
				return p.AddInput(fmt.Sprint("in", len(inputs)), v.Type)
			}
			rate, step := input(d, nil), input(d, nil)
			inputs[1].F[0] = 3
			for _, n := range []int{5, 1025, fuse.BucketVariable + 5001} {
				g, err := p.Add("", ir.Convert, ir.ConvertAttrs{DType: d}, input(ir.Float32, ir.Shape{n}))
				require.NoError(t, err)
				operands := []ir.Value{input(d, ir.Shape{n}), g[0], rate, step}
				for range map[string]int{"sgd": 0, "nesterov": 1, "adam": 2}[a.Rule] {
					operands = append(operands, input(d, ir.Shape{n}))
				}
				out, err := p.Add("", ir.OptimizerUpdate, a, operands...)
				require.NoError(t, err)
				for _, v := range out {
					p.AddOutput("", v)
				}
			}
			require.Len(t, fuse.Build(p, fuse.Options{Updates: true}).Units, 3, "without conversions of their own")
			want, err := reference.Interpreter{}.Run(p, inputs) // in float64
			require.NoError(t, err)
			for i, got := range runOnce(t, p, inputs, false) {
				rounded, err := reference.New(d, want[i].Type.Shape, want[i].F...)
				require.NoError(t, err)
				require.NoError(t, kernelstest.Compare(got, rounded, 1, true), "%v %s: output %d", d, a.Rule, i)
			}
		}
	}
}
