package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Slide kernels are depthwise convolutions along rows of pixels: an input that is in a register is multiplied with all taps that meet it. A tile
// is a run of outputs of a row; all channels of a tile come before the next tile, so that memory is walked through in its order.

// Offsets in the argument block, which is the struct slideCall of the package.
const (
	slideA = 8 * iota
	slideB
	slideC
	slideBias
	slideStep
	slideTiles
	slideATile
	slideLines
	slideALine
	slideBLine
	slideCLine
	slideSegments
	slideASegment
	slideBSegment
	slideLast
	slideTail
	slideMask
	slideFlags
	slideGroups
	slidePixels
)

const (
	slideLeft  = 1 << iota // the inputs in front of the middle tap of a line's first output are missing
	slideRight             // and those behind the middle tap of its last output
	slideReLU
)

// maxSlide is the largest number of outputs of a tile.
const maxSlide = 8

// slide is a function for tiles of a number of pixels.
type slide struct {
	wide         bool // AVX-512, else AVX2
	taps, pixels int
}

func (s slide) family() string { return "slide" + fmt.Sprint(s.taps) + level(s.wide) }
func (s slide) name() string   { return fmt.Sprintf("%sP%d", s.family(), s.pixels) }

func level(wide bool) string {
	if wide {
		return "AVX512"
	}
	return "AVX2"
}

func slides() [][]slide {
	var all [][]slide
	for _, taps := range []int{3, 5} {
		for _, wide := range []bool{false, true} {
			var family []slide
			for pixels := 1; pixels <= maxSlide; pixels++ {
				family = append(family, slide{wide, taps, pixels})
			}
			all = append(all, family)
		}
	}
	return all
}

// channelLoop emits body for all channels: whole vectors, the last of which may repeat channels of the one before it, and with AVX-512 perhaps
// half a vector. Col counts bytes.
func channelLoop(wide bool, arg func(int) Mem, body func(k kernel, col reg.GPVirtual, suffix string)) {
	k := kernel{wide: wide}
	col := GP64()
	XORQ(col, col)
	Label("channels")
	body(k, col, "")
	CMPQ(col, arg(slideLast))
	JEQ(LabelRef("lastChannels"))
	ADDQ(U32(k.vectorBytes()), col)
	CMPQ(col, arg(slideLast))
	CMOVQGT(arg(slideLast), col)
	JMP(LabelRef("channels"))
	Label("lastChannels")
	if !wide {
		return
	}
	MOVQ(arg(slideTail), col)
	TESTQ(col, col)
	JE(LabelRef("channelsDone"))
	body(kernel{}, col, "Half")
	Label("channelsDone")
}

func move(dst, src Mem) {
	r := GP64()
	MOVQ(src, r)
	MOVQ(r, dst)
}

func advance(dst, by Mem) {
	r := GP64()
	MOVQ(by, r)
	ADDQ(r, dst)
}

func (s slide) emit() {
	TEXT(s.name(), NOSPLIT, "func(c uintptr)")
	Doc(fmt.Sprintf("%s computes tiles of %d pixels.", s.name(), s.pixels))
	args := Load(Param("c"), GP64())
	arg := func(offset int) Mem { return Mem{Base: args, Disp: offset} }
	local := AllocLocal(7 * 8)
	lineA, lineC, linesLeft := local.Offset(0), local.Offset(8), local.Offset(16)
	tileA, tileC, tilesLeft := local.Offset(24), local.Offset(32), local.Offset(40)
	segmentsLeft := local.Offset(48)
	step, edges := GP64(), GP64()
	MOVQ(arg(slideStep), step)
	start := GP64()
	MOVQ(arg(slideA), start)
	TESTQ(U32(slideLeft), arg(slideFlags))
	JE(LabelRef("whole"))
	for range s.taps / 2 {
		SUBQ(step, start)
	}
	Label("whole")
	MOVQ(start, lineA)
	move(lineC, arg(slideC))
	move(linesLeft, arg(slideLines))

	Label("line")
	move(tileA, lineA)
	move(tileC, lineC)
	move(tilesLeft, arg(slideTiles))
	MOVQ(arg(slideFlags), edges)
	ANDQ(U32(slideLeft), edges)

	Label("tile")
	CMPQ(tilesLeft, U8(1))
	JNE(LabelRef("inner"))
	last := GP64()
	MOVQ(arg(slideFlags), last)
	ANDQ(U32(slideRight), last)
	ORQ(last, edges)
	Label("inner")
	channelLoop(s.wide, arg, func(k kernel, col reg.GPVirtual, suffix string) {
		s.tile(k, arg, col, step, edges, tileA, tileC, segmentsLeft, suffix)
	})
	XORQ(edges, edges)
	advance(tileA, arg(slideATile))
	advance(tileC, arg(slideATile))
	DECQ(tilesLeft)
	JNE(LabelRef("tile"))
	advance(lineA, arg(slideALine))
	advance(lineC, arg(slideCLine))
	DECQ(linesLeft)
	JNE(LabelRef("line"))
	VZEROUPPER()
	RET()
}

// tile emits the sums of a vector of channels.
func (s slide) tile(k kernel, arg func(int) Mem, col, step, edges reg.GPVirtual, tileA, tileC, segmentsLeft Mem, suffix string) {
	sums := s.start(k, arg, col, suffix)
	a, b, tap3 := GP64(), GP64(), GP64()
	MOVQ(tileA, a)
	ADDQ(col, a)
	MOVQ(arg(slideB), b)
	ADDQ(col, b)
	LEAQ(Mem{Base: step}.Idx(step, 2), tap3)
	move(segmentsLeft, arg(slideSegments))

	Label("segment" + suffix)
	weights := make([]reg.VecVirtual, s.taps)
	for i := range weights {
		weights[i] = k.vector()
		m := Mem{Base: b}
		switch i {
		case 1, 2, 4:
			m = m.Idx(step, uint8(i))
		case 3:
			m = m.Idx(tap3, 1)
		}
		VMOVUPS(m, weights[i])
	}
	s.row(k, sums, weights, a, step, edges, suffix)
	ADDQ(arg(slideASegment), a)
	ADDQ(arg(slideBSegment), b)
	DECQ(segmentsLeft)
	JNE(LabelRef("segment" + suffix))

	for i := range s.pixels { // the row that the next line sees first
		PREFETCHT1(Mem{Base: a})
		if i < s.pixels-1 {
			ADDQ(step, a)
		}
	}
	s.store(k, sums, arg, col, step, tileC, suffix)
}

// start returns the sums, which begin with the bias or with 0.
func (s slide) start(k kernel, arg func(int) Mem, col reg.GPVirtual, suffix string) []reg.VecVirtual {
	sums := make([]reg.VecVirtual, s.pixels)
	for i := range sums {
		sums[i] = k.vector()
	}
	bias := GP64()
	MOVQ(arg(slideBias), bias)
	TESTQ(bias, bias)
	JE(LabelRef("noBias" + suffix))
	VMOVUPS(Mem{Base: bias}.Idx(col, 1), sums[0])
	for _, v := range sums[1:] {
		VMOVAPS(sums[0], v)
	}
	JMP(LabelRef("started" + suffix))
	Label("noBias" + suffix)
	for _, v := range sums {
		k.zero(v)
	}
	Label("started" + suffix)
	return sums
}

// row adds the products of a row of the kernel.
func (s slide) row(k kernel, sums, weights []reg.VecVirtual, a, step, edges reg.GPVirtual, suffix string) {
	x := GP64()
	MOVQ(a, x)
	input := func(q int) {
		v := k.vector()
		VMOVUPS(Mem{Base: x}, v)
		ADDQ(step, x)
		for t, w := range weights {
			if q-t >= 0 && q-t < s.pixels {
				VFMADD231PS(v, w, sums[q-t])
			}
		}
	}
	half := s.taps / 2
	TESTQ(U32(slideLeft), edges)
	JE(LabelRef("before" + suffix))
	LEAQ(Mem{Base: x}.Idx(step, uint8(half)), x)
	JMP(LabelRef("middle" + suffix))
	Label("before" + suffix)
	for q := range half {
		input(q)
	}
	Label("middle" + suffix)
	for q := half; q < s.pixels+s.taps-1-half; q++ {
		input(q)
	}
	TESTQ(U32(slideRight), edges)
	JNE(LabelRef("row" + suffix))
	for q := s.pixels + s.taps - 1 - half; q < s.pixels+s.taps-1; q++ {
		input(q)
	}
	Label("row" + suffix)
}

// store applies relu and stores the sums.
func (s slide) store(k kernel, sums []reg.VecVirtual, arg func(int) Mem, col, step reg.GPVirtual, tileC Mem, suffix string) {
	TESTQ(U32(slideReLU), arg(slideFlags))
	JE(LabelRef("linear" + suffix))
	zero := k.vector()
	k.zero(zero)
	for _, v := range sums {
		k.max(v, zero)
	}
	Label("linear" + suffix)
	c := GP64()
	MOVQ(tileC, c)
	ADDQ(col, c)
	for i, v := range sums {
		VMOVUPS(v, Mem{Base: c})
		if i < len(sums)-1 {
			ADDQ(step, c)
		}
	}
}

// emitSlides emits the functions of this file and returns their callers and declarations in Go.
func emitSlides() (calls, stubs string) {
	var c, s strings.Builder
	call := func(family, count string, numbers []int, name func(int) string) {
		fmt.Fprintf(&c, "\n//go:noinline\nfunc call%s(%s int, c *slideCall) {\n\tswitch %[2]s {\n", strings.ToUpper(family[:1])+family[1:], count)
		for _, n := range numbers {
			fmt.Fprintf(&c, "\tcase %d:\n\t\t%s(c)\n", n, name(n))
			fmt.Fprintf(&s, "\n//go:noescape\nfunc %s(c *slideCall)\n", name(n))
		}
		c.WriteString("\t}\n}\n")
	}
	for _, family := range slides() {
		var numbers []int
		for _, f := range family {
			f.emit()
			numbers = append(numbers, f.pixels)
		}
		call(family[0].family(), "pixels", numbers, func(n int) string { return slide{family[0].wide, family[0].taps, n}.name() })
	}
	for _, wide := range []bool{false, true} {
		for rows := 1; rows <= 3; rows++ {
			slideSums{wide, rows}.emit()
		}
		call(slideSums{wide: wide}.family(), "rows", []int{1, 2, 3}, func(n int) string { return slideSums{wide, n}.name() })
	}
	return c.String(), s.String()
}
