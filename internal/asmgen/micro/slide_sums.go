package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// slideSums is a function that adds up products of inputs and gradients for three taps on each of several rows of the
// kernel.
type slideSums struct {
	wide bool
	rows int
}

const sumTaps = 3

func (s slideSums) family() string { return "slideSums" + level(s.wide) }
func (s slideSums) name() string   { return fmt.Sprintf("%sR%d", s.family(), s.rows) }

func (s slideSums) emit() {
	begin(s.wide, s.name(), "c uintptr")
	Doc(fmt.Sprintf("%s adds to the sums of %d rows of the kernel.", s.name(), s.rows))
	args := Parameter("c")
	arg := func(offset int) Memory { return Memory{Base: args, Offset: offset} }
	local := Local(6 * 8)
	groupA, groupB, groupsLeft := local.Plus(0), local.Plus(8), local.Plus(16)
	lineA, lineB, linesLeft := local.Plus(24), local.Plus(32), local.Plus(40)
	step, segment := NewScalar(), NewScalar()
	Assign(step, arg(slideStep))
	Assign(segment, arg(slideASegment))
	move(groupA, arg(slideA))
	move(groupB, arg(slideB))
	move(groupsLeft, arg(slideGroups))
	Label("group")
	channelLoop(s.wide, arg, func(k kernel, col Scalar, suffix string) {
		sums := make([][]Vector, s.rows)
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
		a, b := NewScalar(), NewScalar()
		Assign(a, lineA)
		Increase(a, col)
		Assign(b, lineB)
		Increase(b, col)
		s.line(k, sums, arg, a, b, step, segment, suffix)
		advance(lineA, arg(slideALine))
		advance(lineB, arg(slideBLine))
		Countdown(linesLeft, 1, "line"+suffix)
		s.flush(k, sums, arg, col, step, suffix)
	})
	move(groupA, lineA)
	move(groupB, lineB)
	Countdown(groupsLeft, 1, "group")
	End()
}

// line adds the products of a line. The gradients of the last three outputs are in registers.
func (s slideSums) line(k kernel, sums [][]Vector, arg func(int) Memory, a, b, step, segment Scalar, suffix string) {
	aheadA, aheadB := NewScalar(), NewScalar() // distances to the numbers of the next line that no previous line has read
	Assign(aheadA, arg(slideALine))
	for range s.rows - 1 {
		Increase(aheadA, segment)
	}
	Assign(aheadB, arg(slideBLine))
	var up [sumTaps]Vector
	for i := range up {
		up[i] = k.vector()
	}
	next := func(from, to int, load bool) { // handles the next input, for which the taps from from to to have an output
		for i := min(to, sumTaps-1); i > 0; i-- {
			Copy(up[i], up[i-1])
		}
		if load {
			Load(up[0], Memory{Base: b})
			Increase(b, step)
		}
		for r, row := range sums {
			m := Memory{Base: a}
			if r > 0 {
				m = m.Indexed(segment, uint8(r))
			}
			x := k.vector()
			Load(x, m)
			for t := from; t <= to; t++ {
				AddProduct(row[t], up[t], x)
			}
		}
		Increase(a, step)
	}
	JumpIf(arg(slideFlags), slideLeft, "skip"+suffix)
	next(0, 0, true)
	Jump("second" + suffix)
	Label("skip" + suffix)
	Load(up[0], Memory{Base: b})
	Increase(b, step)
	Label("second" + suffix)
	next(0, 1, true)
	left := NewScalar()
	Assign(left, arg(slidePixels))
	CountedOut(left, 2, "end"+suffix)
	Label("pixel" + suffix)
	Prefetch(Memory{Base: a}.Indexed(aheadA, 1))
	Prefetch(Memory{Base: b}.Indexed(aheadB, 1))
	next(0, 2, true)
	Countdown(left, 1, "pixel"+suffix)
	Label("end" + suffix)
	next(1, 2, false)
	JumpIf(arg(slideFlags), slideRight, "ended"+suffix)
	next(2, 2, false)
	Label("ended" + suffix)
}

// flush adds the sums to memory, except those of channels that were handled already.
func (s slideSums) flush(k kernel, sums [][]Vector, arg func(int) Memory, col, step Scalar, suffix string) {
	masked := func() {
		mask := NewScalar()
		lanes := k.vector()
		Assign(mask, arg(slideMask))
		Load(lanes, Memory{Base: mask})
		for _, row := range sums {
			for _, v := range row {
				And(v, v, lanes)
			}
		}
	}
	if suffix == "" {
		JumpNotEqual(arg(slideTail), Number(0), "unique") // if half a vector follows, that is the one that may repeat channels
		JumpNotEqual(col, arg(slideLast), "unique")
		masked()
		Label("unique")
	} else {
		masked()
	}
	c, row := NewScalar(), NewScalar()
	Assign(row, arg(slideC))
	Increase(row, col)
	for r := range sums {
		Assign(c, row)
		for t, v := range sums[r] {
			Add(v, v, Memory{Base: c})
			Store(Memory{Base: c}, v)
			if t < sumTaps-1 {
				Increase(c, step)
			}
		}
		if r < len(sums)-1 {
			Increase(row, arg(slideBSegment))
		}
	}
}
