package main

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Slide kernels are depthwise convolutions along rows of pixels: each input in a register is multiplied with all taps
// that use it. A tile is a run of outputs of a row; all channels of a tile come before the next tile, so that memory is
// accessed in order.

// Offsets in the argument block, the package's struct slideCall.
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
	slideBStep
	slideCStep
	slideCTile
	slideParts
	slideAPart
	slideBPart
)

const (
	slideLeft  = 1 << iota // there are no inputs before the middle tap of a line's first output
	slideRight             // there are none after the middle tap of its last output
	slideReLU
)

// maxSlide is the maximum number of outputs of a tile.
const maxSlide = 8

// Besides seven weights, AVX2's registers hold six sums. Their functions are large, so there are none for the last few
// outputs of a row, which other kernels compute.
const (
	maxSlide7AVX2 = 6
	minSlide7     = 3
)

// skips are the tile sizes for which there are functions of two taps and functions with a stride of two: for the same
// reasons there are few.
var skips = []int{4, 8}

// slide is a function for tiles of the given number of pixels.
type slide struct {
	wide         bool // AVX-512, else AVX2
	taps, pixels int
	stride       int // between outputs, in pixels: 1 or 2. With 2 all inputs must exist
}

func (s slide) family() string {
	return "slide" + fmt.Sprint(s.taps) + map[int]string{2: "Skip"}[s.stride] + level(s.wide)
}

func (s slide) name() string { return fmt.Sprintf("%sP%d", s.family(), s.pixels) }

// edges reports whether inputs may be missing.
func (s slide) edges() bool { return s.stride == 1 && s.taps%2 == 1 }

func level(wide bool) string {
	if wide {
		return "AVX512"
	}
	return "AVX2"
}

func slides() [][]slide {
	var all [][]slide
	for _, taps := range []int{2, 3, 5, 7} {
		for _, wide := range []bool{false, true} {
			var family []slide
			first, last := 1, maxSlide
			if taps == 7 {
				if first = minSlide7; !wide {
					last = maxSlide7AVX2
				}
			}
			for pixels := first; pixels <= last; pixels++ {
				if taps > 2 || slices.Contains(skips, pixels) {
					family = append(family, slide{wide, taps, pixels, 1})
				}
			}
			all = append(all, family)
			family = nil
			for _, pixels := range skips {
				if taps < 7 || wide || pixels <= maxSlide7AVX2 {
					family = append(family, slide{wide, taps, pixels, 2})
				}
			}
			all = append(all, family)
		}
	}
	return all
}

// channelLoop emits body for all channels: whole vectors, the last of which may overlap the one before it, and with
// AVX-512 possibly half a vector. Col is in bytes.
func channelLoop(wide bool, arg func(int) Memory, body func(k kernel, col Scalar, suffix string)) {
	k := kernel{wide: wide}
	col := NewScalar()
	Clear(col)
	Label("channels")
	body(k, col, "")
	JumpEqual(col, arg(slideLast), "lastChannels")
	Increase(col, Number(k.vectorBytes()))
	AtMost(col, arg(slideLast))
	Jump("channels")
	Label("lastChannels")
	if !wide {
		return
	}
	Assign(col, arg(slideTail))
	JumpZero(col, "channelsDone")
	body(kernel{}, col, "Half")
	Label("channelsDone")
}

func move(dst, src Memory) {
	r := NewScalar()
	Assign(r, src)
	Assign(dst, r)
}

func advance(dst, by Memory) {
	r := NewScalar()
	Assign(r, by)
	Increase(dst, r)
}

func (s slide) emit() {
	begin(s.wide, s.name(), "c uintptr")
	Doc(fmt.Sprintf("%s computes tiles of %d pixels.", s.name(), s.pixels))
	args := Parameter("c")
	arg := func(offset int) Memory { return Memory{Base: args, Offset: offset} }
	local := Local(8 * 8)
	lineA, lineC, linesLeft := local.Plus(0), local.Plus(8), local.Plus(16)
	tileA, tileC, tilesLeft := local.Plus(24), local.Plus(32), local.Plus(40)
	segmentsLeft, partsLeft := local.Plus(48), local.Plus(56)
	step, edges := NewScalar(), NewScalar()
	Assign(step, arg(slideStep))
	start := NewScalar()
	Assign(start, arg(slideA))
	if s.edges() {
		JumpUnless(arg(slideFlags), slideLeft, "whole")
		for range s.taps / 2 {
			Decrease(start, step)
		}
		Label("whole")
	}
	Assign(lineA, start)
	move(lineC, arg(slideC))
	move(linesLeft, arg(slideLines))

	Label("line")
	move(tileA, lineA)
	move(tileC, lineC)
	move(tilesLeft, arg(slideTiles))
	Assign(edges, arg(slideFlags))
	Intersect(edges, Number(slideLeft))

	Label("tile")
	JumpNotEqual(tilesLeft, Number(1), "inner")
	last := NewScalar()
	Assign(last, arg(slideFlags))
	Intersect(last, Number(slideRight))
	Unite(edges, last)
	Label("inner")
	channelLoop(s.wide, arg, func(k kernel, col Scalar, suffix string) {
		s.tile(k, arg, col, step, edges, tileA, tileC, segmentsLeft, partsLeft, suffix)
	})
	Clear(edges)
	for range s.stride {
		advance(tileA, arg(slideATile))
	}
	advance(tileC, arg(slideCTile))
	Countdown(tilesLeft, 1, "tile")
	advance(lineA, arg(slideALine))
	advance(lineC, arg(slideCLine))
	Countdown(linesLeft, 1, "line")
	End()
}

// tile emits the sums of a vector of channels.
func (s slide) tile(k kernel, arg func(int) Memory, col, step, edges Scalar, tileA, tileC, segmentsLeft, partsLeft Memory, suffix string) {
	sums := s.start(k, arg, col, suffix)
	a, b, bStep, tap3 := NewScalar(), NewScalar(), NewScalar(), NewScalar()
	Assign(a, tileA)
	Increase(a, col)
	Assign(b, arg(slideB))
	Increase(b, col)
	Assign(bStep, arg(slideBStep))
	if s.taps > 3 {
		Address(tap3, Memory{Base: bStep}.Indexed(bStep, 2))
	}
	move(partsLeft, arg(slideParts))

	Label("part" + suffix)
	move(segmentsLeft, arg(slideSegments))
	Label("segment" + suffix)
	weights := make([]Vector, s.taps)
	b4 := NewScalar()
	if s.taps > 5 {
		Address(b4, Memory{Base: b}.Indexed(bStep, 4))
	}
	for i := range weights {
		weights[i] = k.vector()
		m := Memory{Base: b}
		switch i {
		case 1, 2, 4:
			m = m.Indexed(bStep, uint8(i))
		case 3:
			m = m.Indexed(tap3, 1)
		case 5, 6:
			m = Memory{Base: b4}.Indexed(bStep, uint8(i-4))
		}
		Load(weights[i], m)
	}
	s.row(k, sums, weights, a, step, edges, suffix)
	Increase(a, arg(slideASegment))
	Increase(b, arg(slideBSegment))
	Countdown(segmentsLeft, 1, "segment"+suffix)
	CountedOut(partsLeft, 1, "sum"+suffix)
	Increase(a, arg(slideAPart))
	Increase(b, arg(slideBPart))
	Jump("part" + suffix)
	Label("sum" + suffix)

	for i := range s.stride * s.pixels { // the row that the next line reads first
		Prefetch(Memory{Base: a})
		if i < s.stride*s.pixels-1 {
			Increase(a, step)
		}
	}
	s.store(k, sums, arg, col, tileC, suffix)
}

// start returns the sums, initialized with the bias or 0.
func (s slide) start(k kernel, arg func(int) Memory, col Scalar, suffix string) []Vector {
	sums := make([]Vector, s.pixels)
	for i := range sums {
		sums[i] = k.vector()
	}
	bias := NewScalar()
	Assign(bias, arg(slideBias))
	JumpZero(bias, "noBias"+suffix)
	Load(sums[0], Memory{Base: bias}.Indexed(col, 1))
	for _, v := range sums[1:] {
		Copy(v, sums[0])
	}
	Jump("started" + suffix)
	Label("noBias" + suffix)
	for _, v := range sums {
		k.zero(v)
	}
	Label("started" + suffix)
	return sums
}

// row adds the products of one row of the kernel.
func (s slide) row(k kernel, sums, weights []Vector, a, step, edges Scalar, suffix string) {
	x := NewScalar()
	Assign(x, a)
	input := func(q int) {
		v := k.vector()
		Load(v, Memory{Base: x})
		Increase(x, step)
		for t, w := range weights {
			if p := (q - t) / s.stride; q-t >= 0 && (q-t)%s.stride == 0 && p < s.pixels {
				AddProduct(sums[p], w, v)
			}
		}
	}
	if !s.edges() {
		for q := range s.stride*(s.pixels-1) + s.taps {
			input(q)
		}
		return
	}
	half := s.taps / 2
	JumpUnless(edges, slideLeft, "before"+suffix)
	Address(x, Memory{Base: x}.Indexed(step, uint8(min(half, 2))))
	if half == 3 {
		Increase(x, step)
	}
	Jump("middle" + suffix)
	Label("before" + suffix)
	for q := range half {
		input(q)
	}
	Label("middle" + suffix)
	for q := half; q < s.pixels+s.taps-1-half; q++ {
		input(q)
	}
	JumpIf(edges, slideRight, "row"+suffix)
	for q := s.pixels + s.taps - 1 - half; q < s.pixels+s.taps-1; q++ {
		input(q)
	}
	Label("row" + suffix)
}

// store applies relu and stores the sums.
func (s slide) store(k kernel, sums []Vector, arg func(int) Memory, col Scalar, tileC Memory, suffix string) {
	JumpUnless(arg(slideFlags), slideReLU, "linear"+suffix)
	zero := k.vector()
	k.zero(zero)
	for _, v := range sums {
		k.max(v, zero)
	}
	Label("linear" + suffix)
	c, cStep := NewScalar(), NewScalar()
	Assign(c, tileC)
	Increase(c, col)
	Assign(cStep, arg(slideCStep))
	for i, v := range sums {
		Store(Memory{Base: c}, v)
		if i < len(sums)-1 {
			Increase(c, cStep)
		}
	}
}

// emitSlides emits this file's functions and returns their Go callers and declarations.
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
		call(family[0].family(), "pixels", numbers, func(n int) string { return slide{family[0].wide, family[0].taps, n, family[0].stride}.name() })
	}
	for _, wide := range []bool{false, true} {
		for rows := 1; rows <= 3; rows++ {
			slideSums{wide, rows}.emit()
		}
		call(slideSums{wide: wide}.family(), "rows", []int{1, 2, 3}, func(n int) string { return slideSums{wide, n}.name() })
	}
	return c.String(), s.String()
}
