package pass_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestDecomposeHalfUpdates: updates of 16-bit variables become formulas that round their results alone, and compute
// with the gradient, and with the variable as it decays, before these are rounded. Updates of float32 stay.
func TestDecomposeHalfUpdates(t *testing.T) {
	rules := map[string][]float64{"sgd": nil, "momentum": {0.9}, "nesterov": {0.9}, "adam": {0.9, 0.999, 1e-4}}
	for rule, values := range rules {
		for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
			for _, wide := range []bool{false, true} {
				update := func(d ir.DType) *ir.Program {
					b := b{t, ir.New("update")}
					to := func(d ir.DType, v ir.Value) ir.Value { return b.add(ir.Convert, ir.ConvertAttrs{DType: d}, v) }
					w, g := b.input("w", ir.BFloat16, 4, 5), b.input("g", ir.BFloat16, 4, 5)
					of := []ir.Value{w, g, b.input("rate", ir.BFloat16), b.input("step", ir.BFloat16)}
					for range map[string]int{"momentum": 1, "nesterov": 1, "adam": 2}[rule] {
						of = append(of, b.input("slot", ir.BFloat16, 4, 5))
					}
					for i := range of {
						of[i] = to(ir.Float32, of[i])
						if wide && i < 2 {
							of[i] = b.add(ir.Exp, nil, of[i])
						}
						if d.IsHalf() {
							of[i] = to(d, of[i])
						}
					}
					out, err := b.p.Add("layer", ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: rule, Values: values}, of...)
					require.NoError(t, err)
					for _, v := range out {
						b.p.AddOutput("", v)
					}
					return b.p
				}
				run := func(p *ir.Program) []reference.Value {
					in := inputsOf(t, p)
					for i := range in {
						if i == 3 || i == 5 { // a number of steps, and a mean of squares
							for j, x := range in[i].F {
								in[i].F[j] = 1 + x*x
							}
						}
						var err error
						in[i], err = reference.FromBytes(in[i].Type, in[i].Bytes())
						require.NoError(t, err)
					}
					got, err := reference.Interpreter{Round: true}.Run(p, in)
					require.NoError(t, err)
					return got
				}
				q, err := pass.DecomposeHalfUpdates(ir.DType.IsHalf).Run(update(d))
				require.NoError(t, err)
				for _, n := range q.Nodes {
					require.NotEqual(t, ir.OptimizerUpdate, n.Op)
				}
				exact := run(update(ir.Float32))
				for i, v := range run(q) {
					require.Equal(t, d, v.Type.DType)
					for j, x := range v.F {
						require.InEpsilon(t, exact[i].F[j], x, map[ir.DType]float64{ir.BFloat16: 1.01 / 256, ir.Float16: 1.01 / 2048}[d], "%s: result %d", rule, i)
					}
				}
			}
		}
		stays := b{t, ir.New("stays")}
		of := []ir.Value{stays.input("w", ir.Float32, 4), stays.input("g", ir.Float32, 4), stays.input("rate", ir.Float32), stays.input("step", ir.Float32)}
		for range map[string]int{"momentum": 1, "nesterov": 1, "adam": 2}[rule] {
			of = append(of, stays.input("slot", ir.Float32, 4))
		}
		stays.p.AddOutput("", stays.add(ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: rule, Values: values}, of...))
		q, err := pass.DecomposeHalfUpdates(ir.DType.IsHalf).Run(stays.p)
		require.NoError(t, err)
		require.Equal(t, stays.p, q)
	}
}

// TestHalfDescent: plain gradient descent along a product of float32 stays an update, in float32, where its product may
// be added in place; elsewhere, and along anything else, it becomes its formula.
func TestHalfDescent(t *testing.T) {
	for _, c := range []struct {
		product, narrow, inPlace, stays bool
	}{{true, false, true, true}, {true, false, false, false}, {true, true, true, false}, {false, false, true, false}} {
		b := b{t, ir.New("descent")}
		to := func(d ir.DType, v ir.Value) ir.Value { return b.add(ir.Convert, ir.ConvertAttrs{DType: d}, v) }
		w, x := b.input("w", ir.Float16, 4, 4), b.input("x", ir.Float32, 4, 4)
		if c.narrow {
			x = to(ir.Float16, x)
		}
		g := b.add(ir.Exp, nil, x)
		if c.product {
			g = b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, x, x)
		}
		if !c.narrow {
			g = to(ir.Float16, g)
		}
		b.p.AddOutput("", b.add(ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: "sgd"}, w, g, b.input("rate", ir.Float16), b.input("step", ir.Float16)))
		q, err := pass.DecomposeHalfUpdates(func(ir.DType) bool { return c.inPlace }).Run(b.p)
		require.NoError(t, err)
		updates := 0
		for _, n := range q.Nodes {
			if n.Op == ir.OptimizerUpdate {
				require.Equal(t, ir.Float32, q.Type(n.Inputs[0]).DType)
				updates++
			}
		}
		require.Equal(t, c.stays, updates == 1, "%+v", c)
		in := inputsOf(t, b.p)
		want, err := reference.Interpreter{}.Run(b.p, in)
		require.NoError(t, err)
		got, err := reference.Interpreter{}.Run(q, in)
		require.NoError(t, err)
		require.InDeltaSlice(t, want[0].F, got[0].F, 2e-3, "but for the rounding of the gradient")
		require.Equal(t, ir.Float16, got[0].Type.DType)
	}
}

// TestHalfUpdatesOfFewExamples: the gradient of one example, or of two for plain gradient descent, is computed in the
// loop of the update, if nothing else reads it.
func TestHalfUpdatesOfFewExamples(t *testing.T) {
	for _, c := range []struct {
		rule           string
		examples, rows int
		read, joins    bool
	}{
		{"sgd", 1, 128, false, true}, {"sgd", 2, 128, false, true}, {"sgd", 3, 128, false, false}, {"sgd", 1, 100, false, false},
		{"momentum", 1, 128, false, true}, {"momentum", 2, 128, false, false}, {"momentum", 1, 128, true, false},
	} {
		for _, d := range []ir.DType{ir.Float32, ir.BFloat16} {
			for axis := range 2 {
				b := b{t, ir.New("few")}
				shape := []int{c.examples, c.rows}
				if axis == 1 {
					shape = []int{c.rows, c.examples}
				}
				w, x, dy := b.input("w", ir.BFloat16, c.rows, 130), b.input("x", d, shape...), b.input("dy", d, c.examples, 130)
				g := b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{axis}, RhsContract: []int{0}}, x, dy)
				of := []ir.Value{w, g, b.input("rate", ir.BFloat16), b.input("step", ir.BFloat16)}
				if d == ir.Float32 {
					of[1] = b.add(ir.Convert, ir.ConvertAttrs{DType: ir.BFloat16}, g)
				}
				attrs := ir.OptimizerAttrs{Rule: c.rule}
				if c.rule == "momentum" {
					of, attrs.Values = append(of, b.input("slot", ir.BFloat16, c.rows, 130)), []float64{0.9}
				}
				out, err := b.p.Add("", ir.OptimizerUpdate, attrs, of...)
				require.NoError(t, err)
				for _, v := range out {
					b.p.AddOutput("", v)
				}
				if c.read {
					b.p.AddOutput("gradient", g)
				}
				q, err := pass.DecomposeHalfUpdates(ir.DType.IsHalf).Run(b.p)
				require.NoError(t, err)
				q, err = pass.Simplify(pass.SimplifyOptions{}).Run(q)
				require.NoError(t, err)
				products := 0
				for _, n := range q.Nodes {
					if n.Op == ir.Dot {
						products++
					}
				}
				require.Equal(t, c.joins, products == 0, "%+v\n%v", c, q)
				in := inputsOf(t, b.p)
				want, err := reference.Interpreter{}.Run(b.p, in)
				require.NoError(t, err)
				got, err := reference.Interpreter{}.Run(q, in)
				require.NoError(t, err)
				for i := range want {
					require.Equal(t, want[i].Type, got[i].Type)
					require.InDeltaSlice(t, want[i].F, got[i].F, 0.1)
				}
			}
		}
	}
}
