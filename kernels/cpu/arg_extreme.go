package cpu

import (
	"bytes"
	"math"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Where there are vector kernels, the position of an extreme is found in two passes: first its value, then where it
// first occurs.

// argOfRow computes the extreme of each block. It then searches the first block that has the overall extreme.
func argOfRow[T block.Number](x, scratch []T, largest bool, extreme block.Func) int {
	f, ok := any(x).([]float32)
	if ok && len(x) >= leastFloats {
		return argOfFloatRow(f, largest)
	}
	if unsafe.Sizeof(x[0]) <= 2 && len(x) >= leastSmalls || len(x) >= leastIntegers {
		if at := argOfIntegers(x, scratch, largest, extreme); at >= 0 {
			return at
		}
	}
	if !ok && isKey[T]() && (len(x) < minBranching || unsafe.Sizeof(x[0]) == 1) {
		return firstOfRow(x, largest)
	}
	if largest {
		return firstLargest(x)
	}
	return firstSmallest(x)
}

// argOfFloatRow is argOfRow for long rows of float32.
func argOfFloatRow(x []float32, largest bool) int {
	of := vec.MinOf[float32]
	if largest {
		of = vec.MaxOf[float32]
	}
	best, from := of(x[:min(argBlock, len(x))]), 0
	for i := argBlock; i < len(x) && best == best; i += argBlock {
		if v := of(x[i:min(i+argBlock, len(x))]); beyond(v, best, largest) {
			best, from = v, i
		}
	}
	for i, v := range x[from:] {
		if v == best || v != v {
			return from + i
		}
	}
	return from // not reached, because the block has its extreme
}

// argOfStrided finds the extreme of elements that are stride apart.
func argOfStrided[T block.Number](x []T, stride int, largest bool) (at int) {
	if _, ok := any(x).([]float32); !ok && isKey[T]() {
		return firstByKeys(x, stride, largest)
	}
	best := x[0]
	if largest {
		for i, k := 0, 0; k < len(x); i, k = i+1, k+stride {
			if v := x[k]; v > best || v != v {
				if best, at = v, i; v != v {
					return at
				}
			}
		}
		return at
	}
	for i, k := 0, 0; k < len(x); i, k = i+1, k+stride {
		if v := x[k]; v < best || v != v {
			if best, at = v, i; v != v {
				return at
			}
		}
	}
	return at
}

// argOfPairs handles rows of two elements, without branches that depend on them.
func argOfPairs[T block.Number](x []T, at []int32, largest bool) {
	x = x[:2*len(at)]
	for i := range at {
		v, w := x[2*i], x[2*i+1]
		if largest {
			v, w = w, v
		}
		first, second := x[2*i], x[2*i+1]
		at[i] = int32(block.Bit(w < v) | block.Bit(second != second)&block.Bit(first == first))
	}
}

// Fewer than fewStrided columns are searched one by one. Kernels search rows of at least leastFloats floats.
const (
	fewStrided  = 8
	leastFloats = 24
)

// minBranching is the length from which on, in contiguous rows of numbers of more than a byte, new extremes are so rare
// that branches on them are predicted.
const minBranching = 64

// isKey reports whether elements of the type, which is not float32, fit into a key beside their positions: see
// [firstByKeys].
func isKey[T block.Number]() bool {
	var x T
	return unsafe.Sizeof(x) <= 2 || unsafe.Sizeof(x) == 4 && x-1 < 0
}

// firstByKeys finds the first largest (or smallest) of a few integers that are stride apart, of up to 16 bits or int32.
// It computes the extreme of keys that combine a number and its position, without branches.
func firstByKeys[T block.Number](x []T, stride int, largest bool) int {
	if largest {
		best := int64(x[0])<<32 | (1<<32 - 1)
		for i, k := uint32(1), stride; k < len(x); i, k = i+1, k+stride {
			best = max(best, int64(x[k])<<32|int64(^i)) // among equal numbers, the first has the largest key
		}
		return int(^uint32(best))
	}
	best := int64(x[0]) << 32
	for i, k := uint32(1), stride; k < len(x); i, k = i+1, k+stride {
		best = min(best, int64(x[k])<<32|int64(i))
	}
	return int(best & (1<<32 - 1))
}

// firstOfRow is firstByKeys for a row, whose keys are compared in four groups that do not wait for each other.
func firstOfRow[T block.Number](x []T, largest bool) int {
	flip := int64(0) // of the bits of all keys, of which the largest is looked for
	if !largest {
		flip = -1 << 32
	}
	a := int64(math.MinInt64)
	b, c, d := a, a, a
	place := int64(1<<32 - 1) // among equal numbers, the first has the largest key
	for ; len(x) >= 4; x = x[4:] {
		four := (*[4]T)(x)
		a = max(a, int64(four[0])<<32^flip+place)
		b = max(b, int64(four[1])<<32^flip+(place-1))
		c = max(c, int64(four[2])<<32^flip+(place-2))
		d = max(d, int64(four[3])<<32^flip+(place-3))
		place -= 4
	}
	for _, v := range x {
		a = max(a, int64(v)<<32^flip+place)
		place--
	}
	return int(^uint32(max(a, b, c, d)))
}

func firstLargest[T block.Number](x []T) (at int) {
	best := x[0]
	for i, v := range x {
		if v != v {
			return i
		}
		if v > best {
			best, at = v, i
		}
	}
	return at
}

func firstSmallest[T block.Number](x []T) (at int) {
	best := x[0]
	for i, v := range x {
		if v != v {
			return i
		}
		if v < best {
			best, at = v, i
		}
	}
	return at
}

// argOfColumns searches the columns of rows that are stride elements apart.
func argOfColumns[T block.Number](x []T, at []int32, best []T, stride int, largest bool, extreme block.Func) {
	n := len(at)
	copy(best, x[:n])
	clear(at)
	if n >= leastColumns {
		if f, ok := any(x).([]float32); ok {
			if argOfFloats(f, at, any(best).([]float32), stride, extreme) {
				return
			}
			copy(best, x[:n])
		}
	}
	for i := 1; i*stride < len(x); i++ {
		if row := x[i*stride : i*stride+n]; largest {
			largerOf(row, best, at, int32(i))
		} else {
			smallerOf(row, best, at, int32(i))
		}
	}
}

// largerOf records where a row has larger elements than the rows above it.
func largerOf[T block.Number](row, best []T, at []int32, i int32) {
	best, at = best[:len(row)], at[:len(row)]
	for c, v := range row {
		if v > best[c] || v != v && best[c] == best[c] {
			best[c], at[c] = v, i
		}
	}
}

// smallerOf records where a row has smaller elements than the rows above it.
func smallerOf[T block.Number](row, best []T, at []int32, i int32) {
	best, at = best[:len(row)], at[:len(row)]
	for c, v := range row {
		if v < best[c] || v != v && best[c] == best[c] {
			best[c], at[c] = v, i
		}
	}
}

// leastIntegers is the length of rows from which on [argOfIntegers] pays; leastSmalls is that for one or two bytes.
const (
	leastIntegers = 512
	leastSmalls   = 128
)

// fewLeft is a number of elements that are compared one by one in as little time as a call of a kernel takes. It is a
// multiple of the lengths of vectors.
const fewLeft = 64

// argOfIntegers finds the first largest (or smallest) of many integers. It cuts them into pieces and combines these
// with extreme. It returns -1 if that does not pay or the numbers are not integers.
func argOfIntegers[T block.Number](x, scratch []T, largest bool, extreme block.Func) int {
	half := T(1)
	half /= 2
	if extreme == nil || half != 0 {
		return -1
	}
	acc := scratch[:min(len(scratch), len(x)/4)]
	combine := func(with []T) {
		p := unsafe.Pointer(unsafe.SliceData(acc))
		extreme(p, p, unsafe.Pointer(unsafe.SliceData(with)), nil, len(acc))
	}
	rest := x[copy(acc, x):]
	for ; len(rest) >= len(acc); rest = rest[len(acc):] {
		combine(rest)
	}
	if len(rest) > fewLeft {
		combine(x[len(x)-len(acc):]) // that some numbers take part twice changes nothing
		rest = nil
	}
	for n := len(acc); n > 2*fewLeft; n = len(acc) {
		acc = acc[:(n/2+fewLeft-1)&^(fewLeft-1)]
		combine(acc[:n][n-len(acc):])
	}
	best := acc[0]
	for _, list := range [][]T{acc, rest} {
		for _, v := range list {
			if beyond(v, best, largest) {
				best = v
			}
		}
	}
	if unsafe.Sizeof(best) == 1 {
		return bytes.IndexByte(plan.BytesAt(unsafe.Pointer(unsafe.SliceData(x)), len(x)), *(*uint8)(unsafe.Pointer(&best)))
	}
	return slices.Index(x, best)
}

// leastColumns and leastRows are the numbers of columns and rows from which on chains find positions.
const (
	leastColumns = 32
	leastRows    = 4
)

// argOfFloats is argOfColumns for float32 without NaN. It goes through the rows from last to first, and each row stores
// its number where it has the extreme. It returns false if that does not pay or if there is a NaN. (It does not pay for
// integers, whose new extremes are so rare that branches on them are predicted.)
func argOfFloats(x []float32, at []int32, best []float32, stride int, extreme block.Func) bool {
	n := len(at)
	rows := (len(x)-n)/stride + 1
	if n%16 != 0 && n < 4*leastColumns || rows < leastRows || !vec.Chains() || extreme == nil {
		return false
	}
	p, places := unsafe.Pointer(unsafe.SliceData(best)), unsafe.Pointer(unsafe.SliceData(at))
	row := func(i int) unsafe.Pointer { return unsafe.Pointer(&x[i*stride]) }
	for i := 1; i < rows; i++ {
		extreme(p, p, row(i), nil, n)
	}
	for _, v := range best[:n] {
		if v != v {
			return false
		}
	}
	for i := rows - 2; i >= 0; i-- {
		if i == rows-2 {
			fillWith(at, int32(rows-1))
		}
		number := int32(i)
		steps := [...]vec.ChainStep{{Op: vec.ChainLoad, X: row(i)}, {Op: vec.ChainHoldEqual, X: p}, {Op: vec.ChainLoadNumber, X: unsafe.Pointer(&number)},
			{Op: vec.ChainChooseHeld, X: places}, {Op: vec.ChainStore, X: places}}
		vec.Chain(steps[:], n)
	}
	return true
}
