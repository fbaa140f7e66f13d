// Package vector is a small language for the inner loops of the CPU kernels, with an emitter for amd64 and one for
// arm64.
//
// A generator records functions into a [Program]: it asks for registers of a type ([Scalar], [Vector], [Mask]), of
// which there are as many as it likes, and calls the operations of this package ([Add], [MultiplyAdd], [Compare],
// [Countdown], ...), the destination first. A function is recorded for one width of vectors. [Program.AMD64] writes
// what was recorded as AVX2 or AVX-512; [Program.NEON] writes the functions of 256 bits for arm64, where a vector is
// two registers: the same operations in the same order, so the same bits.
package vector

import (
	"fmt"
	"strings"
)

// Machine is the instruction set that a function is recorded for.
type Machine struct {
	Name  string // the end of the functions' names
	Bytes int    // of a vector
}

// The machines. Functions recorded for AVX2 are also written for NEON.
var (
	AVX2   = Machine{"AVX2", 32}
	AVX512 = Machine{"AVX512", 64}
)

// class is the kind of a register.
type class uint8

const (
	scalar class = iota
	lanes
	bits
)

// register is a value that an emitter gives a register.
type register struct {
	class class
	bytes int // of a vector
	born  int // the number of instructions before it
	alias *register
}

// Operand is an operand of operations: a [Scalar], a [Vector], a [Mask], a [Memory] or a [Number].
type Operand interface{ operand() }

// Scalar is a register of 64 bits for addresses and counts.
type Scalar struct{ *register }

// Vector is a register of floats or 32-bit integers.
type Vector struct{ *register }

// Mask says for each element of a vector whether it is meant.
type Mask struct{ *register }

// Number is a number in the code.
type Number int

// Memory is a place: at Base + Scale·Index + Offset bytes, or a constant of the program.
type Memory struct {
	Base, Index Scalar
	Scale       uint8
	Offset      int

	constant *constant
	local    bool // in the function's frame
}

// Plus returns the address the given number of bytes further on.
func (m Memory) Plus(bytes int) Memory {
	m.Offset += bytes
	return m
}

// Indexed returns the place with scale times an index added.
func (m Memory) Indexed(index Scalar, scale uint8) Memory {
	m.Index, m.Scale = index, scale
	return m
}

func (Scalar) operand() {}
func (Vector) operand() {}
func (Mask) operand()   {}
func (Number) operand() {}
func (Memory) operand() {}

// IsMemory reports whether an operand is in memory.
func IsMemory(o Operand) bool {
	_, ok := o.(Memory)
	return ok
}

// instruction is an operation with its operands, the destination first.
type instruction struct {
	op       op
	operands []Operand
	number   int    // a distance, a predicate, ...
	label    string // a label, or the name of a parameter
	unrolled bool   // it can be left out, because a loop behind it does the same
	arm      bool   // for NEON alone
}

// function holds what was recorded between Begin and End.
type function struct {
	machine      Machine
	name         string // without the machine
	parameters   []string
	result       string
	registers    []*register
	instructions []instruction
	unrolled     bool // recording what can be left out
	arm          bool // recording for NEON alone
	double       bool // floats are of 64 bits
	locals       int  // bytes of the frame
	doc          string
}

// constant is data that does not change.
type constant struct {
	name  string
	words []uint32
	same  bool // all words are
	pairs bool // all pairs of them are: a float of 64 bits
}

// Program holds what a generator has recorded.
type Program struct {
	ShareLines bool // write several instructions on a line for amd64, which makes programs smaller

	sections  []any // *function or *constant, in the order in which they were asked for
	constants map[string]*constant
	current   *function
}

// NewProgram returns an empty program and makes it the one that the functions of this package record into.
func NewProgram() *Program {
	program = &Program{constants: map[string]*constant{}}
	return program
}

var program *Program

// vectorBytes is the length of constants: that of the longest vectors.
const vectorBytes = 64

// Constant returns the place of a 32-bit pattern repeated over a vector. The name says which one it is.
func Constant(name string, pattern uint32) Memory {
	words := make([]uint32, vectorBytes/4)
	for i := range words {
		words[i] = pattern
	}
	m := Table(name, words)
	m.constant.same = true
	return m
}

// Constant64 is Constant for a pattern of 64 bits, in functions whose floats have as many. It is no longer than vectors
// of 256 bits: longer ones are made of one number.
func Constant64(name string, pattern uint64) Memory {
	words := make([]uint32, AVX2.Bytes/4)
	for i := range words {
		words[i] = uint32(pattern >> (32 * (i % 2)))
	}
	m := Table(name, words)
	m.constant.pairs = true
	return m
}

// Table returns the place of numbers of 32 bits.
func Table(name string, words []uint32) Memory {
	c, ok := program.constants[name]
	if !ok {
		c = &constant{name: name, words: words}
		program.constants[name] = c
		program.sections = append(program.sections, c)
	}
	return Memory{constant: c}
}

// Begin starts a function: parameters as Go writes them, each of 8 bytes; the result is empty or float32.
func Begin(machine Machine, name, parameters, result string) {
	f := &function{machine: machine, name: name, result: result}
	for _, p := range strings.Split(parameters, ", ") {
		f.parameters = append(f.parameters, strings.Fields(p)[0])
	}
	program.current = f
	program.sections = append(program.sections, f)
}

// Doc says what the function in progress does.
func Doc(text string) { program.current.doc = text }

// Float64 makes the function in progress use 64-bit floats. For amd64.
func Float64() { program.current.double = true }

// Local returns memory in the frame of the function in progress. For amd64.
func Local(bytes int) Memory {
	f := program.current
	m := Memory{local: true, Offset: f.locals}
	f.locals += bytes
	return m
}

// Unrolled records what f does as a part that an emitter may leave out: a loop behind it does the same with fewer
// registers.
func Unrolled(f func()) {
	program.current.unrolled = true
	f()
	program.current.unrolled = false
}

// OnARM records what f does only for arm64, where registers hold something else than on amd64.
func OnARM(f func()) {
	program.current.arm = true
	f()
	program.current.arm = false
}

func newRegister(c class, bytes int) *register {
	f := program.current
	r := &register{class: c, bytes: bytes, born: len(f.instructions)}
	f.registers = append(f.registers, r)
	return r
}

// NewScalar returns a new register for a number.
func NewScalar() Scalar { return Scalar{newRegister(scalar, 8)} }

// NewVector returns a new register for a vector of the given number of bytes.
func NewVector(bytes int) Vector { return Vector{newRegister(lanes, bytes)} }

func newMask() Mask { return Mask{newRegister(bits, 0)} }

func record(o op, operands ...Operand) *instruction {
	f := program.current
	f.instructions = append(f.instructions, instruction{op: o, operands: operands, unrolled: f.unrolled, arm: f.arm})
	return &f.instructions[len(f.instructions)-1]
}

func recordNumber(o op, number int, operands ...Operand) { record(o, operands...).number = number }

func recordLabel(o op, label string, operands ...Operand) { record(o, operands...).label = label }

func (f *function) wide() bool { return f.machine.Bytes == AVX512.Bytes }

// offset returns the position of a parameter in the caller's frame.
func (f *function) offset(name string) int {
	for i, p := range f.parameters {
		if p == name {
			return 8 * i
		}
	}
	panic(fmt.Sprintf("%s has no parameter %s", f.name, name))
}
