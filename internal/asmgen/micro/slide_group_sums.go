package main

import (
	"fmt"
	"strings"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// groupedSums is a function that adds up products of inputs and gradients, in vectors that hold several groups.
type groupedSums struct {
	wide         bool // AVX-512, else AVX2
	taps, inputs int  // inputs per group, which has as many outputs
}

// Offsets in the argument block, the package's struct groupedSumsCall.
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
	begin(s.wide, s.name(), "c uintptr")
	Doc(fmt.Sprintf("%s adds to the sums of %d inputs of each group, of all vectors.", s.name(), s.inputs))
	k := kernel{wide: s.wide}
	args := Parameter("c")
	arg := func(offset int) Memory { return Memory{Base: args, Offset: offset} }
	indices := NewScalar()
	Assign(indices, arg(groupedSumsIndices))
	stepA, stepB := NewScalar(), NewScalar()
	Assign(stepA, arg(groupedSumsAPixel))
	Assign(stepB, arg(groupedSumsBPixel))
	var places []Vector // lookup indices, for as many inputs as registers allow
	if s.inputs == 8 {
		for i := range 31 - s.taps*s.inputs - s.taps {
			if i < s.inputs {
				places = append(places, k.vector())
				Load(places[i], Memory{Base: indices, Offset: i * indexBytes})
			}
		}
	}
	Label("vector")
	sums := make([][]Vector, s.taps)
	for t := range sums {
		for range s.inputs {
			v := k.vector()
			k.zero(v)
			sums[t] = append(sums[t], v)
		}
	}
	lineA, lineB, linesLeft := NewScalar(), NewScalar(), NewScalar()
	Assign(lineA, arg(groupedSumsA))
	Assign(lineB, arg(groupedSumsB))
	Assign(linesLeft, arg(groupedSumsLines))
	Label("line")
	a, b := NewScalar(), NewScalar()
	Assign(a, lineA)
	Assign(b, lineB)
	var up []Vector // the gradients of the last outputs
	for range s.taps {
		up = append(up, k.vector())
	}
	load := func() {
		Load(up[0], Memory{Base: b})
		Increase(b, stepB)
	}
	next := func(from, to int) { // handles the next input, for which the taps from from to to have an output
		s.input(k, sums, up, places, from, to, a, indices)
		Increase(a, stepA)
	}
	shift := func(to int) {
		for i := min(to, s.taps-1); i > 0; i-- {
			Copy(up[i], up[i-1])
		}
	}
	left := NewScalar()
	Assign(left, arg(groupedSumsPixels))
	if s.taps == 3 {
		load()
		JumpIf(arg(groupedSumsFlags), slideLeft, "second")
		next(0, 0)
		Label("second")
		shift(1)
		load()
		next(0, 1)
		CountedOut(left, 2, "end")
	}
	Label("pixel")
	shift(2)
	load()
	next(0, s.taps-1)
	Countdown(left, 1, "pixel")
	if s.taps == 3 {
		Label("end")
		shift(2)
		next(1, 2)
		JumpIf(arg(groupedSumsFlags), slideRight, "ended")
		shift(2)
		next(2, 2)
		Label("ended")
	}
	Increase(lineA, arg(groupedSumsALine))
	Increase(lineB, arg(groupedSumsBLine))
	Countdown(linesLeft, 1, "line")
	s.flush(k, sums, arg)
	CountedOut(arg(groupedSumsVectors), 1, "done")
	for _, at := range []int{groupedSumsA, groupedSumsB, groupedSumsC} {
		Increase(arg(at), Number(k.vectorBytes()))
	}
	Jump("vector")
	Label("done")
	End()
}

// input adds the products of the inputs at a, each broadcast to the lanes of its group's outputs.
func (s groupedSums) input(k kernel, sums [][]Vector, up, places []Vector, from, to int, a, indices Scalar) {
	for i := range s.inputs {
		x := k.vector()
		switch s.inputs {
		case 2:
			Permute(x, Memory{Base: a}, []int{0xa0, 0xf5}[i])
		case 4:
			Permute(x, Memory{Base: a}, 0x55*i)
		default:
			if i < len(places) {
				Lookup(x, places[i], Memory{Base: a})
				break
			}
			Load(x, Memory{Base: indices, Offset: i * indexBytes})
			Lookup(x, x, Memory{Base: a})
		}
		for t := from; t <= to; t++ {
			AddProduct(sums[t][i], up[t], x)
		}
	}
}

// flush adds the sums to memory.
func (s groupedSums) flush(k kernel, sums [][]Vector, arg func(int) Memory) {
	c, row, step := NewScalar(), NewScalar(), NewScalar()
	Assign(row, arg(groupedSumsC))
	Assign(step, arg(groupedSumsCInput))
	for t := range sums {
		Assign(c, row)
		for i, v := range sums[t] {
			Add(v, v, Memory{Base: c})
			Store(Memory{Base: c}, v)
			if i < s.inputs-1 {
				Increase(c, step)
			}
		}
		if t < s.taps-1 {
			Increase(row, arg(groupedSumsCTap))
		}
	}
}

// emitGroupedSums emits this file's functions and returns their Go callers and declarations.
func emitGroupedSums() (calls, stubs string) {
	var c, d strings.Builder
	for _, wide := range []bool{false, true} {
		for _, taps := range []int{1, 3} {
			s := groupedSums{wide: wide, taps: taps}
			fmt.Fprintf(&c, "\n//go:noinline\nfunc call%s%s(inputs int, c *groupedSumsCall) {\n\tswitch inputs {\n", strings.ToUpper(s.family()[:1]), s.family()[1:])
			for _, s.inputs = range []int{2, 4, 8} {
				if s.inputs == 8 && !wide { // then a vector is one group
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
