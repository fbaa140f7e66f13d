package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// lstm emits the step of an LSTM cell and its gradient for n units of one example. The four gates of a unit are stride
// bytes apart.
func (m machine) lstm() {
	m.lstmCell()
	m.lstmCellGrad()
}

// gatePlaces returns the memory of the four gates of the vector at p: p, p + stride, ...
func gatePlaces(p, stride, stride3 Scalar) [4]Memory {
	at := Memory{Base: p}
	return [4]Memory{at, at.Indexed(stride, 1), at.Indexed(stride, 2), at.Indexed(stride3, 1)}
}

func triple(stride Scalar) Scalar {
	p := NewScalar()
	Address(p, Memory{Base: stride}.Indexed(stride, 2))
	return p
}

func (m machine) load(at Memory) Vector {
	v := m.vector()
	Load(v, at)
	return v
}

// places load and store vectors: whole ones, or the valid lanes of a partial last one.
type places struct {
	m    machine
	rest *Mask // nil: all lanes
}

func (p places) load(at Memory) Vector {
	v := p.m.vector()
	if p.rest == nil {
		Load(v, at)
	} else {
		LoadWhere(v, *p.rest, at)
	}
	return v
}

// operand returns the vector in memory as an operand of an instruction.
func (p places) operand(at Memory) Operand {
	if p.rest == nil {
		return at
	}
	return p.load(at)
}

func (p places) store(at Memory, v Vector) {
	if p.rest == nil {
		Store(at, v)
	} else {
		StoreWhere(at, *p.rest, v)
	}
}

// units emits a loop over n units that advances the pointers. Wide machines also handle the units left over after whole
// vectors: the parameter rest has a bit for each of these.
func (m machine) units(name string, n Scalar, pointers []Scalar, body func(p places)) {
	m.namedLoop(name, 1, n, pointers, func([]int) { body(places{m, nil}) })
	if !m.wide {
		return
	}
	JumpZero(n, name+"Whole")
	Reload(n, "rest")
	rest := MaskBits(n)
	body(places{m, &rest})
	Label(name + "Whole")
}

// gates is a sigmoid for cells: 1/(1 + exp(−x)), without the care that sigmoid takes of results below 1e-38.
func (m machine) gates(x vectors) vectors {
	m.clamp(x, Constant("gateMin", float(-87)), Constant("gateMax", float(87)))
	n := m.vectors(len(x))
	x.each(func(i int) { Multiply(n[i], x[i], Constant("minusLog2e", float(-1.44269504088896341))) })
	whole := m.vectors(len(x))
	if m.wide {
		n.each(func(i int) { Round(n[i], n[i], 8) })
	} else {
		n.each(func(i int) {
			ToInt(whole[i], n[i])
			ToFloat(n[i], whole[i])
		})
	}
	// exp(−x) is 2ⁿ·exp(−(x + n·ln 2)).
	x.each(func(i int) { AddProduct(x[i], n[i], Constant("ln2High", float(0.693359375))) })
	x.each(func(i int) { AddProduct(x[i], n[i], Constant("ln2Low", float(-2.12194440e-4))) })
	e := m.horner("gateP", x, -1.9875691500e-4, 1.3981999507e-3, -8.3334519073e-3, 4.1665795894e-2, -1.6666665459e-1, 5.0000001201e-1, -1, 1)
	e.each(func(i int) {
		if m.wide {
			Scale(e[i], e[i], n[i])
		} else { // |n| is at most 126
			ShiftLeft(whole[i], whole[i], 23)
			AddInt(e[i], e[i], whole[i])
		}
		Add(e[i], e[i], one())
		numerator := m.vector()
		Load(numerator, one())
		Divide(e[i], numerator, e[i])
	})
	return e
}

// lstmCell goes over the units twice: first it computes the gates and the carry, then h. In both passes units are
// independent of each other, and the chains of dependent instructions are short enough for the processor to overlap
// several.
func (m machine) lstmCell() {
	m.begin("", "lstmCell", "h, next, gates, z, carry *float32, n, stride, rest uintptr", "")
	h, next, gates, z, carry, n, stride := param("h"), param("next"), param("gates"), param("z"), param("carry"), param("n"), param("stride")
	stride3 := triple(stride)
	output, again := NewScalar(), NewScalar()
	Address(output, Memory{Base: gates}.Indexed(stride3, 1))
	Assign(again, n)
	m.units("gates", n, []Scalar{next, gates, z, carry}, func(p places) {
		from, to := gatePlaces(z, stride, stride3), gatePlaces(gates, stride, stride3)
		var s vectors
		if m.wide {
			s = m.gates(vectors{p.load(from[0]), p.load(from[1]), p.load(from[3])})
			p.store(to[3], s[2])
		} else { // there are few registers
			s = m.gates(vectors{p.load(from[3])})
			p.store(to[3], s[0])
			s = m.gates(vectors{p.load(from[0]), p.load(from[1])})
		}
		p.store(to[0], s[0])
		p.store(to[1], s[1])
		candidate := m.squash(vectors{p.load(from[2])})[0]
		p.store(to[2], candidate)
		Multiply(s[0], s[0], candidate)
		AddProduct(s[0], s[1], p.operand(Memory{Base: carry}))
		p.store(Memory{Base: next}, s[0])
	})
	Reload(next, "next")
	m.units("state", again, []Scalar{h, next, output}, func(p places) {
		t := m.squash(vectors{p.load(Memory{Base: next})})[0]
		Multiply(t, t, p.operand(Memory{Base: output}))
		p.store(Memory{Base: h}, t)
	})
	End()
}

func (m machine) lstmCellGrad() {
	m.begin("", "lstmCellGrad", "dz, dcarry, gates, carry, dh, dnext *float32, n, stride, rest uintptr", "")
	dz, dcarry, gates, carry := param("dz"), param("dcarry"), param("gates"), param("carry")
	dh, dnext, n, stride := param("dh"), param("dnext"), param("n"), param("stride")
	stride3 := triple(stride)
	m.units("unit", n, []Scalar{dz, dcarry, gates, carry, dh, dnext}, func(p places) {
		from, to := gatePlaces(gates, stride, stride3), gatePlaces(dz, stride, stride3)
		input, forget, candidate, old := p.load(from[0]), p.load(from[1]), p.load(from[2]), p.load(Memory{Base: carry})
		sum := m.vector()
		Multiply(sum, input, candidate)
		AddProduct(sum, forget, old)
		t := m.squash(vectors{sum})[0]
		output, up := p.load(from[3]), p.load(Memory{Base: dh})
		slope, d, v := m.vector(), m.vector(), m.vector()
		// d = dnext + dh·output·(1 − t²)
		Copy(slope, t)
		SubtractScaled(slope, t, one())
		Multiply(d, up, output)
		MultiplyAdd(d, slope, p.operand(Memory{Base: dnext}))
		// output: dh·t·output·(1 − output)
		Multiply(v, up, t)
		Multiply(v, v, m.sigmoidSlope(output))
		p.store(to[3], v)
		// forget: d·carry·forget·(1 − forget); dcarry = d·forget
		Multiply(v, d, old)
		Multiply(v, v, m.sigmoidSlope(forget))
		p.store(to[1], v)
		Multiply(forget, d, forget)
		p.store(Memory{Base: dcarry}, forget)
		// input: d·candidate·input·(1 − input)
		Multiply(v, d, candidate)
		Multiply(v, v, m.sigmoidSlope(input))
		p.store(to[0], v)
		// candidate: d·input·(1 − candidate²)
		Multiply(v, d, input)
		SubtractScaled(candidate, candidate, one())
		Multiply(v, v, candidate)
		p.store(to[2], v)
	})
	End()
}

// sigmoidSlope returns s·(1 − s).
func (m machine) sigmoidSlope(s Vector) Vector {
	t := m.vector()
	Load(t, one())
	Subtract(t, t, s)
	Multiply(t, t, s)
	return t
}
