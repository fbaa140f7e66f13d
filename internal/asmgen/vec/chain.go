package main

import (
	"fmt"
	"math"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// chainStep is an operation on the vectors that a chain holds. x is its operand: an array in memory, or a single
// number.
type chainStep struct {
	name, does string
	body       func(c *chainBody)
}

// chainBody is the state that steps work on: the vectors, and the addresses of the step's operands.
type chainBody struct {
	m            machine
	size         int     // bytes of a float
	v, held      vectors // held are lane masks, stored as vectors, of the last comparison that was held
	x, y         Scalar  // the step's operands
	floats, byte Scalar  // offsets of the vectors' first element in arrays of floats and of bytes
}

func (c *chainBody) at(p Scalar, i int) Memory {
	return Memory{Base: p, Index: c.floats, Scale: 1, Offset: i * c.m.bytes()}
}

func (c *chainBody) byteAt(p Scalar, i int) Memory {
	return Memory{Base: p, Index: c.byte, Scale: 1, Offset: i * c.m.bytes() / c.size}
}

func (c *chainBody) wordAt(p Scalar, i int) Memory {
	return Memory{Base: p, Index: c.byte, Scale: 2, Offset: i * c.m.bytes() / 2}
}

// number loads an operand that is a single number.
func (c *chainBody) number() vector { return c.m.broadcast(c.x, 0) }

func (c *chainBody) each(f func(i int, v vector)) {
	for i, v := range c.v {
		f(i, v)
	}
}

// two is v = f(v, x).
func two(f operation) func(*chainBody) {
	return func(c *chainBody) { c.each(func(i int, v vector) { f(v, v, c.at(c.x, i)) }) }
}

// reversed is v = f(x, v).
func reversed(f operation) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) {
			x := c.m.copy(c.at(c.x, i))
			f(v, x, v)
		})
	}
}

// scalar is v = f(v, number).
func scalar(f operation) func(*chainBody) {
	return func(c *chainBody) {
		a := c.number()
		c.each(func(_ int, v vector) { f(v, v, a) })
	}
}

// extreme is the larger or smaller of v and x; x if they are equal, NaN if one is NaN, as in the kernels with two
// operands.
func extreme(f operation, swapped bool) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) {
			x := c.m.copy(c.at(c.x, i))
			if swapped {
				nan := Compare(Unordered, x, x)
				f(v, x, v)
				Blend(v, nan, x)
				return
			}
			nan := Compare(Unordered, v, v)
			f(x, v, x)
			Blend(x, nan, v)
			Copy(v, x)
		})
	}
}

// extremeOf is the larger or smaller of v and a number that is not NaN; v if they are equal or v is NaN.
func extremeOf(f operation) func(*chainBody) {
	return func(c *chainBody) {
		a := c.number()
		c.each(func(_ int, v vector) { f(v, a, v) })
	}
}

func single(f func(m machine, v vector) vector) func(*chainBody) {
	return func(c *chainBody) { c.each(func(_ int, v vector) { Copy(v, f(c.m, v)) }) }
}

// compared stores the results of v predicate x as bytes of 0 and 1.
func compared(predicate Predicate) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) { StoreMask(c.byteAt(c.y, i), Compare(predicate, v, c.at(c.x, i))) })
	}
}

// heldOf holds the results of v predicate x for the selections that follow.
func heldOf(predicate Predicate) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) {
			MaskLanes(c.held[i], Compare(predicate, v, c.at(c.x, i)))
		})
	}
}

// heldOfNumber is heldOf with a single number x.
func heldOfNumber(predicate Predicate) func(*chainBody) {
	return func(c *chainBody) {
		a := c.number()
		c.each(func(i int, v vector) { MaskLanes(c.held[i], Compare(predicate, v, a)) })
	}
}

// heldWith combines the held masks with bytes.
func heldWith(f operation) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, _ vector) {
			x := c.m.vector()
			MaskLanes(x, LoadMask(c.byteAt(c.x, i)))
			f(c.held[i], c.held[i], x)
		})
	}
}

// chooseHeld selects v where the mask is held and x elsewhere, or, if other, the reverse.
func chooseHeld(other bool) func(*chainBody) {
	return func(c *chainBody) {
		c.each(func(i int, v vector) {
			switch x := c.at(c.x, i); {
			case c.m.wide:
				Select(v, c.held[i], x, other)
			case other:
				Blend(v, Signs(c.held[i]), x)
			default:
				Choose(v, Signs(c.held[i]), v, c.m.copy(x))
			}
		})
	}
}

// chooseHeldNumber is chooseHeld with a single number x.
func chooseHeldNumber(other bool) func(*chainBody) {
	return func(c *chainBody) {
		a := c.number()
		c.each(func(i int, v vector) {
			switch {
			case c.m.wide:
				Select(v, c.held[i], a, other)
			case other:
				Blend(v, Signs(c.held[i]), a)
			default:
				Choose(v, Signs(c.held[i]), v, a)
			}
		})
	}
}

// finite is true where v is neither infinite nor NaN.
func (c *chainBody) finite(v vector) Mask {
	return Compare(LessThan, c.m.two(And, v, c.magnitude()), c.constant(math.Inf(1)))
}

// chainSteps are in the order of package vec's constants.
var chainSteps = []chainStep{
	{"Load", "v = x", func(c *chainBody) { c.each(func(i int, v vector) { Load(v, c.at(c.x, i)) }) }},
	{"LoadNumber", "v = number", func(c *chainBody) {
		a := c.number()
		c.each(func(_ int, v vector) { Copy(v, a) })
	}},
	{"LoadBytes", "v = x, which are bytes of 0 and 1", func(c *chainBody) {
		c.each(func(i int, v vector) {
			WidenBytes(v, c.byteAt(c.x, i))
			ToFloat(v, v)
		})
	}},
	{"Store", "x = v", func(c *chainBody) { c.each(func(i int, v vector) { Store(c.at(c.x, i), v) }) }},
	{"Add", "v + x", two(Add)},
	{"Sub", "v − x", two(Subtract)},
	{"SubFrom", "x − v", reversed(Subtract)},
	{"Mul", "v·x", two(Multiply)},
	{"Div", "v / x", two(Divide)},
	{"DivInto", "x / v", reversed(Divide)},
	{"Max", "the larger of v and x", extreme(Max, false)},
	{"MaxFrom", "the larger of x and v", extreme(Max, true)},
	{"Min", "the smaller of v and x", extreme(Min, false)},
	{"MinFrom", "the smaller of x and v", extreme(Min, true)},
	{"AddNumber", "v + number", scalar(Add)},
	{"SubNumber", "v − number", scalar(Subtract)},
	{"MulNumber", "v·number", scalar(Multiply)},
	{"MaxNumber", "the larger of v and a number that is not NaN", extremeOf(Max)},
	{"MinNumber", "the smaller of v and a number that is not NaN", extremeOf(Min)},
	{"Neg", "−v", func(c *chainBody) { c.each(func(_ int, v vector) { Xor(v, v, c.signBit()) }) }},
	{"Abs", "|v|", func(c *chainBody) { c.each(func(_ int, v vector) { And(v, v, c.magnitude()) }) }},
	{"Relu", "v where it is positive or NaN, else 0", func(c *chainBody) {
		zero := c.m.zeros(1)[0]
		c.each(func(_ int, v vector) { Max(v, zero, v) })
	}},
	{"Sqrt", "√v", single(func(m machine, v vector) vector { return m.sqrt(v) })},
	{"Floor", "⌊v⌋", single(func(m machine, v vector) vector { return m.round(Downwards, v) })},
	{"Ceil", "⌈v⌉", single(func(m machine, v vector) vector { return m.round(Upwards, v) })},
	{"Round", "the nearest integer, ties to even", single(func(m machine, v vector) vector { return m.round(Nearest, v) })},
	{"Sign", "−1, 0 or 1", func(c *chainBody) { c.each(func(_ int, v vector) { Copy(v, c.signOf(v)) }) }},
	{"KeepPositive", "v where x > 0, else 0", func(c *chainBody) {
		zero := c.m.zeros(1)[0]
		c.each(func(i int, v vector) {
			x := c.m.copy(c.at(c.x, i))
			Keep(v, Compare(GreaterThan, x, zero), v)
		})
	}},
	{"WherePositive", "x where v > 0, else 0", func(c *chainBody) {
		zero := c.m.zeros(1)[0]
		c.each(func(i int, v vector) { Keep(v, Compare(GreaterThan, v, zero), c.m.copy(c.at(c.x, i))) })
	}},
	{"Equal", "y = v = x, as a byte", compared(Equal)},
	{"NotEqual", "y = v ≠ x, as a byte", compared(NotEqual)},
	{"Less", "y = v < x, as a byte", compared(LessThan)},
	{"LessEqual", "y = v ≤ x, as a byte", compared(LessEqual)},
	{"Greater", "y = v > x, as a byte", compared(GreaterThan)},
	{"GreaterEqual", "y = v ≥ x, as a byte", compared(GreaterEqual)},
	{"Choose", "v where the byte of y is set, else x", func(c *chainBody) {
		c.each(func(i int, v vector) {
			r := c.m.choose(LoadMask(c.byteAt(c.y, i)), v, c.at(c.x, i))
			Copy(v, r)
		})
	}},
	{"ChooseOther", "x where the byte of y is set, else v", func(c *chainBody) {
		c.each(func(i int, v vector) { Blend(v, LoadMask(c.byteAt(c.y, i)), c.at(c.x, i)) })
	}},
	{"HoldEqual", "hold v = x", heldOf(Equal)},
	{"HoldNotEqual", "hold v ≠ x", heldOf(NotEqual)},
	{"HoldLess", "hold v < x", heldOf(LessThan)},
	{"HoldLessEqual", "hold v ≤ x", heldOf(LessEqual)},
	{"HoldGreater", "hold v > x", heldOf(GreaterThan)},
	{"HoldGreaterEqual", "hold v ≥ x", heldOf(GreaterEqual)},
	{"ChooseHeld", "v where it was held, else x", chooseHeld(false)},
	{"ChooseOtherHeld", "x where it was held, else v", chooseHeld(true)},
	{"Share", "v where x > y, half of v where x = y, else 0", func(c *chainBody) {
		half := c.m.copy(c.constant(0.5))
		c.each(func(i int, v vector) {
			x, y := c.m.copy(c.at(c.x, i)), c.at(c.y, i)
			equals := Compare(Equal, x, y)
			greater := Compare(GreaterThan, x, y)
			tie := c.m.vector()
			Keep(tie, equals, c.m.mul(half, v))
			Blend(tie, greater, v)
			Copy(v, tie)
		})
	}},
	{"LoadBF16", "v = x, which are bfloat16", func(c *chainBody) {
		c.each(func(i int, v vector) {
			WidenWords(v, c.wordAt(c.x, i))
			ShiftLeft(v, v, 16)
		})
	}},
	{"StoreBF16", "x = v, which bfloat16 can hold", func(c *chainBody) {
		c.each(func(i int, v vector) {
			w := c.m.shift(ShiftRight, 16, v)
			StoreLowWords(c.wordAt(c.x, i), w)
		})
	}},
	{"RoundBF16", "the nearest bfloat16, ties to even", func(c *chainBody) {
		c.each(func(_ int, v vector) {
			c.m.roundBF16(v)
			AndInt(v, v, Constant("upperHalf", 0xffff0000))
		})
	}},
	{"LoadF16", "v = x, which are float16", func(c *chainBody) { c.each(func(i int, v vector) { LoadFloat16(v, c.wordAt(c.x, i)) }) }},
	{"StoreF16", "x = v, as float16", func(c *chainBody) { c.each(func(i int, v vector) { StoreFloat16(c.wordAt(c.x, i), v) }) }},
	{"RoundF16", "the nearest float16, ties to even", func(c *chainBody) { c.each(func(_ int, v vector) { RoundFloat16(v) }) }},
	{"AddInt", "v + x, integers", two(AddInt)},
	{"SubInt", "v − x, integers", two(SubtractInt)},
	{"SubIntFrom", "x − v, integers", reversed(SubtractInt)},
	{"MulInt", "v·x, integers", two(MultiplyInt)},
	{"MaxInt", "the larger of v and x, integers", two(MaxInt)},
	{"MinInt", "the smaller of v and x, integers", two(MinInt)},
	{"And", "v & x, bit by bit", two(And)},
	{"Or", "v | x, bit by bit", two(Or)},
	{"Xor", "v ^ x, bit by bit", two(Xor)},
	{"NegInt", "−v, an integer", func(c *chainBody) { c.each(func(_ int, v vector) { SubtractInt(v, c.m.zeros(1)[0], v) }) }},
	{"AbsInt", "|v|, an integer", func(c *chainBody) {
		c.each(func(_ int, v vector) {
			negative := c.m.zeros(1)[0]
			SubtractInt(negative, negative, v)
			MaxInt(v, v, negative)
		})
	}},
	{"IntToFloat", "v as a float", single(func(m machine, v vector) vector { return m.float(v) })},
	{"FloatToInt", "v truncated to an integer", single(func(m machine, v vector) vector { return m.truncated(v) })},
	{"LoadByteInts", "v = x, which are bytes", func(c *chainBody) { c.each(func(i int, v vector) { WidenBytes(v, c.byteAt(c.x, i)) }) }},
	{"EqualInt", "y = v = x, as a byte", comparedInts(equalInts)},
	{"NotEqualInt", "y = v ≠ x, as a byte", comparedInts(notEqualInts)},
	{"LessInt", "y = v < x, as a byte", comparedInts(lessInts)},
	{"LessEqualInt", "y = v ≤ x, as a byte", comparedInts(lessEqualInts)},
	{"GreaterInt", "y = v > x, as a byte", comparedInts(greaterInts)},
	{"GreaterEqualInt", "y = v ≥ x, as a byte", comparedInts(greaterEqualInts)},
	{"HoldEqualInt", "hold v = x", heldInts(equalInts)},
	{"HoldNotEqualInt", "hold v ≠ x", heldInts(notEqualInts)},
	{"HoldLessInt", "hold v < x", heldInts(lessInts)},
	{"HoldLessEqualInt", "hold v ≤ x", heldInts(lessEqualInts)},
	{"HoldGreaterInt", "hold v > x", heldInts(greaterInts)},
	{"HoldGreaterEqualInt", "hold v ≥ x", heldInts(greaterEqualInts)},
	{"HoldBytes", "hold x, which are bytes of 0 and 1", func(c *chainBody) {
		c.each(func(i int, _ vector) { MaskLanes(c.held[i], LoadMask(c.byteAt(c.x, i))) })
	}},
	{"AndBytes", "hold what was held and the byte of x", heldWith(AndInt)},
	{"OrBytes", "hold what was held or the byte of x", heldWith(OrInt)},
	{"XorBytes", "hold exactly one of what was held and the byte of x", heldWith(Xor)},
	{"NotHeld", "hold the complement", func(c *chainBody) {
		c.each(func(i int, _ vector) { Xor(c.held[i], c.held[i], Constant("cffffffff", 0xffffffff)) })
	}},
	{"StoreHeld", "x = what is held, as a byte", func(c *chainBody) {
		c.each(func(i int, _ vector) { StoreMask(c.byteAt(c.x, i), Signs(c.held[i])) })
	}},
	{"HoldEqualNumber", "hold v = number", heldOfNumber(Equal)},
	{"HoldNotEqualNumber", "hold v ≠ number", heldOfNumber(NotEqual)},
	{"HoldLessNumber", "hold v < number", heldOfNumber(LessThan)},
	{"HoldLessEqualNumber", "hold v ≤ number", heldOfNumber(LessEqual)},
	{"HoldGreaterNumber", "hold v > number", heldOfNumber(GreaterThan)},
	{"HoldGreaterEqualNumber", "hold v ≥ number", heldOfNumber(GreaterEqual)},
	{"HoldEqualIntNumber", "hold v = number, integers", heldIntsNumber(equalInts)},
	{"HoldNotEqualIntNumber", "hold v ≠ number, integers", heldIntsNumber(notEqualInts)},
	{"HoldLessIntNumber", "hold v < number, integers", heldIntsNumber(lessInts)},
	{"HoldLessEqualIntNumber", "hold v ≤ number, integers", heldIntsNumber(lessEqualInts)},
	{"HoldGreaterIntNumber", "hold v > number, integers", heldIntsNumber(greaterInts)},
	{"HoldGreaterEqualIntNumber", "hold v ≥ number, integers", heldIntsNumber(greaterEqualInts)},
	{"ChooseHeldNumber", "v where it was held, else number", chooseHeldNumber(false)},
	{"ChooseOtherHeldNumber", "number where it was held, else v", chooseHeldNumber(true)},
	{"AddIntNumber", "v + number, integers", scalar(AddInt)},
	{"MulIntNumber", "v·number, integers", scalar(MultiplyInt)},
	{"MaxIntNumber", "the larger of v and number, integers", scalar(MaxInt)},
	{"MinIntNumber", "the smaller of v and number, integers", scalar(MinInt)},
	{"Finite", "y = v is finite, as a byte", func(c *chainBody) {
		c.each(func(i int, v vector) { StoreMask(c.byteAt(c.y, i), c.finite(v)) })
	}},
	{"HoldFinite", "hold v is finite", func(c *chainBody) { c.each(func(i int, v vector) { MaskLanes(c.held[i], c.finite(v)) }) }},
	{"SameBytes", "hold that what is held is the byte of x", func(c *chainBody) {
		heldWith(Xor)(c)
		c.each(func(i int, _ vector) { Xor(c.held[i], c.held[i], Constant("cffffffff", 0xffffffff)) })
	}},
}

// chain emits the function that runs a chain of steps on vectors in registers: several vectors at a time, then single
// ones.
func (m machine) chain() {
	m.begin("", "chain", "steps unsafe.Pointer, count, n uintptr", "")
	m.chainOf(4, func(chainStep) bool { return true })
	m.begin("", "chain64", "steps unsafe.Pointer, count, n uintptr", "")
	Float64()
	m.chainOf(8, chainStep.forDoubles)
}

// chainOf emits the body for floats of the given size and the integers and bytes combined with them.
func (m machine) chainOf(size int, has func(chainStep) bool) {
	steps, count, n := param("steps"), param("count"), param("n")
	c := &chainBody{m: m, size: size, x: NewScalar(), y: NewScalar(), floats: NewScalar(), byte: NewScalar()}
	Clear(c.floats)
	Clear(c.byte)
	var list []int
	for i, s := range chainSteps {
		if has(s) {
			list = append(list, i)
		}
	}
	unrolls := []int{4, 1}
	if m.wide {
		unrolls[0] = 8
	}
	for _, unroll := range unrolls {
		c.v, c.held = m.vectors(unroll), m.vectors(unroll)
		c.each(func(i int, v vector) {
			Zero(v)
			Zero(c.held[i])
		})
		top, next, bottom := fmt.Sprintf("top%d", unroll), fmt.Sprintf("next%d", unroll), fmt.Sprintf("bottom%d", unroll)
		Label(top)
		JumpBelow(n, Number(unroll*m.bytes()/size), bottom)
		step, left, op := NewScalar(), NewScalar(), NewScalar()
		Assign(step, steps)
		Assign(left, count)
		Label(next)
		Assign(op, Memory{Base: step})
		Assign(c.x, Memory{Base: step, Offset: 8})
		Assign(c.y, Memory{Base: step, Offset: 16})
		Increase(step, Number(24))
		c.dispatch(op, list, func() {
			Countdown(left, 1, next)
			Jump(fmt.Sprintf("done%d", unroll))
		})
		Label(fmt.Sprintf("done%d", unroll))
		Increase(c.floats, Number(unroll*m.bytes()))
		Increase(c.byte, Number(unroll*m.bytes()/size))
		Decrease(n, Number(unroll*m.bytes()/size))
		Jump(top)
		Label(bottom)
	}
	End()
}

// dispatch emits the steps of a list, and the binary search for the step to run. Since every round runs the same steps,
// its branches are predicted.
func (c *chainBody) dispatch(op Scalar, list []int, after func()) {
	if len(list) == 1 {
		chainSteps[list[0]].body(c)
		after()
		return
	}
	middle := middleOf(list)
	right := fmt.Sprintf("from%d_%d", list[middle], len(c.v))
	JumpAtLeast(op, Number(list[middle]), right)
	c.dispatch(op, list[:middle], after)
	Label(right)
	c.dispatch(op, list[middle:], after)
}

// often is the relative frequency of steps: frequent ones are found with fewer comparisons.
var often = map[string]int{"Load": 12, "LoadNumber": 6, "Store": 12, "Add": 8, "Sub": 6, "SubFrom": 3, "Mul": 12, "Div": 3, "AddNumber": 6, "SubNumber": 3,
	"MulNumber": 10, "MaxNumber": 4, "MinNumber": 4, "Neg": 3, "Abs": 3, "Choose": 2, "ChooseHeld": 6, "ChooseOtherHeld": 4, "LoadBF16": 6, "StoreBF16": 4, "RoundBF16": 6,
	"LoadF16": 3, "StoreF16": 2, "RoundF16": 3, "HoldLess": 3, "HoldGreater": 3, "HoldEqual": 2, "HoldLessNumber": 4, "HoldGreaterNumber": 4, "HoldEqualNumber": 4,
	"HoldNotEqualNumber": 2, "HoldLessEqualNumber": 3, "HoldGreaterEqualNumber": 3, "ChooseHeldNumber": 6, "ChooseOtherHeldNumber": 6, "HoldBytes": 3, "StoreHeld": 4}

// middleOf returns where to cut a list so that both parts are used equally often.
func middleOf(list []int) int {
	weight := func(part []int) (w int) {
		for _, i := range part {
			w += 1 + often[chainSteps[i].name]
		}
		return w
	}
	best, least := 1, 0
	for i := 1; i < len(list); i++ {
		low, high := weight(list[:i]), weight(list[i:])
		if d := max(low, high); least == 0 || d < least {
			best, least = i, d
		}
	}
	return best
}
