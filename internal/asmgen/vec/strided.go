package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// The strides that [machine.strided] handles, and how many operands [machine.turns] takes in turn.
const (
	leastStride, mostStride = 2, 8
	mostTurns               = 4
)

// stridedKernels emits loops over elements that lie a few elements apart, of 32 bits, or of 64 bits as pairs of those.
func (m machine) stridedKernels() {
	for stride := leastStride; stride <= mostStride; stride++ {
		m.strided(stride)
	}
	for count := 2; count <= mostTurns; count++ {
		m.turns(count)
	}
	m.reversed()
	m.repeated()
}

// reversed emits the loop that stores count vectors in the opposite order; src is the last one. The table says how
// elements lie in a vector.
func (m machine) reversed() {
	m.begin("", "reversed", "dst, src unsafe.Pointer, count uintptr, table unsafe.Pointer", "")
	dst, src, count, table := param("dst"), param("src"), param("count"), param("table")
	at, _ := m.tables(table, 1, 0)
	Label("next")
	v := m.vector()
	Lookup(v, at[0], Memory{Base: src})
	Store(Memory{Base: dst}, v)
	Decrease(src, Number(m.bytes()))
	Increase(dst, Number(m.bytes()))
	Countdown(count, 1, "next")
	End()
}

// tables loads index vectors and masks that lie one behind the other.
func (m machine) tables(p Scalar, indices, masks int) (at vectors, where []Mask) {
	at = m.vectors(indices)
	for i, v := range at {
		LoadInt(v, Memory{Base: p, Offset: i * m.bytes()})
	}
	for i := range masks {
		v := m.vector()
		LoadInt(v, Memory{Base: p, Offset: (indices + i) * m.bytes()})
		where = append(where, Signs(v))
	}
	return at, where
}

// strided emits the loop that makes a vector of what lies stride elements apart in as many vectors: of each vector, the
// elements that the table says, where the mask of the vector is set.
func (m machine) strided(stride int) {
	m.begin("", fmt.Sprintf("strided%d", stride), "dst, src unsafe.Pointer, count uintptr, table unsafe.Pointer", "")
	dst, src, count, table := param("dst"), param("src"), param("count"), param("table")
	at, where := m.tables(table, 1, stride-1)
	Label("next")
	v, w := m.vector(), m.vector()
	Lookup(v, at[0], Memory{Base: src})
	for i, k := range where {
		Lookup(w, at[0], Memory{Base: src, Offset: (i + 1) * m.bytes()})
		Blend(v, k, w)
	}
	Store(Memory{Base: dst}, v)
	Increase(src, Number(stride*m.bytes()))
	Increase(dst, Number(m.bytes()))
	Countdown(count, 1, "next")
	End()
}

// turns emits the loop that stores the elements of several operands in turn: vector j of the result has, for every
// operand, what index vector j says, where the operand's mask is set, which moves by one from one vector to the next.
func (m machine) turns(operands int) {
	m.begin("", fmt.Sprintf("turns%d", operands), "dst, sources unsafe.Pointer, at, count uintptr, table unsafe.Pointer", "")
	dst, sources, offset, count, table := param("dst"), param("sources"), param("at"), param("count"), param("table")
	at, where := m.tables(table, operands, operands)
	from := make([]Scalar, operands)
	for i := range from {
		from[i] = NewScalar()
		Assign(from[i], Memory{Base: sources, Offset: 8 * i})
	}
	turn := m.bytes() / 4 % operands // what moves the masks
	Label("next")
	for j := range operands {
		v, w := m.vector(), m.vector()
		first := (j * turn) % operands
		Lookup(v, at[j], Memory{Base: from[first]}.Indexed(offset, 1))
		for i := 1; i < operands; i++ {
			Lookup(w, at[j], Memory{Base: from[(first+i)%operands]}.Indexed(offset, 1))
			Blend(v, where[i], w)
		}
		Store(Memory{Base: dst, Offset: j * m.bytes()}, v)
	}
	Increase(offset, Number(m.bytes()))
	Increase(dst, Number(operands*m.bytes()))
	Countdown(count, 1, "next")
	End()
}

// repeated emits the loop that makes vectors of what lies within a vector's length: for each of count periods, which
// begin step bytes apart, as many vectors as there are entries in the table. An entry is an index vector and the
// distance of its source in bytes.
func (m machine) repeated() {
	m.begin("", "repeated", "dst, src unsafe.Pointer, count, step uintptr, table unsafe.Pointer, entries uintptr", "")
	dst, src, count := param("dst"), param("src"), param("count")
	p, entry, k := NewScalar(), NewScalar(), NewScalar()
	Label("period")
	Assign(entry, param("table"))
	Assign(k, param("entries"))
	Label("next")
	v := m.vector()
	LoadInt(v, Memory{Base: entry})
	Assign(p, Memory{Base: entry, Offset: m.bytes()})
	Increase(p, src)
	Lookup(v, v, Memory{Base: p})
	Store(Memory{Base: dst}, v)
	Increase(entry, Number(m.bytes()+8))
	Increase(dst, Number(m.bytes()))
	Countdown(k, 1, "next")
	Increase(src, param("step"))
	Countdown(count, 1, "period")
	End()
}
