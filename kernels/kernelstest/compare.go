package kernelstest

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// precision is the distance between 1 and the next larger number of a floating point type, 0 for others. Below the
// smallest normal number a backend may lose digits or flush to zero.
func precision(d ir.DType) float64 {
	if !d.IsFloat() {
		return 0
	}
	return math.Ldexp(1, 1-d.Digits())
}

// Compare returns an error that names the worst element if got differs from want by more than the tolerance: units of
// the type's precision times the expected number, or, with whole set, times the largest finite number of the tensor (at
// least 1). Numbers are rounded to the element type first. NaN equals only NaN; infinities, integers and bools must be
// equal.
func Compare(got, want reference.Value, units float64, whole bool) error {
	if !got.Type.Equal(want.Type) {
		return fmt.Errorf("got type %v, want %v", got.Type, want.Type)
	}
	for i := range want.I {
		if got.I[i] != want.I[i] {
			return fmt.Errorf("element %d of %v is %d, want %d", i, want.Type, got.I[i], want.I[i])
		}
	}
	d := want.Type.DType
	scale := 0.0
	if whole {
		scale = 1
		for _, w := range want.F {
			if !math.IsInf(w, 0) && math.Abs(w) > scale {
				scale = math.Abs(w)
			}
		}
	}
	var worst error
	excess := 0.0
	for i := range want.F {
		g, w := got.F[i], ir.RoundFloat(d, want.F[i])
		if g == w || g != g && w != w {
			continue
		}
		tolerance := 0.0
		if units > 0 && !math.IsInf(w, 0) {
			tolerance = units*precision(d)*math.Max(math.Abs(w), scale) + d.LeastNormal()
		}
		diff := math.Abs(g - w)
		if diff <= tolerance {
			continue
		}
		if ratio := diff / math.Max(tolerance, d.LeastNormal()); worst == nil || ratio > excess || ratio != ratio {
			excess = ratio
			worst = fmt.Errorf("element %d of %v is %g, want %g: they differ by %g, allowed is %g", i, want.Type, g, w, diff, tolerance)
		}
	}
	return worst
}
