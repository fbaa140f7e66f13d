package main

import (
	"fmt"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// rowKernels emits loops over the rows of a matrix with numbers for the columns, which stay in registers if there are
// enough: one function for four vectors of columns and one for a single vector. Rows are stride bytes apart.
func (m machine) rowKernels() {
	for _, count := range []int{1, 4} {
		m.foldRows("multiplyRows", one(), Multiply, count)
		m.foldRows("largestRows", pattern(0xff800000), Max, count)
		m.foldRows("smallestRows", pattern(0x7f800000), Min, count)
		m.moments(count)
		for _, add := range []bool{false, true} {
			m.rowsAffine(count, add, false)
			m.rowsAffine(count, add, true)
		}
		for _, masked := range []bool{false, true} {
			m.productRows(count, masked)
			m.rowsCombine(count, masked)
		}
	}
	m.lines()
}

func (m machine) zeros(n int) vectors {
	v := m.vectors(n)
	v.each(func(i int) { Zero(v[i]) })
	return v
}

// columns loads the columns' numbers.
func (m machine) columns(p Scalar, n int) vectors {
	v := m.vectors(n)
	v.each(func(i int) { Load(v[i], m.place(p, i)) })
	return v
}

// place is the memory of vector i from p on.
func (m machine) place(p Scalar, i int) Memory { return Memory{Base: p, Offset: i * m.bytes()} }

func (m machine) store(v vectors, p Scalar) {
	v.each(func(i int) { Store(m.place(p, i), v[i]) })
}

// eachRow emits the loop; the pointers advance by stride.
func eachRow(label string, rows, stride Scalar, pointers []Scalar, body func()) {
	Label(label)
	body()
	for _, p := range pointers {
		Increase(p, stride)
	}
	Countdown(rows, 1, label)
}

func (m machine) addRows(count int) {
	m.begin("", fmt.Sprintf("addRows%d", count), "dst, x *float32, rows, stride uintptr", "")
	dst, x, rows, stride := param("dst"), param("x"), param("rows"), param("stride")
	s := m.zeros(count)
	eachRow("row", rows, stride, []Scalar{x}, func() {
		s.each(func(i int) { Add(s[i], s[i], m.place(x, i)) })
	})
	m.store(s, dst)
	End()
}

// foldRows combines the rows and start: products, or maxima or minima, which are NaN if there is one.
func (m machine) foldRows(name string, start Memory, f operation, count int) {
	m.begin("", fmt.Sprintf("%s%d", name, count), "dst, x *float32, rows, stride uintptr", "")
	dst, x, rows, stride := param("dst"), param("x"), param("rows"), param("stride")
	all, bad := m.vectors(count), m.zeros(count) // lanes of bad become NaN once an element is NaN
	all.each(func(i int) { Load(all[i], start) })
	extremes := name != "multiplyRows"
	eachRow("row", rows, stride, []Scalar{x}, func() {
		all.each(func(i int) {
			if extremes {
				v := m.vector()
				Load(v, m.place(x, i))
				Blend(bad[i], Compare(Unordered, v, v), v)
				f(all[i], all[i], v)
				return
			}
			f(all[i], all[i], m.place(x, i))
		})
	})
	if extremes {
		all.each(func(i int) { Or(all[i], all[i], bad[i]) })
	}
	m.store(all, dst)
	End()
}

// moments: shift = the mean of the first sample rows; sum = Σ (x − shift) and squares = Σ (x − shift)² over all rows.
// If sample is 0 the shifts are read from memory, and the sums continue those in memory.
func (m machine) moments(count int) {
	m.begin("", fmt.Sprintf("moments%d", count), "shift, sum, squares, x, inverse *float32, sample, rows, stride uintptr", "")
	m.sumMoments(count, m.loaded, func(sum Vector, p Scalar, i int) { Add(sum, sum, m.place(p, i)) })
	End()
}

// loaded loads vector i from p on.
func (m machine) loaded(p Scalar, i int) Vector {
	v := m.vector()
	Load(v, m.place(p, i))
	return v
}

// sumMoments implements moments: load returns vectors, and add adds them.
func (m machine) sumMoments(count int, load func(p Scalar, i int) Vector, add func(sum Vector, p Scalar, i int)) {
	shift, sum, squares, x := param("shift"), param("sum"), param("squares"), param("x")
	sample, rows, stride := param("sample"), param("rows"), param("stride")
	inverse := m.broadcast(param("inverse"), 0)
	first := NewScalar()
	Assign(first, x)
	middle, s, q := m.zeros(count), m.zeros(count), m.zeros(count)
	JumpZero(sample, "more")
	eachRow("first", sample, stride, []Scalar{first}, func() {
		middle.each(func(i int) { add(middle[i], first, i) })
	})
	middle.each(func(i int) { Multiply(middle[i], middle[i], inverse) })
	m.store(middle, shift)
	Jump("sums")
	Label("more")
	middle.each(func(i int) {
		Load(middle[i], m.place(shift, i))
		Load(s[i], m.place(sum, i))
		Load(q[i], m.place(squares, i))
	})
	Label("sums")
	eachRow("row", rows, stride, []Scalar{x}, func() {
		s.each(func(i int) {
			v := load(x, i)
			Subtract(v, v, middle[i])
			Add(s[i], s[i], v)
			m.addProduct(q[i], v, v)
		})
	})
	m.store(s, sum)
	m.store(q, squares)
}

// rowsAffine: dst = x·scale + shift, optionally plus addend, and optionally max(·, 0) of it.
func (m machine) rowsAffine(count int, add, relu bool) {
	name, parameters := "rowsAffine", "dst, x, scale, shift *float32, rows, stride uintptr"
	if add {
		name, parameters = name+"Add", "dst, x, addend, scale, shift *float32, rows, stride uintptr"
	}
	if relu {
		name += "Relu"
	}
	m.begin("", fmt.Sprintf("%s%d", name, count), parameters, "")
	dst, x, rows, stride := param("dst"), param("x"), param("rows"), param("stride")
	pointers := []Scalar{dst, x}
	var addend Scalar
	if add {
		addend = param("addend")
		pointers = append(pointers, addend)
	}
	scale, shift := m.columns(param("scale"), count), m.columns(param("shift"), count)
	zero := m.zeros(1)[0]
	eachRow("row", rows, stride, pointers, func() {
		scale.each(func(i int) {
			v := m.vector()
			Load(v, m.place(x, i))
			multiplyThenAdd(v, scale[i], shift[i])
			if add {
				Add(v, v, m.place(addend, i))
			}
			if relu {
				Max(v, zero, v) // for NaN, Max returns its last source, v
			}
			Store(m.place(dst, i), v)
		})
	})
	End()
}

// normalised zeroes the numbers v whose x·scale + shift is not positive: the gradient of a relu after a normalization.
type normalised struct {
	m            machine
	scale, shift Scalar
	zero         Vector
}

func (m machine) normalised() *normalised {
	return &normalised{m, param("scale"), param("shift"), m.zeros(1)[0]}
}

func (n *normalised) keep(x, v Vector, i int) {
	t := n.m.vector()
	Load(t, n.m.place(n.scale, i))
	multiplyThenAdd(t, x, n.m.place(n.shift, i))
	Keep(v, Compare(GreaterThan, t, n.zero), v)
}

// rowsCombine: dst = x·a + y·b + c; if masked, y is 0 where x·scale + shift is not positive.
func (m machine) rowsCombine(count int, masked bool) {
	name, parameters := "rowsCombine", "dst, x, a, y, b, c *float32, rows, stride uintptr"
	if masked {
		name, parameters = name+"Masked", "dst, x, a, y, b, c, scale, shift *float32, rows, stride uintptr"
	}
	m.begin("", fmt.Sprintf("%s%d", name, count), parameters, "")
	m.combine(count, masked, m.loaded, func(p Scalar, i int, v Vector) { Store(m.place(p, i), v) })
	End()
}

// combine implements rowsCombine: load returns vectors, and store stores them.
func (m machine) combine(count int, masked bool, load func(p Scalar, i int) Vector, store func(p Scalar, i int, v Vector)) {
	dst, x, y, rows, stride := param("dst"), param("x"), param("y"), param("rows"), param("stride")
	a, b, c := m.columns(param("a"), count), m.columns(param("b"), count), param("c")
	var relu *normalised
	if masked {
		relu = m.normalised()
	}
	eachRow("row", rows, stride, []Scalar{dst, x, y}, func() {
		a.each(func(i int) {
			v, w := load(x, i), load(y, i)
			if masked {
				relu.keep(v, w, i)
			}
			multiplyThenAdd(w, b[i], m.place(c, i))
			m.addProduct(w, a[i], v)
			store(dst, i, w)
		})
	})
}

// productRows: sum += Σ y, product += Σ y·(x − mean); if masked, y is 0 where x·scale + shift is not positive.
func (m machine) productRows(count int, masked bool) {
	name, parameters := "productRows", "sum, product, y, x, mean *float32, rows, stride uintptr"
	if masked {
		name, parameters = name+"Masked", "sum, product, y, x, mean, scale, shift *float32, rows, stride uintptr"
	}
	m.begin("", fmt.Sprintf("%s%d", name, count), parameters, "")
	m.sumProducts(count, masked, m.loaded)
	End()
}

// sumProducts implements productRows; load returns vectors.
func (m machine) sumProducts(count int, masked bool, load func(p Scalar, i int) Vector) {
	sum, product, y, x, rows, stride := param("sum"), param("product"), param("y"), param("x"), param("rows"), param("stride")
	mean, s, p := param("mean"), m.columns(sum, count), m.columns(product, count)
	var relu *normalised
	if masked {
		relu = m.normalised()
	}
	eachRow("row", rows, stride, []Scalar{x, y}, func() {
		s.each(func(i int) {
			v, w := load(x, i), load(y, i)
			if masked {
				relu.keep(v, w, i)
			}
			Subtract(v, v, m.place(mean, i))
			Add(s[i], s[i], w)
			m.addProduct(p[i], v, w)
		})
	})
	m.store(s, sum)
	m.store(p, product)
}
