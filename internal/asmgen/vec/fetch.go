package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// fetchRows asks for rows of memory, so many bytes of each, for the second-level cache.
func (m machine) fetchRows() {
	m.begin("", "fetchRows", "x *float32, rows, bytes, stride uintptr", "")
	x, rows, bytes, stride := param("x"), param("rows"), param("bytes"), param("stride")
	p, k := GP64(), GP64()
	scoreRows(rows, stride, []reg.GPVirtual{x}, func() {
		MOVQ(x, p)
		MOVQ(bytes, k)
		Label("line")
		PREFETCHT1(Mem{Base: p})
		ADDQ(U32(64), p)
		SUBQ(U32(64), k)
		JNE(LabelRef("line"))
	})
	end()
}
