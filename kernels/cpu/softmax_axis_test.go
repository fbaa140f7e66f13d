package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestSoftmaxAlongAxes compares softmaxes, their logarithms and the gradients of both, along random axes, with the bits
// of the same operation between separate transposes. Either side may be transposed, results may have other readers, and
// rows have all lengths.
func TestSoftmaxAlongAxes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 9))
	defer byStrips.Without()()
	before, after := 0, 0 // transposes that are part of a softmax
	for try := range 140 {
		d := []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.BFloat16, ir.Float16}[r.IntN(5)]
		op := []ir.Op{ir.Softmax, ir.SoftmaxGrad, ir.LogSoftmax, ir.LogSoftmaxGrad}[r.IntN(4)]
		shape := ir.Shape{}
		for range 2 + r.IntN(3) {
			shape = append(shape, []int{1, 2, 3, 7, 9, 17, 40}[r.IntN(7)])
		}
		if axis := r.IntN(len(shape)); shape.Size()/shape[axis] < 400 {
			shape[axis] = []int{2, 3, 21, 33, 70, 300}[r.IntN(6)]
		}
		axis, last := r.IntN(len(shape)-1), len(shape)-1
		rows := slices.Concat(shape[:axis], shape[axis+1:], shape[axis:axis+1])
		there, back := make([]int, 0, last), make([]int, 0, last)
		for k := range shape {
			if k != axis {
				there = append(there, k)
			}
		}
		there = append(there, axis)
		for k := range shape {
			switch {
			case k < axis:
				back = append(back, k)
			case k == axis:
				back = append(back, last)
			default:
				back = append(back, k-1)
			}
		}
		p := ir.New(fmt.Sprint("softmax", try))
		add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
			v, err := p.Add("", op, a, in...)
			require.NoError(t, err)
			return v[0]
		}
		var inputs []reference.Value
		operand := func() ir.Value {
			s := shape
			moved := r.IntN(4) > 0
			if !moved {
				s = rows
			}
			values := make([]float64, s.Size())
			for i := range values {
				values[i] = r.NormFloat64()
			}
			v, err := reference.New(d, s, values...)
			require.NoError(t, err)
			inputs = append(inputs, v)
			x := p.AddInput(fmt.Sprint("in", len(inputs)), v.Type)
			if moved {
				x = add(ir.Transpose, ir.TransposeAttrs{Perm: there}, x)
			}
			if r.IntN(8) == 0 {
				p.AddOutput("operand", x)
			}
			return x
		}
		in := []ir.Value{operand()}
		if op == ir.SoftmaxGrad || op == ir.LogSoftmaxGrad {
			in = append(in, operand())
		}
		y := add(op, nil, in...)
		if r.IntN(4) > 0 {
			p.AddOutput("y", add(ir.Transpose, ir.TransposeAttrs{Perm: back}, y))
		}
		if len(p.Outputs) == 0 || p.Outputs[len(p.Outputs)-1].Name != "y" || r.IntN(6) == 0 {
			p.AddOutput("rows", y)
		}
		for _, u := range fuse.Build(p, fuse.Options{}).Units {
			if e := u.Fused; e != nil && e.Result != p.Nodes[e.Anchor].Outputs[0] {
				before, after = before+len(u.Nodes)-2, after+1
			} else if e != nil {
				before += len(u.Nodes) - 1
			}
		}
		got, want := runOnce(t, p, inputs, false), runOnce(t, p, inputs, true)
		shared := runWith(t, p, inputs, 3)
		for i := range want {
			if err := kernelstest.Compare(got[i], want[i], 0, true); err != nil {
				t.Fatalf("output %d: %v\n%v", i, err, p)
			}
			require.Equal(t, got[i].Bytes(), shared[i], "three workers: output %d\n%v", i, p)
		}
	}
	require.Greater(t, before, 60)
	require.Greater(t, after, 30)
}

// TestSoftmaxStrips compares softmaxes, their logarithms and the gradients of both along an axis before many contiguous
// elements, where they are computed in strips, with the same in float64. Results may be outputs beside the gradient,
// which reads them then, and the bits must not depend on the number of workers.
func TestSoftmaxStrips(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 10))
	for try := range 60 {
		d := []ir.DType{ir.Float32, ir.Float64, ir.BFloat16, ir.Float16}[r.IntN(4)]
		n, inner := []int{16, 17, 33, 64, 70, 90, 100, 256}[r.IntN(8)], []int{128, 131, 192, 300}[r.IntN(4)]
		op, grad := ir.Softmax, ir.SoftmaxGrad
		if try%2 == 1 {
			op, grad = ir.LogSoftmax, ir.LogSoftmaxGrad
		}
		p := ir.New(fmt.Sprint("strips", try))
		add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
			v, err := p.Add("", op, a, in...)
			require.NoError(t, err)
			return v[0]
		}
		var inputs []reference.Value
		operand := func() ir.Value {
			shape := ir.Shape{1 + r.IntN(2), n, inner}
			if len(inputs) > 0 {
				shape = inputs[0].Type.Shape
			}
			values := make([]float64, shape.Size())
			for i := range values {
				values[i] = 3 * r.NormFloat64()
			}
			v, err := reference.New(d, shape, values...)
			require.NoError(t, err)
			inputs = append(inputs, v)
			return add(ir.Transpose, ir.TransposeAttrs{Perm: []int{0, 2, 1}}, p.AddInput(fmt.Sprint("in", len(inputs)), v.Type))
		}
		back := func(v ir.Value) ir.Value { return add(ir.Transpose, ir.TransposeAttrs{Perm: []int{0, 2, 1}}, v) }
		y := add(op, nil, operand())
		first := r.IntN(3)
		if first == 0 {
			p.AddOutput("y", back(y))
		}
		if try%4 >= 2 || first > 0 {
			p.AddOutput("dx", back(add(grad, nil, y, operand())))
		}
		if first == 1 {
			p.AddOutput("y", back(y))
		}
		got := runOnce(t, p, inputs, false)
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		shared := runWith(t, p, inputs, 3)
		for i := range want {
			if err := kernelstest.Compare(got[i], want[i], 24, true); err != nil {
				t.Fatalf("output %d: %v\n%v", i, err, p)
			}
			require.Equal(t, got[i].Bytes(), shared[i], "three workers: output %d\n%v", i, p)
		}
	}
}

// TestSoftmaxBetweenTransposes puts softmaxes between all pairs of transposes of four axes of the same length. Most of
// these do not become part of the softmax.
func TestSoftmaxBetweenTransposes(t *testing.T) {
	var perms [][]int
	for k := range 256 {
		if p := []int{k % 4, k / 4 % 4, k / 16 % 4, k / 64}; len(slices.Compact(slices.Sorted(slices.Values(p)))) == 4 {
			perms = append(perms, p)
		}
	}
	r := rand.New(rand.NewPCG(3, 1))
	shape := ir.Shape{4, 4, 4, 4}
	values := make([]float64, shape.Size())
	for i := range values {
		values[i] = r.NormFloat64()
	}
	v, err := reference.New(ir.Float32, shape, values...)
	require.NoError(t, err)
	for pair := range len(perms) * len(perms) {
		there, back := perms[pair/len(perms)], perms[pair%len(perms)]
		p := ir.New(fmt.Sprint("softmax", there, back))
		x, err := p.Add("", ir.Transpose, ir.TransposeAttrs{Perm: there}, p.AddInput("x", v.Type))
		require.NoError(t, err)
		y, err := p.Add("", ir.Softmax, nil, x...)
		require.NoError(t, err)
		z, err := p.Add("", ir.Transpose, ir.TransposeAttrs{Perm: back}, y...)
		require.NoError(t, err)
		p.AddOutput("z", z[0])
		in := []reference.Value{v}
		require.NoError(t, kernelstest.Compare(runOnce(t, p, in, false)[0], runOnce(t, p, in, true)[0], 0, true), "%v", p)
	}
}
