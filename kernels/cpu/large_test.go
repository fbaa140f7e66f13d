package cpu_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestLargeShapes compares programs whose loops are cut into many blocks, chunks and segments with the reference. The
// shapes of the conformance suite fit into one.
func TestLargeShapes(t *testing.T) {
	f := ir.Float32
	reduce := func(kind ir.Kind, axes ...int) func(g tape, x ir.Value) ir.Value {
		return func(g tape, x ir.Value) ir.Value { return g.op(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: axes}, x) }
	}
	one := func(r func(g tape, x ir.Value) ir.Value, shape ...int) func(g tape) {
		return func(g tape) { g.p.AddOutput("y", r(g, g.input("x", f, shape...))) }
	}
	pool := ir.PoolAttrs{Window: []int{2, 2}, Strides: []int{2, 2}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}}
	overlapping := ir.PoolAttrs{Window: []int{3, 2}, Strides: []int{2, 1}, PadLow: []int{1, 0}, PadHigh: []int{1, 1}}
	cases := map[string]func(g tape){
		"sum of everything":        one(reduce(ir.Sum, 0, 1), 317, 501),
		"sum over rows":            one(reduce(ir.Sum, 0), 40001, 3),
		"sum over rows, wide":      one(reduce(ir.Sum, 0), 301, 700),
		"sum over columns":         one(reduce(ir.Sum, 1), 3, 70001),
		"sum over the middle":      one(reduce(ir.Sum, 1), 2, 20001, 5),
		"sum over the ends":        one(reduce(ir.Sum, 0, 2), 50, 40, 90),
		"max over rows":            one(reduce(ir.Max, 0), 40001, 3),
		"max over rows, very wide": one(reduce(ir.Max, 0), 100, 1300),
		"min of everything":        one(reduce(ir.Min, 0), 200003),
		"product over rows":        one(reduce(ir.Prod, 0), 9, 30001),
		"transpose":                one(func(g tape, x ir.Value) ir.Value { return g.op(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, x) }, 301, 517),
		"softmax":                  one(func(g tape, x ir.Value) ir.Value { return g.op(ir.Softmax, nil, x) }, 3001, 37),
		"running sum over rows":    one(func(g tape, x ir.Value) ir.Value { return g.op(ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Max}, x) }, 70, 1001),
		"concatenation and a window": one(func(g tape, x ir.Value) ir.Value {
			return g.op(ir.Slice, ir.SliceAttrs{Start: []int{5, 3}, Limit: []int{600, 290}, Stride: []int{2, 1}}, g.op(ir.Concat, ir.AxisAttrs{}, x, x))
		}, 303, 301),
		"sums with their producers": func(g tape) {
			x, y := g.input("x", f, 5003, 33), g.input("y", f, 5003, 33)
			d := g.reluGrad(x, y)
			g.p.AddOutput("rows", g.sumLeading(d))
			g.p.AddOutput("all", reduce(ir.Sum, 0, 1)(g, g.op(ir.Mul, nil, d, d)))
			g.p.AddOutput("columns", reduce(ir.Max, 1)(g, g.op(ir.Mul, nil, x, y)))
		},
		"batch norm": func(g tape) {
			x, dy, s, b := g.input("x", f, 2003, 9, 5), g.input("dy", f, 2003, 9, 5), g.input("s", f, 5), g.input("b", f, 5)
			out := g.ops(ir.BatchNorm, ir.NormAttrs{Epsilon: 1e-3}, x, s, b)
			for _, v := range append(out, g.ops(ir.BatchNormGrad, ir.NormAttrs{Epsilon: 1e-3}, x, s, out[1], out[2], dy)...) {
				g.p.AddOutput("", v)
			}
		},
		"batch norm of many channels": func(g tape) {
			x, s, b := g.input("x", f, 70, 1500), g.input("s", f, 1500), g.input("b", f, 1500)
			out := g.ops(ir.BatchNorm, ir.NormAttrs{Epsilon: 1e-3}, x, s, b)
			for _, v := range append(out, g.ops(ir.BatchNormGrad, ir.NormAttrs{Epsilon: 1e-3}, x, s, out[1], out[2], x)...) {
				g.p.AddOutput("", v)
			}
		},
		"layer norm": func(g tape) {
			x, dy, s, b := g.input("x", f, 3001, 40), g.input("dy", f, 3001, 40), g.input("s", f, 40), g.input("b", f, 40)
			out := g.ops(ir.LayerNorm, ir.NormAttrs{Epsilon: 1e-3}, x, s, b)
			for _, v := range append(out, g.ops(ir.LayerNormGrad, ir.NormAttrs{Epsilon: 1e-3}, x, s, out[1], out[2], dy)...) {
				g.p.AddOutput("", v)
			}
		},
		"gradient through pooling, relu and bias": func(g tape) {
			x, dy := g.op(ir.Relu, nil, g.input("c", f, 70, 12, 9, 8)), g.input("dy", f, 70, 6, 4, 8)
			y := g.op(ir.MaxPool, pool, x)
			d := g.reluGrad(x, g.op(ir.MaxPoolGrad, pool, x, y, dy))
			g.p.AddOutput("d", d)
			g.p.AddOutput("bias", g.sumLeading(d))
		},
		"overlapping pooling": func(g tape) {
			x := g.input("x", f, 33, 20, 21, 7)
			y := g.op(ir.MaxPool, overlapping, x)
			z := g.op(ir.AvgPool, overlapping, x)
			g.p.AddOutput("y", y)
			g.p.AddOutput("z", z)
			g.p.AddOutput("dy", g.op(ir.MaxPoolGrad, overlapping, x, y, z))
			g.p.AddOutput("dz", g.op(ir.AvgPoolGrad, ir.PoolGradAttrs{Pool: overlapping, Shape: g.shape(x)}, y))
		},
		"embedding and its gradient": func(g tape) {
			table, i := g.input("t", f, 10, 70), g.input("i", ir.Int32, 40, 50)
			y := g.op(ir.Embedding, nil, table, i)
			g.p.AddOutput("y", y)
			g.p.AddOutput("dt", g.op(ir.EmbeddingGrad, nil, table, i, y))
		},
		"dropout and sort": func(g tape) {
			x := g.input("x", f, 300, 301)
			g.p.AddOutput("d", g.op(ir.Dropout, ir.DropoutAttrs{Rate: 0.3, Stream: 7}, x, g.input("state", ir.Uint32, 4)))
			for _, v := range append(g.ops(ir.Sort, ir.SortAttrs{Axis: 0, Descending: true}, x), g.ops(ir.TopK, ir.TopKAttrs{K: 20}, x)...) {
				g.p.AddOutput("", v)
			}
		},
	}
	for name, write := range cases {
		t.Run(name, func(t *testing.T) {
			g := tape{ir.New(name)}
			write(g)
			r := rand.New(rand.NewPCG(9, 9))
			var inputs []reference.Value
			for _, in := range g.p.Inputs {
				typ := g.p.Type(in.Value)
				values := make([]float64, typ.Shape.Size())
				for i := range values {
					values[i] = r.NormFloat64()
					if typ.DType.IsInteger() {
						values[i] = float64(r.IntN(10))
					}
				}
				v, err := reference.New(typ.DType, typ.Shape, values...)
				require.NoError(t, err)
				inputs = append(inputs, v)
			}
			want, err := reference.Run(g.p, inputs)
			require.NoError(t, err)
			got, _ := runAliased(t, g.p, true, inputs...)
			for i := range want {
				assert.NoError(t, kernelstest.Compare(got[i], want[i], 1<<10, true), "output %d", i)
			}
		})
	}
}
