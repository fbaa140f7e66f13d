package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// groupedSums is a function that adds up products of inputs and gradients for vectors of several groups.
type groupedSums struct {
	wide         bool // AVX-512, else AVX2
	taps, inputs int  // inputs of a group, which has as many outputs
}

// Offsets in the argument block, which is the struct groupedSumsCall of the package.
const (
	groupedSumsA = 8 * iota
	groupedSumsB
	groupedSumsC
	groupedSumsIndices
	groupedSumsPixels
	groupedSumsAPixel
	groupedSumsBPixel
	groupedSumsLines
	groupedSumsALine
	groupedSumsBLine
	groupedSumsCTap
	groupedSumsCInput
	groupedSumsFlags
	groupedSumsVectors
)

func (s groupedSums) family() string { return fmt.Sprintf("groupedSums%d%s", s.taps, level(s.wide)) }
func (s groupedSums) name() string   { return fmt.Sprintf("%sI%d", s.family(), s.inputs) }

func (s groupedSums) emit() {
	TEXT(s.name(), NOSPLIT, "func(c uintptr)")
	Doc(fmt.Sprintf("%s adds to the sums of %d inputs of each group, of all vectors.", s.name(), s.inputs))
	k := kernel{wide: s.wide}
	args := Load(Param("c"), GP64())
	arg := func(offset int) Mem { return Mem{Base: args, Disp: offset} }
	indices := GP64()
	MOVQ(arg(groupedSumsIndices), indices)
	stepA, stepB := GP64(), GP64()
	MOVQ(arg(groupedSumsAPixel), stepA)
	MOVQ(arg(groupedSumsBPixel), stepB)
	var places []reg.VecVirtual // of as many inputs as there are registers for
	if s.inputs == 8 {
		for i := range 31 - s.taps*s.inputs - s.taps {
			if i < s.inputs {
				places = append(places, k.vector())
				VMOVUPS(Mem{Base: indices, Disp: i * indexBytes}, places[i])
			}
		}
	}
	Label("vector")
	sums := make([][]reg.VecVirtual, s.taps)
	for t := range sums {
		for range s.inputs {
			v := k.vector()
			k.zero(v)
			sums[t] = append(sums[t], v)
		}
	}
	lineA, lineB, linesLeft := GP64(), GP64(), GP64()
	MOVQ(arg(groupedSumsA), lineA)
	MOVQ(arg(groupedSumsB), lineB)
	MOVQ(arg(groupedSumsLines), linesLeft)
	Label("line")
	a, b := GP64(), GP64()
	MOVQ(lineA, a)
	MOVQ(lineB, b)
	var up []reg.VecVirtual // the gradients of the last outputs
	for range s.taps {
		up = append(up, k.vector())
	}
	load := func() {
		VMOVUPS(Mem{Base: b}, up[0])
		ADDQ(stepB, b)
	}
	next := func(from, to int) { // meets the next input, at which the taps from from to to have an output
		s.input(k, sums, up, places, from, to, a, indices)
		ADDQ(stepA, a)
	}
	shift := func(to int) {
		for i := min(to, s.taps-1); i > 0; i-- {
			VMOVAPS(up[i-1], up[i])
		}
	}
	left := GP64()
	MOVQ(arg(groupedSumsPixels), left)
	if s.taps == 3 {
		load()
		TESTQ(U32(slideLeft), arg(groupedSumsFlags))
		JNE(LabelRef("second"))
		next(0, 0)
		Label("second")
		shift(1)
		load()
		next(0, 1)
		SUBQ(U8(2), left)
		JE(LabelRef("end"))
	}
	Label("pixel")
	shift(2)
	load()
	next(0, s.taps-1)
	DECQ(left)
	JNE(LabelRef("pixel"))
	if s.taps == 3 {
		Label("end")
		shift(2)
		next(1, 2)
		TESTQ(U32(slideRight), arg(groupedSumsFlags))
		JNE(LabelRef("ended"))
		shift(2)
		next(2, 2)
		Label("ended")
	}
	ADDQ(arg(groupedSumsALine), lineA)
	ADDQ(arg(groupedSumsBLine), lineB)
	DECQ(linesLeft)
	JNE(LabelRef("line"))
	s.flush(k, sums, arg)
	DECQ(arg(groupedSumsVectors))
	JE(LabelRef("done"))
	for _, at := range []int{groupedSumsA, groupedSumsB, groupedSumsC} {
		ADDQ(U8(k.vectorBytes()), arg(at))
	}
	JMP(LabelRef("vector"))
	Label("done")
	VZEROUPPER()
	RET()
}

// input adds the products of the inputs at a, each in the places of the outputs of its group.
func (s groupedSums) input(k kernel, sums [][]reg.VecVirtual, up, places []reg.VecVirtual, from, to int, a, indices reg.GPVirtual) {
	for i := range s.inputs {
		x := k.vector()
		switch s.inputs {
		case 2:
			VPERMILPS(U8([]uint8{0xa0, 0xf5}[i]), Mem{Base: a}, x)
		case 4:
			VPERMILPS(U8(uint8(0x55*i)), Mem{Base: a}, x)
		default:
			if i < len(places) {
				VPERMPS(Mem{Base: a}, places[i], x)
				break
			}
			VMOVUPS(Mem{Base: indices, Disp: i * indexBytes}, x)
			VPERMPS(Mem{Base: a}, x, x)
		}
		for t := from; t <= to; t++ {
			VFMADD231PS(x, up[t], sums[t][i])
		}
	}
}

// flush adds the sums to memory.
func (s groupedSums) flush(k kernel, sums [][]reg.VecVirtual, arg func(int) Mem) {
	c, row, step := GP64(), GP64(), GP64()
	MOVQ(arg(groupedSumsC), row)
	MOVQ(arg(groupedSumsCInput), step)
	for t := range sums {
		MOVQ(row, c)
		for i, v := range sums[t] {
			VADDPS(Mem{Base: c}, v, v)
			VMOVUPS(v, Mem{Base: c})
			if i < s.inputs-1 {
				ADDQ(step, c)
			}
		}
		if t < s.taps-1 {
			ADDQ(arg(groupedSumsCTap), row)
		}
	}
}

// emitGroupedSums emits the functions of this file and returns their callers and declarations in Go.
func emitGroupedSums() (calls, stubs string) {
	var c, d strings.Builder
	for _, wide := range []bool{false, true} {
		for _, taps := range []int{1, 3} {
			s := groupedSums{wide: wide, taps: taps}
			fmt.Fprintf(&c, "\n//go:noinline\nfunc call%s%s(inputs int, c *groupedSumsCall) {\n\tswitch inputs {\n", strings.ToUpper(s.family()[:1]), s.family()[1:])
			for _, s.inputs = range []int{2, 4, 8} {
				if s.inputs == 8 && !wide { // a vector is one group then
					continue
				}
				s.emit()
				fmt.Fprintf(&c, "\tcase %d:\n\t\t%s(c)\n", s.inputs, s.name())
				fmt.Fprintf(&d, "\n//go:noescape\nfunc %s(c *groupedSumsCall)\n", s.name())
			}
			c.WriteString("\t}\n}\n")
		}
	}
	return c.String(), d.String()
}
