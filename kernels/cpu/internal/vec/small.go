package vec

import (
	"math"
	"unsafe"
)

// Arithmetic on integers of one and two bytes; as many are computed at a time as fit into a 64-bit word.

// Small is an integer of one or two bytes.
type Small interface{ int8 | uint8 | int16 | uint16 }

// SmallOp is an operation of [Smalls].
type SmallOp int

// The operations of [Smalls]. Sums and differences wrap around.
const (
	SmallAdd SmallOp = iota
	SmallSub
	SmallMax
	SmallMin
	SmallMul
)

// SmallUnary is an operation of [SmallsOf].
type SmallUnary int

// The operations of [SmallsOf].
const (
	SmallNeg SmallUnary = iota
	SmallAbs
	SmallSign
)

// smallLanes describes the integers of a word.
type smallLanes struct {
	bits uint   // of an integer
	high uint64 // the highest bit of each integer
	flip uint64 // flipping these bits makes signed numbers compare as unsigned ones
}

func smallLanesOf[T Small]() smallLanes {
	l := smallLanes{8, 0x8080808080808080, 0}
	if unsafe.Sizeof(T(0)) == 2 {
		l = smallLanes{16, 0x8000800080008000, 0}
	}
	if T(0)-1 < 0 {
		l.flip = l.high
	}
	return l
}

// spread copies the highest bit of each integer to all of its bits.
func (l *smallLanes) spread(high uint64) uint64 { return (high >> (l.bits - 1)) * (1<<l.bits - 1) }

// atLeast sets the highest bit of each integer where x ≥ y, unsigned.
func (l *smallLanes) atLeast(x, y uint64) uint64 {
	below := (x | l.high) - (y &^ l.high) // in the other bits; no integer borrows from the next
	return (x&^y | ^(x^y)&below) & l.high
}

// differ sets the highest bit of each integer where x ≠ y.
func (l *smallLanes) differ(x, y uint64) uint64 {
	d := x ^ y
	return ((d&^l.high + ^l.high) | d) & l.high
}

func (l *smallLanes) compute(op SmallOp, x, y uint64) uint64 {
	switch op {
	case SmallAdd:
		return (x&^l.high + y&^l.high) ^ (x^y)&l.high
	case SmallSub:
		return ((x | l.high) - y&^l.high) ^ (x^^y)&l.high
	}
	m := l.spread(l.atLeast(x^l.flip, y^l.flip))
	if op == SmallMin {
		m = ^m
	}
	return x&m | y&^m
}

// bytesOf views integers as their bytes.
func bytesOf[T Small](x []T) []uint8 {
	return unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(T(0))))
}

// Smalls computes an operation element by element. dst may be one of the operands.
func Smalls[T Small](op SmallOp, dst, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	l := smallLanesOf[T]()
	d, p, q := bytesOf(dst), bytesOf(a), bytesOf(b)
	done := 0
	if len(d) >= leastPacked {
		done = packedBytes(l.packed(op), d, p, q)
	}
	if d, p, q = d[done:], p[done:], q[done:]; op == SmallMul {
		first := done / int(unsafe.Sizeof(T(0)))
		a, b = a[first:], b[first:]
		for i, v := range a {
			dst[first+i] = v * b[i]
		}
		return
	}
	z, x, y := words(d), words(p), words(q)
	if len(x) > 0 {
		x, y = x[:len(z)], y[:len(z)]
		switch op { // outside of the loops, which are then short
		case SmallAdd:
			for i, v := range x {
				z[i] = l.compute(SmallAdd, v, y[i])
			}
		case SmallSub:
			for i, v := range x {
				z[i] = l.compute(SmallSub, v, y[i])
			}
		case SmallMax:
			for i, v := range x {
				z[i] = l.compute(SmallMax, v, y[i])
			}
		default:
			for i, v := range x {
				z[i] = l.compute(SmallMin, v, y[i])
			}
		}
	}
	if done := 8 * len(z); done < len(d) {
		var v, w [8]uint8
		copy(v[:], p[done:])
		copy(w[:], q[done:])
		words(v[:])[0] = l.compute(op, words(v[:])[0], words(w[:])[0])
		copy(d[done:], v[:])
	}
}

// leastPacked is the fewest bytes for which vectors pay.
const leastPacked = 64

// packed is the vector kernel of an operation.
func (l *smallLanes) packed(op SmallOp) packedOp {
	signed := packedOp(0)
	if l.flip == 0 {
		signed = opMaxUint8 - opMaxInt8
	}
	k := [...]packedOp{SmallAdd: opAddBytes, SmallSub: opSubBytes, SmallMul: opMulBytes, SmallMax: opMaxInt8 + signed, SmallMin: opMinInt8 + signed}[op]
	if l.bits == 16 {
		k += opAddWords - opAddBytes
	}
	return k
}

// SmallsOf computes an operation on signed numbers. dst may be x.
func SmallsOf[T int8 | int16](op SmallUnary, dst, x []T) {
	x = x[:len(dst)]
	size := int(unsafe.Sizeof(T(0)))
	first := packedUnaryBytes(packedUnaryOp(2*int(op)+size-1), bytesOf(dst), bytesOf(x)) / size
	x, dst = x[first:], dst[first:]
	for i, v := range x {
		switch {
		case op == SmallNeg, op == SmallAbs && v < 0:
			v = -v
		case op == SmallSign:
			v = min(max(v, -1), 1)
		}
		dst[i] = v
	}
}

// SmallsToInts stores x as int32.
func SmallsToInts[T int8 | int16 | uint16](dst []int32, x []T) { widenSmalls(0, dst, x) }

// SmallsToFloats stores x as float32.
func SmallsToFloats[T int8 | int16 | uint16](dst []float32, x []T) { widenSmalls(1, dst, x) }

func widenSmalls[D int32 | float32, T int8 | int16 | uint16](op wideningOp, dst []D, x []T) {
	x = x[:len(dst)]
	if unsafe.Sizeof(T(0)) == 2 {
		if op += opInt16ToInt; ^T(0) > 0 {
			op += opUint16ToInt - opInt16ToInt
		}
	}
	first := widenPacked(op, unsafe.Pointer(unsafe.SliceData(dst)), unsafe.Pointer(unsafe.SliceData(x)), int(unsafe.Sizeof(T(0))), len(dst))
	x, dst = x[first:], dst[first:]
	for i, v := range x {
		dst[i] = D(v)
	}
}

// Uint32Max stores the larger of a and b.
func Uint32Max(dst, a, b []uint32) {
	first := packedBytes(opMaxUint32, bytesOf32(dst), bytesOf32(a), bytesOf32(b)) / 4
	for i := first; i < len(dst); i++ {
		dst[i] = max(a[i], b[i])
	}
}

// Uint32Min stores the smaller of a and b.
func Uint32Min(dst, a, b []uint32) {
	first := packedBytes(opMinUint32, bytesOf32(dst), bytesOf32(a), bytesOf32(b)) / 4
	for i := first; i < len(dst); i++ {
		dst[i] = min(a[i], b[i])
	}
}

func bytesOf32(x []uint32) []uint8 {
	return unsafe.Slice((*uint8)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// CompareSmalls stores 1 where the relation holds and 0 elsewhere.
func CompareSmalls[T Small](r Relation, dst []uint8, a, b []T) {
	a, b = a[:len(dst)], b[:len(dst)]
	l := smallLanesOf[T]()
	if len(dst) >= leastPacked && packs() {
		compareVectors(r, dst, a, b)
		return
	}
	p, q := bytesOf(a), bytesOf(b)
	x, y := words(p), words(q)
	y = y[:len(x)]
	if l.bits == 8 {
		d := words(dst)[:len(x)]
		for i, v := range x {
			d[i] = l.holds(r, v, y[i]) >> 7
		}
	} else {
		d := fours(dst, len(x))
		for i, v := range x {
			d[i] = narrowed(l.holds(r, v, y[i]) >> 15)
		}
	}
	for i := len(x) * 64 / int(l.bits); i < len(dst); i++ {
		dst[i] = r.of(a[i] < b[i], a[i] == b[i])
	}
}

// holds sets the highest bit of each integer where the relation holds.
func (l *smallLanes) holds(r Relation, x, y uint64) uint64 {
	switch r {
	case Equal:
		return l.differ(x, y) ^ l.high
	case NotEqual:
		return l.differ(x, y)
	case Less:
		return l.atLeast(x^l.flip, y^l.flip) ^ l.high
	}
	return l.atLeast(y^l.flip, x^l.flip)
}

// narrowed returns the four 16-bit integers of a word as bytes.
func narrowed(x uint64) uint32 {
	x = (x | x>>8) & 0x0000ffff0000ffff
	return uint32(x | x>>16)
}

// widened returns four bytes as 16-bit integers.
func widened(x uint32) uint64 {
	v := (uint64(x) | uint64(x)<<16) & 0x0000ffff0000ffff
	return (v | v<<8) & 0x00ff00ff00ff00ff
}

// ChooseSmalls stores elements of a where the byte is 1, and of b where it is 0. dst may be one of the operands.
func ChooseSmalls[T uint8 | uint16](dst []T, where []uint8, a, b []T) {
	where, a, b = where[:len(dst)], a[:len(dst)], b[:len(dst)]
	z, x, y := words(bytesOf(dst)), words(bytesOf(a)), words(bytesOf(b))
	x, y = x[:len(z)], y[:len(z)]
	if unsafe.Sizeof(T(0)) == 1 {
		for i, m := range words(where)[:len(z)] {
			m *= math.MaxUint8
			z[i] = x[i]&m | y[i]&^m
		}
	} else {
		for i, k := range fours(where, len(z)) {
			m := widened(k) * math.MaxUint16
			z[i] = x[i]&m | y[i]&^m
		}
	}
	for i := len(z) * 8 / int(unsafe.Sizeof(T(0))); i < len(dst); i++ {
		v := b[i]
		if where[i] != 0 {
			v = a[i]
		}
		dst[i] = v
	}
}
