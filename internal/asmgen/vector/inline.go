package vector

import (
	"fmt"
	"slices"
	"strings"
)

// Inline is a function of one or two vectors that package jit inlines into its loops: [Program.Inlines] turns what was
// recorded into a table of AVX-512 instructions.
type Inline struct {
	Name   string
	In     []Vector
	Result Vector
	f      *function
}

// BeginInline starts a function with the given number of vectors.
func BeginInline(name string, operands int) *Inline {
	f := &function{machine: AVX512, name: name}
	program.current = f
	i := &Inline{Name: name, f: f}
	for range operands {
		i.In = append(i.In, NewVector(AVX512.Bytes))
	}
	return i
}

// encoding is an instruction in package jit's notation, and whether an immediate follows it.
type encoding struct {
	code     string
	numbered bool
}

// encodings are the instructions dst = a op b, or dst = op b.
var encodings = map[op]encoding{
	opLoad: {code: "map0F | 0x28"}, opCopy: {code: "map0F | 0x28"},
	opAdd: {code: "map0F | 0x58"}, opSubtract: {code: "map0F | 0x5c"}, opMultiply: {code: "map0F | 0x59"}, opDivide: {code: "map0F | 0x5e"},
	opMax: {code: "map0F | 0x5f"}, opMin: {code: "map0F | 0x5d"}, opAnd: {code: "map0F | 0x54"}, opOr: {code: "map0F | 0x56"},
	opXor: {code: "map0F | 0x57"}, opSqrt: {code: "map0F | 0x51"},
	opRound:      {code: "map0F3A | with66 | 0x08", numbered: true},
	opInverse:    {code: "map0F38 | with66 | 0x4c"},
	opScale:      {code: "map0F38 | with66 | 0x2c"},
	opExponent:   {code: "map0F38 | with66 | 0x42"},
	opFraction:   {code: "map0F3A | with66 | 0x26", numbered: true},
	opLookup:     {code: "map0F38 | with66 | 0x16"},
	opFixUp:      {code: "map0F3A | with66 | 0x54", numbered: true},
	opAddProduct: {code: "map0F38 | with66 | 0xb8"}, opSubtractProduct: {code: "map0F38 | with66 | 0xbc"},
	opMultiplyAdd: {code: "map0F38 | with66 | 0xa8"}, opMultiplyAddConstant: {code: "map0F38 | with66 | 0xa8"},
	opMultiplySubtract: {code: "map0F38 | with66 | 0xaa"}, opSubtractScaled: {code: "map0F38 | with66 | 0xac"},
	opToInt: {code: "map0F | with66 | 0x5b"}, opTruncateToInt: {code: "map0F | withF3 | 0x5b"}, opToFloat: {code: "map0F | 0x5b"},
	opAddInt: {code: "map0F | with66 | 0xfe"}, opSubtractInt: {code: "map0F | with66 | 0xfa"},
	opAndInt: {code: "map0F | with66 | 0xdb"}, opOrInt: {code: "map0F | with66 | 0xeb"}, opXorInt: {code: "map0F | with66 | 0xef"},
	opCompare: {code: "map0F | 0xc2", numbered: true},
	opOdd:     {code: "map0F38 | with66 | 0x27"}, opSigns: {code: "map0F38 | withF3 | 0x39"},
	opBlend: {code: "map0F | 0x28"}, opKeep: {code: "map0F | 0x28"},
}

// broadcastCode is the instruction that sets a register to a constant.
const broadcastCode = "map0F38 | with66 | 0x18"

// shifts are the opcode extensions that shift instructions have in place of a register.
var shifts = map[op]int{opShiftLeft: 6, opShiftRight: 2, opShiftRightSigned: 4}

// inliner writes one function. Registers that are not needed at the same time share a slot.
type inliner struct {
	*Inline
	slots       map[*register]int
	last        map[*register]int // the last instruction that uses the register
	taken       [2][]bool         // by slot, for vectors and for masks
	text        strings.Builder
	index       int
	overwritten []bool // operands that the function changes
	tables      *inlineTables
}

// inlineTables are the functions' lookup tables.
type inlineTables []*constant

func (t *inlineTables) number(c *constant) string {
	i := slices.Index(*t, c)
	if i < 0 {
		i = len(*t)
		*t = append(*t, c)
	}
	return fmt.Sprint(i)
}

// text formats them as a Go array.
func (t inlineTables) text() string {
	var s strings.Builder
	for _, c := range t {
		s.WriteString("{")
		for _, w := range c.words {
			fmt.Fprintf(&s, "0x%x, ", w)
		}
		s.WriteString("},\n")
	}
	return s.String()
}

// Inlines returns the functions as entries of a Go array, and their lookup tables.
func Inlines(list []*Inline) (functions, tables string) {
	var s strings.Builder
	var t inlineTables
	for _, i := range list {
		w := &inliner{Inline: i, slots: map[*register]int{}, last: map[*register]int{}, overwritten: make([]bool, len(i.In)), tables: &t}
		s.WriteString(w.write())
	}
	return s.String(), t.text()
}

func (w *inliner) write() string {
	for k := range w.f.instructions {
		i := &w.f.instructions[k]
		for j, o := range i.operands {
			if r := registerOf(o); r != nil {
				w.last[r] = k
				for n, in := range w.In {
					w.overwritten[n] = w.overwritten[n] || j == 0 && in.register == r
				}
			}
		}
	}
	w.last[w.Result.register] = len(w.f.instructions)
	for n, in := range w.In {
		if w.overwritten[n] {
			fmt.Fprintf(&w.text, "{code: map0F | 0x28, dst: %d, a: noSlot, b: operandSlot + %d},\n", w.slot(in.register), n)
		}
	}
	for w.index = range w.f.instructions {
		w.instruction(&w.f.instructions[w.index])
	}
	return fmt.Sprintf("%s%s - firstFunction: {vectors: %d, masks: %d, operands: %d, result: %d, steps: []inlineStep{\n%s}},\n",
		strings.ToUpper(w.Name[:1]), w.Name[1:], len(w.taken[0]), len(w.taken[1]), len(w.In), w.slots[w.Result.register], w.text.String())
}

func registerOf(o Operand) *register {
	switch o := o.(type) {
	case Vector:
		return o.register
	case Mask:
		return o.register
	}
	return nil
}

// slot returns the register's slot, assigning a free one if it has none yet.
func (w *inliner) slot(r *register) int {
	if s, ok := w.slots[r]; ok {
		return s
	}
	kind := 0
	if r.class == bits {
		kind = 1
	}
	s := slices.Index(w.taken[kind], false)
	if s < 0 {
		s = len(w.taken[kind])
		w.taken[kind] = append(w.taken[kind], false)
	}
	w.taken[kind][s] = true
	w.slots[r] = s
	return s
}

// source formats an operand for the table: a slot, one of the function's operands, or a constant.
func (w *inliner) source(o Operand) (text string, constant bool) {
	switch o := o.(type) {
	case Memory:
		if o.constant == nil || o.Offset != 0 {
			panic(w.Name + " reads memory")
		}
		if !o.constant.same {
			return "constantSlot, constant: " + w.tables.number(o.constant), false
		}
		return fmt.Sprintf("constantSlot, constant: 0x%x", o.constant.words[0]), true
	case Vector:
		for n, in := range w.In {
			if in.register == o.register && !w.overwritten[n] {
				return fmt.Sprintf("operandSlot + %d", n), false
			}
		}
	}
	return fmt.Sprint(w.slot(registerOf(o))), false
}

// free frees the slots of registers that no later instruction uses.
func (w *inliner) free(operands []Operand, but *register) {
	for _, o := range operands {
		r := registerOf(o)
		if s, ok := w.slots[r]; ok && r != but && w.last[r] <= w.index {
			kind := 0
			if r.class == bits {
				kind = 1
			}
			w.taken[kind][s] = false
		}
	}
}

func (w *inliner) instruction(i *instruction) {
	dst, rest := registerOf(i.operands[0]), slices.Clone(i.operands[1:])
	predicate := ""
	switch i.op {
	case opBlend: // dst, v, k
		predicate, rest = fmt.Sprintf(", mask: %d", w.slot(registerOf(rest[1]))+1), rest[:1]
	case opKeep: // dst, k, v
		predicate, rest = fmt.Sprintf(", mask: %d, zero: true", w.slot(registerOf(rest[0]))+1), rest[1:]
	case opNot, opEither:
		panic(w.Name + " combines masks")
	}
	var sources []string
	code, constant := encodings[i.op], false
	for _, o := range rest {
		text, c := w.source(o)
		sources, constant = append(sources, text), constant || c
	}
	w.free(i.operands, dst)
	to := w.slot(dst)
	by, shift := shifts[i.op]
	switch {
	case shift:
		fmt.Fprintf(&w.text, "{code: map0F | with66 | 0x72, dst: %d, a: %d, b: %s, number: %d, kind: shifts},\n", by, to, sources[0], i.number)
	case code.code == "":
		panic(fmt.Sprintf("%s: operation %d", w.Name, i.op))
	default:
		number, kind := i.number, ""
		if i.op == opRound {
			number |= 8
		}
		if code.numbered {
			kind += " | numbered"
		}
		if i.op == opLookup {
			kind += " | looksUp"
		}
		if dst.class == bits {
			kind += " | makesMask"
		}
		if constant && code.code == "map0F | 0x28" {
			code.code, kind = broadcastCode, kind+" | whole"
		}
		if len(sources) < 2 {
			sources = append([]string{"noSlot"}, sources...)
		}
		fmt.Fprintf(&w.text, "{code: %s, dst: %d, a: %s, b: %s%s", code.code, to, sources[0], sources[1], predicate)
		if code.numbered {
			fmt.Fprintf(&w.text, ", number: %d", number)
		}
		if kind != "" {
			fmt.Fprintf(&w.text, ", kind: %s", kind[3:])
		}
		w.text.WriteString("},\n")
	}
	if _, needed := w.last[dst]; !needed || w.last[dst] <= w.index { // the result is unused
		w.taken[map[bool]int{true: 1}[dst.class == bits]][to] = false
	}
}
