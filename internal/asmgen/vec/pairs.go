package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

// pairRows emits the loop that interleaves each two rows of 16-bit numbers: the first one's number is the lower half of
// a number of 32 bits, the second one's the upper half. Rows are from bytes apart, those of the result to bytes; there
// are as many numbers in a row as fill vectors of 32-bit ones.
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

// widenRows emits the loops that widen rows of 16-bit numbers, from bytes apart, to rows of float32, to bytes apart;
// there are as many numbers in a row as fill vectors.
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

// narrowRows emits the loops that round rows of float32, from bytes apart, to rows of 16-bit numbers, to bytes apart;
// there are as many numbers in a row as fill vectors. Those with a bias round, add it, round again and take the larger
// of that and the number at floor.
func (m machine) narrowRows() {
	bfloat16 := func(v Vector) {
		m.roundBF16(v)
		AndInt(v, v, Constant("upperHalf", 0xffff0000))
	}
	for _, f := range []struct {
		name  string
		round func(v Vector)
		store func(to Memory, v Vector)
	}{
		{"F16", func(v Vector) { RoundFloat16(v) }, func(to Memory, v Vector) { StoreFloat16(to, v) }},
		{"BF16", bfloat16, func(to Memory, v Vector) {
			ShiftRight(v, v, 16)
			StoreLowWords(to, v)
		}},
	} {
		for _, bias := range []bool{false, true} {
			name, parameters := "narrowRows", "dst unsafe.Pointer, x *float32, columns, rows, to, from uintptr"
			if bias {
				name, parameters = "narrowRowsAdded", "dst unsafe.Pointer, x, bias, floor *float32, columns, rows, to, from uintptr"
			}
			m.begin("", name+f.name, parameters, "")
			dst, x := param("dst"), param("x")
			rows, to, from := param("rows"), param("to"), param("from")
			d, source, left, added := NewScalar(), NewScalar(), NewScalar(), NewScalar()
			var floor Vector
			if bias {
				floor = m.broadcast(param("floor"), 0)
			}
			Label("row")
			Assign(source, x)
			Assign(d, dst)
			Reload(left, "columns")
			if bias {
				Reload(added, "bias")
			}
			Label("column")
			v := m.vector()
			Load(v, Memory{Base: source})
			switch {
			case bias:
				f.round(v)
				Add(v, v, Memory{Base: added})
				f.round(v)
				Max(v, floor, v)
				Increase(added, Number(m.bytes()))
			case f.name == "BF16":
				m.roundBF16(v)
			}
			f.store(Memory{Base: d}, v)
			Increase(source, Number(m.bytes()))
			Increase(d, Number(m.bytes()/2))
			Countdown(left, m.bytes()/4, "column")
			Increase(dst, to)
			Increase(x, from)
			Countdown(rows, 1, "row")
			End()
		}
		m.subtractRows("subtractRows"+f.name, f.round)
	}
}

// subtractRows emits the loop that adds to rows of float32, to bytes apart, a factor times rows of x, from bytes apart,
// that are rounded first.
func (m machine) subtractRows(name string, round func(v Vector)) {
	m.begin("", name, "dst, x, factor *float32, columns, rows, to, from uintptr", "")
	dst, x := param("dst"), param("x")
	rows, to, from := param("rows"), param("to"), param("from")
	d, source, left := NewScalar(), NewScalar(), NewScalar()
	factor := m.broadcast(param("factor"), 0)
	Label("row")
	Assign(source, x)
	Assign(d, dst)
	Reload(left, "columns")
	Label("column")
	v, w := m.vector(), m.vector()
	Load(v, Memory{Base: source})
	Load(w, Memory{Base: d})
	PrefetchNear(Memory{Base: d}.Indexed(to, 1))
	round(v)
	AddProduct(w, factor, v)
	Store(Memory{Base: d}, w)
	Increase(source, Number(m.bytes()))
	Increase(d, Number(m.bytes()))
	Countdown(left, m.bytes()/4, "column")
	Increase(dst, to)
	Increase(x, from)
	Countdown(rows, 1, "row")
	End()
}
