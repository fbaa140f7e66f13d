package collective

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Reduction says how the values of the workers become one.
type Reduction uint8

// The reductions. Mean is the sum divided by the number of workers, for floating point types only. Min and Max give NaN
// where any value is NaN.
const (
	Sum Reduction = iota
	Mean
	Min
	Max
	Product
	reductionCount
)

// String names the reduction.
func (r Reduction) String() string {
	return [...]string{"sum", "mean", "min", "max", "product", "invalid"}[min(r, reductionCount)]
}

// kinds are the names of the reductions in programs.
var kinds = [reductionCount]ir.Kind{Sum: ir.Sum, Mean: ir.Mean, Min: ir.Min, Max: ir.Max, Product: ir.Prod}

// reduceBytes sets dst to a op b for numbers of type d. All three have the same length.
func reduceBytes(d ir.DType, op Reduction, dst, a, b []byte) {
	numbers.Combine(kinds[op], d, dst, a, b)
}

// roundBFloat16 rounds float32 numbers to what bfloat16 can hold.
func roundBFloat16(v []float32) {
	for i, x := range v {
		v[i] = ir.BFloat16ToFloat32(ir.BFloat16FromFloat32(x))
	}
}

// packBFloat16 writes float32 numbers as bfloat16.
func packBFloat16(dst []uint16, src []float32) {
	for i, x := range src {
		dst[i] = ir.BFloat16FromFloat32(x)
	}
}

// unpackBFloat16 reads bfloat16 numbers.
func unpackBFloat16(dst []float32, src []uint16) {
	for i := range dst {
		dst[i] = ir.BFloat16ToFloat32(src[i])
	}
}

func checkReduction(op Reduction, d ir.DType) error {
	switch {
	case op >= reductionCount:
		return fmt.Errorf("collective: unknown reduction %d", op)
	case !d.Valid():
		return fmt.Errorf("collective: tensors need an element type")
	case d == ir.Bool && op != Min && op != Max:
		return fmt.Errorf("collective: %v of bool; use Max for any and Min for all", op)
	case op == Mean && !d.IsFloat():
		return fmt.Errorf("collective: the mean of %v is not defined; use Sum, or convert to a floating point type", d)
	}
	return nil
}
