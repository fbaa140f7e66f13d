package main

import (
	"encoding/binary"
	"fmt"
	"math"
)

// multiply adds the product of the tiles a and b to the tile of the instruction.
func (r *registers) multiply(i instruction) error {
	for _, t := range []int{i.a, i.b} {
		if err := r.usable(i.name, t); err != nil {
			return err
		}
	}
	if r.height[i.tile] != r.height[i.a] || r.width[i.tile] != r.width[i.b] || r.width[i.a] != 4*r.height[i.b] {
		return undefined(fmt.Sprintf("%s of %d x %d and %d x %d numbers of 32 bits into %d x %d", i.name, r.height[i.a], r.width[i.a]/4,
			r.height[i.b], r.width[i.b]/4, r.height[i.tile], r.width[i.tile]/4))
	}
	var result [rows][rowBytes]byte
	for row := range r.height[i.tile] {
		sums := r.data[i.tile][row]
		if i.op == bfloat16Products {
			r.rowOfBfloat16(i, row, &sums)
		} else {
			r.rowOfBytes(i, row, &sums)
		}
		copy(result[row][:r.width[i.tile]], sums[:])
	}
	r.data[i.tile] = result
	return nil
}

// rowOfBfloat16 computes the sums of the even and of the odd numbers separately, starting from zero, with one rounding
// for each product. It adds the two sums, and then adds the result to the old value.
func (r *registers) rowOfBfloat16(i instruction, row int, sums *[rowBytes]byte) {
	half := func(x []byte) float32 { return flush(math.Float32frombits(uint32(x[0])<<16 | uint32(x[1])<<24)) }
	for n := 0; n < r.width[i.tile]; n += 4 {
		var even, odd float32
		for k := range r.height[i.b] {
			x, y := r.data[i.a][row][4*k:], r.data[i.b][k][n:]
			even = multiplyAdd(half(x), half(y), even)
			odd = multiplyAdd(half(x[2:]), half(y[2:]), odd)
		}
		was := flush(math.Float32frombits(binary.LittleEndian.Uint32(sums[n:])))
		sum := flush(was + flush(even+odd))
		binary.LittleEndian.PutUint32(sums[n:], math.Float32bits(sum))
	}
}

// flush replaces denormals by zeros.
func flush(x float32) float32 {
	if math.Abs(float64(x)) < 0x1p-126 {
		return float32(math.Copysign(0, float64(x)))
	}
	return x
}

// multiplyAdd returns x·y + sum, rounded once, for x and y of at most 12 bits; denormal results are zeros.
func multiplyAdd(x, y, sum float32) float32 {
	product := float64(x) * float64(y) // exact
	total := product + float64(sum)
	// If the 64-bit sum is half-way between two 32-bit numbers, the bits that it has lost decide the rounding. Making
	// its last bit odd accounts for them.
	other := total - product
	lost := (product - (total - other)) + (float64(sum) - other)
	if lost != 0 && !math.IsInf(total, 0) && math.Float64bits(total)&1 == 0 {
		total = math.Nextafter(total, math.Copysign(math.Inf(1), lost))
	}
	return flush(float32(total))
}

// rowOfBytes adds four products of bytes to each sum.
func (r *registers) rowOfBytes(i instruction, row int, sums *[rowBytes]byte) {
	number := func(b byte, signed bool) uint32 {
		if signed {
			return uint32(int32(int8(b)))
		}
		return uint32(b)
	}
	for n := 0; n < r.width[i.tile]; n += 4 {
		sum := binary.LittleEndian.Uint32(sums[n:])
		for k := range r.height[i.b] {
			for part := range 4 {
				sum += number(r.data[i.a][row][4*k+part], i.signedA) * number(r.data[i.b][k][n+part], i.signedB)
			}
		}
		binary.LittleEndian.PutUint32(sums[n:], sum)
	}
}
