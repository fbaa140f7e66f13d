package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// chainStep is one thing that a chain does with the vectors it holds. x is its operand in memory, or a number for all.
type chainStep struct {
	name, does string
	body       func(c *chainBody)
}

// chainBody is what a step works on: vectors of all ones of the elements, the addresses of its operands.
type chainBody struct {
	m            machine
	v, held      vectors       // held are masks as vectors, of the last comparison that held its result
	x, y         reg.GPVirtual // operands
	floats, byte reg.GPVirtual // offsets of the first element in memory of floats and of bytes
}

func (c *chainBody) at(p reg.GPVirtual, i int) Mem {
	return Mem{Base: p, Index: c.floats, Scale: 1, Disp: i * c.m.bytes()}
}

func (c *chainBody) byteAt(p reg.GPVirtual, i int) Mem {
	return Mem{Base: p, Index: c.byte, Scale: 1, Disp: i * c.m.bytes() / 4}
}

// number is the operand that is one number.
func (c *chainBody) number() vector { return c.m.broadcast(c.x, 0) }

func (c *chainBody) each(f func(i int, v vector)) {
	for i, v := range c.v {
		f(i, v)
	}
}

// two is v = f(v, x).
func two(f func(...Op)) func(*chainBody) {
	return func(c *chainBody) { c.each(func(i int, v vector) { f(c.at(c.x, i), v, v) }) }
}

// reversed is v = f(x, v).
func reversed(f func(...Op)) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) {
			x := c.m.copy(c.at(c.x, i))
			f(v, x, v)
		})
	}
}

// scalar is v = f(v, number).
func scalar(f func(...Op)) func(*chainBody) {
	return func(c *chainBody) {
		a := c.number()
		c.each(func(_ int, v vector) { f(a, v, v) })
	}
}

// extreme is the larger or smaller of v and x, x where they are equal and NaN where one is, as the kernels of two operands.
func extreme(f func(...Op), swapped bool) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) {
			x := c.m.copy(c.at(c.x, i))
			if swapped {
				nan := c.m.compare(unordered, x, x)
				f(v, x, v)
				c.m.blend(nan, x, v)
				return
			}
			nan := c.m.compare(unordered, v, v)
			f(x, v, x)
			c.m.blend(nan, v, x)
			VMOVAPS(x, v)
		})
	}
}

// extremeOf is the larger or smaller of v and a number that is not NaN; v where they are equal or v is NaN.
func extremeOf(f func(...Op)) func(*chainBody) {
	return func(c *chainBody) {
		a := c.number()
		c.each(func(_ int, v vector) { f(v, a, v) })
	}
}

func single(f func(m machine, v vector) vector) func(*chainBody) {
	return func(c *chainBody) { c.each(func(_ int, v vector) { VMOVAPS(f(c.m, v), v) }) }
}

// compared stores v predicate x as bytes of 0 and 1.
func compared(predicate int) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) { c.m.storeBytes(c.m.compare(predicate, v, c.at(c.x, i)), c.byteAt(c.y, i)) })
	}
}

// heldOf holds v predicate x for the choices that follow.
func heldOf(predicate int) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) {
			k := c.m.compare(predicate, v, c.at(c.x, i))
			if c.m.wide {
				VPMOVM2D(k.bits, c.held[i])
			} else {
				VMOVAPS(k.lanes, c.held[i])
			}
		})
	}
}

// chooseHeld is v where the mask is held and x elsewhere, or the other way round.
func chooseHeld(other bool) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) {
			switch x := c.at(c.x, i); {
			case c.m.wide && other:
				VPTERNLOGD(U8(0xb8), x, c.held[i], v)
			case c.m.wide:
				VPTERNLOGD(U8(0xe2), x, c.held[i], v)
			case other:
				VBLENDVPS(c.held[i], x, v, v)
			default:
				r := c.m.copy(x)
				VBLENDVPS(c.held[i], v, r, v)
			}
		})
	}
}

// chainSteps are numbered as the constants of package vec.
var chainSteps = []chainStep{
	{"Load", "v = x", func(c *chainBody) { c.each(func(i int, v vector) { VMOVUPS(c.at(c.x, i), v) }) }},
	{"LoadNumber", "v = number", func(c *chainBody) {
		a := c.number()
		c.each(func(_ int, v vector) { VMOVAPS(a, v) })
	}},
	{"LoadBytes", "v = x, which are bytes of 0 and 1", func(c *chainBody) {
		c.each(func(i int, v vector) {
			VPMOVZXBD(c.byteAt(c.x, i), v)
			VCVTDQ2PS(v, v)
		})
	}},
	{"Store", "x = v", func(c *chainBody) { c.each(func(i int, v vector) { VMOVUPS(v, c.at(c.x, i)) }) }},
	{"Add", "v + x", two(VADDPS)},
	{"Sub", "v − x", two(VSUBPS)},
	{"SubFrom", "x − v", reversed(VSUBPS)},
	{"Mul", "v·x", two(VMULPS)},
	{"Div", "v / x", two(VDIVPS)},
	{"DivInto", "x / v", reversed(VDIVPS)},
	{"Max", "the larger of v and x", extreme(VMAXPS, false)},
	{"MaxFrom", "the larger of x and v", extreme(VMAXPS, true)},
	{"Min", "the smaller of v and x", extreme(VMINPS, false)},
	{"MinFrom", "the smaller of x and v", extreme(VMINPS, true)},
	{"AddNumber", "v + number", scalar(VADDPS)},
	{"SubNumber", "v − number", scalar(VSUBPS)},
	{"MulNumber", "v·number", scalar(VMULPS)},
	{"MaxNumber", "the larger of v and a number that is not NaN", extremeOf(VMAXPS)},
	{"MinNumber", "the smaller of v and a number that is not NaN", extremeOf(VMINPS)},
	{"Neg", "−v", func(c *chainBody) { c.each(func(_ int, v vector) { VXORPS(signBit(), v, v) }) }},
	{"Abs", "|v|", func(c *chainBody) { c.each(func(_ int, v vector) { VANDPS(magnitude(), v, v) }) }},
	{"Relu", "v where it is positive or NaN, else 0", func(c *chainBody) {
		zero := c.m.zeros(1)[0]
		c.each(func(_ int, v vector) { VMAXPS(v, zero, v) })
	}},
	{"Sqrt", "√v", single(func(m machine, v vector) vector { return m.sqrt(v) })},
	{"Floor", "⌊v⌋", single(func(m machine, v vector) vector { return m.round(downwards, v) })},
	{"Ceil", "⌈v⌉", single(func(m machine, v vector) vector { return m.round(upwards, v) })},
	{"Round", "the nearest integer, the even one of two", single(func(m machine, v vector) vector { return m.round(nearest, v) })},
	{"Sign", "−1, 0 or 1", single(func(m machine, v vector) vector { return m.signOf(v) })},
	{"KeepPositive", "v where x > 0, else 0", func(c *chainBody) {
		zero := c.m.zeros(1)[0]
		c.each(func(i int, v vector) {
			x := c.m.copy(c.at(c.x, i))
			c.m.keep(c.m.compare(greaterThan, x, zero), v, v)
		})
	}},
	{"WherePositive", "x where v > 0, else 0", func(c *chainBody) {
		zero := c.m.zeros(1)[0]
		c.each(func(i int, v vector) { c.m.keep(c.m.compare(greaterThan, v, zero), c.m.copy(c.at(c.x, i)), v) })
	}},
	{"Equal", "y = v = x, as a byte", compared(equal)},
	{"NotEqual", "y = v ≠ x, as a byte", compared(notEqual)},
	{"Less", "y = v < x, as a byte", compared(lessThan)},
	{"LessEqual", "y = v ≤ x, as a byte", compared(lessEqual)},
	{"Greater", "y = v > x, as a byte", compared(greaterThan)},
	{"GreaterEqual", "y = v ≥ x, as a byte", compared(greaterEqual)},
	{"Choose", "v where the byte of y is set, else x", func(c *chainBody) {
		c.each(func(i int, v vector) {
			r := c.m.choose(c.m.loadBytes(c.byteAt(c.y, i)), v, c.at(c.x, i))
			VMOVAPS(r, v)
		})
	}},
	{"ChooseOther", "x where the byte of y is set, else v", func(c *chainBody) {
		c.each(func(i int, v vector) { c.m.blend(c.m.loadBytes(c.byteAt(c.y, i)), c.at(c.x, i), v) })
	}},
	{"HoldEqual", "hold v = x", heldOf(equal)},
	{"HoldNotEqual", "hold v ≠ x", heldOf(notEqual)},
	{"HoldLess", "hold v < x", heldOf(lessThan)},
	{"HoldLessEqual", "hold v ≤ x", heldOf(lessEqual)},
	{"HoldGreater", "hold v > x", heldOf(greaterThan)},
	{"HoldGreaterEqual", "hold v ≥ x", heldOf(greaterEqual)},
	{"ChooseHeld", "v where it was held, else x", chooseHeld(false)},
	{"ChooseOtherHeld", "x where it was held, else v", chooseHeld(true)},
	{"Share", "v where x > y, half of v where x = y, else 0", func(c *chainBody) {
		half := c.m.copy(number(0.5))
		c.each(func(i int, v vector) {
			x, y := c.m.copy(c.at(c.x, i)), c.at(c.y, i)
			equals := c.m.compare(equal, x, y)
			greater := c.m.compare(greaterThan, x, y)
			tie := c.m.vector()
			c.m.keep(equals, c.m.mul(half, v), tie)
			c.m.blend(greater, v, tie)
			VMOVAPS(tie, v)
		})
	}},
}

// chain emits the function that runs a chain of steps on vectors that it keeps in registers: several at a time, then single ones.
func (m machine) chain() {
	m.begin("", "chain", "steps unsafe.Pointer, count, n uintptr", "")
	steps, count, n := param("steps"), param("count"), param("n")
	c := &chainBody{m: m, x: GP64(), y: GP64(), floats: GP64(), byte: GP64()}
	XORQ(c.floats, c.floats)
	XORQ(c.byte, c.byte)
	unrolls := []int{4, 1}
	if m.wide {
		unrolls[0] = 8
	}
	for _, unroll := range unrolls {
		c.v, c.held = m.vectors(unroll), m.vectors(unroll)
		c.each(func(i int, v vector) {
			VXORPS(v, v, v)
			VXORPS(c.held[i], c.held[i], c.held[i])
		})
		top, next, bottom := fmt.Sprintf("top%d", unroll), fmt.Sprintf("next%d", unroll), fmt.Sprintf("bottom%d", unroll)
		Label(top)
		CMPQ(n, U32(unroll*m.bytes()/4))
		JB(LabelRef(bottom))
		step, left, op := GP64(), GP64(), GP64()
		MOVQ(steps, step)
		MOVQ(count, left)
		Label(next)
		MOVQ(Mem{Base: step}, op)
		MOVQ(Mem{Base: step, Disp: 8}, c.x)
		MOVQ(Mem{Base: step, Disp: 16}, c.y)
		ADDQ(U32(24), step)
		c.dispatch(op, 0, len(chainSteps), func() {
			DECQ(left)
			JNE(LabelRef(next))
			JMP(LabelRef(fmt.Sprintf("done%d", unroll)))
		})
		Label(fmt.Sprintf("done%d", unroll))
		ADDQ(U32(unroll*m.bytes()), c.floats)
		ADDQ(U32(unroll*m.bytes()/4), c.byte)
		SUBQ(U32(unroll*m.bytes()/4), n)
		JMP(LabelRef(top))
		Label(bottom)
	}
	end()
}

// dispatch emits the steps [lo, hi) and the comparisons that lead to them; they are the same ones in every round, so that they are foreseen.
func (c *chainBody) dispatch(op reg.GPVirtual, lo, hi int, after func()) {
	if hi-lo == 1 {
		chainSteps[lo].body(c)
		after()
		return
	}
	middle := (lo + hi + 1) / 2
	right := fmt.Sprintf("from%d_%d", middle, len(c.v))
	CMPQ(op, U32(middle))
	JAE(LabelRef(right))
	c.dispatch(op, lo, middle, after)
	Label(right)
	c.dispatch(op, middle, hi, after)
}
