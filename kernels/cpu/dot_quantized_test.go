package cpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// bytesOf returns int8 from the whole range.
func bytesOf(n int) []byte {
	r := rand.New(rand.NewPCG(uint64(n), 5))
	x := make([]byte, n)
	for i := range x {
		x[i] = byte(r.IntN(256))
	}
	return x
}

// TestProductsOfInt8 multiplies int8 that the program converts to int32, which the backend does not do. It compares
// with sums in 64 bits: plain and transposed matrices, batches, weights that are kept in panels, and weights that have
// changed.
func TestProductsOfInt8(t *testing.T) {
	for _, c := range []struct {
		x, w       ir.Shape
		attrs      ir.DotAttrs
		batch      int
		transposed bool
	}{
		{x: ir.Shape{1, 75}, w: ir.Shape{75, 130}, attrs: ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}},
		{x: ir.Shape{9, 75}, w: ir.Shape{130, 75}, attrs: ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{1}}, transposed: true},
		{x: ir.Shape{3, 5, 33}, w: ir.Shape{3, 33, 70}, attrs: ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{2}, RhsContract: []int{1}}, batch: 3},
	} {
		p := ir.New("")
		x := p.AddInput("x", ir.Type{DType: ir.Int8, Shape: c.x})
		w := p.AddInput("w", ir.Type{DType: ir.Int8, Shape: c.w})
		wide := func(v ir.Value) ir.Value {
			out, err := p.Add("", ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, v)
			require.NoError(t, err)
			return out[0]
		}
		y, err := p.Add("", ir.Dot, c.attrs, wide(x), wide(w))
		require.NoError(t, err)
		p.AddOutput("y", y[0])
		normal, err := pipelineFor(1).normal.Run(p)
		require.NoError(t, err)
		require.False(t, slices.ContainsFunc(normal.Nodes, func(n ir.Node) bool { return n.Op == ir.Dot && n.Attrs.(ir.DotAttrs).Sums != ir.Int32 }), "the product reads int8")
		e, err := Backend{}.load(p, kernels.CompileOptions{Device: here}, false)
		require.NoError(t, err)
		xs, ws, ys := newBuffer(here, p.Type(x)), newBuffer(here, p.Type(w)), newBuffer(here, p.Type(y[0]))
		require.NoError(t, xs.Write(bytesOf(c.x.Size())))
		for change := range 2 {
			weights := bytesOf(c.w.Size())
			slices.Reverse(weights[:change*len(weights)])
			require.NoError(t, ws.Write(weights))
			batch := max(c.batch, 1)
			k := c.x[len(c.x)-1]
			m, n := c.x.Size()/k/batch, c.w.Size()/k/batch
			for run := range 3 {
				require.NoError(t, e.Run(context.Background(), []kernels.Buffer{xs, ws}, []kernels.Buffer{ys}))
				out := make([]byte, len(ys.data))
				require.NoError(t, ys.Read(out))
				for i := range batch * m * n {
					b, row, col := i/(m*n), i/n%m, i%n
					sum := int64(0)
					for l := range k {
						at := (b*k+l)*n + col
						if c.transposed {
							at = (b*n+col)*k + l
						}
						sum += int64(int8(xs.data[(b*m+row)*k+l])) * int64(int8(weights[at]))
					}
					require.Equal(t, int32(sum), int32(binary.LittleEndian.Uint32(out[4*i:])), fmt.Sprint(c.x, c.w, " run ", run, " at ", i))
				}
			}
		}
	}
}
