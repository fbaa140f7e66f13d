package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// group is the number of elements of which rows of scores are made: what of the last group a row does not see, a mask says.
const group = 16

func (m machine) groupVectors() int { return group * 4 / m.bytes() }

// groups emits a loop over n elements, whole groups, several at a time and then one by one; the pointers advance, and n becomes 0.
func (m machine) groups(name string, several int, n reg.GPVirtual, pointers []reg.GPVirtual, body func(vectors int)) {
	sizes := []int{several, 1}
	if several == 1 {
		sizes = sizes[1:]
	}
	for _, u := range sizes {
		top, bottom := fmt.Sprintf("%s%d", name, u), fmt.Sprintf("%sEnd%d", name, u)
		Label(top)
		CMPQ(n, U32(u*group))
		JB(LabelRef(bottom))
		body(u * m.groupVectors())
		for _, p := range pointers {
			ADDQ(U32(u*group*4), p)
		}
		SUBQ(U32(u*group), n)
		JMP(LabelRef(top))
		Label(bottom)
	}
}

// scoreRows emits a loop over rows.
func scoreRows(rows, stride reg.GPVirtual, pointers []reg.GPVirtual, body func()) {
	Label("row")
	body()
	for _, p := range pointers {
		ADDQ(stride, p)
	}
	DECQ(rows)
	JNE(LabelRef("row"))
}

// hidden returns the lanes that a mask in memory has all ones in.
func (m machine) hidden(at Mem) mask {
	v := m.vector()
	VMOVUPS(at, v)
	if m.wide {
		k := K()
		VPMOVD2M(v, k)
		return mask{bits: k}
	}
	return mask{lanes: v}
}

// spread folds the vectors into one number, stores it, and returns it in all lanes.
func (m machine) spread(v vectors, f func(a, b, dst reg.VecVirtual), to reg.GPVirtual) reg.VecVirtual {
	for len(v) > 1 {
		half := len(v) / 2
		for i := range half {
			f(v[half+i], v[i], v[i])
		}
		v = v[:half]
	}
	VMOVSS(m.fold(v[0], f).(reg.Register), Mem{Base: to})
	return m.broadcast(to, 0)
}

// clearGroups stores zeros in what follows the groups that a row sees something of.
func (m machine) clearGroups(pad reg.GPVirtual, pointers []reg.GPVirtual) {
	k, zero := GP64(), m.zeros(1)[0]
	MOVQ(pad, k)
	m.groups("clear", 1, k, pointers, func(n int) {
		for _, p := range pointers {
			for i := range n {
				VMOVUPS(zero, m.place(p, i))
			}
		}
	})
}

// softmaxRows: for each row e^(scale·x − largest) / Σ of the same, in place, with the largest scale·x and the sum in arrays.
func (m machine) softmaxRows() {
	m.begin("", "softmaxRows", "x, largest, sums, mask *float32, rows, n, stride, maskStep, pad uintptr, scalars unsafe.Pointer", "")
	x, largest, sums, hide := param("x"), param("largest"), param("sums"), param("mask")
	rows, n, stride, maskStep, pad := param("rows"), param("n"), param("stride"), param("maskStep"), param("pad")
	scale := m.broadcast(param("scalars"), 0)
	add := func(a, b, dst reg.VecVirtual) { VADDPS(a, b, dst) }
	several := 4
	if !m.wide {
		several = 1
	}
	p, k := GP64(), GP64()
	scoreRows(rows, stride, []reg.GPVirtual{x}, func() {
		LEAQ(Mem{Base: x, Index: n, Scale: 4, Disp: -4 * group}, p)
		top := m.vectors(m.groupVectors())
		top.each(func(i int) {
			VMOVUPS(m.place(p, i), top[i])
			m.blend(m.hidden(m.place(hide, i)), m.load(constant("minusInfinity", 0xff800000)), top[i])
			VMOVUPS(top[i], m.place(p, i))
		})
		ADDQ(maskStep, hide)
		MOVQ(x, p)
		LEAQ(Mem{Base: n, Disp: -group}, k)
		m.groups("largest", 1, k, []reg.GPVirtual{p}, func(int) {
			top.each(func(i int) { // NaN is passed over: the sum will have it
				v := m.vector()
				VMOVUPS(m.place(p, i), v)
				VMAXPS(top[i], v, top[i])
			})
		})
		shift := m.spread(top, func(a, b, dst reg.VecVirtual) { VMAXPS(a, b, dst) }, largest)
		VMULPS(scale, shift, shift)
		VMAXPS(shift, m.load(constant("lowest", 0xff7fffff)), shift)
		VMOVSS(shift.AsX(), Mem{Base: largest})
		VXORPS(signBit(), shift, shift)

		s := m.zeros(max(several, m.groupVectors()))
		MOVQ(x, p)
		MOVQ(n, k)
		m.groups("exp", several, k, []reg.GPVirtual{p}, func(n int) {
			v := m.columns(p, n)
			v.each(func(i int) { VFMADD213PS(shift, scale, v[i]) })
			v = m.exp(v)
			v.each(func(i int) { VADDPS(v[i], s[i], s[i]) })
			m.store(v, p)
		})
		sum := m.spread(s, add, sums)
		VMAXPS(sum, m.load(constant("smallestNormal", 1<<23)), sum) // for NaN, the last source
		factor := m.load(one())
		VDIVPS(sum, factor, factor)
		MOVQ(x, p)
		MOVQ(n, k)
		m.groups("scale", 1, k, []reg.GPVirtual{p}, func(n int) {
			for i := range n {
				v := m.vector()
				VMULPS(m.place(p, i), factor, v)
				VMOVUPS(v, m.place(p, i))
			}
		})
		m.clearGroups(pad, []reg.GPVirtual{p})
		ADDQ(U32(4), largest)
		ADDQ(U32(4), sums)
	})
	end()
}

// softmaxRowsGrad: for each row p = e^(scale·p + shift) and d = scale·p·(d − Σ p·d / Σ p), in place. The shifts are lost.
func (m machine) softmaxRowsGrad() {
	m.begin("", "softmaxRowsGrad", "p, d, shifts, mask *float32, rows, n, stride, maskStep, pad uintptr, scalars unsafe.Pointer", "")
	x, d, shifts, hide := param("p"), param("d"), param("shifts"), param("mask")
	rows, n, stride, maskStep, pad := param("rows"), param("n"), param("stride"), param("maskStep"), param("pad")
	scale := m.broadcast(param("scalars"), 0)
	several := 4
	if !m.wide {
		several = 1
	}
	p, q, k := GP64(), GP64(), GP64()
	scoreRows(rows, stride, []reg.GPVirtual{x, d}, func() {
		LEAQ(Mem{Base: x, Index: n, Scale: 4, Disp: -4 * group}, p)
		LEAQ(Mem{Base: d, Index: n, Scale: 4, Disp: -4 * group}, q)
		for i := range m.groupVectors() {
			v, w := m.load(m.place(p, i)), m.load(m.place(q, i))
			mask := m.hidden(m.place(hide, i))
			m.blend(mask, m.load(constant("minusInfinity", 0xff800000)), v)
			m.blend(mask, m.zeros(1)[0], w)
			VMOVUPS(v, m.place(p, i))
			VMOVUPS(w, m.place(q, i))
		}
		ADDQ(maskStep, hide)

		shift := m.broadcast(shifts, 0)
		s, sums := m.zeros(max(several, m.groupVectors())), m.zeros(max(several, m.groupVectors()))
		MOVQ(x, p)
		MOVQ(d, q)
		MOVQ(n, k)
		m.groups("exp", several, k, []reg.GPVirtual{p, q}, func(n int) {
			v := m.columns(p, n)
			v.each(func(i int) { VFMADD213PS(shift, scale, v[i]) })
			v = m.exp(v)
			v.each(func(i int) {
				VFMADD231PS(m.place(q, i), v[i], s[i])
				VADDPS(v[i], sums[i], sums[i])
			})
			m.store(v, p)
		})
		add := func(a, b, dst reg.VecVirtual) { VADDPS(a, b, dst) }
		mean, sum := m.spread(s, add, shifts), m.spread(sums, add, shifts)
		VMAXPS(sum, m.load(constant("smallestNormal", 1<<23)), sum) // for NaN, the last source
		VMULPS(scale, mean, mean)
		VDIVPS(sum, mean, mean)
		MOVQ(x, p)
		MOVQ(d, q)
		MOVQ(n, k)
		m.groups("scale", 1, k, []reg.GPVirtual{p, q}, func(n int) {
			for i := range n {
				v := m.load(m.place(q, i))
				VFMSUB213PS(mean, scale, v)
				VMULPS(m.place(p, i), v, v)
				VMOVUPS(v, m.place(q, i))
			}
		})
		m.clearGroups(pad, []reg.GPVirtual{p, q})
		ADDQ(U32(4), shifts)
	})
	end()
}
