package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// lstm emits the step of an LSTM cell and its gradient for n units of one example. The four gates of a unit lie stride
// bytes apart.
func (m machine) lstm() {
	m.lstmCell()
	m.lstmCellGrad()
}

// gatePlaces returns the places of the four gates of the vector at p: p, p + stride, ...
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

// gates is sigmoid as cells need it: 1/(1 + exp(−x)), where sigmoid goes to some lengths to keep results below 1e-38.
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

// lstmCell goes over the units twice: first it forms the gates and the carry, then h. Either way units are independent
// of each other, and the chains of instructions that lead from one to the other are short enough for the processor to
// work on several at the same time.
func (m machine) lstmCell() {
	m.begin("", "lstmCell", "h, next, gates, z, carry *float32, n, stride uintptr", "")
	h, next, gates, z, carry, n, stride := param("h"), param("next"), param("gates"), param("z"), param("carry"), param("n"), param("stride")
	stride3 := triple(stride)
	output, again := NewScalar(), NewScalar()
	Address(output, Memory{Base: gates}.Indexed(stride3, 1))
	Assign(again, n)
	m.namedLoop("gates", 1, n, []Scalar{next, gates, z, carry}, func([]int) {
		from, to := gatePlaces(z, stride, stride3), gatePlaces(gates, stride, stride3)
		var s vectors
		if m.wide {
			s = m.gates(vectors{m.load(from[0]), m.load(from[1]), m.load(from[3])})
			Store(to[3], s[2])
		} else { // registers are scarce
			s = m.gates(vectors{m.load(from[3])})
			Store(to[3], s[0])
			s = m.gates(vectors{m.load(from[0]), m.load(from[1])})
		}
		Store(to[0], s[0])
		Store(to[1], s[1])
		candidate := m.squash(vectors{m.load(from[2])})[0]
		Store(to[2], candidate)
		Multiply(s[0], s[0], candidate)
		AddProduct(s[0], s[1], Memory{Base: carry})
		Store(Memory{Base: next}, s[0])
	})
	Reload(next, "next")
	m.namedLoop("state", 1, again, []Scalar{h, next, output}, func([]int) {
		t := m.squash(vectors{m.load(Memory{Base: next})})[0]
		Multiply(t, t, Memory{Base: output})
		Store(Memory{Base: h}, t)
	})
	End()
}

func (m machine) lstmCellGrad() {
	m.begin("", "lstmCellGrad", "dz, dcarry, gates, carry, dh, dnext *float32, n, stride uintptr", "")
	dz, dcarry, gates, carry := param("dz"), param("dcarry"), param("gates"), param("carry")
	dh, dnext, n, stride := param("dh"), param("dnext"), param("n"), param("stride")
	stride3 := triple(stride)
	m.loop(1, n, []Scalar{dz, dcarry, gates, carry, dh, dnext}, func([]int) {
		from, to := gatePlaces(gates, stride, stride3), gatePlaces(dz, stride, stride3)
		input, forget, candidate, old := m.load(from[0]), m.load(from[1]), m.load(from[2]), m.load(Memory{Base: carry})
		sum := m.vector()
		Multiply(sum, input, candidate)
		AddProduct(sum, forget, old)
		t := m.squash(vectors{sum})[0]
		output, up := m.load(from[3]), m.load(Memory{Base: dh})
		slope, d, v := m.vector(), m.vector(), m.vector()
		// d = dnext + dh·output·(1 − t²)
		Copy(slope, t)
		SubtractScaled(slope, t, one())
		Multiply(d, up, output)
		MultiplyAdd(d, slope, Memory{Base: dnext})
		// output: dh·t·output·(1 − output)
		Multiply(v, up, t)
		Multiply(v, v, m.sigmoidSlope(output))
		Store(to[3], v)
		// forget: d·carry·forget·(1 − forget); dcarry = d·forget
		Multiply(v, d, old)
		Multiply(v, v, m.sigmoidSlope(forget))
		Store(to[1], v)
		Multiply(forget, d, forget)
		Store(Memory{Base: dcarry}, forget)
		// input: d·candidate·input·(1 − input)
		Multiply(v, d, candidate)
		Multiply(v, v, m.sigmoidSlope(input))
		Store(to[0], v)
		// candidate: d·input·(1 − candidate²)
		Multiply(v, d, input)
		SubtractScaled(candidate, candidate, one())
		Multiply(v, v, candidate)
		Store(to[2], v)
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
