package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// group is the number of elements that rows of scores are made of: a mask says which lanes of a row's last group are
// hidden.
const group = 16

func (m machine) groupVectors() int { return group * 4 / m.bytes() }

// groups emits a loop over n elements in whole groups, several at a time and then one by one; the pointers advance, and
// n becomes 0.
func (m machine) groups(name string, several int, n Scalar, pointers []Scalar, body func(vectors int)) {
	sizes := []int{several, 1}
	if several == 1 {
		sizes = sizes[1:]
	}
	for _, u := range sizes {
		top, bottom := fmt.Sprintf("%s%d", name, u), fmt.Sprintf("%sEnd%d", name, u)
		Label(top)
		JumpBelow(n, Number(u*group), bottom)
		body(u * m.groupVectors())
		for _, p := range pointers {
			Increase(p, Number(u*group*4))
		}
		Decrease(n, Number(u*group))
		Jump(top)
		Label(bottom)
	}
}

// scoreRows emits a loop over rows.
func scoreRows(rows, stride Scalar, pointers []Scalar, body func()) {
	namedRows("row", rows, stride, pointers, body)
}

func namedRows(name string, rows, stride Scalar, pointers []Scalar, body func()) {
	Label(name)
	body()
	for _, p := range pointers {
		Increase(p, stride)
	}
	Countdown(rows, 1, name)
}

// hidden returns the lanes in which a mask in memory has all bits set.
func (m machine) hidden(at Memory) Mask { return Signs(m.load(at)) }

// spread folds the vectors into one number, stores it, and returns it in all lanes.
func (m machine) spread(v vectors, f operation, to Scalar) Vector {
	m.gather(v, f, to)
	return m.broadcast(to, 0)
}

// gather folds the vectors into one number and stores it.
func (m machine) gather(v vectors, f operation, to Scalar) {
	for len(v) > 1 {
		half := len(v) / 2
		for i := range half {
			f(v[i], v[i], v[half+i])
		}
		v = v[:half]
	}
	StoreFirst(Memory{Base: to}, m.fold(v[0], f))
}

// clearGroups stores zeros in the groups of a row that are entirely hidden.
func (m machine) clearGroups(pad Scalar, pointers []Scalar) {
	k, zero := NewScalar(), m.zeros(1)[0]
	Assign(k, pad)
	m.groups("clear", 1, k, pointers, func(n int) {
		for _, p := range pointers {
			for i := range n {
				Store(m.place(p, i), zero)
			}
		}
	})
}

// largestScores stores the largest scale·x of each row, and replaces the lanes of its last group that the mask hides.
func (m machine) largestScores(several int, x, largest, hide, rows, n, stride, maskStep Scalar, scale Vector) {
	p, k := NewScalar(), NewScalar()
	namedRows("top", rows, stride, []Scalar{x}, func() {
		Address(p, Memory{Base: x, Index: n, Scale: 4, Offset: -4 * group})
		top := m.vectors(max(several, m.groupVectors()))
		for i := range top {
			if i >= m.groupVectors() {
				Copy(top[i], top[0])
				continue
			}
			Load(top[i], m.place(p, i))
			Blend(top[i], m.hidden(m.place(hide, i)), m.load(Constant("minusInfinity", 0xff800000)))
			Store(m.place(p, i), top[i])
		}
		Increase(hide, maskStep)
		Assign(p, x)
		Address(k, Memory{Base: n, Offset: -group})
		m.groups("largest", several, k, []Scalar{p}, func(n int) {
			for i := range n { // skips NaN, which the sum will contain
				v := m.vector()
				Load(v, m.place(p, i))
				Max(top[i], v, top[i])
			}
		})
		shift := m.spread(top, Max, largest)
		Multiply(shift, shift, scale)
		Max(shift, m.load(Constant("lowest", 0xff7fffff)), shift)
		StoreFirst(Memory{Base: largest}, shift)
		Increase(largest, Number(4))
	})
}

// softmaxRows: for each row e^(scale·x − largest) / Σ of the same, in place, with arrays of the largest scale·x and of
// the sums. Each step is done for all rows, which are few enough to stay in the first-level cache: within a row it
// would wait for the step before, which folds a vector into a number.
func (m machine) softmaxRows() {
	m.begin("", "softmaxRows", "x, largest, sums, mask *float32, rows, n, stride, maskStep, pad uintptr, scalars unsafe.Pointer", "")
	x, largest, sums, hide := param("x"), param("largest"), param("sums"), param("mask")
	rows, n, stride, maskStep, pad := param("rows"), param("n"), param("stride"), param("maskStep"), param("pad")
	scale := m.broadcast(param("scalars"), 0)
	several := 4
	if !m.wide {
		several = 1
	}
	p, k := NewScalar(), NewScalar()
	m.largestScores(several, x, largest, hide, rows, n, stride, maskStep, scale)

	Reload(x, "x")
	Reload(largest, "largest")
	Reload(rows, "rows")
	namedRows("power", rows, stride, []Scalar{x}, func() {
		shift := m.broadcast(largest, 0)
		Xor(shift, shift, signBit())
		s := m.zeros(max(several, m.groupVectors()))
		Assign(p, x)
		Assign(k, n)
		m.groups("exp", several, k, []Scalar{p}, func(n int) {
			v := m.columns(p, n)
			v.each(func(i int) { MultiplyAdd(v[i], scale, shift) })
			v = m.exp(v)
			v.each(func(i int) { Add(s[i], s[i], v[i]) })
			m.store(v, p)
		})
		m.gather(s, Add, sums)
		Increase(largest, Number(4))
		Increase(sums, Number(4))
	})

	Reload(x, "x")
	Reload(sums, "sums")
	Reload(rows, "rows")
	namedRows("part", rows, stride, []Scalar{x}, func() {
		sum := m.broadcast(sums, 0)
		Max(sum, m.load(Constant("smallestNormal", 1<<23)), sum) // for NaN, Max returns its last source
		factor := m.load(one())
		Divide(factor, factor, sum)
		Assign(p, x)
		Assign(k, n)
		m.groups("scale", 1, k, []Scalar{p}, func(n int) {
			for i := range n {
				v := m.vector()
				Multiply(v, factor, m.place(p, i))
				Store(m.place(p, i), v)
			}
		})
		m.clearGroups(pad, []Scalar{p})
		Increase(sums, Number(4))
	})
	End()
}

// softmaxRowsGrad: for each row p = e^(scale·p + shift) and d = scale·p·(d − Σ p·d / Σ p), in place, first p and then d
// for all rows. The shifts are overwritten.
func (m machine) softmaxRowsGrad() {
	m.begin("", "softmaxRowsGrad", "p, d, shifts, mask *float32, rows, n, stride, maskStep, pad uintptr, scalars unsafe.Pointer", "")
	x, d, shifts, hide := param("p"), param("d"), param("shifts"), param("mask")
	rows, n, stride, maskStep, pad := param("rows"), param("n"), param("stride"), param("maskStep"), param("pad")
	scale, binary := m.broadcast(param("scalars"), 0), m.load(Constant("log2e", float(log2e)))
	several := 4
	if !m.wide {
		several = 1
	}
	power := m.powers()
	p, q, k := NewScalar(), NewScalar(), NewScalar()
	namedRows("power", rows, stride, []Scalar{x, d}, func() {
		Address(p, Memory{Base: x, Index: n, Scale: 4, Offset: -4 * group})
		Address(q, Memory{Base: d, Index: n, Scale: 4, Offset: -4 * group})
		for i := range m.groupVectors() {
			v, w := m.load(m.place(p, i)), m.load(m.place(q, i))
			mask := m.hidden(m.place(hide, i))
			Blend(v, mask, m.load(Constant("minusInfinity", 0xff800000)))
			Blend(w, mask, m.zeros(1)[0])
			Store(m.place(p, i), v)
			Store(m.place(q, i), w)
		}
		Increase(hide, maskStep)

		shift := m.broadcast(shifts, 0)
		s, sums := m.zeros(max(several, m.groupVectors())), m.zeros(max(several, m.groupVectors()))
		Assign(p, x)
		Assign(q, d)
		Assign(k, n)
		m.groups("exp", several, k, []Scalar{p, q}, func(n int) {
			v := m.columns(p, n)
			v.each(func(i int) { // the difference is small and exact, while a rounded scale·log2e would matter for large scores
				MultiplyAdd(v[i], scale, shift)
				Multiply(v[i], v[i], binary)
			})
			v = power(v)
			v.each(func(i int) {
				AddProduct(s[i], v[i], m.place(q, i))
				Add(sums[i], sums[i], v[i])
			})
			m.store(v, p)
		})
		mean, sum := m.spread(s, Add, shifts), m.spread(sums, Add, shifts)
		Max(sum, m.load(Constant("smallestNormal", 1<<23)), sum) // for NaN, Max returns its last source
		Multiply(mean, mean, scale)
		Divide(mean, mean, sum)
		StoreFirst(Memory{Base: shifts}, mean)
		Increase(shifts, Number(4))
	})

	Reload(x, "p")
	Reload(d, "d")
	Reload(shifts, "shifts")
	Reload(rows, "rows")
	namedRows("part", rows, stride, []Scalar{x, d}, func() {
		mean := m.broadcast(shifts, 0)
		Assign(p, x)
		Assign(q, d)
		Assign(k, n)
		m.groups("scale", 1, k, []Scalar{p, q}, func(n int) {
			for i := range n {
				v := m.load(m.place(q, i))
				MultiplySubtract(v, scale, mean)
				Multiply(v, v, m.place(p, i))
				Store(m.place(q, i), v)
			}
		})
		m.clearGroups(pad, []Scalar{p, q})
		Increase(shifts, Number(4))
	})
	End()
}
