package main

import (
	"fmt"
	"math"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// unpack writes the floats represented by 32 columns of a panel. A group has four rows, with four adjacent bytes for
// each column, and groups are step bytes apart. how has four amounts by which to shift a column's words right, which
// leave the numbers of each row in the low bits; their mask; and their excess, which is added to the zero points.
// Vectors of 256 bits go over the groups once for each half of the columns.
func unpack(m Machine) {
	Begin(m, "unpack", "dst, w, scale, zero, how, groups, step uintptr", "")
	Doc("unpack" + m.Name + " writes the floats represented by 32 columns of a panel.")
	u := newUnpacking(m)
	mask := NewVector(m.Bytes)
	Broadcast(mask, Memory{Base: u.how, Offset: 16})
	u.run(func(v, words, shift Vector) {
		ShiftRightBy(v, words, shift)
		AndInt(v, v, mask)
		ToFloat(v, v)
	})
}

// unpackNibbles is unpack for 4-bit numbers, which it converts to floats by table lookup.
func unpackNibbles() {
	m := Machine{Name: "AVX512", Bytes: 64}
	Begin(m, "unpackNibbles", "dst, w, scale, zero, how, groups, step uintptr", "")
	Doc("unpackNibblesAVX512 writes the floats represented by 32 columns of a panel of four bits.")
	u := newUnpacking(m)
	table, numbers := NewVector(m.Bytes), make([]uint32, 16)
	for i := range numbers {
		numbers[i] = math.Float32bits(float32(i))
	}
	Load(table, Table("sixteen", numbers))
	u.run(func(v, words, shift Vector) {
		ShiftRightBy(v, words, shift)
		Lookup(v, v, table)
	})
}

type unpacking struct {
	m                                      Machine
	dst, w, scale, zero, how, groups, step Scalar
	shifts                                 [4]Vector
}

func newUnpacking(m Machine) *unpacking {
	u := &unpacking{m: m, dst: Parameter("dst"), w: Parameter("w"), scale: Parameter("scale"), zero: Parameter("zero"), how: Parameter("how"), groups: Parameter("groups"), step: Parameter("step")}
	for r := range u.shifts {
		u.shifts[r] = NewVector(m.Bytes)
		Broadcast(u.shifts[r], Memory{Base: u.how, Offset: 4 * r})
	}
	return u
}

// run emits the loops; number sets v to floats from words.
func (u *unpacking) run(number func(v, words, shift Vector)) {
	const columns = 32
	bytes := u.m.Bytes
	var scales, zeros [2]Vector
	words, v, excess := NewVector(bytes), NewVector(bytes), NewVector(bytes)
	for i := range scales {
		scales[i], zeros[i] = NewVector(bytes), NewVector(bytes)
	}
	to, at, left := NewScalar(), NewScalar(), NewScalar()
	for first := 0; first < 4*columns; first += 2 * bytes {
		Broadcast(excess, Memory{Base: u.how, Offset: 20})
		for i := range scales {
			offset := first + i*bytes
			Load(scales[i], Memory{Base: u.scale, Offset: offset})
			WidenSignedBytes(zeros[i], Memory{Base: u.zero, Offset: offset / 4})
			AddInt(zeros[i], zeros[i], excess)
			ToFloat(zeros[i], zeros[i])
		}
		Assign(to, u.dst)
		Assign(at, u.w)
		Assign(left, u.groups)
		label := fmt.Sprintf("loop%d", first)
		Label(label)
		for i := range scales {
			offset := first + i*bytes
			LoadInt(words, Memory{Base: at, Offset: offset})
			for r, shift := range u.shifts {
				number(v, words, shift)
				Subtract(v, v, zeros[i])
				Multiply(v, v, scales[i])
				Store(Memory{Base: to, Offset: 4*columns*r + offset}, v)
			}
		}
		Increase(to, Number(16*columns))
		Increase(at, u.step)
		Countdown(left, 1, label)
	}
	End()
}
