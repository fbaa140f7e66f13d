package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// lstm emits the step of an LSTM cell and its gradient for n units of one example. The four gates of a unit lie stride bytes apart.
func (m machine) lstm() {
	m.lstmCell()
	m.lstmCellGrad()
}

// gatePlaces returns the places of the four gates of the vector at p: p, p + stride, ...
func gatePlaces(p, stride, stride3 reg.GPVirtual) [4]Mem {
	at := Mem{Base: p}
	return [4]Mem{at, at.Idx(stride, 1), at.Idx(stride, 2), at.Idx(stride3, 1)}
}

func triple(stride reg.GPVirtual) reg.GPVirtual {
	p := GP64()
	LEAQ(Mem{Base: stride}.Idx(stride, 2), p)
	return p
}

func (m machine) load(at Mem) reg.VecVirtual {
	v := m.vector()
	VMOVUPS(at, v)
	return v
}

func (m machine) lstmCell() {
	m.begin("", "lstmCell", "h, next, gates, z, carry *float32, n, stride uintptr", "")
	h, next, gates, z, carry, n, stride := param("h"), param("next"), param("gates"), param("z"), param("carry"), param("n"), param("stride")
	stride3 := triple(stride)
	m.loop(1, n, []reg.GPVirtual{h, next, gates, z, carry}, func([]int) {
		from, to := gatePlaces(z, stride, stride3), gatePlaces(gates, stride, stride3)
		s := m.sigmoid(vectors{m.load(from[0]), m.load(from[1])})
		VMOVUPS(s[0], to[0])
		VMOVUPS(s[1], to[1])
		candidate := m.tanh(vectors{m.load(from[2])})[0]
		VMOVUPS(candidate, to[2])
		sum := m.vector()
		VMULPS(candidate, s[0], sum)
		VFMADD231PS(Mem{Base: carry}, s[1], sum)
		VMOVUPS(sum, Mem{Base: next})
		output := m.sigmoid(vectors{m.load(from[3])})[0]
		VMOVUPS(output, to[3])
		t := m.tanh(vectors{m.load(Mem{Base: next})})[0]
		VMULPS(output, t, t)
		VMOVUPS(t, Mem{Base: h})
	})
	end()
}

func (m machine) lstmCellGrad() {
	m.begin("", "lstmCellGrad", "dz, dcarry, gates, carry, dh, dnext *float32, n, stride uintptr", "")
	dz, dcarry, gates, carry := param("dz"), param("dcarry"), param("gates"), param("carry")
	dh, dnext, n, stride := param("dh"), param("dnext"), param("n"), param("stride")
	stride3 := triple(stride)
	m.loop(1, n, []reg.GPVirtual{dz, dcarry, gates, carry, dh, dnext}, func([]int) {
		from, to := gatePlaces(gates, stride, stride3), gatePlaces(dz, stride, stride3)
		input, forget, candidate, old := m.load(from[0]), m.load(from[1]), m.load(from[2]), m.load(Mem{Base: carry})
		sum := m.vector()
		VMULPS(candidate, input, sum)
		VFMADD231PS(old, forget, sum)
		t := m.tanh(vectors{sum})[0]
		output, up := m.load(from[3]), m.load(Mem{Base: dh})
		slope, d, v := m.vector(), m.vector(), m.vector()
		// d = dnext + dh·output·(1 − t²)
		VMOVAPS(t, slope)
		VFNMADD213PS(one(), t, slope)
		VMULPS(output, up, d)
		VFMADD213PS(Mem{Base: dnext}, slope, d)
		// output: dh·t·output·(1 − output)
		VMULPS(t, up, v)
		VMULPS(m.sigmoidSlope(output), v, v)
		VMOVUPS(v, to[3])
		// forget: d·carry·forget·(1 − forget); dcarry = d·forget
		VMULPS(old, d, v)
		VMULPS(m.sigmoidSlope(forget), v, v)
		VMOVUPS(v, to[1])
		VMULPS(forget, d, forget)
		VMOVUPS(forget, Mem{Base: dcarry})
		// input: d·candidate·input·(1 − input)
		VMULPS(candidate, d, v)
		VMULPS(m.sigmoidSlope(input), v, v)
		VMOVUPS(v, to[0])
		// candidate: d·input·(1 − candidate²)
		VMULPS(input, d, v)
		VFNMADD213PS(one(), candidate, candidate)
		VMULPS(candidate, v, v)
		VMOVUPS(v, to[2])
	})
	end()
}

// sigmoidSlope returns s·(1 − s).
func (m machine) sigmoidSlope(s reg.VecVirtual) reg.VecVirtual {
	t := m.vector()
	VMOVUPS(one(), t)
	VSUBPS(s, t, t)
	VMULPS(s, t, t)
	return t
}
