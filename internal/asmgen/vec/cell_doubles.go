package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// cells64 emits the gradients of the cells in the package's lstm.go and gru.go for float64: n units, a multiple of the
// vector length; an example's gates are stride bytes apart. Products are rounded before they are added.
func (m machine) cells64() {
	p := precise{m}
	p.double = true
	p.lstmGrad()
	p.gruGrad()
}

// gate is the memory of a gate's units. The fourth gate is number 1 with three times the stride.
func gate(p, stride Scalar, number uint8) Memory {
	if number == 0 {
		return Memory{Base: p}
	}
	return Memory{Base: p}.Indexed(stride, number)
}

// rest is 1 − x.
func (p precise) rest(x vector) vector { return p.sub(p.copy(p.one()), x) }

// slope is x·(1 − x).
func (p precise) slope(x vector) vector { return p.mul(x, p.rest(x)) }

// carried is forget·carry + input·candidate.
func (p precise) carried(forget, input, candidate vector, carry Memory) vector {
	return p.add(p.mul(forget, carry), p.mul(input, candidate))
}

func (p precise) lstmGrad() {
	p.begin("", "lstmCellGrad", "dz, dcarry, gates, carry, dh, dnext unsafe.Pointer, n, stride uintptr", "")
	dz, dcarry, gates, carry, dh, dnext := param("dz"), param("dcarry"), param("gates"), param("carry"), param("dh"), param("dnext")
	n, stride := param("n"), param("stride")
	stride3 := triple(stride)
	p.doubleLoop(n, []Scalar{dz, dcarry, gates, carry, dh, dnext}, func() {
		input, forget, candidate := p.load(gate(gates, stride, 0)), p.load(gate(gates, stride, 1)), p.load(gate(gates, stride, 2))
		t := p.tanh(p.carried(forget, input, candidate, Memory{Base: carry}))
		output, up := p.load(gate(gates, stride3, 1)), p.load(Memory{Base: dh})
		d := p.add(p.mul(p.mul(up, output), p.rest(p.mul(t, t))), Memory{Base: dnext})
		Store(gate(dz, stride3, 1), p.mul(p.mul(up, t), p.slope(output)))
		Store(gate(dz, stride, 0), p.mul(p.mul(d, candidate), p.slope(input)))
		Store(gate(dz, stride, 2), p.mul(p.mul(d, input), p.rest(p.mul(candidate, candidate))))
		Store(gate(dz, stride, 1), p.mul(p.mul(d, Memory{Base: carry}), p.slope(forget)))
		Store(Memory{Base: dcarry}, p.mul(d, forget))
	})
}

func (p precise) gruGrad() {
	p.begin("", "gruCellGrad", "dx, du, dh, gates, u, h, dnext unsafe.Pointer, n, stride uintptr", "")
	dx, du, dh, gates, u, h, dnext := param("dx"), param("du"), param("dh"), param("gates"), param("u"), param("h"), param("dnext")
	n, stride := param("n"), param("stride")
	p.doubleLoop(n, []Scalar{dx, du, dh, gates, u, h, dnext}, func() {
		z, r, g := p.load(gate(gates, stride, 0)), p.load(gate(gates, stride, 1)), p.load(gate(gates, stride, 2))
		d := p.load(Memory{Base: dnext})
		update := p.mul(p.mul(d, p.sub(p.load(Memory{Base: h}), g)), p.slope(z))
		candidate := p.mul(p.mul(d, p.rest(z)), p.rest(p.mul(g, g)))
		reset := p.mul(p.mul(candidate, gate(u, stride, 2)), p.slope(r))
		last, carried := p.mul(candidate, r), p.mul(d, z)
		for i, v := range []vector{update, reset, candidate} {
			Store(gate(dx, stride, uint8(i)), v)
		}
		for i, v := range []vector{update, reset, last} {
			Store(gate(du, stride, uint8(i)), v)
		}
		Store(Memory{Base: dh}, carried)
	})
}
