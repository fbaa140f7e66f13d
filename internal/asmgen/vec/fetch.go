package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// fetchRows prefetches the given number of bytes of each row into the second-level cache.
func (m machine) fetchRows() {
	m.begin("", "fetchRows", "x *float32, rows, bytes, stride uintptr", "")
	x, rows, bytes, stride := param("x"), param("rows"), param("bytes"), param("stride")
	p, k := NewScalar(), NewScalar()
	scoreRows(rows, stride, []Scalar{x}, func() {
		Assign(p, x)
		Assign(k, bytes)
		Label("line")
		Prefetch(Memory{Base: p})
		Increase(p, Number(64))
		Countdown(k, 64, "line")
	})
	End()
}
