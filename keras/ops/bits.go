package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// View reinterprets the bytes of x as another element type. If the sizes of the types differ, the last axis grows or
// shrinks. No gradient flows through it.
func View(x *Tensor, dtype ir.DType) *Tensor {
	if x.DType() == dtype {
		return x
	}
	if x.DType() == ir.Bool {
		return View(Cast(x, ir.Uint8), dtype)
	}
	if dtype == ir.Bool {
		return Cast(View(x, ir.Uint8), ir.Bool)
	}
	return apply1(ir.BitCast, ir.ConvertAttrs{DType: dtype}, x)
}

// bitsOf lists, by size, the integers that hold the bits of floats. Floats of one sign have the same order as these
// integers.
var bitsOf = map[int]ir.DType{1: ir.Int8, 2: ir.Int16, 4: ir.Int32, 8: ir.Int64}

// Nextafter returns the next number after a, in the common type of a and b, in the direction of b. Where both are equal
// it returns b. Integers count as float32. The gradient is that of a.
func Nextafter(a, b *Tensor) *Tensor {
	a, b = common(a, b)
	a, b = float(a), float(b)
	return CustomGradient(func(xs ...*Tensor) ([]*Tensor, func(dys []*Tensor) []*Tensor) {
		y := nextafter(StopGradient(xs[0]), StopGradient(xs[1]))
		return []*Tensor{y}, func(dys []*Tensor) []*Tensor { return []*Tensor{dys[0], nil} }
	}, a, b)[0]
}

func nextafter(a, b *Tensor) *Tensor {
	d := a.DType()
	whole := bitsOf[d.Size()]
	bits, one := View(a, whole), Ones(a, whole)
	up := Less(a, b)
	// Adding one to the bits moves away from zero.
	away := Equal(up, CompareScalar(ir.Gt, a, 0))
	next := View(Where(away, Add(bits, one), Subtract(bits, one)), d)
	least := View(one, d)
	next = Where(CompareScalar(ir.Eq, a, 0), Where(up, least, Negative(least)), next)
	next = Where(Equal(a, b), b, next)
	return Where(LogicalOr(Isnan(a), Isnan(b)), FullLike(a, math.NaN()), next)
}

func init() { rules[ir.BitCast] = zeroGradient }
