package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// slideSums is a function that adds up products of inputs and gradients for three taps on each of a number of rows of the kernel.
type slideSums struct {
	wide bool
	rows int
}

const sumTaps = 3

func (s slideSums) family() string { return "slideSums" + level(s.wide) }
func (s slideSums) name() string   { return fmt.Sprintf("%sR%d", s.family(), s.rows) }

func (s slideSums) emit() {
	TEXT(s.name(), NOSPLIT, "func(c uintptr)")
	Doc(fmt.Sprintf("%s adds to the sums of %d rows of the kernel.", s.name(), s.rows))
	args := Load(Param("c"), GP64())
	arg := func(offset int) Mem { return Mem{Base: args, Disp: offset} }
	local := AllocLocal(6 * 8)
	groupA, groupB, groupsLeft := local.Offset(0), local.Offset(8), local.Offset(16)
	lineA, lineB, linesLeft := local.Offset(24), local.Offset(32), local.Offset(40)
	step, segment := GP64(), GP64()
	MOVQ(arg(slideStep), step)
	MOVQ(arg(slideASegment), segment)
	move(groupA, arg(slideA))
	move(groupB, arg(slideB))
	move(groupsLeft, arg(slideGroups))
	Label("group")
	channelLoop(s.wide, arg, func(k kernel, col reg.GPVirtual, suffix string) {
		sums := make([][]reg.VecVirtual, s.rows)
		for r := range sums {
			for range sumTaps {
				v := k.vector()
				k.zero(v)
				sums[r] = append(sums[r], v)
			}
		}
		move(lineA, groupA)
		move(lineB, groupB)
		move(linesLeft, arg(slideLines))
		Label("line" + suffix)
		a, b := GP64(), GP64()
		MOVQ(lineA, a)
		ADDQ(col, a)
		MOVQ(lineB, b)
		ADDQ(col, b)
		s.line(k, sums, arg, a, b, step, segment, suffix)
		advance(lineA, arg(slideALine))
		advance(lineB, arg(slideBLine))
		DECQ(linesLeft)
		JNE(LabelRef("line" + suffix))
		s.flush(k, sums, arg, col, step, suffix)
	})
	move(groupA, lineA)
	move(groupB, lineB)
	DECQ(groupsLeft)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

// line adds the products of a line. The gradients of the last three outputs are in registers.
func (s slideSums) line(k kernel, sums [][]reg.VecVirtual, arg func(int) Mem, a, b, step, segment reg.GPVirtual, suffix string) {
	aheadA, aheadB := GP64(), GP64() // from a number to that of the next line which no line before has seen
	MOVQ(arg(slideALine), aheadA)
	for range s.rows - 1 {
		ADDQ(segment, aheadA)
	}
	MOVQ(arg(slideBLine), aheadB)
	var up [sumTaps]reg.VecVirtual
	for i := range up {
		up[i] = k.vector()
	}
	next := func(from, to int, load bool) { // meets the next input, at which the taps from to to have an output
		for i := min(to, sumTaps-1); i > 0; i-- {
			VMOVAPS(up[i-1], up[i])
		}
		if load {
			VMOVUPS(Mem{Base: b}, up[0])
			ADDQ(step, b)
		}
		for r, row := range sums {
			m := Mem{Base: a}
			if r > 0 {
				m = m.Idx(segment, uint8(r))
			}
			x := k.vector()
			VMOVUPS(m, x)
			for t := from; t <= to; t++ {
				VFMADD231PS(x, up[t], row[t])
			}
		}
		ADDQ(step, a)
	}
	TESTQ(U32(slideLeft), arg(slideFlags))
	JNE(LabelRef("skip" + suffix))
	next(0, 0, true)
	JMP(LabelRef("second" + suffix))
	Label("skip" + suffix)
	VMOVUPS(Mem{Base: b}, up[0])
	ADDQ(step, b)
	Label("second" + suffix)
	next(0, 1, true)
	left := GP64()
	MOVQ(arg(slidePixels), left)
	SUBQ(U8(2), left)
	JE(LabelRef("end" + suffix))
	Label("pixel" + suffix)
	PREFETCHT1(Mem{Base: a}.Idx(aheadA, 1))
	PREFETCHT1(Mem{Base: b}.Idx(aheadB, 1))
	next(0, 2, true)
	DECQ(left)
	JNE(LabelRef("pixel" + suffix))
	Label("end" + suffix)
	next(1, 2, false)
	TESTQ(U32(slideRight), arg(slideFlags))
	JNE(LabelRef("ended" + suffix))
	next(2, 2, false)
	Label("ended" + suffix)
}

// flush adds the sums to memory, but for those of channels that had their turn.
func (s slideSums) flush(k kernel, sums [][]reg.VecVirtual, arg func(int) Mem, col, step reg.GPVirtual, suffix string) {
	masked := func() {
		mask := GP64()
		lanes := k.vector()
		MOVQ(arg(slideMask), mask)
		VMOVUPS(Mem{Base: mask}, lanes)
		for _, row := range sums {
			for _, v := range row {
				VANDPS(lanes, v, v)
			}
		}
	}
	if suffix == "" {
		CMPQ(arg(slideTail), U8(0)) // if a half comes after it, that is what may repeat channels
		JNE(LabelRef("unique"))
		CMPQ(col, arg(slideLast))
		JNE(LabelRef("unique"))
		masked()
		Label("unique")
	} else {
		masked()
	}
	c, row := GP64(), GP64()
	MOVQ(arg(slideC), row)
	ADDQ(col, row)
	for r := range sums {
		MOVQ(row, c)
		for t, v := range sums[r] {
			VADDPS(Mem{Base: c}, v, v)
			VMOVUPS(v, Mem{Base: c})
			if t < sumTaps-1 {
				ADDQ(step, c)
			}
		}
		if r < len(sums)-1 {
			ADDQ(arg(slideBSegment), row)
		}
	}
}
