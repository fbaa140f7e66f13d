package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/ir"
)

// sortKeys maps the elements of a type to unsigned keys in the order of sorting. Equal elements have the same key, and
// NaN comes after all others.
type sortKeys struct {
	d    ir.DType
	x    unsafe.Pointer // first element of the line
	sign uint64         // sign bit of integers
	down uint32         // all bits set if the order is descending
}

func keysOf(d ir.DType, descending bool) sortKeys {
	k := sortKeys{d: d}
	switch d {
	case ir.Int8, ir.Int16, ir.Int32, ir.Int64:
		k.sign = 1 << (8*d.Size() - 1)
	}
	if descending {
		k.down = math.MaxUint32
	}
	return k
}

// wide reports whether keys have 64 bits.
func (k *sortKeys) wide() bool { return k.d.Size() == 8 }

// isFloat reports whether the elements are float32.
func (k *sortKeys) isFloat() bool { return k.d == ir.Float32 }

// digits returns the number of 8-bit digits in which the keys of pairs may differ.
func (k *sortKeys) digits() int { return min(k.d.Size(), 4) }

// load makes pairs of elements from position base on, whose neighbours are stride apart. For 64-bit keys it uses the
// upper halves.
func (k *sortKeys) load(pairs []uint64, base, stride int) {
	switch {
	case k.wide():
		for i := range pairs {
			pairs[i] = uint64(base + i)
		}
		k.reload(pairs, stride, false)
	case k.isFloat():
		loadFloats(pairs, k.x, base, stride, k.down)
	case k.d.Size() == 4:
		loadIntegers[uint32](pairs, k.x, base, stride, uint32(k.sign)^k.down)
	case k.d.Size() == 2:
		loadIntegers[uint16](pairs, k.x, base, stride, uint32(k.sign)^k.down)
	default:
		loadIntegers[uint8](pairs, k.x, base, stride, uint32(k.sign)^k.down)
	}
}

func loadIntegers[T uint8 | uint16 | uint32](pairs []uint64, x unsafe.Pointer, base, stride int, flip uint32) {
	if len(pairs) == 0 {
		return
	}
	from := unsafe.Slice((*T)(x), (base+len(pairs)-1)*stride+1)[base*stride:]
	for i := range pairs {
		pairs[i] = uint64(uint32(from[i*stride])^flip)<<32 | uint64(base+i)
	}
}

func loadFloats(pairs []uint64, x unsafe.Pointer, base, stride int, flip uint32) {
	if len(pairs) == 0 {
		return
	}
	from := unsafe.Slice((*uint32)(x), (base+len(pairs)-1)*stride+1)[base*stride:]
	for i := range pairs {
		pairs[i] = uint64(floatKey(from[i*stride])^flip)<<32 | uint64(base+i)
	}
}

// floatKey returns the key of a float32. For positive numbers it omits the sign bit; for negative ones it inverts the
// order.
func floatKey(bits uint32) uint32 {
	const least, infinite = 0x00800000, 0x7f800000 // the bits of the smallest normal number
	if bits&math.MaxInt32-least > infinite-least {
		return specialKey(bits)
	}
	return bits ^ (uint32(int32(bits)>>31) | 1<<31)
}

// specialKey is floatKey for zeros, denormals, which may count as zeros, and NaN.
func specialKey(bits uint32) uint32 {
	switch v := math.Float32frombits(bits); {
	case v != v:
		return math.MaxUint32
	case v == 0:
		return 1 << 31
	}
	return bits ^ (uint32(int32(bits)>>31) | 1<<31)
}

// reload gives pairs with 64-bit keys the upper or lower halves of the keys at their positions.
func (k *sortKeys) reload(pairs []uint64, stride int, lower bool) {
	shift := 32
	if lower {
		shift = 0
	}
	flip := k.sign ^ (uint64(k.down)<<32 | uint64(k.down))
	if k.d == ir.Float64 {
		for i, pair := range pairs {
			at := uint64(uint32(pair))
			key := doubleKey(*(*uint64)(unsafe.Add(k.x, int(at)*stride*8))) ^ flip
			pairs[i] = key>>(shift&63)<<32 | at
		}
		return
	}
	for i, pair := range pairs {
		at := uint64(uint32(pair))
		key := *(*uint64)(unsafe.Add(k.x, int(at)*stride*8)) ^ flip
		pairs[i] = key>>(shift&63)<<32 | at
	}
}

// wideKey returns the 64-bit key of element at.
func (k *sortKeys) wideKey(at int) uint64 {
	bits := *(*uint64)(unsafe.Add(k.x, at*8))
	key := bits ^ k.sign
	if k.d == ir.Float64 {
		key = doubleKey(bits)
	}
	return key ^ (uint64(k.down)<<32 | uint64(k.down))
}

// cutKeys replaces 64-bit elements by their keys, with other bits in place of the lowest ones of a position in a line
// of a network.
func (k *sortKeys) cutKeys(x []uint64, low uint64) {
	flip := k.sign ^ (uint64(k.down)<<32 | uint64(k.down))
	if k.d == ir.Float64 {
		for i, bits := range x {
			x[i] = (doubleKey(bits)^flip)&^(1<<networkBits-1) ^ low
		}
		return
	}
	for i, bits := range x {
		x[i] = (bits^flip)&^(1<<networkBits-1) ^ low
	}
}

// wideKeys replaces 64-bit elements by their keys, and returns the least and the largest.
func (k *sortKeys) wideKeys(x []uint64) (least, most uint64) {
	least = math.MaxUint64
	down := uint64(k.down)<<32 | uint64(k.down)
	if k.d == ir.Float64 {
		for i, bits := range x {
			key := doubleKey(bits) ^ down
			x[i] = key
			least, most = min(least, key), max(most, key)
		}
		return least, most
	}
	for i, bits := range x {
		key := bits ^ k.sign ^ down
		x[i] = key
		least, most = min(least, key), max(most, key)
	}
	return least, most
}

// doubleKey is floatKey for float64.
func doubleKey(bits uint64) uint64 {
	const least, infinite = 1 << 52, 0x7ff << 52 // the bits of the smallest normal number
	if bits&math.MaxInt64-least > infinite-least {
		return specialDoubleKey(bits)
	}
	return bits ^ (uint64(int64(bits)>>63) | 1<<63)
}

// specialDoubleKey is specialKey for float64.
func specialDoubleKey(bits uint64) uint64 {
	switch v := math.Float64frombits(bits); {
	case v != v:
		return math.MaxUint64
	case v == 0:
		return 1 << 63
	}
	return bits ^ (uint64(int64(bits)>>63) | 1<<63)
}
