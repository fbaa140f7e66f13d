package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestDescentIsJoined: a product that is the gradient of a variable alone is added right to the variable, behind all
// that reads the old value. The numbers are small integers and a power of two, so that the results are exact.
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
		{"a small variable", ir.Float32, ir.Shape{5, 20}, ir.Shape{5, 48}, false, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			p := ir.New("descent")
			var inputs []reference.Value
			input := func(s ir.Shape, numbers ...float64) ir.Value {
				for len(numbers) < s.Size() {
					numbers = append(numbers, float64(random.IntN(9)-4))
				}
				v, err := reference.New(c.dtype, s, numbers...)
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
			x, y := input(l), input(r)
			w := input(ir.Shape{l[len(l)-1], r[len(r)-1]})
			rate, step := input(ir.Shape{}, 0.5), input(ir.Shape{}, 1)
			var axes []int
			for i := range len(l) - 1 {
				axes = append(axes, i)
			}
			gradient := add(ir.Dot, ir.DotAttrs{LhsContract: axes, RhsContract: axes}, x, y)
			p.AddOutput("of x", add(ir.Dot, ir.DotAttrs{LhsContract: []int{len(r) - 1}, RhsContract: []int{1}}, y, w))
			if c.published {
				p.AddOutput("gradient", gradient)
			}
			p.AddAlias("w", add(ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: "sgd"}, w, gradient, rate, step), 2)
			g := fuse.NewGraph(p)
			g.Group()
			g.JoinDescent()
			g.ScheduleUpdates()
			joined := 0
			for _, u := range g.Units {
				if len(u.Nodes) == 2 && u.Fused == nil {
					joined++
				}
			}
			require.Equal(t, c.joined, joined)
			require.Empty(t, plan.Place(g, true).Copies)
			got, want := runOnce(t, p, inputs, false), runOnce(t, p, inputs, true)
			for i := range want {
				require.NoError(t, kernelstest.Compare(got[i], want[i], 0, true), "output %d", i)
			}
			inPlace := newBuffer(testDevice, inputs[2].Type)
			e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
			require.NoError(t, err)
			defer e.Close()
			var in, out []kernels.Buffer
			for _, v := range inputs {
				in = append(in, newBuffer(testDevice, v.Type))
				require.NoError(t, in[len(in)-1].Write(v.Bytes()))
			}
			for _, v := range want[:len(want)-1] {
				out = append(out, newBuffer(testDevice, v.Type))
			}
			in[2] = inPlace
			require.NoError(t, inPlace.Write(inputs[2].Bytes()))
			require.NoError(t, e.Run(t.Context(), in, append(out, nil)))
			require.Equal(t, want[len(want)-1].Bytes(), inPlace.Bytes())
		})
	}
}
