package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// matrix is an operand of a product, viewed as a batch of matrices. Element (row, col) of entry (i, j, ...) has the
// offset i·batch[0] + j·batch[1] + ... + row·rowStride + col·colStride.
type matrix struct {
	o                    *plan.Operand
	rows, cols           int
	rowStride, colStride int
	batch                []int
}

// dotPlan is a contraction, viewed as a batched matrix product C[M, N] = A[M, K]·B[K, N].
type dotPlan struct {
	a, b    matrix
	c       geometry.Layout
	dims    []int    // of the batch
	prepare []func() // steps that copy operands which cannot be read in place
}

// transpose replaces the plan for C by that for its transpose: Cᵀ = Bᵀ·Aᵀ.
func (p *dotPlan) transpose() {
	p.a, p.b = p.b, p.a
	for _, m := range []*matrix{&p.a, &p.b} {
		m.rows, m.cols, m.rowStride, m.colStride = m.cols, m.rows, m.colStride, m.rowStride
	}
	p.c.RowStride, p.c.ColStride = p.c.ColStride, p.c.RowStride
}

func buildDot(b *build) (func(), error) {
	product, err := b.planDot()
	if err != nil {
		return nil, err
	}
	var multiply func()
	switch d := b.in(0).Typ.DType; d {
	case ir.Float32:
		multiply = buildGemm[float32](b, product)
	case ir.Float64:
		multiply = buildGemm[float64](b, product)
	case ir.BFloat16, ir.Float16:
		multiply = buildHalfDot(b, product)
	case ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Uint8, ir.Uint16, ir.Uint32, ir.Uint64:
		if d == ir.Int8 && b.out(0).Typ.DType == ir.Int32 {
			multiply = newQuantizedDot(b, product, b.out(0))
			break
		}
		if multiply, err = integerDot(b, product); err != nil {
			return nil, err
		}
	default:
		return nil, b.unsupported("cannot multiply %v", d)
	}
	if len(product.prepare) == 0 {
		return multiply, nil
	}
	return func() {
		for _, f := range product.prepare {
			f()
		}
		multiply()
	}, nil
}

// planDot finds strides with which the operands can be read in place. It copies operands that have none.
func (b *build) planDot() (*dotPlan, error) {
	a := b.n.Attrs.(ir.DotAttrs)
	l, r := b.in(0), b.kernel()
	lc, rc := contractOrder(l.Typ.Shape, r.Typ.Shape, a.LhsContract, a.RhsContract)
	product := &dotPlan{}
	for _, axis := range a.LhsBatch {
		product.dims = append(product.dims, l.Typ.Shape[axis])
	}
	var err error
	if product.a, err = b.matrix(product, l, a.LhsBatch, ir.FreeAxes(l.Typ.Shape.Rank(), a.LhsBatch, lc), lc); err != nil {
		return nil, err
	}
	product.b, err = b.matrix(product, r, a.RhsBatch, rc, ir.FreeAxes(r.Typ.Shape.Rank(), a.RhsBatch, rc))
	var perm []int
	if b.u.Fused != nil {
		perm = b.u.Fused.Perm
	}
	rows := len(l.Typ.Shape) - len(a.LhsBatch) - len(lc)
	product.c, _ = geometry.ProductLayout(b.Program.Type(b.n.Outputs[0]).Shape, len(a.LhsBatch), rows, perm)
	if product.c.ColStride != 1 {
		product.transpose()
	}
	return product, err
}

// contractOrder orders the contracted axes so that they merge in both operands, if the given order or an order that
// sorts the axes of one operand does so. The order does not affect the result.
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
		_, _, ok := geometry.MergeAxes(l, ls)
		_, _, ok2 := geometry.MergeAxes(r, rs)
		return ls, rs, ok && ok2
	}
	for _, by := range [][]int{lc, rc} {
		if ls, rs, ok := try(by); ok {
			return ls, rs
		}
	}
	return lc, rc
}

// matrix views the operand as matrices over the given axes. It adds a copy to the plan if the axes do not merge or if
// neither rows nor columns are contiguous.
func (b *build) matrix(product *dotPlan, o *plan.Operand, batch, rows, cols []int) (matrix, error) {
	s := o.Typ.Shape
	strides := s.Strides()
	m := matrix{o: o}
	var okRows, okCols bool
	m.rows, m.rowStride, okRows = geometry.MergeAxes(s, rows)
	m.cols, m.colStride, okCols = geometry.MergeAxes(s, cols)
	contiguous := m.rows == 1 || m.cols == 1 || m.rowStride == 1 || m.colStride == 1
	if okRows && okCols && contiguous || o.N == 0 {
		for _, axis := range batch {
			m.batch = append(m.batch, strides[axis])
		}
		return m, nil
	}
	perm := ints.Concat(batch, rows, cols)
	shape := make(ir.Shape, len(perm))
	src := make([]int, len(perm))
	from := byteStrides(o.Typ)
	for i, p := range perm {
		shape[i], src[i] = s[p], from[p]
	}
	return m, b.ordered(product, &m, shape, src, len(batch))
}

// ordered adds a copy of the matrices to the plan. The first batch axes of shape are those of the batch; src holds the
// strides in bytes.
func (b *build) ordered(product *dotPlan, m *matrix, shape ir.Shape, src []int, batch int) error {
	t := ir.Type{DType: m.o.Typ.DType, Shape: shape}
	ordered := &plan.Operand{Mem: b.workspace(t.Bytes()), Typ: t, N: m.o.N}
	move, err := b.move(newCopy(t.DType.Size(), shape, byteStrides(t), src), ordered, m.o, 0, 0)
	product.prepare = append(product.prepare, move)
	m.o, m.rowStride, m.colStride = ordered, m.cols, 1
	m.batch = shape.Strides()[:batch]
	return err
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

// batchLoop is a batch of products in the form that gemm takes: up to two strided axes, and a list of offsets if there
// are more.
type batchLoop struct {
	dims             [2]int
	strideA, strideB [2]int
	strideC          [2]int
	outer            [][3]int // offsets into A, B, C
}

// loop merges batch axes that can be stepped through as one.
func (p *dotPlan) loop() batchLoop {
	var dims []int
	var strides [][3]int
	for i := len(p.dims) - 1; i >= 0; i-- {
		n, s := p.dims[i], [3]int{p.a.batch[i], p.b.batch[i], p.c.Batch[i]}
		if n == 1 {
			continue
		}
		if p.a.o.N == 0 { // sums without terms; there is no memory to step through
			s[0] = 0
		}
		if p.b.o.N == 0 {
			s[1] = 0
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

// addedToProduct returns the bias that the unit adds to its product or convolution, or nil, and whether relu follows.
func (b *build) addedToProduct() (bias *plan.Operand, relu bool) {
	e := b.u.Fused
	if e == nil {
		return nil, false
	}
	if e.Bias >= 0 {
		bias = &b.Operands[e.Bias]
	}
	return bias, e.Relu
}

// startSum returns the function that copies what the unit adds to its product to the place of the result, and whether
// there is anything to add.
func (b *build) startSum() (start func(), adds bool) {
	e := b.u.Fused
	if e == nil || e.Addend < 0 {
		return func() {}, false
	}
	from, to := &b.Operands[e.Addend], b.out(0)
	const piece = 1 << 15
	move := b.rt().parallel((to.N+piece-1)/piece, 1, func(_ *worker, lo, hi int) {
		size := to.Typ.DType.Size()
		copy(plan.Raw(to)[lo*piece*size:min(hi*piece, to.N)*size], plan.Raw(from)[lo*piece*size:])
	})
	return func() {
		if from.Ptr() != to.Ptr() {
			move()
		}
	}, true
}

// isGram reports whether the second operand is the transpose of the first, in the same memory.
func (p *dotPlan) isGram() bool {
	a, b := &p.a, &p.b
	return a.o.Mem == b.o.Mem && a.o.Off == b.o.Off && a.rows == b.cols && a.cols == b.rows && a.rowStride == b.colStride && a.colStride == b.rowStride &&
		slices.Equal(a.batch, b.batch)
}

func buildGemm[T gemm.Float](b *build, product *dotPlan) func() {
	x, y, out := product.a.o, product.b.o, b.out(0)
	l := product.loop()
	args := &gemm.Args[T]{M: product.a.rows, N: product.b.cols, K: product.a.cols,
		Batch: l.dims, StrideA: l.strideA, StrideB: l.strideB, StrideC: l.strideC, LDC: product.c.RowStride}
	args.LDA, args.TransA = product.a.layout()
	args.LDB, args.TransB = product.b.layout()
	args.Gram = product.isGram() && (b.u.Fused == nil || b.u.Fused.Kernel < 0)
	bias, relu := b.addedToProduct()
	args.ReLU = relu
	if bias != nil {
		args.Bias = []T{} // the memory that a product needs depends on whether there is a bias
	}
	if out.N == 0 {
		return func() {}
	}
	start, adds := b.startSum()
	args.Accumulate = adds
	rt := b.rt()
	plain := gemm.Prepare(args, rt.pool.Size())
	packed, size := plain, plain.ScratchSize()
	kept := b.keptForm(product, &l)
	if kept != nil {
		args.Packed = true
		packed = gemm.Prepare(args, rt.pool.Size())
		size = max(size, packed.ScratchSize())
	}
	scratch := b.scratch(out.Typ.DType, size)
	w := weightsOf[T](b, y, kept)
	return func() {
		var added []T
		if bias != nil {
			added = plan.Data[T](bias)
		}
		start()
		s := plan.Data[T](scratch)
		xs, zs := plan.Data[T](x), plan.Data[T](out)
		run := plain
		ys, inPanels := w.read()
		if inPanels {
			run = packed
		}
		for _, o := range l.outer {
			run.Run(rt.pool, xs[o[0]:], ys[o[1]:], zs[o[2]:], added, s)
		}
	}
}

// keptForm returns the form in which the vector operand may be kept in panels, or nil.
func (b *build) keptForm(product *dotPlan, l *batchLoop) *form {
	m := &product.b
	if l.dims != [2]int{1, 1} || len(l.outer) != 1 {
		return nil
	}
	f := &form{off: m.o.Off, k: m.rows, n: m.cols}
	f.ld, f.trans = m.layout()
	return b.kept(m.o, f)
}

// replaced reports whether an output replaces input i of the program.
func (b *build) replaced(i int) bool { return replaces(b.Program, i) }

func replaces(p *ir.Program, input int) bool {
	return slices.ContainsFunc(p.Outputs, func(o ir.Output) bool { return o.Alias == input })
}
