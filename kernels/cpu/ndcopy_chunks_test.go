package cpu

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// TestTransposesToLongRows compares transposes to a few long rows with the reference, for several numbers of workers:
// chunks of lines, of another axis and of columns, with a shorter last chunk.
func TestTransposesToLongRows(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 7))
	var lines, exchanged, columns int
	for try := range 36 {
		d := []ir.DType{ir.Int8, ir.BFloat16, ir.Float32, ir.Float64}[try%4]
		few, long := 2+r.IntN(40), 9000+r.IntN(500)
		shape, perm := ir.Shape{long, few}, []int{1, 0}
		switch try % 3 {
		case 1: // an axis between them
			shape, perm = ir.Shape{2 + r.IntN(20), long / 4, few}, []int{2, 1, 0}
		case 2: // more rows than fill a line
			shape = ir.Shape{long, []int{515, 257, 130, 65}[try%4]}
			perm = []int{1, 0}
		}
		data := make([]byte, shape.Size()*d.Size())
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		x, err := reference.FromBytes(ir.Type{DType: d, Shape: shape}, data)
		require.NoError(t, err)
		p, in := ir.New("transpose"), []reference.Value{x}
		y, err := p.Add("", ir.Transpose, ir.TransposeAttrs{Perm: perm}, p.AddInput("x", x.Type))
		require.NoError(t, err)
		p.AddOutput("y", y[0])
		want, err := reference.Run(p, in)
		require.NoError(t, err)

		c := transposed(d, shape, perm)
		switch chunk := grain(c.elements() / c.dims[0] / 2); {
		case !c.cutsLines(chunk):
		case c.dims[0] >= leastChunks*c.line():
			lines++
		case c.longestBetween() > 0:
			exchanged++
		default:
			columns++
		}
		for workers := range 2 {
			require.Equal(t, want[0].Bytes(), runWith(t, p, in, 2*workers+1)[0], "%v of %v to %v, %d workers", d, shape, perm, 2*workers+1)
		}
	}
	require.True(t, lines > 4 && exchanged > 4 && columns > 4, "%d, %d and %d transposes in chunks of lines, of another axis and of columns", lines, exchanged, columns)
}

// transposed is the copy that a transpose makes.
func transposed(d ir.DType, shape ir.Shape, perm []int) *ndCopy {
	from := byteStrides(ir.Type{DType: d, Shape: shape})
	out, src := make(ir.Shape, len(perm)), make([]int, len(perm))
	for i, p := range perm {
		out[i], src[i] = shape[p], from[p]
	}
	return newCopy(d.Size(), out, byteStrides(ir.Type{DType: d, Shape: out}), src)
}
