package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"math"
	"unsafe"
)

// radixLength is the length from which on lines of at most 32 bits are sorted digit by digit.
const radixLength = 128

// radixKey maps an element to a number whose order is that of the elements: equal ones to the same, NaN above all.
func radixKey[T block.Number](v T) uint32 {
	switch unsafe.Sizeof(v) {
	case 1:
		return uint32(*(*uint8)(unsafe.Pointer(&v))) ^ flipSign[T](7)
	case 2:
		return uint32(*(*uint16)(unsafe.Pointer(&v))) ^ flipSign[T](15)
	}
	bits := *(*uint32)(unsafe.Pointer(&v))
	if half := 0.5; T(half) == 0 { // of integers
		return bits ^ flipSign[T](31)
	}
	switch {
	case v != v:
		return math.MaxUint32
	case v == 0:
		return 1 << 31
	case bits>>31 != 0:
		return ^bits
	}
	return bits | 1<<31
}

// flipSign is the sign bit of signed integers.
func flipSign[T block.Number](bit int) uint32 {
	if T(0)-1 < 0 {
		return 1 << bit
	}
	return 0
}

// radixSort returns pairs of keys, in the upper half, and positions in stable order, in one half of the buffer: by the
// lowest eight bits first.
func (l *lineOf[T]) radixSort(buffer []uint64) []uint64 {
	n := len(buffer) / 2
	a, b := buffer[:n], buffer[n:]
	var counts [4][256]uint32
	for i := range a {
		key := radixKey(l.x[i*l.stride])
		if l.descending {
			key = ^key
		}
		a[i] = uint64(key)<<32 | uint64(i)
		counts[0][key&255]++
		counts[1][key>>8&255]++
		counts[2][key>>16&255]++
		counts[3][key>>24]++
	}
	for digit := range counts {
		count, shift := &counts[digit], 32+8*digit
		if count[a[0]>>shift&255] == uint32(n) {
			continue // all have the same
		}
		at := uint32(0)
		for i, c := range count {
			count[i] = at
			at += c
		}
		for _, pair := range a {
			to := &count[uint8(pair>>shift)]
			b[*to] = pair
			*to++
		}
		a, b = b, a
	}
	return a
}

// store writes the first k elements of sorted pairs and their positions, step apart.
func (l *lineOf[T]) store(pairs []uint64, values []T, positions []int32, k, step int) {
	for i, pair := range pairs[:k] {
		at := int32(uint32(pair))
		values[i*step], positions[i*step] = l.at(at), at
	}
}
