package pass_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

var update = flag.Bool("update", false, "write testdata")

// b adds nodes.
type b struct {
	t *testing.T
	p *ir.Program
}

func (b b) add(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
	b.t.Helper()
	out, err := b.p.Add("layer", op, attrs, in...)
	require.NoError(b.t, err)
	return out[0]
}

func (b b) input(name string, d ir.DType, shape ...int) ir.Value {
	return b.p.AddInput(name, ir.Type{DType: d, Shape: shape})
}

func (b b) splat(v float64, shape ...int) ir.Value {
	return b.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Float32, v, shape...)})
}

// goldens are programs in which each pass finds what it looks for.
var goldens = map[string]struct {
	passes []pass.Pass
	make   func(b b)
}{
	"simplify": {[]pass.Pass{pass.Simplify(pass.SimplifyOptions{})}, func(b b) {
		x := b.input("x", ir.Float32, 4, 6)
		b.add(ir.Exp, nil, x) // nobody needs it
		one := b.splat(1, 4, 6)
		two := b.add(ir.Add, nil, one, one)
		y := b.add(ir.Mul, nil, b.add(ir.Mul, nil, x, one), two)
		turn := ir.TransposeAttrs{Perm: []int{1, 0}}
		back := b.add(ir.Transpose, turn, b.add(ir.Transpose, turn, y))
		z := b.add(ir.Add, nil, b.add(ir.Tanh, nil, back), b.add(ir.Tanh, nil, y)) // the same twice
		b.p.AddOutput("z", b.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{24}}, b.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{2, 12}}, z)))
	}},
	"pad_convolutions": {[]pass.Pass{pass.PadConvolutions(), pass.Simplify(pass.SimplifyOptions{})}, func(b b) {
		x, kernel := b.input("x", ir.Float32, 2, 5, 6, 3), b.input("kernel", ir.Float32, 3, 3, 3, 4)
		around := func(value float64, low, high []int) ir.Value {
			return b.add(ir.Pad, ir.PadAttrs{Low: low, High: high, Interior: []int{0, 0, 0, 0}}, x, b.splat(value))
		}
		zeros := around(0, []int{0, 1, 0, 0}, []int{0, 1, 2, 0})
		conv := ir.ConvAttrs{Strides: []int{2, 2}, Dilation: []int{1, 1}, PadLow: []int{0, 1}, PadHigh: []int{0, 0}, Groups: 1}
		b.p.AddOutput("y", b.add(ir.Conv, conv, zeros, kernel))
		b.p.AddOutput("padded", zeros) // which somebody else reads
		b.p.AddOutput("ones", b.add(ir.Conv, conv, around(1, []int{0, 1, 0, 0}, []int{0, 1, 2, 0}), kernel))
		b.p.AddOutput("images", b.add(ir.Conv, conv, around(0, []int{1, 1, 0, 0}, []int{0, 1, 2, 0}), kernel))
	}},
	"drop_barriers": {[]pass.Pass{pass.Simplify(pass.SimplifyOptions{}), pass.DropBarriers()}, func(b b) {
		x, dy := b.input("x", ir.Float32, 4), b.input("dy", ir.Float32, 4)
		kept := b.add(ir.Exp, nil, x)
		again := b.add(ir.Exp, nil, b.add(ir.Barrier, nil, x, b.add(ir.Neg, nil, dy))) // not the same node
		b.p.AddOutput("kept", b.add(ir.Mul, nil, kept, b.add(ir.Exp, nil, x)))         // the same node
		b.p.AddOutput("again", b.add(ir.Mul, nil, again, dy))
		b.p.AddOutput("barrier", b.add(ir.Barrier, nil, dy, x))
	}},
	"gate_updates": {[]pass.Pass{pass.GateUpdates(), pass.Simplify(pass.SimplifyOptions{})}, func(b b) {
		w, m, g := b.input("w", ir.Float32, 4, 6), b.input("m", ir.Float32, 4, 6), b.input("g", ir.Float16, 4, 6)
		rate, step, scale := b.input("rate", ir.Float32), b.input("step", ir.Float32), b.input("scale", ir.Float32)
		along := func(v ir.Value) ir.Value {
			return b.add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{4, 6}, Axes: []int{}}, v)
		}
		wide := b.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, g)
		finite := b.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.And, Axes: []int{0, 1}}, b.add(ir.IsFinite, nil, wide))
		decayed := b.add(ir.Mul, nil, w, along(rate))
		out, err := b.p.Add("layer", ir.OptimizerUpdate, ir.OptimizerAttrs{Rule: "momentum", Values: []float64{0.9}}, decayed, b.add(ir.Div, nil, wide, along(scale)), rate, step, m)
		require.NoError(b.t, err)
		for i, old := range []ir.Value{w, m} {
			b.p.AddAlias("", b.add(ir.Select, nil, along(finite), out[i], old), i)
		}
	}},
	"fold_scales": {[]pass.Pass{pass.FoldScales(), pass.Simplify(pass.SimplifyOptions{})}, func(b b) {
		x, depthwise, matrix := b.input("x", ir.Float32, 2, 5, 6, 4), b.input("depthwise", ir.Float32, 3, 3, 4, 1), b.input("matrix", ir.Float32, 4, 8)
		scale, shift, eight := b.input("scale", ir.Float32, 4), b.input("shift", ir.Float32, 4), b.input("eight", ir.Float32, 8)
		per := func(v ir.Value, n int) ir.Value {
			return b.add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{2, 3, 4, n}, Axes: []int{3}}, v)
		}
		conv := ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}, Groups: 4}
		y := b.add(ir.Conv, conv, x, b.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{3, 3, 1, 4}}, depthwise))
		y = b.add(ir.Relu, nil, b.add(ir.Add, nil, b.add(ir.Mul, nil, b.add(ir.Add, nil, y, per(shift, 4)), per(scale, 4)), per(shift, 4)))
		z := b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{3}, RhsContract: []int{0}}, y, matrix)
		z = b.add(ir.Div, nil, b.add(ir.Sub, nil, b.splat(2, 2, 3, 4, 8), z), per(eight, 8))
		b.p.AddOutput("z", b.add(ir.Mul, nil, z, per(eight, 8)))
		one := b.input("one", ir.Float32, 1, 5, 6, 4) // an example's numbers
		gate := b.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{1, 2}}, one)
		gated := b.add(ir.Conv, ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}, Groups: 1}, one, b.input("k", ir.Float32, 1, 1, 4, 4))
		b.p.AddOutput("gated", b.add(ir.Mul, nil, gated, b.add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{1, 5, 6, 4}, Axes: []int{0, 3}}, gate)))
	}},
	"sum_first": {[]pass.Pass{pass.SumFirst(), pass.Simplify(pass.SimplifyOptions{})}, func(b b) {
		x, residual := b.input("x", ir.Float32, 2, 5, 16), b.input("residual", ir.Float32, 2, 5, 8)
		matrix, bias := b.input("matrix", ir.Float32, 16, 8), b.input("bias", ir.Float32, 8)
		sum := func(v ir.Value, axes ...int) ir.Value {
			return b.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: axes}, v)
		}
		dot := func() ir.Value {
			return b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{2}, RhsContract: []int{0}}, x, matrix)
		}
		biased := func() ir.Value {
			return b.add(ir.Add, nil, dot(), b.add(ir.Broadcast, ir.BroadcastAttrs{Shape: ir.Shape{2, 5, 8}, Axes: []int{2}}, bias))
		}
		b.p.AddOutput("y", sum(b.add(ir.Add, nil, residual, biased()), 1))
		turned := b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, b.input("turned", ir.Float32, 16, 5, 3), matrix)
		b.p.AddOutput("rows", sum(turned, 0)) // of which the contracted axis moves
		images, kernel := b.input("images", ir.Float32, 2, 4, 6, 3), b.input("kernel", ir.Float32, 1, 1, 3, 8)
		pixels := func(strides int) ir.Value {
			return b.add(ir.Conv, ir.ConvAttrs{Strides: []int{strides, strides}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}, Groups: 1}, images, kernel)
		}
		b.p.AddOutput("pixels", sum(pixels(1), 1, 2))
		b.p.AddOutput("strided", sum(pixels(2), 1, 2)) // some pixels alone
		b.p.AddOutput("columns", sum(dot(), 2))        // not of rows
		activated := b.add(ir.Add, nil, b.add(ir.Relu, nil, biased()), residual)
		b.p.AddOutput("activated", sum(activated, 1)) // not linear
		b.p.AddOutput("largest", b.add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{1}}, dot()))
	}},
	"simplify_products": {[]pass.Pass{pass.Simplify(pass.SimplifyOptions{Int8Sums: true})}, func(b b) {
		x, w := b.input("x", ir.Float32, 4, 6), b.input("w", ir.Float32, 3, 6)
		turned := b.add(ir.Transpose, ir.TransposeAttrs{Perm: []int{1, 0}}, w)
		b.p.AddOutput("y", b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, turned))
		wide := func(name string) ir.Value {
			return b.add(ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, b.input(name, ir.Int8, 5, 5))
		}
		b.p.AddOutput("sums", b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, wide("a"), wide("b")))
	}},
	"simplify_one_replica": {[]pass.Pass{pass.Simplify(pass.SimplifyOptions{Replicas: 1})}, func(b b) {
		x := b.input("x", ir.Float32, 4)
		b.p.AddOutput("y", b.add(ir.Neg, nil, b.add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 1}, x)))
	}},
	"decompose": {[]pass.Pass{pass.Decompose(func(op ir.Op) bool { return !op.IsComposite() }, nil)}, func(b b) {
		x, w := b.input("x", ir.Float16, 4, 6), b.input("w", ir.Float16, 6, 3)
		b.p.AddOutput("y", b.add(ir.Softmax, nil, b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, w)))
	}},
	"merge_all_reduces": {[]pass.Pass{pass.MergeAllReduces()}, func(b b) {
		sum := func(bucket int, x ir.Value) ir.Value {
			return b.add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2, Bucket: bucket}, x)
		}
		x, y, z := b.input("x", ir.Float32, 3), b.input("y", ir.Float32, 4), b.input("z", ir.Float32, 5)
		first := sum(1, x)
		b.p.AddOutput("y", sum(1, b.add(ir.Neg, nil, y)))
		b.p.AddOutput("z", sum(2, z))
		b.p.AddOutput("x", first)
		b.p.AddOutput("again", sum(1, first)) // needs what comes out of the bucket
	}},
	"schedule_updates": {[]pass.Pass{pass.ScheduleUpdates()}, func(b b) {
		x, v, w, n := b.input("x", ir.Float32, 4, 4), b.input("v", ir.Float32, 4, 4), b.input("w", ir.Float32, 4, 4), b.input("n", ir.Int32)
		product := func(x, y ir.Value) ir.Value {
			return b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, y)
		}
		one := b.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, 1)})
		b.p.AddAlias("n", b.add(ir.Add, nil, n, one), 3) // waits for the check
		checked := b.add(ir.CheckFinite, ir.CheckFiniteAttrs{}, x)
		dv := product(checked, x)
		dw := product(dv, v)                                                   // the last reader of v
		b.p.AddOutput("y", product(dw, x))                                     // needs no update
		b.p.AddAlias("w", b.add(ir.Sub, nil, w, dw), 2)                        // follows its gradient
		b.p.AddAlias("v", b.add(ir.Sub, nil, v, b.add(ir.Mul, nil, dv, v)), 1) // follows the last reader of v
	}},
	"recompute": {[]pass.Pass{pass.RecomputeCheap()}, func(b b) {
		x, w := b.input("x", ir.Float32, 256, 256), b.input("w", ir.Float32, 256, 256)
		product := func(v ir.Value) ir.Value {
			return b.add(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, v, w)
		}
		half, triple := b.add(ir.Mul, nil, x, b.splat(0.5, 256, 256)), b.add(ir.Mul, nil, x, b.splat(3, 256, 256))
		y := product(b.add(ir.Exp, nil, b.add(ir.Sub, nil, half, triple)))
		b.p.AddOutput("z", product(b.add(ir.Mul, nil, b.add(ir.Mul, nil, y, half), triple)))
	}},
}

// TestTexts shows what each pass makes of a small program. Where a change is meant: go test ./kernels/ir/pass -update,
// and look at the difference.
func TestTexts(t *testing.T) {
	for name, c := range goldens {
		t.Run(name, func(t *testing.T) {
			p := ir.New(name)
			c.make(b{t, p})
			require.NoError(t, p.Verify())
			before := p.String()
			q, err := pass.Run(p, nil, c.passes...)
			require.NoError(t, err)
			require.NoError(t, q.Verify())
			require.Equal(t, before, p.String(), "passes leave programs as they are")
			require.NotEqual(t, before, q.String(), "the pass finds something")
			text := fmt.Sprintf("%s\nbecomes\n\n%s", before, q)
			file := filepath.Join("testdata", name+".txt")
			if *update {
				require.NoError(t, os.MkdirAll("testdata", 0o755))
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, strings.TrimSpace(string(want)), strings.TrimSpace(text))
		})
	}
}
