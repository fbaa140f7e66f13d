package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Lines of small integers are sorted as by a stable sort, for every type, length and order, also interleaved.
func TestSortsByDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 29))
	for _, d := range []ir.DType{ir.Int8, ir.Uint8, ir.Int16, ir.Uint16, ir.Bool} {
		for _, s := range []ir.Shape{{leastByDigits}, {2, leastByDigits + 1}, {3, 4100, 2}, {1, 6000}} {
			axis := len(s) / 2
			keys := keysOf(d, false)
			require.True(t, sortsByDigits(&keys, s[axis], s[axis], nil))
			require.False(t, sortsByDigits(&keys, leastByDigits-1, leastByDigits-1, nil))
			p := ir.New(fmt.Sprint(d, s))
			x := anyIntegers(t, r, d, s)
			in := p.AddInput("x", x.Type)
			for _, down := range []bool{false, true} {
				out, err := p.Add("", ir.Sort, ir.SortAttrs{Axis: axis, Descending: down}, in)
				require.NoError(t, err)
				p.AddOutput("", out[0])
				p.AddOutput("", out[1])
			}
			n := s[len(s)-1]
			first, err := p.Add("", ir.TopK, ir.TopKAttrs{K: n - n/3}, in)
			require.NoError(t, err)
			p.AddOutput("", first[0])
			p.AddOutput("", first[1])
			want, err := reference.Run(p, []reference.Value{x})
			require.NoError(t, err)
			for i, y := range runOnce(t, p, []reference.Value{x}, false) {
				require.NoError(t, kernelstest.Compare(y, want[i], 0, true), "%s, output %d", p.Name, i)
			}
		}
	}
}

// anyIntegers draws from all integers of a type.
func anyIntegers(t *testing.T, r *rand.Rand, d ir.DType, s ir.Shape) reference.Value {
	low, count := 0, 1<<(8*d.Size())
	if d == ir.Int8 || d == ir.Int16 {
		low = -count / 2
	}
	if d == ir.Bool {
		count = 2
	}
	x := make([]float64, s.Size())
	for i := range x {
		x[i] = float64(low + r.IntN(count))
	}
	v, err := reference.New(d, s, x...)
	require.NoError(t, err)
	return v
}

// A line writes only the first elements that are needed, and nothing between its own elements.
func TestDigitLines(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 29))
	const n, stride = 500, 3
	for _, k := range []int{0, 1, n - 1, n} {
		for _, size := range []int{1, 2} {
			l := digitLine[uint16]{n: n, k: k, stride: stride, flip: uint16(r.Uint32()), spare: make([]uint32, n)}
			if size == 1 {
				l.flip &= 0xff
			}
			l.x, l.y, l.at = make([]uint16, n*stride), slices.Repeat([]uint16{7}, n*stride), slices.Repeat([]int32{-7}, n*stride)
			order := make([]int32, n)
			for i := range n {
				l.x[i*stride], order[i] = uint16(r.IntN(1<<(8*size))), int32(i)
			}
			slices.SortStableFunc(order, func(a, b int32) int { return int(l.x[a*stride]^l.flip) - int(l.x[b*stride]^l.flip) })
			if size == 1 {
				l.sortBytes()
			} else {
				l.sortWords()
			}
			for i := range n * stride {
				at, y := int32(-7), uint16(7)
				if i%stride == 0 && i/stride < k {
					at = order[i/stride]
					y = l.x[at*stride]
				}
				require.Equal(t, at, l.at[i])
				require.Equal(t, y, l.y[i])
			}
		}
	}
}
