package lower

import (
	"maps"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// rows is a kernel for rows along the last axis, of elements of at most 32 bits. A power of two of threads shares each
// row; each thread takes elements at that distance. If there are few elements, they are read once and stay in
// registers.
type rows struct {
	*gen
	m             *calc
	shape         ir.Shape
	count, length int
	lanes, block  int
	tid, lane     ptx.Operand
	row           ptx.Operand // the thread's row, clamped to an existing one
	inside        ptx.Operand // the thread's row exists
	kept          map[keptElement]ptx.Operand
}

type keptElement struct {
	value ir.Value
	i     int
}

// keepElements is how many elements of a row a thread may keep in registers.
const keepElements = 16

// rowOps have kernels for rows of floats of at most 32 bits; for other types they are decomposed.
var rowOps = map[ir.Op]bool{
	ir.Softmax: true, ir.SoftmaxGrad: true, ir.LogSoftmax: true, ir.LogSoftmaxGrad: true, ir.SparseSoftmaxCrossEntropy: true,
	ir.LayerNorm: true, ir.LayerNormGrad: true,
}

func keepsRows(p *ir.Program, n *ir.Node) bool {
	t := p.Type(n.Inputs[0])
	return t.DType != ir.Float64 && t.Shape.Size() > 0
}

// rowLanes is the number of threads that share a row of a length.
func rowLanes(length int) int {
	lanes := 1
	for lanes < 256 && lanes*4 < length {
		lanes *= 2
	}
	return lanes
}

// rows begins a node's kernel for the rows of a shape.
func (s *scope) rows(n *ir.Node, shape ir.Shape) *rows {
	g := s.kernel(n)
	r := &rows{gen: g, m: g.calc(ptx.F32), shape: shape, length: shape[len(shape)-1], kept: map[keptElement]ptx.Operand{}}
	r.count = shape.Size() / r.length
	r.lanes = rowLanes(r.length)
	r.block = 256
	for r.block > 32 && r.block > r.lanes && r.block/2/r.lanes >= r.count {
		r.block /= 2
	}
	r.tid = g.k.Op(ptx.B32, "mov.u32", special("%tid.x"))
	cta := g.k.Op(ptx.B32, "mov.u32", special("%ctaid.x"))
	each := r.block / r.lanes
	r.lane = g.mov(ptx.B32, g.mod(r.tid, r.lanes))
	row := g.mov(ptx.B32, g.add(g.times(cta, each), g.over(r.tid, r.lanes)))
	r.inside = g.compare("lt", "u32", row, ptx.Int32(int64(r.count)))
	r.row = g.k.Op(ptx.B32, "min.u32", row, ptx.Int32(int64(r.count-1)))
	return r
}

// end launches the kernel.
func (r *rows) end() {
	each := r.block / r.lanes
	r.launch([3]int{(r.count + each - 1) / each, 1, 1}, r.block)
}

// element is an element of a row.
type element struct {
	*rows
	i      int // -1 if elements are not kept
	column ptx.Operand
	x      *index
}

// value is the element of a value of the rows' shape.
func (e *element) value(v ir.Value) ptx.Operand {
	if x, ok := e.kept[keptElement{v, e.i}]; ok {
		return x
	}
	x := e.gen.register(e.p.Type(v).DType, e.gen.value(v, e.x))
	if e.i >= 0 {
		e.kept[keptElement{v, e.i}] = x
	}
	return x
}

// param is the element of a value that has one per column.
func (e *element) param(v ir.Value) ptx.Operand {
	return e.gen.value(v, at(e.p.Type(v).Shape, e.column))
}

// visit writes code for each of a thread's elements of a row.
func (r *rows) visit(f func(e *element)) {
	g, k := r.gen, r.k
	per := (r.length + r.lanes - 1) / r.lanes
	first := r.times(r.row, r.length)
	if per > keepElements {
		g.loop(r.lane, ptx.Int32(int64(r.length)), r.lanes, func(column ptx.Operand) {
			f(&element{r, -1, column, at(r.shape, g.add(first, column))})
		})
		return
	}
	for i := range per {
		column := g.mov(ptx.B32, g.add(r.lane, ptx.Int32(int64(i*r.lanes))))
		saved := maps.Clone(g.memo)
		skip := ""
		if (i+1)*r.lanes > r.length {
			skip = k.Label()
			k.BranchIf(g.compare("ge", "u32", column, ptx.Int32(int64(r.length))), skip)
		}
		f(&element{r, i, column, at(r.shape, g.add(first, column))})
		if skip != "" {
			k.Place(skip)
		}
		g.memo = saved
	}
}

// reduce combines each thread's elements, and then the results of a row's threads: all of them get the same result,
// combined in the same order.
func (r *rows) reduce(kind ir.Kind, of func(e *element) ptx.Operand) ptx.Operand {
	g, k := r.gen, r.k
	total := g.mov(ptx.F32, g.neutral(kind, ir.Float32))
	r.visit(func(e *element) { g.assign(total, g.combine(kind, ir.Float32, total, of(e))) })
	for distance := min(r.lanes, 32) / 2; distance > 0; distance /= 2 {
		theirs := k.Op(ptx.F32, "shfl.sync.bfly.b32", total, ptx.Int32(int64(distance)), ptx.Int32(31), ptx.Int32(-1))
		g.assign(total, g.combine(kind, ir.Float32, total, theirs))
	}
	warps := r.lanes / 32
	if warps <= 1 {
		return total
	}
	shared := g.shared(k.Shared(r.block / 32 * 4))
	slot := k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, g.over(r.tid, 32)), ptx.Int32(4), shared)
	skip := k.Label()
	k.BranchIf(g.compare("ne", "s32", g.mov(ptx.B32, g.mod(r.tid, 32)), ptx.Int32(0)), skip)
	k.To(address(slot), "st.shared.f32", total)
	k.Place(skip)
	k.Barrier()
	from := k.Op(ptx.B32, "mad.lo.s32", g.mov(ptx.B32, g.over(r.tid, r.lanes)), ptx.Int32(int64(warps*4)), shared)
	total = k.Op(ptx.F32, "ld.shared.f32", address(from))
	for w := 1; w < warps; w++ {
		theirs := k.Op(ptx.F32, "ld.shared.f32", ptx.Raw("["+from.String()+"+"+itoa(4*w)+"]"))
		total = g.combine(kind, ir.Float32, total, theirs)
	}
	return total
}

// write stores one element of each column of a row.
func (r *rows) write(v ir.Value, of func(e *element) ptx.Operand) {
	d := r.p.Type(v).DType
	to := r.place(r.places[v])
	skip := r.k.Label()
	r.k.BranchUnless(r.inside, skip)
	r.visit(func(e *element) {
		r.store(d, r.gen.element(to, r.number(e.x), d.Size()), of(e))
	})
	r.k.Place(skip)
}

// writeRow stores one number for a row.
func (r *rows) writeRow(v ir.Value, x ptx.Operand) {
	d := r.p.Type(v).DType
	to := r.place(r.places[v])
	skip := r.k.Label()
	r.k.BranchUnless(r.both(r.inside, r.compare("eq", "s32", r.lane, ptx.Int32(0))), skip)
	r.store(d, r.gen.element(to, r.row, d.Size()), x)
	r.k.Place(skip)
}

// ofRow is the element of a value that has one per row.
func (r *rows) ofRow(v ir.Value) ptx.Operand {
	return r.gen.value(v, at(r.p.Type(v).Shape, r.row))
}
