package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestPaddings compares paddings of random shapes with the reference, for several numbers of workers: positive,
// interior and negative ones, elements of all sizes, long and short rows, and no elements at all.
func TestPaddings(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 5))
	long, shared := 0, 0
	for try := range 200 {
		d := []ir.DType{ir.Int8, ir.BFloat16, ir.Float32, ir.Float64}[r.IntN(4)]
		shape, a := ir.Shape{}, ir.PadAttrs{}
		for range 1 + r.IntN(4) {
			n := []int{1, 2, 5, 9, 40}[r.IntN(5)]
			if shape.Size() > 500 {
				n = min(n, 5)
			}
			low, high, interior := r.IntN(3), r.IntN(3), 0
			switch r.IntN(8) {
			case 0:
				interior = r.IntN(3)
			case 1:
				low = -r.IntN(n + 1)
			case 2:
				high = -r.IntN(n + 1)
			case 3:
				low, high = 0, 0
			case 4:
				n = r.IntN(2)
			}
			if low+high+n+max(n-1, 0)*interior < 0 {
				high = 0
			}
			if low+high+n+max(n-1, 0)*interior < 0 {
				low = 0
			}
			shape, a.Low, a.High, a.Interior = append(shape, n), append(a.Low, low), append(a.High, high), append(a.Interior, interior)
		}
		if try%15 == 0 { // large enough to be shared, in rows that are copied one by one
			shape = ir.Shape{30, 9, 200}
			a = ir.PadAttrs{Low: []int{r.IntN(3), r.IntN(2), r.IntN(2)}, High: []int{r.IntN(3), r.IntN(2), []int{0, 1, 40}[try/15%3]}, Interior: []int{r.IntN(2), 0, 0}}
		}
		values := make([]float64, shape.Size())
		for i := range values {
			values[i] = float64(1 + r.IntN(99))
		}
		x, err := reference.New(d, shape, values...)
		require.NoError(t, err)
		fill, err := reference.New(d, nil, -7)
		require.NoError(t, err)
		p, inputs := ir.New(fmt.Sprint("pad", try)), []reference.Value{x, fill}
		y, err := p.Add("", ir.Pad, a, p.AddInput("x", x.Type), p.AddInput("fill", fill.Type))
		require.NoError(t, err)
		p.AddOutput("y", y[0])
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		for _, workers := range []int{1, 3} {
			got, err := reference.FromBytes(want[0].Type, runWith(t, p, inputs, workers)[0])
			require.NoError(t, err)
			if err := kernelstest.Compare(got, want[0], 0, true); err != nil {
				t.Fatalf("%d workers: %v\n%v", workers, err, p)
			}
		}
		if n := len(shape); n > 0 && shape[n-1]*d.Size() >= leastRow {
			long++
		}
		if want[0].Type.Bytes() > 4*chunkWork {
			shared++
		}
	}
	require.Greater(t, long, 40)
	require.Greater(t, shared, 6)
}
