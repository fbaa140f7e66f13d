package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// The strides that [machine.strided] supports, and the numbers of operands of [machine.turns] and [machine.apart].
const (
	leastStride, mostStride = 2, 8
	mostTurns               = 4
)

// stridedKernels emits loops over elements at small distances, of 32 bits, or of 64 bits as pairs of 32.
func (m machine) stridedKernels() {
	for stride := leastStride; stride <= mostStride; stride++ {
		m.strided(stride)
	}
	for count := 2; count <= mostTurns; count++ {
		m.turns(count)
		m.apart(count)
	}
	m.smallKernels(8)
	m.smallKernels(16)
	m.reversed()
	m.repeated()
	m.rearranged()
	if m.wide {
		m.rearrangedBytes()
	}
}

// reversed emits the loop that stores count vectors in reverse order; src is the last one. The table has the order of
// words within a vector, followed by that of bytes within each 16 bytes.
func (m machine) reversed() {
	m.begin("", "reversed", "dst, src unsafe.Pointer, count uintptr, table unsafe.Pointer", "")
	dst, src, count, table := param("dst"), param("src"), param("count"), param("table")
	at, within := m.vector(), m.vector()
	LoadInt(at, Memory{Base: table})
	LoadInt(within, Memory{Base: table, Offset: m.bytes()})
	Label("next")
	v := m.vector()
	Lookup(v, at, Memory{Base: src})
	Compute(ShuffleBytes, v, v, within)
	Store(Memory{Base: dst}, v)
	Decrease(src, Number(m.bytes()))
	Increase(dst, Number(m.bytes()))
	Countdown(count, 1, "next")
	End()
}

// strided emits the loop that gathers elements stride apart, from stride vectors into one: from each vector, the
// elements that the table selects, where the vector's mask is set.
func (m machine) strided(stride int) {
	m.begin("", fmt.Sprintf("strided%d", stride), "dst, src unsafe.Pointer, count uintptr, table unsafe.Pointer", "")
	dst, src, count, table := param("dst"), param("src"), param("count"), param("table")
	gather := m.gathering(table, stride, 1, true)
	Label("next")
	Store(Memory{Base: dst}, gather(0, func(i int) Operand { return Memory{Base: src, Offset: i * m.bytes()} }))
	Increase(src, Number(stride*m.bytes()))
	Increase(dst, Number(m.bytes()))
	Countdown(count, 1, "next")
	End()
}

// apart emits the loop that deinterleaves: vector j receives element j of each group of operands elements.
func (m machine) apart(operands int) {
	m.begin("", fmt.Sprintf("apart%d", operands), "destinations, src unsafe.Pointer, at, count uintptr, table unsafe.Pointer", "")
	destinations, src, offset, count, table := param("destinations"), param("src"), param("at"), param("count"), param("table")
	gather := m.gathering(table, operands, operands, true)
	to := make([]Scalar, operands)
	for i := range to {
		to[i] = NewScalar()
		Assign(to[i], Memory{Base: destinations, Offset: 8 * i})
	}
	Label("next")
	source := func(i int) Operand { return Memory{Base: src, Offset: i * m.bytes()} }
	if m.wide && operands%2 == 1 { // enough registers to read each source once
		groups := m.vectors(operands)
		groups.each(func(i int) { Load(groups[i], source(i)) })
		source = func(i int) Operand { return groups[i] }
	}
	for j := range operands {
		Store(Memory{Base: to[j]}.Indexed(offset, 1), gather(j, source))
	}
	Increase(src, Number(operands*m.bytes()))
	Increase(offset, Number(m.bytes()))
	Countdown(count, 1, "next")
	End()
}

// turns emits the loop that interleaves the elements of several operands.
func (m machine) turns(operands int) {
	m.begin("", fmt.Sprintf("turns%d", operands), "dst, sources unsafe.Pointer, at, count uintptr, table unsafe.Pointer", "")
	dst, sources, offset, count, table := param("dst"), param("sources"), param("at"), param("count"), param("table")
	gather := m.turning(table, operands, true)
	from := make([]Scalar, operands)
	for i := range from {
		from[i] = NewScalar()
		Assign(from[i], Memory{Base: sources, Offset: 8 * i})
	}
	Label("next")
	for j := range operands {
		Store(Memory{Base: dst, Offset: j * m.bytes()}, gather(j, func(i int) Operand { return Memory{Base: from[i]}.Indexed(offset, 1) }))
	}
	Increase(offset, Number(m.bytes()))
	Increase(dst, Number(operands*m.bytes()))
	Countdown(count, 1, "next")
	End()
}

// gathering returns a function that makes vector j of the results from several sources. If the number of sources is
// odd, the elements of a result have distinct positions in their sources: these are blended first, and then ordered by
// one lookup. The table has an index vector for each result, and masks of the elements that come from each source but
// the first. If it is even, the table has the same, but each source is looked up before blending; or, for AVX-512, it
// has an index vector for each source but the first, which is looked up together with the previous ones. What does not
// fit into registers is read each time.
func (m machine) gathering(table Scalar, sources, results int, room bool) func(j int, source func(i int) Operand) Vector {
	v, w := m.vector(), m.vector()
	part := m.gatheringTable(table, sources, results, room)
	mask := m.gatheringMasks(part, sources, results)
	return func(j int, source func(i int) Operand) Vector {
		switch {
		case sources%2 == 1:
			Load(v, source(0))
			for i := 1; i < sources; i++ {
				Blend(v, mask(j, i), source(i))
			}
			Lookup(v, part(j, 0), v)
		case m.wide:
			Load(v, source(0))
			for i := 1; i < sources; i++ {
				LookupTwo(v, part(j, i-1), source(i))
			}
		default:
			index := part(j, 0)
			Lookup(v, index, source(0))
			for i := 1; i < sources; i++ {
				Lookup(w, index, source(i))
				Blend(v, mask(j, i), w)
			}
		}
		return v
	}
}

// gatheringTable returns a function that returns the table's entry i of result j.
func (m machine) gatheringTable(table Scalar, sources, results int, room bool) func(j, i int) Vector {
	entry := func(j, i int) Memory { return Memory{Base: table, Offset: (j*sources + i) * m.bytes()} }
	at := make([]vectors, results)
	for j := range at {
		kept := 0
		switch {
		case m.wide && sources%2 == 1:
			kept = 1 // the others are masks
		case m.wide:
			kept = sources - 1
		case room && results*sources <= 12:
			kept = sources
		}
		at[j] = m.vectors(kept)
		for i, v := range at[j] {
			LoadInt(v, entry(j, i))
		}
	}
	return func(j, i int) Vector {
		if i < len(at[j]) {
			return at[j][i]
		}
		w := m.vector()
		LoadInt(w, entry(j, i))
		return w
	}
}

// gatheringMasks returns a function that returns the mask of source i of result j. Mask registers suffice for an odd
// number of sources.
func (m machine) gatheringMasks(part func(j, i int) Vector, sources, results int) func(j, i int) Mask {
	if !m.wide || sources%2 == 0 {
		return func(j, i int) Mask { return Signs(part(j, i)) }
	}
	kept := make([][]Mask, results)
	for j := range kept {
		kept[j] = append(kept[j], Mask{}) // the first source has none
		for i := 1; i < sources; i++ {
			kept[j] = append(kept[j], Signs(part(j, i)))
		}
	}
	return func(j, i int) Mask { return kept[j][i] }
}

// turning is the inverse of [machine.gathering]: it interleaves the elements of the operands, in the order of results.
// An odd number of operands reverses the steps of deinterleaving: each operand is first ordered by the index vector of
// the result with its number, so that its elements are at their positions in the results, which are then blended.
func (m machine) turning(table Scalar, operands int, room bool) func(j int, source func(i int) Operand) Vector {
	if operands%2 == 0 {
		return m.gathering(table, operands, operands, room)
	}
	part := m.gatheringTable(table, operands, operands, room)
	mask := m.gatheringMasks(part, operands, operands)
	ordered, v := m.vectors(operands), m.vector()
	return func(j int, source func(i int) Operand) Vector {
		if j == 0 {
			ordered.each(func(i int) { Lookup(ordered[i], part(i, 0), source(i)) })
		}
		Copy(v, ordered[0])
		for i := 1; i < operands; i++ {
			Blend(v, mask(j, i), ordered[i])
		}
		return v
	}
}

// repeated emits the loop that makes vectors whose elements lie within one vector's length of the source: for each of
// count periods, step bytes apart, one vector for each entry of the table. An entry is an index vector of words, one of
// bytes within each 16 bytes, and the distance of its source in bytes. If periods have one vector, at distance 0, its
// entry stays in registers.
func (m machine) repeated() {
	m.begin("", "repeated", "dst, src unsafe.Pointer, count, step uintptr, table unsafe.Pointer, entries uintptr", "")
	dst, src, count := param("dst"), param("src"), param("count")
	p, entry, k := NewScalar(), NewScalar(), NewScalar()
	JumpNotEqual(param("entries"), Number(1), "period")
	step, words, bytes, single := param("step"), m.vector(), m.vector(), m.vector()
	Assign(entry, param("table"))
	LoadInt(words, Memory{Base: entry})
	LoadInt(bytes, Memory{Base: entry, Offset: m.bytes()})
	Label("single")
	Lookup(single, words, Memory{Base: src})
	Compute(ShuffleBytes, single, single, bytes)
	Store(Memory{Base: dst}, single)
	Increase(dst, Number(m.bytes()))
	Increase(src, step)
	Countdown(count, 1, "single")
	Jump("end")
	Label("period")
	Assign(entry, param("table"))
	Assign(k, param("entries"))
	Label("next")
	v := m.vector()
	LoadInt(v, Memory{Base: entry})
	Assign(p, Memory{Base: entry, Offset: 2 * m.bytes()})
	Increase(p, src)
	Lookup(v, v, Memory{Base: p})
	Compute(ShuffleBytes, v, v, Memory{Base: entry, Offset: m.bytes()})
	Store(Memory{Base: dst}, v)
	Increase(entry, Number(2*m.bytes()+8))
	Increase(dst, Number(m.bytes()))
	Countdown(k, 1, "next")
	Increase(src, param("step"))
	Countdown(count, 1, "period")
	Label("end")
	End()
}

// rearranged emits the loop that makes vectors whose elements lie within two vectors' lengths of the source: for each
// of count periods, step bytes apart, one vector for each entry of the table. An entry is an index vector of words, one
// of bytes within each 16 bytes, the distances of both sources in bytes, and how many bytes of the vector are valid:
// the next vector is stored after those.
func (m machine) rearranged() {
	m.begin("", "rearranged", "dst, src unsafe.Pointer, count, step uintptr, table unsafe.Pointer, entries uintptr", "")
	dst, src, count := param("dst"), param("src"), param("count")
	p, q, entry, k := NewScalar(), NewScalar(), NewScalar(), NewScalar()
	Label("period")
	Assign(entry, param("table"))
	Assign(k, param("entries"))
	Label("next")
	v, index := m.vector(), m.vector()
	LoadInt(index, Memory{Base: entry})
	Assign(p, Memory{Base: entry, Offset: 2 * m.bytes()})
	Assign(q, Memory{Base: entry, Offset: 2*m.bytes() + 8})
	Increase(p, src)
	Increase(q, src)
	if m.wide {
		Load(v, Memory{Base: p})
		LookupTwo(v, index, Memory{Base: q})
	} else {
		w := m.vector()
		Lookup(v, index, Memory{Base: p})
		Lookup(w, index, Memory{Base: q})
		Blend(v, Signs(index), w)
	}
	Compute(ShuffleBytes, v, v, Memory{Base: entry, Offset: m.bytes()})
	Store(Memory{Base: dst}, v)
	Increase(dst, Memory{Base: entry, Offset: 2*m.bytes() + 16})
	Increase(entry, Number(2*m.bytes()+24))
	Countdown(k, 1, "next")
	Increase(src, param("step"))
	Countdown(count, 1, "period")
	End()
}

// rearrangedBytes is rearranged with a single index vector, of bytes, which selects any bytes of both sources.
func (m machine) rearrangedBytes() {
	m.beginWide("rearrangedBytes", "dst, src unsafe.Pointer, count, step uintptr, table unsafe.Pointer, entries uintptr")
	dst, src, count := param("dst"), param("src"), param("count")
	p, q, entry, k := NewScalar(), NewScalar(), NewScalar(), NewScalar()
	Label("period")
	Assign(entry, param("table"))
	Assign(k, param("entries"))
	Label("next")
	v, index := m.vector(), m.vector()
	LoadInt(index, Memory{Base: entry})
	Assign(p, Memory{Base: entry, Offset: m.bytes()})
	Assign(q, Memory{Base: entry, Offset: m.bytes() + 8})
	Increase(p, src)
	Increase(q, src)
	Load(v, Memory{Base: p})
	LookupBytes(v, index, Memory{Base: q})
	Store(Memory{Base: dst}, v)
	Increase(dst, Memory{Base: entry, Offset: m.bytes() + 16})
	Increase(entry, Number(m.bytes()+24))
	Countdown(k, 1, "next")
	Increase(src, param("step"))
	Countdown(count, 1, "period")
	End()
}
