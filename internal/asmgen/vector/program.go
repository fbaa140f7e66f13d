// Package vector is a small language for the inner loops of the CPU kernels, with an emitter for amd64 and one for
// arm64.
//
// A generator records functions into a [Program]: it asks for registers of a type ([Scalar], [Vector], [Mask]), as many
// as it likes, and calls the operations of this package ([Add], [MultiplyAdd], [Compare], [Countdown], ...), whose
// first argument is the destination. A function is recorded for one width of vectors. [Program.AMD64] writes what was
// recorded as AVX2 or AVX-512; [Program.NEON] writes the functions with 256 bits for arm64, where a vector is two
// registers: the same operations in the same order, so the same bits.
package vector

import (
	"fmt"
	"strings"
)

// Machine is the instruction set that a function is recorded for.
type Machine struct {
	Name  string // suffix of the functions' names
	Bytes int    // length of a vector
}

// The machines. Functions recorded for AVX2 are also written for NEON.
var (
	AVX2   = Machine{"AVX2", 32}
	AVX512 = Machine{"AVX512", 64}
)

// class is a kind of register.
type class uint8

const (
	scalar class = iota
	lanes
	bits
)

// register is a value to which an emitter assigns a register.
type register struct {
	class class
	bytes int // of a vector
	born  int // number of instructions before it
	alias *register
}

// Operand is an operand of operations: a [Scalar], a [Vector], a [Mask], a [Memory] or a [Number].
type Operand interface{ operand() }

// Scalar is a 64-bit register for addresses and counts.
type Scalar struct{ *register }

// Vector is a register of floats or 32-bit integers.
type Vector struct{ *register }

// Mask selects elements of a vector.
type Mask struct{ *register }

// Number is an immediate number.
type Number int

// Memory is the memory at Base + Scale·Index + Offset bytes, or a constant of the program.
type Memory struct {
	Base, Index Scalar
	Scale       uint8
	Offset      int

	constant *constant
	local    bool // in the function's frame
}

// Plus returns the memory the given number of bytes further on.
func (m Memory) Plus(bytes int) Memory {
	m.Offset += bytes
	return m
}

// Indexed returns the memory with scale times an index added to its address.
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

// instruction is an operation with its operands, first the destination.
type instruction struct {
	op       op
	operands []Operand
	number   int    // a distance, a predicate, ...
	label    string // a label, or the name of a parameter
	unrolled bool   // it may be left out, because a loop after it does the same
	arm      bool   // only for NEON
}

// function holds what was recorded between Begin and End.
type function struct {
	machine      Machine
	name         string // without the machine's suffix
	parameters   []string
	result       string
	registers    []*register
	instructions []instruction
	unrolled     bool // what is being recorded may be left out
	arm          bool // what is being recorded is only for NEON
	double       bool // floats have 64 bits
	locals       int  // size of the frame in bytes
	doc          string
}

// constant is constant data.
type constant struct {
	name  string
	words []uint32
	same  bool // all words are equal
	pairs bool // all pairs of words are equal: a 64-bit float
}

// Program holds what a generator has recorded.
type Program struct {
	ShareLines bool // write several instructions per line for amd64, which makes programs smaller

	sections  []any // *function or *constant, in the order of their creation
	constants map[string]*constant
	current   *function
}

// NewProgram returns an empty program, into which the functions of this package record from now on.
func NewProgram() *Program {
	program = &Program{constants: map[string]*constant{}}
	return program
}

var program *Program

// vectorBytes is the length of constants, that of the longest vectors.
const vectorBytes = 64

// Constant returns the memory of a 32-bit pattern repeated over a vector. Constants of the same name are the same.
func Constant(name string, pattern uint32) Memory {
	words := make([]uint32, vectorBytes/4)
	for i := range words {
		words[i] = pattern
	}
	m := Table(name, words)
	m.constant.same = true
	return m
}

// Constant64 is Constant for a 64-bit pattern, in functions with 64-bit floats. Its length is 256 bits: longer vectors
// broadcast a single number.
func Constant64(name string, pattern uint64) Memory {
	words := make([]uint32, AVX2.Bytes/4)
	for i := range words {
		words[i] = uint32(pattern >> (32 * (i % 2)))
	}
	m := Table(name, words)
	m.constant.pairs = true
	return m
}

// Table returns the memory of 32-bit numbers.
func Table(name string, words []uint32) Memory {
	c, ok := program.constants[name]
	if !ok {
		c = &constant{name: name, words: words}
		program.constants[name] = c
		program.sections = append(program.sections, c)
	}
	return Memory{constant: c}
}

// Begin starts a function. The parameters are in Go's syntax, with 8 bytes each; the result is empty or float32.
func Begin(machine Machine, name, parameters, result string) {
	f := &function{machine: machine, name: name, result: result}
	for _, p := range strings.Split(parameters, ", ") {
		f.parameters = append(f.parameters, strings.Fields(p)[0])
	}
	program.current = f
	program.sections = append(program.sections, f)
}

// Doc sets the comment of the current function.
func Doc(text string) { program.current.doc = text }

// Float64 makes the current function use 64-bit floats. For amd64.
func Float64() { program.current.double = true }

// Local returns memory in the frame of the current function. For amd64.
func Local(bytes int) Memory {
	f := program.current
	m := Memory{local: true, Offset: f.locals}
	f.locals += bytes
	return m
}

// Unrolled records what f does as a part that an emitter may leave out: a loop after it does the same with fewer
// registers.
func Unrolled(f func()) {
	program.current.unrolled = true
	f()
	program.current.unrolled = false
}

// OnARM records what f does only for arm64, where registers hold something different than on amd64.
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

// NewScalar returns a new scalar register.
func NewScalar() Scalar { return Scalar{newRegister(scalar, 8)} }

// NewVector returns a new vector register with the given number of bytes.
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
