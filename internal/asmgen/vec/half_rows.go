package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// halfRowKernels emits loops over rows of bfloat16, mostly for batch normalization. They compute, with the same bits,
// what moments, productRows, rowsCombine and rowsAffine compute for widened rows, four vectors of columns at a time.
// They exist only for AVX-512 with AVX512-BF16.
func (m machine) halfRowKernels() {
	if !m.wide {
		return
	}
	m.halfMoments()
	for _, masked := range []bool{false, true} {
		m.halfProducts(masked)
		m.halfCombine(masked)
	}
	m.halfAffine(false)
	m.halfAffine(true)
	m.halfPowers()
}

const halfColumns = 4 // in vectors

// beginWide is begin for functions that exist only for AVX-512.
func (m machine) beginWide(name, parameters string) {
	functions = append(functions, function{name: name, parameters: parameters, wide: true})
	Begin(m.Machine, name, parameters, "")
}

// widenedHalf loads and widens vector i of bfloat16 from p on.
func (m machine) widenedHalf(p Scalar, i int) Vector {
	v := m.vector()
	WidenWords(v, m.halfPlace(p, i))
	ShiftLeft(v, v, 16)
	return v
}

func (m machine) halfPlace(p Scalar, i int) Memory { return Memory{Base: p, Offset: i * m.bytes() / 2} }

// halfPowers: dst = b·exp(x + a), with the exp of coarseExp.
func (m machine) halfPowers() {
	m.beginWide("halfPowers", "dst, x unsafe.Pointer, n uintptr, scalars unsafe.Pointer")
	dst, x, n, scalars := param("dst"), param("x"), param("n"), param("scalars")
	a, b := m.broadcast(scalars, 0), m.broadcast(scalars, 1)
	for _, u := range []int{halfColumns, 1} {
		top, bottom := fmt.Sprintf("loop%d", u), fmt.Sprintf("end%d", u)
		Label(top)
		JumpBelow(n, Number(u*m.bytes()/4), bottom)
		v := make(vectors, u)
		for i := range v {
			v[i] = m.widenedHalf(x, i)
			Add(v[i], v[i], a)
		}
		v = m.single(m.coarseExp)(v)
		for i := range v {
			Multiply(v[i], v[i], b)
			StoreBFloat16(m.halfPlace(dst, i), v[i])
		}
		Increase(dst, Number(u*m.bytes()/2))
		Increase(x, Number(u*m.bytes()/2))
		Decrease(n, Number(u*m.bytes()/4))
		Jump(top)
		Label(bottom)
	}
	End()
}

func (m machine) halfMoments() {
	m.beginWide("halfMoments", "shift, sum, squares *float32, x unsafe.Pointer, inverse *float32, sample, rows, stride uintptr")
	m.sumMoments(halfColumns, m.widenedHalf, func(sum Vector, p Scalar, i int) { Add(sum, sum, m.widenedHalf(p, i)) })
	End()
}

func (m machine) halfProducts(masked bool) {
	name, parameters := "halfProducts", "sum, product *float32, y, x unsafe.Pointer, mean *float32, rows, stride uintptr"
	if masked {
		name, parameters = name+"Masked", "sum, product *float32, y, x unsafe.Pointer, mean, scale, shift *float32, rows, stride uintptr"
	}
	m.beginWide(name, parameters)
	m.sumProducts(halfColumns, masked, m.widenedHalf)
	End()
}

func (m machine) halfCombine(masked bool) {
	name, parameters := "halfCombine", "dst, x, y unsafe.Pointer, a, b, c *float32, rows, stride uintptr"
	if masked {
		name, parameters = name+"Masked", "dst, x, y unsafe.Pointer, a, b, c, scale, shift *float32, rows, stride uintptr"
	}
	m.beginWide(name, parameters)
	m.combine(halfColumns, masked, m.widenedHalf, func(p Scalar, i int, v Vector) { StoreBFloat16(m.halfPlace(p, i), v) })
	End()
}

// halfAffine takes the larger of its result and the number at floor. If it adds an addend, x·scale + shift is rounded
// first.
func (m machine) halfAffine(add bool) {
	name, parameters := "halfAffine", "dst, x unsafe.Pointer, scale, shift, floor *float32, rows, stride uintptr"
	if add {
		name, parameters = name+"Add", "dst, x, addend unsafe.Pointer, scale, shift, floor *float32, rows, stride uintptr"
	}
	m.beginWide(name, parameters)
	dst, x, rows, stride := param("dst"), param("x"), param("rows"), param("stride")
	pointers := []Scalar{dst, x}
	var addend Scalar
	if add {
		addend = param("addend")
		pointers = append(pointers, addend)
	}
	scale, shift := m.columns(param("scale"), halfColumns), m.columns(param("shift"), halfColumns)
	floor := m.broadcast(param("floor"), 0)
	eachRow("row", rows, stride, pointers, func() {
		scale.each(func(i int) {
			v := m.widenedHalf(x, i)
			multiplyThenAdd(v, scale[i], shift[i])
			if add {
				RoundBFloat16(v)
				Add(v, v, m.widenedHalf(addend, i))
			}
			Max(v, floor, v) // for NaN, Max returns its last source, v
			StoreBFloat16(m.halfPlace(dst, i), v)
		})
	})
	End()
}
