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

// widenBlock and narrowBlock are for types without routines of package vec.
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

// Round returns the kernel that rounds float32 registers to what half precision can hold.
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

// widenKernel is the kernel that makes words of integers of one or two bytes, or nil.
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

// sameBits is a conversion between integers of one size: the bits stay.
func sameBits(from, to ir.DType) bool {
	return !from.IsFloat() && !to.IsFloat() && to != ir.Bool && from.Size() == to.Size()
}

// Convert returns the kernel that converts registers that hold type from into registers for type to.
func Convert(from, to ir.DType) Func {
	if f := widenKernel(from, to); f != nil {
		return f
	}
	switch {
	case to == ir.Bool && !from.IsFloat() && from != ir.Bool && from.Size() <= 4:
		return withZero(Compare(ir.Ne, from), from.Size(), 1)
	case sameBits(from, to):
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
		return func(dst, a, _, _ unsafe.Pointer, n int) { // by way of floats, which hold 0 to 255
			vec.BytesToFloats(View[float32](dst, n), View[uint8](a, n))
			vec.FloatsToInts(View[int32](dst, n), View[float32](dst, n))
		}
	}
	switch ComputeType(from) {
	case ir.Float32:
		if to.IsHalf() { // rounded by the instruction that follows
			return copyBlock[float32]
		}
		return convertFloat[float32](to)
	case ir.Float64:
		if to.IsHalf() { // rounded by the instruction that follows
			return oddBlock
		}
		return convertFloat[float64](to)
	case ir.Bool, ir.Uint8:
		return convertInteger[uint8](to)
	case ir.Int8:
		return convertInteger[int8](to)
	case ir.Int16:
		return convertInteger[int16](to)
	case ir.Int32:
		return convertInteger[int32](to)
	case ir.Int64:
		return convertInteger[int64](to)
	case ir.Uint16:
		return convertInteger[uint16](to)
	case ir.Uint32:
		return convertInteger[uint32](to)
	}
	return convertInteger[uint64](to)
}

func copyBytes(size int) Func {
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		if dst != a {
			copy(View[uint8](dst, n*size), View[uint8](a, n*size))
		}
	}
}

func nonZeroBlock[F Number](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[uint8](dst, n), View[F](a, n)
	for i, v := range x {
		y[i] = Bit(v != 0)
	}
}

// castBlock converts with Go's own rules: exact or rounded once between floats and from integers, wrapping between
// integers.
func castBlock[F, T Number](dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[T](dst, n), View[F](a, n)
	for i, v := range x {
		y[i] = T(v)
	}
}

// truncateBlock converts floats to integers: towards zero, saturating at low and high, NaN to 0.
func truncateBlock[F Float, T Integer](low, high T) Func {
	limit := math.Ldexp(1, 64-leadingZeros(uint64(high))) // the first number above high; high itself may not be a float
	bottom := float64(low)
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		y, x := View[T](dst, n), View[F](a, n)
		for i, v := range x {
			f := math.Trunc(float64(v))
			switch {
			case f != f:
				y[i] = 0
			case f >= limit:
				y[i] = high
			case f < bottom:
				y[i] = low
			default:
				y[i] = T(f)
			}
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
		return truncateBlock[F](int8(math.MinInt8), int8(math.MaxInt8))
	case ir.Int16:
		return truncateBlock[F](int16(math.MinInt16), int16(math.MaxInt16))
	case ir.Int32:
		return truncateBlock[F](int32(math.MinInt32), int32(math.MaxInt32))
	case ir.Int64:
		return truncateBlock[F](int64(math.MinInt64), int64(math.MaxInt64))
	case ir.Uint8:
		return truncateBlock[F](uint8(0), uint8(math.MaxUint8))
	case ir.Uint16:
		return truncateBlock[F](uint16(0), uint16(math.MaxUint16))
	case ir.Uint32:
		return truncateBlock[F](uint32(0), uint32(math.MaxUint32))
	}
	return truncateBlock[F](uint64(0), uint64(math.MaxUint64))
}

func convertInteger[F Integer](to ir.DType) Func {
	if to.IsHalf() { // rounded by the instruction that follows
		return func(dst, a, _, _ unsafe.Pointer, n int) {
			y, x := View[float32](dst, n), View[F](a, n)
			if unsafe.Sizeof(x[0]) < 4 {
				for i, v := range x {
					y[i] = float32(v)
				}
				return
			}
			if unsafe.Sizeof(x[0]) == 4 {
				for i, v := range x {
					y[i] = oddWord(int64(v))
				}
				return
			}
			for i, v := range x {
				y[i] = odd32(stickyFloat64(v))
			}
		}
	}
	switch to {
	case ir.Bool:
		return nonZeroBlock[F]
	case ir.Float32:
		return castBlock[F, float32]
	case ir.Float64:
		return castBlock[F, float64]
	case ir.Int8:
		return castBlock[F, int8]
	case ir.Int16:
		return castBlock[F, int16]
	case ir.Int32:
		return castBlock[F, int32]
	case ir.Int64:
		return castBlock[F, int64]
	case ir.Uint8:
		return castBlock[F, uint8]
	case ir.Uint16:
		return castBlock[F, uint16]
	case ir.Uint32:
		return castBlock[F, uint32]
	}
	return castBlock[F, uint64]
}

// oddBlock is odd32 of a block.
func oddBlock(dst, a, _, _ unsafe.Pointer, n int) {
	y, x := View[float32](dst, n), View[float64](a, n)
	for i, v := range x {
		y[i] = odd32(v)
	}
}

// odd32 narrows to float32 so that a later rounding to 16 bits is the one rounding of v: what does not fit exactly goes
// to the neighbour with an odd last bit. There are no branches that depend on v.
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

// oddWord is odd32 of an integer of 32 bits.
func oddWord(v int64) float32 {
	negative := v >> 63
	u := uint64((v ^ negative) - negative)
	low := max(bits.Len64(u)-24, 0) // bits that a float32 has no place for
	lost := u & (1<<low - 1)
	u = u&^lost | uint64(Bit(lost != 0))<<low
	return math.Float32frombits(math.Float32bits(float32(int64(u))) | uint32(negative)&(1<<31))
}

// stickyFloat64 returns a float64 that rounds to half precision as the integer itself does: what has more than 53 bits
// keeps a trace of the lost ones in the last bit.
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
