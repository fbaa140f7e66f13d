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

// gates is sigmoid as cells need it: 1/(1 + exp(−x)), where sigmoid goes to some lengths to keep results below 1e-38.
func (m machine) gates(x vectors) vectors {
	m.clamp(x, constant("gateMin", float(-87)), constant("gateMax", float(87)))
	n := m.vectors(len(x))
	x.each(func(i int) { VMULPS(constant("minusLog2e", float(-1.44269504088896341)), x[i], n[i]) })
	whole := m.vectors(len(x))
	if m.wide {
		n.each(func(i int) { VRNDSCALEPS(U8(8), n[i], n[i]) })
	} else {
		n.each(func(i int) {
			VCVTPS2DQ(n[i], whole[i])
			VCVTDQ2PS(whole[i], n[i])
		})
	}
	// exp(−x) is 2ⁿ·exp(−(x + n·ln 2)).
	x.each(func(i int) { VFMADD231PS(constant("ln2High", float(0.693359375)), n[i], x[i]) })
	x.each(func(i int) { VFMADD231PS(constant("ln2Low", float(-2.12194440e-4)), n[i], x[i]) })
	e := m.horner("gateP", x, -1.9875691500e-4, 1.3981999507e-3, -8.3334519073e-3, 4.1665795894e-2, -1.6666665459e-1, 5.0000001201e-1, -1, 1)
	e.each(func(i int) {
		if m.wide {
			VSCALEFPS(n[i], e[i], e[i])
		} else { // |n| is at most 126
			VPSLLD(U8(23), whole[i], whole[i])
			VPADDD(whole[i], e[i], e[i])
		}
		VADDPS(one(), e[i], e[i])
		numerator := m.vector()
		VMOVUPS(one(), numerator)
		VDIVPS(e[i], numerator, e[i])
	})
	return e
}

// lstmCell goes over the units twice: first it forms the gates and the carry, then h. Either way units are independent of each other, and
// the chains of instructions that lead from one to the other are short enough for the processor to work on several at the same time.
func (m machine) lstmCell() {
	m.begin("", "lstmCell", "h, next, gates, z, carry *float32, n, stride uintptr", "")
	h, next, gates, z, carry, n, stride := param("h"), param("next"), param("gates"), param("z"), param("carry"), param("n"), param("stride")
	stride3 := triple(stride)
	output, again := GP64(), GP64()
	LEAQ(Mem{Base: gates}.Idx(stride3, 1), output)
	MOVQ(n, again)
	m.namedLoop("gates", 1, n, []reg.GPVirtual{next, gates, z, carry}, func([]int) {
		from, to := gatePlaces(z, stride, stride3), gatePlaces(gates, stride, stride3)
		var s vectors
		if m.wide {
			s = m.gates(vectors{m.load(from[0]), m.load(from[1]), m.load(from[3])})
			VMOVUPS(s[2], to[3])
		} else { // registers are scarce
			s = m.gates(vectors{m.load(from[3])})
			VMOVUPS(s[0], to[3])
			s = m.gates(vectors{m.load(from[0]), m.load(from[1])})
		}
		VMOVUPS(s[0], to[0])
		VMOVUPS(s[1], to[1])
		candidate := m.squash(vectors{m.load(from[2])})[0]
		VMOVUPS(candidate, to[2])
		VMULPS(candidate, s[0], s[0])
		VFMADD231PS(Mem{Base: carry}, s[1], s[0])
		VMOVUPS(s[0], Mem{Base: next})
	})
	Load(Param("next"), next)
	m.namedLoop("state", 1, again, []reg.GPVirtual{h, next, output}, func([]int) {
		t := m.squash(vectors{m.load(Mem{Base: next})})[0]
		VMULPS(Mem{Base: output}, t, t)
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
		t := m.squash(vectors{sum})[0]
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
