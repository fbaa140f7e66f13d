package cpu

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestGatherRows copies rows of all short lengths among other bytes, which must not change.
func TestGatherRows(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for row := 1; row < 140; row++ {
		const rows, count = 5, 9
		x := make([]byte, rows*row)
		for i := range x {
			x[i] = byte(r.IntN(256))
		}
		at, want := make([]int64, count), bytes.Repeat([]byte{0xa5}, count*row+32)
		for i := range at {
			dst := want[16+i*row:][:row]
			if at[i] = int64(r.IntN(rows+1)) - 1; at[i] == dropped {
				clear(dst)
				continue
			}
			copy(dst, x[int(at[i])*row:])
		}
		y := bytes.Repeat([]byte{0xa5}, count*row+32)
		gatherRows(y[16:16+count*row], x, at, row)
		require.Equal(t, want, y, "rows of %d bytes", row)
	}
}

// TestGatherFewRows gathers a few short rows of each of many lines, some of which are dropped, on one and three
// workers.
func TestGatherFewRows(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 4))
	for range 150 {
		outer, length, inner, count := 1+r.IntN(300), 1+r.IntN(6), 2+r.IntN(60), 1+r.IntN(16)
		d := []ir.DType{ir.Int8, ir.Int16, ir.Float32}[r.IntN(3)]
		g := graphBuilder{t, ir.New("few")}
		x := g.p.AddInput("x", ir.Type{DType: d, Shape: ir.Shape{outer, length, inner}})
		at := g.p.AddInput("at", ir.Type{DType: ir.Int64, Shape: ir.Shape{count}})
		g.p.AddOutput("", g.one(ir.Gather, ir.GatherAttrs{Axis: 1, Mode: ir.IndexDrop}, x, at))
		xs, positions, want := make([]float64, outer*length*inner), make([]float64, count), make([]float64, outer*count*inner)
		for i := range xs {
			xs[i] = float64(r.IntN(100))
		}
		for i := range positions {
			positions[i] = float64(r.IntN(length+1) - 1) // -1 is dropped
		}
		for i := range want {
			o, p := i/inner/count, int(positions[i/inner%count])
			if p >= 0 {
				want[i] = xs[(o*length+p)*inner+i%inner]
			}
		}
		vx, err := reference.New(d, ir.Shape{outer, length, inner}, xs...)
		require.NoError(t, err)
		vat, err := reference.New(ir.Int64, ir.Shape{count}, positions...)
		require.NoError(t, err)
		wanted, err := reference.New(d, ir.Shape{outer, count, inner}, want...)
		require.NoError(t, err)
		for _, workers := range []int{1, 3} {
			require.Equal(t, wanted.Bytes(), runWith(t, g.p, []reference.Value{vx, vat}, workers)[0], "%d lines of %d rows of %d %v, at %v, %d workers", outer, length, inner, d, positions, workers)
		}
	}
}
