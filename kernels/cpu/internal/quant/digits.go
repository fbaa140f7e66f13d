package quant

import "math"

// digitSums are sums of digits.
type digitSums [digits]int32

// mostLanes is the number of elements of the longest vectors.
const mostLanes = 16

// splitting says how numbers become digits.
type splitting struct {
	by   float32 // the power of two that they are multiplied with
	flip uint32  // of each byte: 128 for digits with a sign, 0 for those that are 128 more
}

// factorOf returns how the numbers of x are split, and what their integers are multiplied with: 0 where all of them are
// 0, NaN where one is infinite or NaN; those have no digits.
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
	shift := room + 127 - exponent      // the largest becomes 2^22 to 2^23
	if top&0x7fffff > 2*largest-1<<23 { // more than three digits hold
		shift--
	}
	shift = min(shift, most)
	return math.Float32frombits(uint32(127-shift) << 23), math.Float32frombits(uint32(127+shift) << 23)
}

// writeDigits writes the digits of x, filled up with zeros to a whole group, to planes, and adds them up where there
// are sums.
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

// largestGo returns the largest bits of x without signs.
func largestGo(x []float32) uint32 {
	top := uint32(0)
	for _, v := range x {
		top = max(top, math.Float32bits(v)&0x7fffffff)
	}
	return top
}

// splitGo writes the digits of x and adds them, with their signs, to the sums, if any.
func splitGo(to []byte, plane int, x []float32, how *splitting, sums *digitSums) {
	const (
		nearest = 3 << 51 // a sum with it has the nearest integer in its low bits
		bias    = 0x808080
	)
	for i, v := range x {
		// Plus 128 in each digit, whose carries and borrows are in the others then, digits are bytes without a sign.
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

// digitVectors are what assembly stores: a vector of the sums of each digit, each of which is 128 too large.
type digitVectors [digits * mostLanes]uint32

// add adds the sums of n numbers, in vectors of so many lanes, to the sums, if any.
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

// largestOf returns the largest of a vector, and of the bits of what was no whole vector.
func largestOf(vector []uint32, rest []float32) uint32 {
	top := largestGo(rest)
	for _, v := range vector {
		top = max(top, v)
	}
	return top
}
