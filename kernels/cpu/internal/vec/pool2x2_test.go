package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMaxPool2x2(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(19, 20))
		for _, s := range [][4]int{{1, 2, 2, 1}, {2, 4, 6, 3}, {3, 5, 7, 16}, {1, 6, 4, 32}, {2, 4, 4, 37}, {1, 4, 9, 7}, {1, 2, 20, 1}, {2, 4, 11, 5}, {1, 4, 8, 9}, {1, 4, 6, 12}, {1, 2, 6, 20}, {1, 2, 7, 24}, {1, 2, 4801, 7}, {1, 1, 8, 4}, {1, 3, 1, 4}, {0, 4, 4, 2}} {
			images, h, w, c := s[0], s[1], s[2], s[3]
			x := random[float32](rng, images*h*w*c)
			for i := range x {
				x[i] = float32(rng.IntN(4)) // many ties
				if rng.IntN(20) == 0 {
					x[i] = float32(math.NaN())
				}
			}
			oh, ow := h/2, w/2
			y, dy := random[float32](rng, images*oh*ow*c), random[float32](rng, images*oh*ow*c)
			MaxPool2x2(y, x, images, h, w, c)
			for _, relu := range []bool{false, true} {
				dx := random[float32](rng, len(x))
				want := make([]float32, len(x))
				for o := range y {
					ch, col, row, image := o%c, o/c%ow, o/c/ow%oh, o/c/ow/oh
					best := -1
					for k := range 4 {
						if i := ((image*h+2*row+k/2)*w+2*col+k%2)*c + ch; best < 0 || x[i] > x[best] || x[i] != x[i] && x[best] == x[best] {
							best = i
						}
					}
					require.True(t, x[best] == y[o] || x[best] != x[best] && y[o] != y[o])
					if !relu || y[o] > 0 {
						want[best] = dy[o]
					}
				}
				MaxPool2x2Backward(dx, dy, x, y, images, h, w, c, relu)
				require.Equal(t, want, dx, "%v relu %t", s, relu)
			}
		}
		for bad := range 4 {
			x, y := make([]float32, 4*20), make([]float32, 20)
			for i := range 20 {
				x[bad*20+i] = float32(math.NaN())
			}
			MaxPool2x2(y, x, 1, 2, 2, 20)
			for _, v := range y {
				require.True(t, v != v)
			}
		}
	})
}
