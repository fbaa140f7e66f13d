package cpu

import (
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Transforms of random shapes along random axes agree with the definition: few or many lines, short or long, of lengths
// with primes of all sizes.
func TestFourierShapes(t *testing.T) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(0))
	r := rand.New(rand.NewPCG(11, 29))
	for i := range 90 {
		n := 1
		for most := []int{20, 400, 1500}[r.IntN(3)]; ; {
			prime := []int{2, 2, 2, 3, 3, 5, 7, 13, 31, 131, 151, 251}[r.IntN(12)]
			if n*prime > most {
				break
			}
			n *= prime
		}
		op := []ir.Op{ir.Fourier, ir.Fourier, ir.RealFourier, ir.HermitianFourier}[r.IntN(4)]
		d := []ir.DType{ir.Float32, ir.Float64}[r.IntN(2)]
		shape := ir.Shape{1 + r.IntN([]int{1, 4, 40}[r.IntN(3)]), n}
		if op == ir.Fourier {
			shape = append(shape, 1+r.IntN([]int{1, 4, 40}[r.IntN(3)]))
		}
		if n > 400 {
			shape[0] = min(shape[0], 3)
		}
		a := ir.FourierAttrs{Axis: 1, Length: n}
		operands := 2
		if op == ir.RealFourier {
			operands = 1
		}
		if op == ir.HermitianFourier {
			shape[1] = a.Bins()
		}
		p := ir.New(fmt.Sprintf("%d: %v %v %v of %d", i, op, d, shape, n))
		var in []ir.Value
		var inputs []reference.Value
		for range operands {
			in = append(in, p.AddInput("x", ir.Type{DType: d, Shape: shape}))
			elements := make([]float64, shape.Size())
			for i := range elements {
				elements[i] = r.NormFloat64()
			}
			v, err := reference.New(d, shape, elements...)
			require.NoError(t, err)
			inputs = append(inputs, v)
		}
		out, err := p.Add("", op, a, in...)
		require.NoError(t, err, p.Name)
		for _, v := range out {
			p.AddOutput("y", v)
		}
		want, err := reference.Run(p, inputs)
		require.NoError(t, err, p.Name)
		var before []reference.Value
		for workers := 1; workers <= 2; workers++ {
			goruntime.GOMAXPROCS(workers)
			got := runOnce(t, p, inputs, false)
			for j, v := range got {
				require.NoError(t, kernelstest.Compare(v, want[j], 50, true), "%s, result %d", p.Name, j)
			}
			if before != nil {
				require.Equal(t, before, got, "%s: by two workers", p.Name)
			}
			before = got
		}
	}
}
