package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// 8-bit and 16-bit elements are deinterleaved and interleaved as words of several elements: each lane holds a group of
// words, whose elements are moved to their positions by shifts.

// smallKernels emits the loops over elements of the given number of bits.
func (m machine) smallKernels(bits int) {
	for count := 2; count <= mostTurns; count++ {
		m.apartSmall(count, bits)
		m.turnsSmall(count, bits)
		m.stridedSmall(count, bits)
	}
}

// wordParts are the masks of a word's elements.
type wordParts struct {
	bits  int
	masks vectors
}

func (m machine) wordParts(bits int) wordParts {
	p := wordParts{bits: bits}
	for at := 0; at < 32; at += bits {
		p.masks = append(p.masks, m.copy(pattern((1<<bits-1)<<at)))
	}
	return p
}

// count is the number of elements of a word.
func (p wordParts) count() int { return len(p.masks) }

// collect makes the word to, whose element i is element from(i) of the words, counted through all of them.
func (m machine) collect(p wordParts, to Vector, words vectors, from func(i int) int) {
	last := p.count() - 1
	part := m.vector()
	for i := range p.masks {
		word, element := from(i)/p.count(), from(i)%p.count()
		v := part
		if i == 0 {
			v = to
		}
		switch by := (i - element) * p.bits; {
		case by > 0:
			ShiftLeft(v, words[word], by)
		case by < 0:
			ShiftRight(v, words[word], -by)
		default:
			And(v, words[word], p.masks[i])
		}
		if i != element && !(i == 0 && element == last) && !(i == last && element == 0) {
			And(v, v, p.masks[i])
		}
		if i > 0 {
			Or(to, to, part)
		}
	}
}

// apartSmall is [machine.apart] for elements of the given number of bits.
func (m machine) apartSmall(operands, bits int) {
	m.begin("", fmt.Sprintf("apart%dof%d", operands, bits), "destinations, src unsafe.Pointer, at, count uintptr, table unsafe.Pointer", "")
	destinations, src, offset, count, table := param("destinations"), param("src"), param("at"), param("count"), param("table")
	gather := m.gathering(table, operands, operands, m.wide)
	p := m.wordParts(bits)
	to := make([]Scalar, operands)
	for i := range to {
		to[i] = NewScalar()
		Assign(to[i], Memory{Base: destinations, Offset: 8 * i})
	}
	words, y := m.vectors(operands), m.vector()
	Label("next")
	for j := range words {
		Copy(words[j], gather(j, func(i int) Operand { return Memory{Base: src, Offset: i * m.bytes()} }))
	}
	for j := range operands {
		m.collect(p, y, words, func(i int) int { return i*operands + j })
		Store(Memory{Base: to[j]}.Indexed(offset, 1), y)
	}
	Increase(src, Number(operands*m.bytes()))
	Increase(offset, Number(m.bytes()))
	Countdown(count, 1, "next")
	End()
}

// stridedSmall is [machine.strided] for elements of the given number of bits.
func (m machine) stridedSmall(stride, bits int) {
	m.begin("", fmt.Sprintf("strided%dof%d", stride, bits), "dst, src unsafe.Pointer, count uintptr, table unsafe.Pointer", "")
	dst, src, count, table := param("dst"), param("src"), param("count"), param("table")
	gather := m.gathering(table, stride, stride, m.wide)
	p := m.wordParts(bits)
	words, y := m.vectors(stride), m.vector()
	Label("next")
	for j := range words {
		Copy(words[j], gather(j, func(i int) Operand { return Memory{Base: src, Offset: i * m.bytes()} }))
	}
	m.collect(p, y, words, func(i int) int { return i * stride })
	Store(Memory{Base: dst}, y)
	Increase(src, Number(stride*m.bytes()))
	Increase(dst, Number(m.bytes()))
	Countdown(count, 1, "next")
	End()
}

// turnsSmall is [machine.turns] for elements of the given number of bits.
func (m machine) turnsSmall(operands, bits int) {
	m.begin("", fmt.Sprintf("turns%dof%d", operands, bits), "dst, sources unsafe.Pointer, at, count uintptr, table unsafe.Pointer", "")
	dst, sources, offset, count, table := param("dst"), param("sources"), param("at"), param("count"), param("table")
	gather := m.turning(table, operands, m.wide)
	p := m.wordParts(bits)
	from := make([]Scalar, operands)
	for i := range from {
		from[i] = NewScalar()
		Assign(from[i], Memory{Base: sources, Offset: 8 * i})
	}
	x, words := m.vectors(operands), m.vectors(operands)
	Label("next")
	for i := range x {
		Load(x[i], Memory{Base: from[i]}.Indexed(offset, 1))
	}
	for j := range words {
		m.collect(p, words[j], x, func(i int) int {
			element := j*p.count() + i
			return element%operands*p.count() + element/operands
		})
	}
	for j := range operands {
		Store(Memory{Base: dst, Offset: j * m.bytes()}, gather(j, func(i int) Operand { return words[i] }))
	}
	Increase(offset, Number(m.bytes()))
	Increase(dst, Number(operands*m.bytes()))
	Countdown(count, 1, "next")
	End()
}
