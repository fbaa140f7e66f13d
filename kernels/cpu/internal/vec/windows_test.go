package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// TestWindows compares windows of random cells with plain loops, at the ends of their slices, with ties and NaN; what
// lies between results must stay.
func TestWindows(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(33, 34))
		for try := range 600 {
			c, count := 1+r.IntN(40), 1+r.IntN(20)
			if try%100 == 0 {
				c, count = 1+r.IntN(40000), 1+r.IntN(3)
			}
			dstStep, xStep := c*(1+r.IntN(2))+r.IntN(2)*r.IntN(9), c*(1+r.IntN(2))+r.IntN(2)*r.IntN(9)
			cells := make([]int, 1+r.IntN(9))
			for i := range cells {
				cells[i] = r.IntN(3 * c)
			}
			x := make([]float32, (count-1)*xStep+3*c+c)
			for i := range x {
				if x[i] = float32(r.IntN(5)); r.IntN(40) == 0 {
					x[i] = float32(math.NaN())
				}
			}
			largest, sums := make([]float32, (count-1)*dstStep+c), make([]float32, (count-1)*dstStep+c)
			fillOnes(largest)
			fillOnes(sums)
			got, gotSums := append([]float32{}, largest...), append([]float32{}, sums...)
			for i := range count {
				for k := range c {
					top, sum := float32(math.Inf(-1)), float32(0)
					for _, at := range cells {
						v := x[i*xStep+at+k]
						top, sum = max(top, v), sum+v
					}
					largest[i*dstStep+k], sums[i*dstStep+k] = top, sum*0.3
				}
			}
			WindowsMax(got, x, cells, count, c, dstStep, xStep)
			WindowsSum(gotSums, x, cells, count, c, dstStep, xStep, 0.3)
			for i := range got {
				require.True(t, got[i] == largest[i] || got[i] != got[i] && largest[i] != largest[i], "%d of %d channels %d %d, cells %v: maximum %d is %v, want %v",
					count, c, dstStep, xStep, cells, i, got[i], largest[i])
				require.True(t, gotSums[i] == sums[i] || gotSums[i] != gotSums[i] && sums[i] != sums[i], "%d of %d channels %d %d, cells %v: sum %d is %v, want %v",
					count, c, dstStep, xStep, cells, i, gotSums[i], sums[i])
			}
		}
		var none []float32
		WindowsMax(none, none, []int{0}, 0, 4, 4, 4)
		WindowsSum(none, none, []int{0}, 3, 0, 0, 0, 1)
	})
}

// TestWindowsFirst searches random windows for their maxima, with ties and NaN; what lies between results must stay.
func TestWindowsFirst(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		testWindowsFirst(t)
	})
}

func testWindowsFirst(t *testing.T) {
	r := rand.New(rand.NewPCG(35, 36))
	for range 400 {
		c, count := 1+r.IntN(70), 1+r.IntN(20)
		topStep, xStep := c+r.IntN(2)*r.IntN(9), c*(1+r.IntN(2))+r.IntN(2)*r.IntN(9)
		cells := make([]int, 1+r.IntN(30))
		for i := range cells {
			cells[i] = r.IntN(3 * c)
		}
		x := make([]float32, (count-1)*xStep+3*c+c)
		for i := range x {
			if x[i] = float32(r.IntN(9)) - 4; r.IntN(60) == 0 {
				x[i] = float32(math.NaN())
			}
		}
		top, want := make([]float32, (count-1)*topStep+c), make([]int32, (count-1)*topStep+c)
		got := make([]int32, len(want))
		for i := range want {
			want[i], got[i] = -1, -1
		}
		for i := range count {
			for k := range c {
				best := -1
				for _, at := range cells {
					if v := x[i*xStep+at+k]; best < 0 || v > x[i*xStep+best+k] || v != v && x[i*xStep+best+k] == x[i*xStep+best+k] {
						best = at
					}
				}
				want[i*topStep+k], top[i*topStep+k] = int32(best), x[i*xStep+best+k]
			}
		}
		WindowsFirst(got, x, top, cells, count, c, topStep, xStep)
		require.Equal(t, want, got, "%d of %d channels %d %d, cells %v", count, c, topStep, xStep, cells)
	}
	WindowsFirst(nil, nil, nil, []int{0}, 0, 4, 4, 4)
}

func fillOnes(x []float32) {
	for i := range x {
		x[i] = 1
	}
}

// TestWindowsShare compares gradients of extremes with plain loops, with ties, and NaN where the extreme is NaN.
func TestWindowsShare(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(8, 3))
		for range 300 {
			count, rows, c := 1+r.IntN(9), 1+r.IntN(9), 1+r.IntN(140)
			x, top, dy := make([]float32, count*rows*c), make([]float32, count*c), make([]float32, count*c)
			for i := range x {
				if x[i] = float32(r.IntN(5)); r.IntN(500) == 0 {
					x[i] = float32(math.NaN())
				}
			}
			cells := make([]int, rows)
			for i := range cells {
				cells[i] = i * c
			}
			want := make([]float32, len(x))
			for w := range count {
				for k := range c {
					dy[w*c+k] = float32(r.NormFloat64())
					column, hits := x[w*rows*c+k:], float32(0)
					best := column[0]
					for i := range rows {
						best = max(best, column[i*c])
					}
					top[w*c+k] = best
					for i := range rows {
						if column[i*c] == best {
							hits++
						}
					}
					for i := range rows {
						hit := float32(0)
						if column[i*c] == best {
							hit = 1
						}
						want[(w*rows+i)*c+k] = hit * (dy[w*c+k] / hits)
					}
				}
			}
			got := make([]float32, len(x))
			switch WindowsShare(got, x, top, dy, cells, count, c) {
			case 0:
				require.True(t, c < 8 || isa.Active() == isa.Portable, "%d columns", c)
			case count:
				for i, v := range want {
					require.True(t, v == got[i] || v != v && got[i] != got[i], "%d windows of %d rows of %d: %v at %d, expected %v", count, rows, c, got[i], i, v)
				}
			default:
				t.Fatal("some of the windows")
			}
		}
	})
}
