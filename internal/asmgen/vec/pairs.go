package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// pairRows emits the loop that interleaves pairs of rows of 16-bit numbers: a number of the first row becomes the lower
// half of a 32-bit number, one of the second row the upper half. Rows are from bytes apart, those of the result to
// bytes; a row fills whole vectors of 32-bit numbers. The following part of the rows is prefetched: a matrix is packed
// into one panel after the other.
func (m machine) pairRows() {
	m.begin("", "pairRows", "dst, x unsafe.Pointer, columns, pairs, to, from uintptr", "")
	dst, x := param("dst"), param("x")
	pairs, to, from := param("pairs"), param("to"), param("from")
	upper, d, left := NewScalar(), NewScalar(), NewScalar()
	Label("pair")
	Address(upper, Memory{Base: x}.Indexed(from, 1))
	lower := NewScalar()
	Assign(lower, x)
	Assign(d, dst)
	Reload(left, "columns")
	Prefetch(Memory{Base: lower}.Indexed(left, 2))
	Prefetch(Memory{Base: upper}.Indexed(left, 2))
	Label("column")
	a, b := m.vector(), m.vector()
	WidenWords(a, Memory{Base: lower})
	WidenWords(b, Memory{Base: upper})
	ShiftLeft(b, b, 16)
	OrInt(a, a, b)
	StoreInt(Memory{Base: d}, a)
	Increase(lower, Number(m.bytes()/2))
	Increase(upper, Number(m.bytes()/2))
	Increase(d, Number(m.bytes()))
	Countdown(left, m.bytes()/4, "column")
	Increase(dst, to)
	Address(x, Memory{Base: x}.Indexed(from, 2))
	Countdown(pairs, 1, "pair")
	End()
}

// roundPairs emits the loop that rounds pairs of float32 rows, from bytes apart, to bfloat16, and interleaves them into
// rows that are to bytes apart, in panels of 32 columns that are panel bytes apart; the number of columns is a multiple
// of 16. For AVX-512 with AVX512-BF16.
func (m machine) roundPairs() {
	if !m.wide {
		return
	}
	m.beginWide("roundPairs", "panels, dst unsafe.Pointer, x *float32, columns, pairs, panel, to, from uintptr")
	panels, dst, x := param("panels"), param("dst"), param("x")
	pairs, panel, to, from := param("pairs"), param("panel"), param("to"), param("from")
	source, d, place, left := NewScalar(), NewScalar(), NewScalar(), NewScalar()
	vectors := func(n int) {
		for i := range n {
			upper, lower := m.vector(), m.vector()
			at, half := Memory{Base: source, Offset: i * m.bytes()}, m.halfPlace(d, i)
			Load(lower, at)
			Load(upper, at.Indexed(from, 1))
			StoreBFloat16(half, lower)
			StoreBFloat16(half.Indexed(to, 1), upper)
			WidenWords(lower, half)
			WidenWords(upper, half.Indexed(to, 1))
			ShiftLeft(upper, upper, 16)
			OrInt(lower, lower, upper)
			StoreInt(m.place(place, i), lower)
		}
	}
	Label("pair")
	Assign(source, x)
	Assign(d, dst)
	Assign(place, panels)
	Reload(left, "columns")
	Label("whole")
	JumpBelow(left, Number(32), "rest")
	vectors(2)
	Increase(source, Number(2*m.bytes()))
	Increase(d, Number(m.bytes()))
	Increase(place, panel)
	Decrease(left, Number(32))
	Jump("whole")
	Label("rest")
	JumpBelow(left, Number(16), "next")
	vectors(1)
	Label("next")
	Increase(panels, Number(2*m.bytes()))
	Address(dst, Memory{Base: dst}.Indexed(to, 2))
	Address(x, Memory{Base: x}.Indexed(from, 2))
	Countdown(pairs, 1, "pair")
	End()
}

// widenRows emits the loops that widen rows of 16-bit numbers, from bytes apart, to rows of float32, to bytes apart; a
// row fills whole vectors.
func (m machine) widenRows() {
	for _, f := range []struct {
		name string
		load func(v Vector, from Memory)
	}{
		{"widenRowsF16", LoadFloat16},
		{"widenRowsBF16", func(v Vector, from Memory) {
			WidenWords(v, from)
			ShiftLeft(v, v, 16)
		}},
	} {
		m.begin("", f.name, "dst *float32, x unsafe.Pointer, columns, rows, to, from uintptr", "")
		dst, x := param("dst"), param("x")
		rows, to, from := param("rows"), param("to"), param("from")
		d, source, left := NewScalar(), NewScalar(), NewScalar()
		Label("row")
		Assign(source, x)
		Assign(d, dst)
		Reload(left, "columns")
		Label("column")
		v := m.vector()
		f.load(v, Memory{Base: source})
		Store(Memory{Base: d}, v)
		Increase(source, Number(m.bytes()/2))
		Increase(d, Number(m.bytes()))
		Countdown(left, m.bytes()/4, "column")
		Increase(dst, to)
		Increase(x, from)
		Countdown(rows, 1, "row")
		End()
	}
}

// halfRounding says how float32 is rounded to 16 bits and stored: the type's name, and the prefix of its loop's labels.
type halfRounding struct {
	name, labels string
	round        func(v Vector) // rounds v, which stays float32
	store        func(to Memory, v Vector)
}

// roundings are those of the types. bfloat16 has two; the second is for processors with AVX512-BF16, which rounds only
// subnormals differently, and sums have none.
func (m machine) roundings() [][]halfRounding {
	float16 := halfRounding{"F16", "", func(v Vector) { RoundFloat16(v) }, StoreFloat16}
	bfloat16 := []halfRounding{{"BF16", "", func(v Vector) {
		m.roundBF16(v)
		AndInt(v, v, Constant("upperHalf", 0xffff0000))
	}, func(to Memory, v Vector) {
		m.roundBF16(v)
		ShiftRight(v, v, 16)
		StoreLowWords(to, v)
	}}}
	if m.wide {
		bfloat16 = append(bfloat16, halfRounding{"BF16", "rounding", RoundBFloat16, StoreBFloat16})
	}
	return [][]halfRounding{{float16}, bfloat16}
}

const aheadRows = 4

// narrowRows emits the loops that round rows of float32, from bytes apart, to rows of 16-bit numbers, to bytes apart; a
// row fills whole vectors. Those with a bias round, add the bias, take the larger of the sum and the number at floor,
// and round again. rounding is not 0 if the processor has AVX512-BF16. AVX-512 prefetches the memory of the row that
// comes aheadRows later: processors do not predict stores to short pieces of rows.
func (m machine) narrowRows() {
	for _, how := range m.roundings() {
		for _, bias := range []bool{false, true} {
			name, parameters := "narrowRows", "dst unsafe.Pointer, x *float32, columns, rows, to, from, rounding uintptr"
			if bias {
				name, parameters = "narrowRowsAdded", "dst unsafe.Pointer, x, bias, floor *float32, columns, rows, to, from, rounding uintptr"
			}
			m.begin("", name+how[0].name, parameters, "")
			dst, x := param("dst"), param("x")
			rows, to, from := param("rows"), param("to"), param("from")
			d, source, left, added := NewScalar(), NewScalar(), NewScalar(), NewScalar()
			var floor Vector
			if bias {
				floor = m.broadcast(param("floor"), 0)
			}
			m.eachRounding(how, func(h halfRounding) {
				Label(h.labels + "row")
				Assign(source, x)
				Assign(d, dst)
				Reload(left, "columns")
				if bias {
					Reload(added, "bias")
				}
				Label(h.labels + "column")
				v := m.vector()
				Load(v, Memory{Base: source})
				if bias {
					h.round(v)
					Add(v, v, Memory{Base: added})
					if h.name == "F16" { // numbers below 0 that are rounded to 0 keep their sign
						h.round(v)
					}
					Max(v, floor, v)
					Increase(added, Number(m.bytes()))
				}
				h.store(Memory{Base: d}, v)
				if m.wide {
					PrefetchNear(Memory{Base: d}.Indexed(to, aheadRows))
				}
				Increase(source, Number(m.bytes()))
				Increase(d, Number(m.bytes()/2))
				Countdown(left, m.bytes()/4, h.labels+"column")
				Increase(dst, to)
				Increase(x, from)
				Countdown(rows, 1, h.labels+"row")
			})
		}
		m.subtractRows(how)
	}
}

// eachRounding emits a loop for each rounding, preceded by the choice between them.
func (m machine) eachRounding(how []halfRounding, loop func(h halfRounding)) {
	if len(how) > 1 {
		JumpNotEqual(param("rounding"), Number(0), how[1].labels+"row")
	}
	for _, h := range how {
		loop(h)
		End()
	}
}

// subtractRows emits the loop that adds factor·x to rows of float32, to bytes apart, where the rows of x, from bytes
// apart, are rounded first.
func (m machine) subtractRows(how []halfRounding) {
	m.begin("", "subtractRows"+how[0].name, "dst, x, factor *float32, columns, rows, to, from, rounding uintptr", "")
	dst, x := param("dst"), param("x")
	rows, to, from := param("rows"), param("to"), param("from")
	d, source, left := NewScalar(), NewScalar(), NewScalar()
	factor := m.broadcast(param("factor"), 0)
	m.eachRounding(how, func(h halfRounding) {
		Label(h.labels + "row")
		Assign(source, x)
		Assign(d, dst)
		Reload(left, "columns")
		Label(h.labels + "column")
		v, w := m.vector(), m.vector()
		Load(v, Memory{Base: source})
		Load(w, Memory{Base: d})
		PrefetchNear(Memory{Base: d}.Indexed(to, 1))
		h.round(v)
		AddProduct(w, factor, v)
		Store(Memory{Base: d}, w)
		Increase(source, Number(m.bytes()))
		Increase(d, Number(m.bytes()))
		Countdown(left, m.bytes()/4, h.labels+"column")
		Increase(dst, to)
		Increase(x, from)
		Countdown(rows, 1, h.labels+"row")
	})
}
