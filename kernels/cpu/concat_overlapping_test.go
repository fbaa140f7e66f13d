package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Concatenations of rows of one sequence, each beginning some rows after the previous one, are windows of it. If the
// distance is one row, they overlap and become one copy.
func TestConcatenatedWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(30, 12))
	for range 200 {
		d := []ir.DType{ir.Uint8, ir.Float32, ir.Float64}[r.IntN(3)]
		count, parts, width, distance := 1+r.IntN(200), 2+r.IntN(20), 1+r.IntN(5), 1+r.IntN(8)/6
		steps := count + (parts-1)*distance + r.IntN(2)
		p := ir.New("windows")
		numbers := make([]float64, steps*width)
		for i := range numbers {
			numbers[i] = float64(i % 251)
		}
		x, err := reference.New(d, ir.Shape{steps, width}, numbers...)
		require.NoError(t, err)
		in := p.AddInput("x", x.Type)
		var rows []ir.Value
		for i := range parts {
			at := i * distance
			cut, err := p.Add("", ir.Slice, ir.SliceAttrs{Start: []int{at, 0}, Limit: []int{at + count, width}, Stride: []int{1, 1}}, in)
			require.NoError(t, err)
			rows = append(rows, cut[0])
		}
		y, err := p.Add("", ir.Concat, ir.AxisAttrs{Axis: 1}, rows...)
		require.NoError(t, err)
		p.AddOutput("", y[0])
		want := make([]float64, 0, count*parts*width)
		for row := range count {
			for i := range parts {
				at := (row + i*distance) * width
				want = append(want, numbers[at:at+width]...)
			}
		}
		name := fmt.Sprintf("%v: %d windows of %d steps of %d, %d apart", d, count, parts, width, distance)
		wanted, err := reference.New(d, ir.Shape{count, parts * width}, want...)
		require.NoError(t, err)
		require.Equal(t, wanted.Bytes(), runOnce(t, p, []reference.Value{x}, false)[0].Bytes(), name)
	}
}

// Concatenations of slices of one element along the axis, at equal distances and at others, forwards and backwards, are
// windows as they are cut from each row.
func TestConcatenatedSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 12))
	for range 200 {
		rows, length, count := 1+r.IntN(9), 1+r.IntN(40), 1+r.IntN(9)
		n := length + r.IntN(60)
		numbers := make([]float64, rows*n)
		for i := range numbers {
			numbers[i] = float64(i)
		}
		x, err := reference.New(ir.Float32, ir.Shape{rows, 1, n}, numbers...)
		require.NoError(t, err)
		p := ir.New("slices")
		in := p.AddInput("x", x.Type)
		var parts []ir.Value
		var starts []int
		distance := r.IntN(5) - 1
		for i := range count {
			at := min(max(i*distance, 0), n-length)
			if r.IntN(6) == 0 {
				at = r.IntN(n - length + 1)
			}
			cut, err := p.Add("", ir.Slice, ir.SliceAttrs{Start: []int{0, 0, at}, Limit: []int{rows, 1, at + length}, Stride: []int{1, 1, 1}}, in)
			require.NoError(t, err)
			starts, parts = append(starts, at), append(parts, cut[0])
		}
		y, err := p.Add("", ir.Concat, ir.AxisAttrs{Axis: 1}, parts...)
		require.NoError(t, err)
		p.AddOutput("", y[0])
		var want []float64
		for row := range rows {
			for _, at := range starts {
				want = append(want, numbers[row*n+at:][:length]...)
			}
		}
		wanted, err := reference.New(ir.Float32, ir.Shape{rows, count, length}, want...)
		require.NoError(t, err)
		require.Equal(t, wanted.Bytes(), runOnce(t, p, []reference.Value{x}, false)[0].Bytes(), "%d rows of %d, slices of %d at %v", rows, n, length, starts)
	}
}
