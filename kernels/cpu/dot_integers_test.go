package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestProductsOfIntegers multiplies batches of matrices of all integer types, of sizes for all code paths, with numbers
// whose sums wrap around. Each matrix is stored in either orientation. It compares with the reference.
func TestProductsOfIntegers(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 9))
	types := []ir.DType{ir.Int8, ir.Uint8, ir.Int16, ir.Uint16, ir.Int32, ir.Uint32, ir.Int64, ir.Uint64}
	paths := isa.Paths()
	for i := range 320 {
		dtype := types[i%len(types)]
		pick := func(of ...int) int { return of[r.IntN(len(of))] }
		batch, m, n, k := pick(1, 1, 3), pick(1, 7, 9, 70), pick(1, 15, 16, 37, 300), pick(1, 2, 7, 8, 9, 40)
		if i%20 == 0 {
			n = 8192/dtype.Size() + 3 // in several pieces
			m, k = 3, 11
		}
		p := ir.New("product")
		var inputs []reference.Value
		operand := func(shape ...int) ir.Value {
			values := make([]float64, ir.Shape(shape).Size())
			bits := min(8*dtype.Size(), 53)
			low, high := 0, 1<<bits
			if dtype.IsSigned() {
				low, high = -1<<(bits-1), 1<<(bits-1)
			}
			for j := range values {
				values[j] = float64(low + r.IntN(high-low))
			}
			v, err := reference.New(dtype, shape, values...)
			require.NoError(t, err)
			inputs = append(inputs, v)
			return p.AddInput("", v.Type)
		}
		a := ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{0}, LhsContract: []int{2}, RhsContract: []int{1}}
		x, y := []int{batch, m, k}, []int{batch, k, n}
		if r.IntN(2) == 0 {
			a.LhsContract[0], x[1], x[2] = 1, x[2], x[1]
		}
		if r.IntN(2) == 0 {
			a.RhsContract[0], y[1], y[2] = 2, y[2], y[1]
		}
		out, err := p.Add("", ir.Dot, a, operand(x...), operand(y...))
		require.NoError(t, err)
		if r.IntN(4) == 0 {
			out, err = p.Add("", ir.Transpose, ir.TransposeAttrs{Perm: []int{0, 2, 1}}, out[0])
			require.NoError(t, err)
		}
		p.AddOutput("", out[0])
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		restore := isa.Override(paths[i/len(types)%len(paths)])
		for _, plain := range []bool{false, true} {
			got := runOnce(t, p, inputs, plain)
			require.NoError(t, kernelstest.Compare(got[0], want[0], 0, true), fmt.Sprintf("%d: plain %v, %v\n%v", i, plain, isa.Active(), p))
		}
		restore()
	}
}
