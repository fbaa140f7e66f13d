package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestEmptyViews: slices of values without elements, as in replicas whose part of the batch is empty, begin where the
// value does. Otherwise Go aborts the program if it finds the invalid address on a stack that it copies. Goroutines
// whose stacks are filled to all heights cause copies everywhere.
func TestEmptyViews(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for try := range 300 {
		d := []ir.DType{ir.Float32, ir.Float64, ir.BFloat16, ir.Int32}[r.IntN(4)]
		shape := make(ir.Shape, 1+r.IntN(4))
		for i := range shape {
			shape[i] = 1 + r.IntN(5)
		}
		empty := r.IntN(1 + r.IntN(len(shape)))
		shape[empty] = 0
		p := ir.New(fmt.Sprint("empty", try))
		x := p.AddInput("x", ir.Type{DType: d, Shape: shape})
		add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
			out, err := p.Add("", op, a, in...)
			require.NoError(t, err)
			return out[0]
		}
		cut := ir.SliceAttrs{}
		for _, n := range shape {
			start := r.IntN(n + 1)
			cut.Start, cut.Limit, cut.Stride = append(cut.Start, start), append(cut.Limit, start+r.IntN(n-start+1)), append(cut.Stride, 1)
		}
		y := x
		if r.IntN(2) == 0 {
			y = add(ir.Neg, nil, y)
		}
		y = add(ir.Slice, cut, y)
		if r.IntN(2) == 0 {
			y = add(ir.Mul, nil, y, y)
		}
		if r.IntN(4) > 0 {
			y = add(ir.Reduce, ir.ReduceAttrs{Kind: []ir.Kind{ir.Sum, ir.Max}[r.IntN(2)], Axes: []int{empty}}, y)
		}
		p.AddOutput("y", y)
		l, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, r.IntN(2) == 0)
		require.NoError(t, err)
		var buffers [2]kernels.Buffer
		for i, v := range []ir.Value{x, y} {
			buffers[i], err = Backend{}.NewBuffer(testDevice, p.Type(v))
			require.NoError(t, err)
		}
		for height := range 50 {
			failed := make(chan error)
			go func() {
				failed <- higher(height, func() error { return l.Run(t.Context(), buffers[:1], buffers[1:]) })
			}()
			require.NoError(t, <-failed)
		}
	}
}

//go:noinline
func higher(height int, f func() error) error {
	var stack [16]uint64
	if height == 0 {
		return f()
	}
	stack[height%len(stack)] = 1
	err := higher(height-1, f)
	if stack[(height+1)%len(stack)] != 0 {
		panic("the stack was written")
	}
	return err
}
