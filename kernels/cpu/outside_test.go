package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestCopyOutside copies arrays around boxes of all kinds. Every element outside the box must be copied, and if the box
// is large, its old contents must remain.
func TestCopyOutside(t *testing.T) {
	r := rand.New(rand.NewPCG(28, 12))
	kept := 0
	for range 300 {
		size := []int{1, 2, 4, 8}[r.IntN(4)]
		shape := make(ir.Shape, 1+r.IntN(4))
		for i := range shape {
			shape[i] = []int{1, 2, 3, 5, 40}[r.IntN(5)]
		}
		shape[r.IntN(len(shape))] *= 1 + r.IntN(50)
		box, starts, strides := make(ir.Shape, len(shape)), make([]int, len(shape)), shape.Strides()
		at := 0
		for i, n := range shape {
			box[i] = n
			if r.IntN(2) == 0 {
				box[i] = 1 + r.IntN(n)
			}
			starts[i] = r.IntN(n - box[i] + 1)
			strides[i] *= size
			at += starts[i] * strides[i]
		}
		x, y := make([]byte, shape.Size()*size), make([]byte, shape.Size()*size)
		for i := range x {
			x[i] = 1
		}
		o := outside{size, shape, box, strides}
		o.along(0, plan.PointerTo(y), plan.PointerTo(x), at)
		for i := range shape.Size() {
			inside := true
			for k := range shape {
				p := i / (strides[k] / size) % shape[k]
				inside = inside && p >= starts[k] && p < starts[k]+box[k]
			}
			if y[i*size] == 0 || y[(i+1)*size-1] == 0 {
				require.True(t, inside, "%v of %v from %v on: element %d", box, shape, starts, i)
				kept++
			}
		}
	}
	require.NotZero(t, kept)
}
