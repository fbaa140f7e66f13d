package ops_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
)

// TestSampleImagesOutside reads images at positions inside and outside, and compares with a loop: cells outside have
// the fill value, whatever the image contains, NaN included, and get no gradient.
func TestSampleImagesOutside(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 13))
	for _, s := range []ops.ImageSampling{
		{FillValue: 0.5}, {FillMode: "constant", FillValue: -2}, {Interpolation: "nearest", FillMode: "constant", FillValue: 3}, {Interpolation: "nearest"},
	} {
		n, h, w, channels := 1+r.IntN(3), 1+r.IntN(4), 1+r.IntN(4), 1+r.IntN(4)
		x := opstest.Random(r.IntN(1000), -1, 1, n, h, w, channels)
		for i := range x.F {
			if r.IntN(9) == 0 {
				x.F[i] = math.NaN()
			}
		}
		place := func(size int) opstest.Array { // integers and halves
			v := opstest.Random(1, 0, 1, n, 5, 3)
			for i := range v.F {
				v.F[i] = float64(r.IntN(2*size+6)-4) / 2
				if s.Interpolation == "nearest" {
					v.F[i] = math.Floor(v.F[i])
				}
			}
			return v
		}
		rows, columns := place(h), place(w)
		out := opstest.Eval(t, func(_ *ops.Graph, in []*ops.Tensor) []*ops.Tensor {
			y := ops.SampleImages(in[0], in[1], in[2], s)
			return []*ops.Tensor{y, ops.VJP([]*ops.Tensor{y}, []*ops.Tensor{ops.OnesLike(y)}, in[0])[0]}
		}, x, rows, columns)
		want, gradient := make([]float64, len(rows.F)*channels), make([]float64, len(x.F))
		for i := range rows.F {
			low := func(at float64) (int, float64) { return int(math.Floor(at)), at - math.Floor(at) }
			top, down := low(rows.F[i])
			left, right := low(columns.F[i])
			for tap := range 4 {
				row, column := top+tap/2, left+tap%2
				weight := math.Abs(1-float64(tap/2)-down) * math.Abs(1-float64(tap%2)-right)
				if s.Interpolation == "nearest" && tap > 0 {
					break
				}
				for c := range channels {
					v := s.FillValue
					if row >= 0 && row < h && column >= 0 && column < w {
						at := ((i/15*h+row)*w+column)*channels + c
						v = x.F[at]
						gradient[at] += weight
					}
					want[i*channels+c] += v * weight
				}
			}
		}
		for i, v := range want {
			got := out[0].F[i]
			assert.True(t, math.Abs(got-v) < 1e-6 || math.IsNaN(got) && math.IsNaN(v), "%v: element %d is %v, want %v", s, i, got, v)
		}
		assert.InDeltaSlice(t, gradient, out[1].F, 1e-6, "%v", s)
	}
}
