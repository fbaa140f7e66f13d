package main

import (
	"fmt"
	"strings"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Grouped kernels are grouped convolutions along rows of pixels. A vector of the result holds several whole groups. A
// vector of inputs, each lane of which holds an input of its group, is multiplied with all taps that use it.

// Offsets in the argument block, the package's struct groupedCall.
const (
	groupedA = 8 * iota
	groupedB
	groupedC
	groupedBias
	groupedIndices
	groupedInputs
	groupedARow
	groupedBK
	groupedCRow
	groupedSegments
	groupedASegment
	groupedBSegment
	groupedOuter
	groupedAOuter
	groupedBOuter
	groupedTiles
	groupedATile
	groupedCTile
	groupedLines
	groupedALine
	groupedCLine
	groupedFlags
	groupedVectors
	groupedBVector
)

const groupedReLU = 1

// indexBytes is the distance from the indices of one input to those of the next.
const indexBytes = 64

// grouped is a function for tiles of the given number of pixels.
type grouped struct {
	wide         bool // AVX-512, else AVX2
	taps, pixels int
}

// maxGrouped is limited by the registers: a tile needs one for each pixel and each tap, one for an input and one for
// its lookup index.
func maxGrouped(wide bool) int {
	if wide {
		return 14
	}
	return 10
}

func (g grouped) family() string { return fmt.Sprintf("grouped%d%s", g.taps, level(g.wide)) }
func (g grouped) name() string   { return fmt.Sprintf("%sP%d", g.family(), g.pixels) }

func (g grouped) emit() {
	begin(g.wide, g.name(), "c uintptr")
	Doc(fmt.Sprintf("%s computes tiles of %d pixels, of all vectors.", g.name(), g.pixels))
	k := kernel{wide: g.wide, rows: g.pixels + g.taps - 1, vectors: 1}
	args := Parameter("c")
	arg := func(offset int) Memory { return Memory{Base: args, Offset: offset} }
	local := Local(12 * 8)
	lineA, lineC, linesLeft := local.Plus(0), local.Plus(8), local.Plus(16)
	tileA, tileC, tilesLeft := local.Plus(24), local.Plus(32), local.Plus(40)
	outerA, outerB, outerLeft := local.Plus(48), local.Plus(56), local.Plus(64)
	segmentA, segmentB, segmentsLeft := local.Plus(72), local.Plus(80), local.Plus(88)
	var strides [3]Scalar
	for i := range strides {
		strides[i] = NewScalar()
	}
	Assign(strides[0], arg(groupedARow))
	Address(strides[1], Memory{Base: strides[0]}.Indexed(strides[0], 2))
	Address(strides[2], Memory{Base: strides[0]}.Indexed(strides[0], 4))
	Label("vector")
	move(lineA, arg(groupedA))
	move(lineC, arg(groupedC))
	move(linesLeft, arg(groupedLines))

	Label("line")
	move(tileA, lineA)
	move(tileC, lineC)
	move(tilesLeft, arg(groupedTiles))

	Label("tile")
	sums := g.start(k, arg)
	move(outerA, tileA)
	move(outerB, arg(groupedB))
	move(outerLeft, arg(groupedOuter))

	Label("outer")
	move(segmentA, outerA)
	move(segmentB, outerB)
	move(segmentsLeft, arg(groupedSegments))

	Label("segment")
	bases := make([]Scalar, (k.rows+rowsPerBase-1)/rowsPerBase)
	for i := range bases {
		bases[i] = NewScalar()
		if i == 0 {
			Assign(bases[0], segmentA)
			continue
		}
		Address(bases[i], Memory{Base: bases[i-1]}.Indexed(strides[1], 2))
		Increase(bases[i], strides[0])
	}
	b, left := NewScalar(), NewScalar()
	Assign(b, segmentB)
	Assign(left, arg(groupedInputs))
	indices := NewScalar()
	Assign(indices, arg(groupedIndices))

	Label("input")
	g.products(k, sums, bases, strides, b, indices)
	Increase(indices, Number(indexBytes))
	Increase(b, arg(groupedBK))
	Countdown(left, 1, "input")

	advance(segmentA, arg(groupedASegment))
	advance(segmentB, arg(groupedBSegment))
	Countdown(segmentsLeft, 1, "segment")
	advance(outerA, arg(groupedAOuter))
	advance(outerB, arg(groupedBOuter))
	Countdown(outerLeft, 1, "outer")

	g.store(k, sums, arg, tileC)
	advance(tileA, arg(groupedATile))
	advance(tileC, arg(groupedCTile))
	Countdown(tilesLeft, 1, "tile")
	advance(lineA, arg(groupedALine))
	advance(lineC, arg(groupedCLine))
	Countdown(linesLeft, 1, "line")

	CountedOut(arg(groupedVectors), 1, "done")
	Increase(arg(groupedA), Number(k.vectorBytes()))
	Increase(arg(groupedC), Number(k.vectorBytes()))
	advance(arg(groupedB), arg(groupedBVector))
	JumpEqual(arg(groupedBias), Number(0), "vector")
	Increase(arg(groupedBias), Number(k.vectorBytes()))
	Jump("vector")
	Label("done")
	End()
}

// start returns the sums, initialized with the bias or 0.
func (g grouped) start(k kernel, arg func(int) Memory) []Vector {
	sums := make([]Vector, g.pixels)
	for i := range sums {
		sums[i] = k.vector()
	}
	bias := NewScalar()
	Assign(bias, arg(groupedBias))
	JumpZero(bias, "noBias")
	Load(sums[0], Memory{Base: bias})
	for _, v := range sums[1:] {
		Copy(v, sums[0])
	}
	Jump("started")
	Label("noBias")
	for _, v := range sums {
		k.zero(v)
	}
	Label("started")
	return sums
}

// products adds the products of one input of each group.
func (g grouped) products(k kernel, sums []Vector, bases []Scalar, strides [3]Scalar, b, indices Scalar) {
	weights := make([]Vector, g.taps)
	for t := range weights {
		weights[t] = k.vector()
		Load(weights[t], Memory{Base: b, Offset: t * k.vectorBytes()})
	}
	places := k.vector()
	Load(places, Memory{Base: indices})
	for q := range g.pixels + g.taps - 1 {
		x := k.vector()
		Lookup(x, places, k.rowAddress(bases, strides, q))
		for t, w := range weights {
			if p := q - t; p >= 0 && p < g.pixels {
				AddProduct(sums[p], w, x)
			}
		}
	}
}

// store applies relu and stores the sums.
func (g grouped) store(k kernel, sums []Vector, arg func(int) Memory, tileC Memory) {
	flags := NewScalar()
	Assign(flags, arg(groupedFlags))
	JumpUnless(flags, groupedReLU, "linear")
	zero := k.vector()
	k.zero(zero)
	for _, v := range sums {
		k.max(v, zero)
	}
	Label("linear")
	c, row := NewScalar(), NewScalar()
	Assign(c, tileC)
	Assign(row, arg(groupedCRow))
	for i, v := range sums {
		Store(Memory{Base: c}, v)
		if i < len(sums)-1 {
			Increase(c, row)
		}
	}
}

// emitGrouped emits this file's functions and returns their Go callers and declarations.
func emitGrouped() (calls, stubs string) {
	var c, s strings.Builder
	for _, wide := range []bool{false, true} {
		for _, taps := range []int{1, 3} {
			g := grouped{wide: wide, taps: taps}
			fmt.Fprintf(&c, "\n//go:noinline\nfunc call%s%s(pixels int, c *groupedCall) {\n\tswitch pixels {\n", strings.ToUpper(g.family()[:1]), g.family()[1:])
			for g.pixels = 1; g.pixels <= maxGrouped(wide); g.pixels++ {
				g.emit()
				fmt.Fprintf(&c, "\tcase %d:\n\t\t%s(c)\n", g.pixels, g.name())
				fmt.Fprintf(&s, "\n//go:noescape\nfunc %s(c *groupedCall)\n", g.name())
			}
			c.WriteString("\t}\n}\n")
		}
	}
	return c.String(), s.String()
}
