package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/ir"
)

// matrix is an operand of a product seen as a batch of matrices: element (row, col) of entry (i, j, ...) lies at
// i·batch[0] + j·batch[1] + ... + row·rowStride + col·colStride.
type matrix struct {
	o                    *operand
	rows, cols           int
	rowStride, colStride int
	batch                []int
}

// dotPlan is a contraction seen as a batched matrix product C[M, N] = A[M, K]·B[K, N].
type dotPlan struct {
	a, b    matrix
	c       layout
	dims    []int    // of the batch
	prepare []func() // copies of operands that cannot be read in place
}

// layout says where a product goes: element (row, col) of entry (i, j, ...) at i·batch[0] + ... + row·rowStride + col·colStride.
type layout struct {
	rowStride, colStride int
	batch                []int
}

// productLayout returns the layout of a product of the given shape (batch axes, then row axes, then column axes) that is stored
// transposed by perm (nil: as it is). It reports false if the rows or the columns do not merge, or if neither are contiguous.
func productLayout(s ir.Shape, batch, rows int, perm []int) (layout, bool) {
	strides := s.Strides()
	if perm != nil {
		out := make(ir.Shape, len(s))
		for i, p := range perm {
			out[i] = s[p]
		}
		for i, stride := range out.Strides() {
			strides[perm[i]] = stride
		}
	}
	l := layout{batch: strides[:batch]}
	m, rowStride, okRows := mergeStrides(s[batch:batch+rows], strides[batch:batch+rows])
	n, colStride, okCols := mergeStrides(s[batch+rows:], strides[batch+rows:])
	l.rowStride, l.colStride = rowStride, colStride
	switch {
	case n == 1 && m > 1:
		l.colStride = 1
	case m == 1:
		l.rowStride = n * colStride
	}
	contiguous := l.colStride == 1 && (m == 1 || l.rowStride >= n) || l.rowStride == 1 && l.colStride >= m
	return l, okRows && okCols && contiguous
}

// transpose turns the plan of C into that of its transpose: Cᵀ = Bᵀ·Aᵀ.
func (p *dotPlan) transpose() {
	p.a, p.b = p.b, p.a
	for _, m := range []*matrix{&p.a, &p.b} {
		m.rows, m.cols, m.rowStride, m.colStride = m.cols, m.rows, m.colStride, m.rowStride
	}
	p.c.rowStride, p.c.colStride = p.c.colStride, p.c.rowStride
}

func buildDot(b *build) (func(), error) {
	plan, err := b.planDot()
	if err != nil {
		return nil, err
	}
	var multiply func()
	switch d := b.in(0).typ.DType; d {
	case ir.Float32:
		multiply = buildGemm[float32](b, plan)
	case ir.Float64:
		multiply = buildGemm[float64](b, plan)
	case ir.Int8:
		if b.out(0).typ.DType == ir.Int32 {
			multiply = buildQuantizedDot(b, plan)
			break
		}
		multiply = buildIntegerDot[int8](b, plan)
	case ir.Int16:
		multiply = buildIntegerDot[int16](b, plan)
	case ir.Int32:
		multiply = buildIntegerDot[int32](b, plan)
	case ir.Int64:
		multiply = buildIntegerDot[int64](b, plan)
	case ir.Uint8:
		multiply = buildIntegerDot[uint8](b, plan)
	case ir.Uint16:
		multiply = buildIntegerDot[uint16](b, plan)
	case ir.Uint32:
		multiply = buildIntegerDot[uint32](b, plan)
	case ir.Uint64:
		multiply = buildIntegerDot[uint64](b, plan)
	default:
		return nil, b.unsupported("cannot multiply %v", d)
	}
	if len(plan.prepare) == 0 {
		return multiply, nil
	}
	return func() {
		for _, f := range plan.prepare {
			f()
		}
		multiply()
	}, nil
}

// planDot finds the strides with which the operands can be read in place, and copies those that cannot.
func (b *build) planDot() (*dotPlan, error) {
	a := b.n.Attrs.(ir.DotAttrs)
	l, r := b.in(0), b.in(1)
	lc, rc := contractOrder(l.typ.Shape, r.typ.Shape, a.LhsContract, a.RhsContract)
	plan := &dotPlan{}
	for _, axis := range a.LhsBatch {
		plan.dims = append(plan.dims, l.typ.Shape[axis])
	}
	var err error
	if plan.a, err = b.matrix(plan, l, a.LhsBatch, freeAxes(l.typ.Shape, a.LhsBatch, lc), lc); err != nil {
		return nil, err
	}
	plan.b, err = b.matrix(plan, r, a.RhsBatch, rc, freeAxes(r.typ.Shape, a.RhsBatch, rc))
	var perm []int
	if b.u.fused != nil {
		perm = b.u.fused.perm
	}
	rows := len(l.typ.Shape) - len(a.LhsBatch) - len(lc)
	plan.c, _ = productLayout(b.p.Type(b.n.Outputs[0]).Shape, len(a.LhsBatch), rows, perm)
	if plan.c.colStride != 1 {
		plan.transpose()
	}
	return plan, err
}

// contractOrder returns the contracted axes in an order, which is free, in which the axes of both operands merge, if there is
// one among the given order and those that sort either operand's axes.
func contractOrder(l, r ir.Shape, lc, rc []int) ([]int, []int) {
	try := func(by []int) ([]int, []int, bool) {
		order := make([]int, len(by))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int { return by[i] - by[j] })
		ls, rs := make([]int, len(order)), make([]int, len(order))
		for i, j := range order {
			ls[i], rs[i] = lc[j], rc[j]
		}
		_, _, ok := mergeAxes(l, ls)
		_, _, ok2 := mergeAxes(r, rs)
		return ls, rs, ok && ok2
	}
	for _, by := range [][]int{lc, rc} {
		if ls, rs, ok := try(by); ok {
			return ls, rs
		}
	}
	return lc, rc
}

func freeAxes(s ir.Shape, batch, contract []int) []int {
	var free []int
	for i := range s {
		if !slices.Contains(batch, i) && !slices.Contains(contract, i) {
			free = append(free, i)
		}
	}
	return free
}

// mergeAxes reports whether the axes, in this order, can be walked as one axis, and returns its length and stride.
func mergeAxes(s ir.Shape, axes []int) (n, stride int, ok bool) {
	return mergeStrides(through(s, axes), through(s.Strides(), axes))
}

func mergeStrides(dims, strides []int) (n, stride int, ok bool) {
	n, stride, ok = 1, 1, true
	begun := false
	for i := len(dims) - 1; i >= 0; i-- {
		d, st := dims[i], strides[i]
		if d == 1 {
			continue
		}
		if !begun {
			stride, begun = st, true
		} else if st != stride*n {
			ok = false
		}
		n *= d
	}
	return n, stride, ok
}

// matrix returns the operand as matrices over the given axes. If they do not merge, or if neither side is contiguous, it adds a
// copy to the plan.
func (b *build) matrix(plan *dotPlan, o *operand, batch, rows, cols []int) (matrix, error) {
	s := o.typ.Shape
	strides := s.Strides()
	m := matrix{o: o}
	var okRows, okCols bool
	m.rows, m.rowStride, okRows = mergeAxes(s, rows)
	m.cols, m.colStride, okCols = mergeAxes(s, cols)
	contiguous := m.rows == 1 || m.cols == 1 || m.rowStride == 1 || m.colStride == 1
	if okRows && okCols && contiguous || o.n == 0 {
		for _, axis := range batch {
			m.batch = append(m.batch, strides[axis])
		}
		return m, nil
	}
	perm := slices.Concat(batch, rows, cols)
	shape := make(ir.Shape, len(perm))
	src := make([]int, len(perm))
	from := byteStrides(o.typ)
	for i, p := range perm {
		shape[i], src[i] = s[p], from[p]
	}
	t := ir.Type{DType: o.typ.DType, Shape: shape}
	ordered := &operand{mem: b.workspace(t.Bytes()), typ: t, n: o.n}
	move, err := b.move(newCopy(t.DType.Size(), shape, byteStrides(t), src), ordered, o, 0, 0)
	plan.prepare = append(plan.prepare, move)
	m.o, m.rowStride, m.colStride = ordered, m.cols, 1
	m.batch = shape.Strides()[:len(batch)]
	return m, err
}

// layout returns the row stride of the matrix as stored, and whether it is stored transposed.
func (m *matrix) layout() (ld int, trans bool) {
	switch {
	case m.colStride == 1 || m.cols == 1:
		if m.rows == 1 {
			return m.cols, false
		}
		if m.cols == 1 && m.rowStride == 1 {
			return m.rows, true
		}
		return m.rowStride, false
	case m.rows == 1:
		return m.colStride, true
	}
	return m.colStride, true
}

// batchLoop is a batch of products as gemm takes them: up to two strided axes, and a list of offsets for more.
type batchLoop struct {
	dims             [2]int
	strideA, strideB [2]int
	strideC          [2]int
	outer            [][3]int // offsets into A, B, C
}

// loop merges batch axes that move as one.
func (p *dotPlan) loop() batchLoop {
	var dims []int
	var strides [][3]int
	for i := len(p.dims) - 1; i >= 0; i-- {
		n, s := p.dims[i], [3]int{p.a.batch[i], p.b.batch[i], p.c.batch[i]}
		if n == 1 {
			continue
		}
		if k := len(dims) - 1; k >= 0 {
			t := strides[k]
			if s[0] == t[0]*dims[k] && s[1] == t[1]*dims[k] && s[2] == t[2]*dims[k] {
				dims[k] *= n
				continue
			}
		}
		dims, strides = append(dims, n), append(strides, s)
	}
	l := batchLoop{dims: [2]int{1, 1}, outer: [][3]int{{}}}
	for k := range dims { // innermost first
		s := strides[k]
		if k < 2 {
			at := 1 - k
			l.dims[at], l.strideA[at], l.strideB[at], l.strideC[at] = dims[k], s[0], s[1], s[2]
			continue
		}
		var outer [][3]int
		for i := range dims[k] {
			for _, o := range l.outer {
				outer = append(outer, [3]int{o[0] + i*s[0], o[1] + i*s[1], o[2] + i*s[2]})
			}
		}
		l.outer = outer
	}
	return l
}

// addedToProduct returns the bias, or nil, that the unit adds to its product or convolution, and whether relu follows.
func (b *build) addedToProduct() (bias *operand, relu bool) {
	e := b.u.fused
	if e == nil {
		return nil, false
	}
	if e.bias >= 0 {
		bias = &b.operands[e.bias]
	}
	return bias, e.relu
}

func buildGemm[T gemm.Float](b *build, plan *dotPlan) func() {
	x, y, out := plan.a.o, plan.b.o, b.out(0)
	l := plan.loop()
	args := &gemm.Args[T]{M: plan.a.rows, N: plan.b.cols, K: plan.a.cols,
		Batch: l.dims, StrideA: l.strideA, StrideB: l.strideB, StrideC: l.strideC, LDC: plan.c.rowStride}
	args.LDA, args.TransA = plan.a.layout()
	args.LDB, args.TransB = plan.b.layout()
	bias, relu := b.addedToProduct()
	args.ReLU = relu
	if out.n == 0 {
		return func() {}
	}
	rt := b.rt()
	size := gemm.ScratchSize(args, rt.pool.Size())
	kept := b.keptForm(plan, &l)
	if kept != nil {
		args.Packed = true
		size = max(size, gemm.ScratchSize(args, rt.pool.Size()))
	}
	scratch := b.scratch(out.typ.DType, size)
	return func() {
		if bias != nil {
			args.Bias = data[T](bias)
		}
		s := data[T](scratch)
		xs, ys, zs := data[T](x), data[T](y), data[T](out)
		args.Packed = false
		if panels := panelsOf[T](kept, y, rt.pool); panels != nil {
			ys, args.Packed = panels, true
		}
		for _, o := range l.outer {
			args.A, args.B, args.C = xs[o[0]:], ys[o[1]:], zs[o[2]:]
			gemm.Run(rt.pool, args, s)
		}
		args.A, args.B, args.C, args.Bias = nil, nil, nil, nil
	}
}

// keptForm returns the form in which the vector operand may be kept in panels, or nil.
func (b *build) keptForm(plan *dotPlan, l *batchLoop) *form {
	m := &plan.b
	if l.dims != [2]int{1, 1} || len(l.outer) != 1 {
		return nil
	}
	f := &form{off: m.o.off, k: m.rows, n: m.cols}
	f.ld, f.trans = m.layout()
	return b.kept(m.o, f)
}

// replaced reports whether an output replaces input i of the program.
func (b *build) replaced(i int) bool {
	return slices.ContainsFunc(b.p.Outputs, func(o ir.Output) bool { return o.Alias == i })
}

// buildIntegerDot multiplies integers, wrapping around, with one loop for all layouts.
func buildIntegerDot[T integer](b *build, plan *dotPlan) func() {
	x, y, out := plan.a.o, plan.b.o, b.out(0)
	l := plan.loop()
	m, n, k := plan.a.rows, plan.b.cols, plan.a.cols
	if out.n == 0 {
		return func() {}
	}
	p, q := plan.a, plan.b
	entries := len(l.outer) * l.dims[0] * l.dims[1]
	return b.rt().parallel(entries*m, grain(n*k), func(_ *worker, lo, hi int) {
		for e := lo; e < hi; e++ {
			row, rest := e%m, e/m
			j, rest := rest%l.dims[1], rest/l.dims[1]
			i, o := rest%l.dims[0], l.outer[rest/l.dims[0]]
			xs := data[T](x)[o[0]+i*l.strideA[0]+j*l.strideA[1]:]
			ys := data[T](y)[o[1]+i*l.strideB[0]+j*l.strideB[1]:]
			zs := data[T](out)[o[2]+i*l.strideC[0]+j*l.strideC[1]+row*plan.c.rowStride:]
			for col := range n {
				var sum T
				for c := range k {
					sum += xs[row*p.rowStride+c*p.colStride] * ys[c*q.rowStride+col*q.colStride]
				}
				zs[col] = sum
			}
		}
	})
}
