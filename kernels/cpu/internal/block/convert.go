package block

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Widen returns the kernel that reads half precision into float32 registers.
func Widen(d ir.DType) Func {
	switch d {
	case ir.Float16:
		return func(dst, a, _, _ unsafe.Pointer, n int) { vec.F16ToFloat32(View[float32](dst, n), View[uint16](a, n)) }
	case ir.BFloat16:
		return func(dst, a, _, _ unsafe.Pointer, n int) { vec.BF16ToFloat32(View[float32](dst, n), View[uint16](a, n)) }
	}
	if d.Size() == 1 {
		return widenBlock[uint8](d)
	}
	return widenBlock[uint16](d)
}

// Narrow returns the kernel that writes float32 registers as half precision.
func Narrow(d ir.DType) Func {
	switch d {
	case ir.Float16:
		return func(dst, a, _, _ unsafe.Pointer, n int) { vec.Float32ToF16(View[uint16](dst, n), View[float32](a, n)) }
	case ir.BFloat16:
		return func(dst, a, _, _ unsafe.Pointer, n int) { vec.Float32ToBF16(View[uint16](dst, n), View[float32](a, n)) }
	}
	if d.Size() == 1 {
		return narrowBlock[uint8](d)
	}
	return narrowBlock[uint16](d)
}

// widenBlock and narrowBlock are for types that package vec has no routines for.
func widenBlock[T uint8 | uint16](d ir.DType) Func {
	_, widen := d.Half()
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		y, x := View[float32](dst, n), View[T](a, n)
		for i, v := range x {
			y[i] = widen(uint16(v))
		}
	}
}

func narrowBlock[T uint8 | uint16](d ir.DType) Func {
	narrow, _ := d.Half()
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		y, x := View[T](dst, n), View[float32](a, n)
		for i, v := range x {
			y[i] = T(narrow(v))
		}
	}
}

// roundPiece is the number of elements rounded at a time.
const roundPiece = 256

// Round returns the kernel that rounds float32 registers to numbers that half precision can hold.
func Round(d ir.DType) Func {
	switch d {
	case ir.Float16:
		return roundF16
	case ir.BFloat16:
		return roundBF16
	}
	narrow, widen := d.Half()
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		y, x := View[float32](dst, n), View[float32](a, n)
		for i, v := range x {
			y[i] = widen(narrow(v))
		}
	}
}

func roundF16(dst, a, _, _ unsafe.Pointer, n int) {
	var half [roundPiece]uint16
	y, x := View[float32](dst, n), View[float32](a, n)
	for k := 0; k < n; k += roundPiece {
		end := min(k+roundPiece, n)
		vec.Float32ToF16(half[:end-k], x[k:end])
		vec.F16ToFloat32(y[k:end], half[:end-k])
	}
}

func roundBF16(dst, a, _, _ unsafe.Pointer, n int) {
	var half [roundPiece]uint16
	y, x := View[float32](dst, n), View[float32](a, n)
	for k := 0; k < n; k += roundPiece {
		end := min(k+roundPiece, n)
		vec.Float32ToBF16(half[:end-k], x[k:end])
		vec.BF16ToFloat32(y[k:end], half[:end-k])
	}
}

// widenKernel returns the kernel that widens integers of one or two bytes to words, or nil.
func widenKernel(from, to ir.DType) Func {
	switch {
	case from == ir.Int8 && to == ir.Int32:
		return widened(vec.SmallsToInts[int8])
	case from == ir.Int8 && ComputeType(to) == ir.Float32:
		return widened(vec.SmallsToFloats[int8])
	case from == ir.Int16 && to == ir.Int32:
		return widened(vec.SmallsToInts[int16])
	case from == ir.Int16 && ComputeType(to) == ir.Float32:
		return widened(vec.SmallsToFloats[int16])
	case from == ir.Uint16 && to == ir.Int32:
		return widened(vec.SmallsToInts[uint16])
	case from == ir.Uint16 && ComputeType(to) == ir.Float32:
		return widened(vec.SmallsToFloats[uint16])
	}
	return nil
}

func widened[D, F any](f func(dst []D, x []F)) Func {
	return func(dst, a, _, _ unsafe.Pointer, n int) { f(View[D](dst, n), View[F](a, n)) }
}

// sameBits reports whether a conversion between integers keeps the bits, because their sizes are equal.
func sameBits(from, to ir.DType) bool {
	return !from.IsFloat() && !to.IsFloat() && to != ir.Bool && from.Size() == to.Size()
}

// Convert returns the kernel that converts registers of type from to registers of type to.
func Convert(from, to ir.DType) Func {
	if f := widenKernel(from, to); f != nil {
		return f
	}
	switch {
	case to == ir.Bool && !from.IsFloat() && from != ir.Bool:
		return withZero(Compare(ir.Ne, from), from.Size(), 1)
	case sameBits(from, to), from == to && to == ir.Bool:
		return copyBytes(to.Size())
	case from == ir.Uint8 && to.IsHalf():
		return func(dst, a, _, _ unsafe.Pointer, n int) { vec.BytesToFloats(View[float32](dst, n), View[uint8](a, n)) }
	case ComputeType(from) == ir.Float32 && to == ir.Float64:
		return widened(vec.FloatsToDoubles)
	case from == ir.Float64 && to == ir.Float32:
		return widened(vec.DoublesToFloats)
	case ComputeType(from) == ir.Float32 && to == ir.Int32:
		return func(dst, a, _, _ unsafe.Pointer, n int) { vec.FloatsToInts(View[int32](dst, n), View[float32](a, n)) }
	case ComputeType(from) == ir.Float32 && to == ir.Bool:
		return func(dst, a, _, _ unsafe.Pointer, n int) { vec.NotZero(View[uint8](dst, n), View[float32](a, n)) }
	case from == ir.Int32 && to == ir.Float32:
		return func(dst, a, _, _ unsafe.Pointer, n int) { vec.IntsToFloats(View[float32](dst, n), View[int32](a, n)) }
	case (from == ir.Bool || from == ir.Uint8) && to == ir.Float32, from == ir.Bool && to.IsHalf():
		return func(dst, a, _, _ unsafe.Pointer, n int) { vec.BytesToFloats(View[float32](dst, n), View[uint8](a, n)) }
	}
	if (from == ir.Bool || from == ir.Uint8) && to == ir.Int32 {
		return func(dst, a, _, _ unsafe.Pointer, n int) { // via floats, which hold 0 to 255
			vec.BytesToFloats(View[float32](dst, n), View[uint8](a, n))
			vec.FloatsToInts(View[int32](dst, n), View[float32](dst, n))
		}
	}
	switch ComputeType(from) {
	case ir.Float32:
		if to.IsHalf() { // the next instruction rounds
			return copyBytes(4)
		}
		return convertFloat[float32](to)
	case ir.Float64:
		if to.IsHalf() { // the next instruction rounds
			return oddBlock
		}
		return convertFloat[float64](to)
	}
	return convertInteger(from, to)
}

func nonZeroBlock[F Float](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[uint8](dst, n), View[F](a, n)
	for i, v := range x {
		y[i] = Bit(v != 0)
	}
}

// castBlock converts by Go's rules: exactly or rounded once, between floats and from integers.
func castBlock[F Number, T Float](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[T](dst, n), View[F](a, n)
	for i, v := range x {
		y[i] = T(v)
	}
}

// wrapBlock converts between integers and wraps around. Depending on its address, a loop over single elements takes one
// cycle or two for each.
func wrapBlock[F Integer, T unsignedInt](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[T](dst, n), View[F](a, n)
	for len(x) >= 4 && len(y) >= 4 {
		y[0] = T(x[0])
		y[1] = T(x[1])
		y[2] = T(x[2])
		y[3] = T(x[3])
		x, y = x[4:], y[4:]
	}
	for i, v := range x {
		y[i] = T(v)
	}
}

// truncateBlock converts floats to integers: towards zero, saturating at low and high, NaN to 0. A signed and an
// unsigned type of one size share code if an int64 holds their numbers.
func truncateBlock[F Float, T unsignedInt](low int64, high uint64) Func {
	limit := math.Ldexp(1, 64-leadingZeros(high)) // the first number above high, since high itself may not be a float
	below := float64(low) - 1                     // numbers up to this one become low; it is low itself if low − 1 is not a float
	lowest, highest := T(low), T(high)
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		y, x := View[T](dst, n), View[F](a, n)
		for i, v := range x {
			switch f := float64(v); {
			case f != f:
				y[i] = 0
			case f >= limit:
				y[i] = highest
			case f <= below:
				y[i] = lowest
			default:
				y[i] = T(int64(f))
			}
		}
	}
}

// truncateUlongs is truncateBlock for uint64.
func truncateUlongs[F Float](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[uint64](dst, n), View[F](a, n)
	for i, v := range x {
		switch f := float64(v); {
		case f >= 1<<64:
			y[i] = math.MaxUint64
		case f >= 1:
			y[i] = uint64(f)
		default: // below 1, or NaN
			y[i] = 0
		}
	}
}

func leadingZeros(x uint64) int {
	n := 0
	for ; n < 64 && x>>63 == 0; n++ {
		x <<= 1
	}
	return n
}

func convertFloat[F Float](to ir.DType) Func {
	switch to {
	case ir.Bool:
		return nonZeroBlock[F]
	case ir.Float32:
		return castBlock[F, float32]
	case ir.Float64:
		return castBlock[F, float64]
	case ir.Int8:
		return truncateBlock[F, uint8](math.MinInt8, math.MaxInt8)
	case ir.Int16:
		return truncateBlock[F, uint16](math.MinInt16, math.MaxInt16)
	case ir.Int32:
		return truncateBlock[F, uint32](math.MinInt32, math.MaxInt32)
	case ir.Int64:
		return truncateBlock[F, uint64](math.MinInt64, math.MaxInt64)
	case ir.Uint8:
		return truncateBlock[F, uint8](0, math.MaxUint8)
	case ir.Uint16:
		return truncateBlock[F, uint16](0, math.MaxUint16)
	case ir.Uint32:
		return truncateBlock[F, uint32](0, math.MaxUint32)
	}
	return truncateUlongs[F]
}

// convertInteger converts integers that [Convert] has no vectors for. A narrower type keeps the low bits, whatever the
// signs are; a wider type depends only on the sign of the operand.
func convertInteger(from, to ir.DType) Func {
	switch {
	case to.IsHalf(): // the next instruction rounds
		return oddInteger(from)
	case to == ir.Float32:
		return floatsOf[float32](from)
	case to == ir.Float64:
		return floatsOf[float64](from)
	}
	switch f, t := from.Size(), to.Size(); {
	case f == 2:
		if t == 1 {
			return wrapBlock[uint16, uint8]
		}
	case f == 4 && t == 1:
		return wrapBlock[uint32, uint8]
	case f == 4 && t == 2:
		return wrapBlock[uint32, uint16]
	case f == 8 && t == 1:
		return wrapBlock[uint64, uint8]
	case f == 8 && t == 2:
		return wrapBlock[uint64, uint16]
	case f == 8:
		return wrapBlock[uint64, uint32]
	}
	switch from {
	case ir.Int8:
		return widerOf[int8](to)
	case ir.Int16:
		return widerOf[int16](to)
	case ir.Uint16:
		return widerOf[uint16](to)
	case ir.Int32:
		return wrapBlock[int32, uint64]
	case ir.Uint32:
		return wrapBlock[uint32, uint64]
	}
	return widerOf[uint8](to)
}

// widerOf converts to integers of more bytes, signed or unsigned.
func widerOf[F int8 | int16 | uint8 | uint16](to ir.DType) Func {
	switch to.Size() {
	case 2:
		return wrapBlock[F, uint16]
	case 4:
		return wrapBlock[F, uint32]
	}
	return wrapBlock[F, uint64]
}

// floatsOf converts integers to floats, rounded once.
func floatsOf[T Float](from ir.DType) Func {
	switch from {
	case ir.Bool, ir.Uint8:
		return castBlock[uint8, T]
	case ir.Int8:
		return castBlock[int8, T]
	case ir.Int16:
		return castBlock[int16, T]
	case ir.Int32:
		return castBlock[int32, T]
	case ir.Int64:
		return castBlock[int64, T]
	case ir.Uint16:
		return castBlock[uint16, T]
	case ir.Uint32:
		return castBlock[uint32, T]
	}
	return castBlock[uint64, T]
}

// oddInteger is odd32 for integers.
func oddInteger(from ir.DType) Func {
	switch from {
	case ir.Int32:
		return oddWords[int32]
	case ir.Uint32:
		return oddWords[uint32]
	case ir.Int64:
		return oddLongs[int64]
	case ir.Uint64:
		return oddLongs[uint64]
	}
	return floatsOf[float32](from) // exact
}

func oddWords[F int32 | uint32](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[float32](dst, n), View[F](a, n)
	for i, v := range x {
		y[i] = oddWord(int64(v))
	}
}

func oddLongs[F int64 | uint64](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[float32](dst, n), View[F](a, n)
	for i, v := range x {
		y[i] = odd32(stickyFloat64(v))
	}
}

// oddBlock is odd32 for a block.
func oddBlock(dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[float32](dst, n), View[float64](a, n)
	for i, v := range x {
		y[i] = odd32(v)
	}
}

// odd32 narrows v to float32 so that rounding to 16 bits later gives v rounded once: a number that does not fit exactly
// goes to the neighbour with an odd last bit. No branch depends on v.
func odd32(v float64) float32 {
	f := float32(v)
	wide := float64(f)
	var away, inexact uint32
	if math.Abs(wide) > math.Abs(v) { // an overflow becomes the largest float32
		away = 1
	}
	if wide != v {
		inexact = 1
	}
	return math.Float32frombits(math.Float32bits(f) - away | inexact)
}

// oddWord is odd32 for a 32-bit integer.
func oddWord(v int64) float32 {
	negative := v >> 63
	u := uint64((v ^ negative) - negative)
	low := max(bits.Len64(u)-24, 0) // bits that a float32 has no room for
	lost := u & (1<<low - 1)
	u = u&^lost | uint64(Bit(lost != 0))<<low
	return math.Float32frombits(math.Float32bits(float32(int64(u))) | uint32(negative)&(1<<31))
}

// stickyFloat64 returns a float64 that rounds to half precision as the integer itself does: if it has more than 53
// bits, the last bit records whether lost bits were set.
func stickyFloat64[F Integer](x F) float64 {
	const lost = 1<<11 - 1
	if x >= 0 {
		if u := uint64(x); u >= 1<<53 && u&lost != 0 {
			return float64(u&^lost | (lost + 1))
		}
		return float64(x)
	}
	if u := -uint64(int64(x)); u >= 1<<53 && u&lost != 0 {
		return -float64(u&^lost | (lost + 1))
	}
	return float64(x)
}
