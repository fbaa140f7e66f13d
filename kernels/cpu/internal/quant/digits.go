package quant

import "math"

// digitSums holds the sum of each digit.
type digitSums [digits]int32

// mostLanes is the number of elements of the longest vectors.
const mostLanes = 16

// splitting says how numbers are split into digits.
type splitting struct {
	by   float32 // the power of two that they are multiplied by
	flip uint32  // of each byte: 128 for signed digits, 0 for unsigned ones, which are 128 more
}

// factorOf returns how the numbers of x are split, and the factor that turns their integers back into numbers. The
// factor is 0 if all numbers are 0, and NaN if one is infinite or NaN; such rows have no digits.
func (f family) factorOf(x []float32) (factor, by float32) {
	const finite, leastExponent, room, most = 0x7f800000, 1, 22, 126
	top := f.largest(x)
	exponent := int(top >> 23)
	switch {
	case top >= finite:
		return float32(math.NaN()), 0
	case exponent < leastExponent:
		return 0, 0
	}
	shift := room + 127 - exponent      // scales the largest number to between 2^22 and 2^23
	if top&0x7fffff > 2*largest-1<<23 { // more than three digits can hold
		shift--
	}
	shift = min(shift, most)
	return math.Float32frombits(uint32(127-shift) << 23), math.Float32frombits(uint32(127+shift) << 23)
}

// writeDigits writes the digits of x to planes, filled up with zeros to a whole group. If sums is not nil, it adds the
// digits to it.
func (f family) writeDigits(to []byte, plane int, x []float32, how *splitting, sums *digitSums) {
	lanes := f.lanes()
	whole := len(x) / lanes * lanes
	if whole > 0 {
		f.split(to, plane, x[:whole], how, sums)
	}
	if rest := x[whole:]; len(rest) > 0 {
		var last [mostLanes]float32
		var bytes [digits * mostLanes]byte
		copy(last[:], rest)
		f.split(bytes[:], mostLanes, last[:lanes], how, sums)
		for d := range digits {
			copy(to[d*plane+whole:][:groups(len(rest))*group], bytes[d*mostLanes:])
		}
	}
}

// largestGo returns the largest absolute value in x, as bits.
func largestGo(x []float32) uint32 {
	top := uint32(0)
	for _, v := range x {
		top = max(top, math.Float32bits(v)&0x7fffffff)
	}
	return top
}

// splitGo writes the digits of x. It adds the signed digits to sums, if that is not nil.
func splitGo(to []byte, plane int, x []float32, how *splitting, sums *digitSums) {
	const (
		nearest = 3 << 51 // adding it leaves the nearest integer in the low bits
		bias    = 0x808080
	)
	for i, v := range x {
		// Adding 128 to each digit moves carries and borrows into the other digits, and makes all digits unsigned
		// bytes.
		u := uint32(math.Float64bits(float64(v)*float64(how.by)+nearest)) + bias
		for d := range digits {
			digit := byte(u >> (8 * d))
			to[d*plane+i] = digit ^ byte(how.flip)
			if sums != nil {
				sums[d] += int32(digit) - 128
			}
		}
	}
}

// digitVectors is what assembly stores: for each digit a vector of sums, each of them 128 too large for every number.
type digitVectors [digits * mostLanes]uint32

// add adds the sums of n numbers, which are in vectors of that many lanes, to sums, if that is not nil.
func (v *digitVectors) add(sums *digitSums, lanes, n int) {
	if sums == nil {
		return
	}
	for d := range digits {
		for _, s := range v[d*lanes:][:lanes] {
			sums[d] += int32(s)
		}
		sums[d] -= int32(n) * 128
	}
}

// largestOf returns the largest of a vector and of the bits of the rest, which filled no vector.
func largestOf(vector []uint32, rest []float32) uint32 {
	top := largestGo(rest)
	for _, v := range vector {
		top = max(top, v)
	}
	return top
}
