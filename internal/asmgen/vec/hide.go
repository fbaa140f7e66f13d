package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// hideRows stores minus infinity where a mask of bytes is 0, in rows of n numbers, at least a group: the last group of
// a row may overlap the one before it. stride is the distance of rows in bytes, maskStep that of their masks.
func (m machine) hideRows() {
	m.begin("", "hideRows", "x, mask unsafe.Pointer, rows, n, stride, maskStep uintptr", "")
	x, mask, rows, n, stride, maskStep := param("x"), param("mask"), param("rows"), param("n"), param("stride"), param("maskStep")
	infinity := m.load(Constant("minusInfinity", 0xff800000))
	at, last := NewScalar(), NewScalar()
	Address(last, Memory{Base: n, Offset: -group})
	zero := NewVector(32)
	if !m.wide {
		ZeroInt(zero)
	}
	Label("row")
	Clear(at)
	Label("group")
	if m.wide {
		StoreWhere(Memory{Base: x}.Indexed(at, 4), ZeroBytes(Memory{Base: mask}.Indexed(at, 1), zero), infinity)
	} else {
		for i := range m.groupVectors() {
			v := m.vector()
			hidden := ZeroBytes(Memory{Base: mask, Offset: 8 * i}.Indexed(at, 1), zero)
			Load(v, Memory{Base: x, Offset: 32 * i}.Indexed(at, 4))
			Blend(v, hidden, infinity)
			Store(Memory{Base: x, Offset: 32 * i}.Indexed(at, 4), v)
		}
	}
	JumpEqual(at, last, "rowEnd")
	Increase(at, Number(group))
	AtMost(at, last)
	Jump("group")
	Label("rowEnd")
	Increase(x, stride)
	Increase(mask, maskStep)
	Countdown(rows, 1, "row")
	End()
}
