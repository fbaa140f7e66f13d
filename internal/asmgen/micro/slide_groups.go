package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Grouped kernels are convolutions in groups along rows of pixels. A vector of the result covers several whole groups. A vector of inputs, of which
// each lane holds one of its group, is multiplied with all taps that meet it.

// Offsets in the argument block, which is the struct groupedCall of the package.
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

// indexBytes is from the indices of one input to those of the next.
const indexBytes = 64

// grouped is a function for tiles of a number of pixels.
type grouped struct {
	wide         bool // AVX-512, else AVX2
	taps, pixels int
}

// maxGrouped is bounded by the registers: a tile needs one for each pixel, tap, an input and what puts it in its places.
func maxGrouped(wide bool) int {
	if wide {
		return 14
	}
	return 10
}

func (g grouped) family() string { return fmt.Sprintf("grouped%d%s", g.taps, level(g.wide)) }
func (g grouped) name() string   { return fmt.Sprintf("%sP%d", g.family(), g.pixels) }

func (g grouped) emit() {
	TEXT(g.name(), NOSPLIT, "func(c uintptr)")
	Doc(fmt.Sprintf("%s computes tiles of %d pixels, of all vectors.", g.name(), g.pixels))
	k := kernel{wide: g.wide, rows: g.pixels + g.taps - 1, vectors: 1}
	args := Load(Param("c"), GP64())
	arg := func(offset int) Mem { return Mem{Base: args, Disp: offset} }
	local := AllocLocal(12 * 8)
	lineA, lineC, linesLeft := local.Offset(0), local.Offset(8), local.Offset(16)
	tileA, tileC, tilesLeft := local.Offset(24), local.Offset(32), local.Offset(40)
	outerA, outerB, outerLeft := local.Offset(48), local.Offset(56), local.Offset(64)
	segmentA, segmentB, segmentsLeft := local.Offset(72), local.Offset(80), local.Offset(88)
	var strides [3]reg.GPVirtual
	for i := range strides {
		strides[i] = GP64()
	}
	MOVQ(arg(groupedARow), strides[0])
	LEAQ(Mem{Base: strides[0]}.Idx(strides[0], 2), strides[1])
	LEAQ(Mem{Base: strides[0]}.Idx(strides[0], 4), strides[2])
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
	bases := make([]reg.GPVirtual, (k.rows+rowsPerBase-1)/rowsPerBase)
	for i := range bases {
		bases[i] = GP64()
		if i == 0 {
			MOVQ(segmentA, bases[0])
			continue
		}
		LEAQ(Mem{Base: bases[i-1]}.Idx(strides[1], 2), bases[i])
		ADDQ(strides[0], bases[i])
	}
	b, left := GP64(), GP64()
	MOVQ(segmentB, b)
	MOVQ(arg(groupedInputs), left)
	indices := GP64()
	MOVQ(arg(groupedIndices), indices)

	Label("input")
	g.products(k, sums, bases, strides, b, indices)
	ADDQ(U8(indexBytes), indices)
	ADDQ(arg(groupedBK), b)
	DECQ(left)
	JNE(LabelRef("input"))

	advance(segmentA, arg(groupedASegment))
	advance(segmentB, arg(groupedBSegment))
	DECQ(segmentsLeft)
	JNE(LabelRef("segment"))
	advance(outerA, arg(groupedAOuter))
	advance(outerB, arg(groupedBOuter))
	DECQ(outerLeft)
	JNE(LabelRef("outer"))

	g.store(k, sums, arg, tileC)
	advance(tileA, arg(groupedATile))
	advance(tileC, arg(groupedCTile))
	DECQ(tilesLeft)
	JNE(LabelRef("tile"))
	advance(lineA, arg(groupedALine))
	advance(lineC, arg(groupedCLine))
	DECQ(linesLeft)
	JNE(LabelRef("line"))

	DECQ(arg(groupedVectors))
	JE(LabelRef("done"))
	ADDQ(U8(k.vectorBytes()), arg(groupedA))
	ADDQ(U8(k.vectorBytes()), arg(groupedC))
	advance(arg(groupedB), arg(groupedBVector))
	CMPQ(arg(groupedBias), U8(0))
	JE(LabelRef("vector"))
	ADDQ(U8(k.vectorBytes()), arg(groupedBias))
	JMP(LabelRef("vector"))
	Label("done")
	VZEROUPPER()
	RET()
}

// start returns the sums, which begin with the bias or with 0.
func (g grouped) start(k kernel, arg func(int) Mem) []reg.VecVirtual {
	sums := make([]reg.VecVirtual, g.pixels)
	for i := range sums {
		sums[i] = k.vector()
	}
	bias := GP64()
	MOVQ(arg(groupedBias), bias)
	TESTQ(bias, bias)
	JE(LabelRef("noBias"))
	VMOVUPS(Mem{Base: bias}, sums[0])
	for _, v := range sums[1:] {
		VMOVAPS(sums[0], v)
	}
	JMP(LabelRef("started"))
	Label("noBias")
	for _, v := range sums {
		k.zero(v)
	}
	Label("started")
	return sums
}

// products adds the products of one input of each group.
func (g grouped) products(k kernel, sums []reg.VecVirtual, bases []reg.GPVirtual, strides [3]reg.GPVirtual, b, indices reg.GPVirtual) {
	weights := make([]reg.VecVirtual, g.taps)
	for t := range weights {
		weights[t] = k.vector()
		VMOVUPS(Mem{Base: b, Disp: t * k.vectorBytes()}, weights[t])
	}
	places := k.vector()
	VMOVUPS(Mem{Base: indices}, places)
	for q := range g.pixels + g.taps - 1 {
		x := k.vector()
		VPERMPS(k.rowAddress(bases, strides, q), places, x)
		for t, w := range weights {
			if p := q - t; p >= 0 && p < g.pixels {
				VFMADD231PS(x, w, sums[p])
			}
		}
	}
}

// store applies relu and stores the sums.
func (g grouped) store(k kernel, sums []reg.VecVirtual, arg func(int) Mem, tileC Mem) {
	flags := GP64()
	MOVQ(arg(groupedFlags), flags)
	TESTQ(U32(groupedReLU), flags)
	JE(LabelRef("linear"))
	zero := k.vector()
	k.zero(zero)
	for _, v := range sums {
		k.max(v, zero)
	}
	Label("linear")
	c, row := GP64(), GP64()
	MOVQ(tileC, c)
	MOVQ(arg(groupedCRow), row)
	for i, v := range sums {
		VMOVUPS(v, Mem{Base: c})
		if i < len(sums)-1 {
			ADDQ(row, c)
		}
	}
}

// emitGrouped emits the functions of this file and returns their callers and declarations in Go.
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
