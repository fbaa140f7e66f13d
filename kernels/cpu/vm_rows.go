package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Units that use the sums of their rows have values of two sizes: one element for each point of the index space, or one
// for each row. Operations on the latter compute as many elements as a block has rows.

// Blocks have at least rowsOfBlock rows if these have at most longestRows elements together: operations on one number
// for each row take as long for several rows as for one.
const (
	rowsOfBlock = 6
	longestRows = 8192
)

// ofRows reports whether the value has one element for each row.
func (b *vmBuilder) ofRows(v ir.Value) bool {
	return b.u.Rows > 0 && b.Program.Type(v).Shape.Size() == b.u.Rows
}

// rowRegister returns the pointer to a register with one element for each row of a block. It stays reserved.
func (b *vmBuilder) rowRegister(size int) uint8 {
	ptr := b.newPointer()
	b.prog.registers = append(b.prog.registers, vmRegister{ptr, b.prog.scratch})
	b.prog.scratch += plan.RoundUp(b.prog.block/b.prog.columns*size, plan.Alignment)
	return ptr
}

// leastDot returns the least length of rows for which it is faster to add up products at once than to store them first.
// For float32 no row needs a call of its own, and shorter rows are transposed.
func leastDot(d ir.DType) int {
	if d == ir.Float32 {
		return turnedAdded + 1
	}
	return 64
}

// findDots finds sums of rows of a product that is read nowhere else. Such a product is not stored.
func (b *vmBuilder) findDots() {
	b.dots = map[int]*ir.Node{}
	list := b.u.Nodes
	if b.u.Rows == 0 {
		list = b.u.Sinks
	}
	for _, i := range list {
		n := &b.Program.Nodes[i]
		a, ok := n.Attrs.(ir.ReduceAttrs)
		if s, _ := b.SinkOf(n); !ok || a.Kind != ir.Sum || b.u.Rows == 0 && (s.Leading || s.Columns < leastDot(b.Program.Type(n.Outputs[0]).DType)) {
			continue
		}
		v := b.SinkOperand(i)
		by := b.Def[v]
		if by < 0 || b.UnitOf[by] != b.u || b.Program.Nodes[by].Op != ir.Mul || b.Needed[v] || len(b.Users[v]) != 1 || v != n.Inputs[0] {
			continue
		}
		if _, shares := b.shares[by]; !shares && !b.skip[by] && !b.Program.Type(v).DType.IsHalf() && b.Program.Type(v).DType.IsFloat() {
			b.dots[i], b.skip[by] = &b.Program.Nodes[by], true
		}
	}
}

// compileDotSink adds the sink of reduction node n, which sums the rows of a product.
func (b *vmBuilder) compileDotSink(n, product *ir.Node) {
	shape, _ := b.SinkOf(n)
	out := &b.Operands[n.Outputs[0]]
	if shape.Columns > fuse.MaxColumns {
		if out.Typ.DType == ir.Float64 {
			compileLongDot[float64](b, product, out)
		} else {
			compileLongDot[float32](b, product, out)
		}
		return
	}
	size, rows := out.Typ.DType.Size(), b.prog.block/shape.Columns
	dot := dotBlock[float32](shape.Columns)
	if size == 8 {
		dot = dotBlock[float64](shape.Columns)
	}
	b.prog.sinks = append(b.prog.sinks, vmSink{
		ptr: b.operand(b.u.Accesses[product.Inputs[0]]), other: b.operand(b.u.Accesses[product.Inputs[1]]), finish: func() {},
		take: func(p, q unsafe.Pointer, k int, _ bool, n int) { dot(unsafe.Add(out.Ptr(), k*rows*size), p, q, nil, n) },
	})
}

// compileLongDot is compileDotSink for rows so long that a block holds only part of one.
func compileLongDot[T block.Float](b *vmBuilder, product *ir.Node, out *plan.Operand) {
	r, partial := reductionOf[T](ir.Sum), b.partial(b.prog.blocks(), out)
	b.prog.sinks = append(b.prog.sinks, vmSink{
		ptr: b.operand(b.u.Accesses[product.Inputs[0]]), other: b.operand(b.u.Accesses[product.Inputs[1]]),
		take: func(p, q unsafe.Pointer, k int, _ bool, n int) {
			plan.Data[T](partial)[k] = vec.Dot(block.View[T](p, n), block.View[T](q, n))
		},
		finish: func() { r.combineRows(plan.Data[T](out), plan.Data[T](partial)) },
	})
}

// compileRowReduction adds node i, which reduces the rows of a value.
func (b *vmBuilder) compileRowReduction(i int, n *ir.Node) {
	kind, columns := n.Attrs.(ir.ReduceAttrs).Kind, b.prog.columns
	d := b.Program.Type(n.Inputs[0]).DType
	var op vmOp
	if product := b.dots[i]; product != nil {
		op.a, op.b = b.operand(b.u.Accesses[product.Inputs[0]]), b.operand(b.u.Accesses[product.Inputs[1]])
		if op.fn = dotBlock[float32](columns); d == ir.Float64 {
			op.fn = dotBlock[float64](columns)
		}
	} else {
		op.a = b.operand(b.u.Accesses[n.Inputs[0]])
		if op.fn = reduceBlock[float32](kind, columns); d == ir.Float64 {
			op.fn = reduceBlock[float64](kind, columns)
		}
	}
	op.dst = b.result(n.Outputs[0])
	b.prog.ops = append(b.prog.ops, op)
	b.release(n, i)
}

// dotBlock returns the kernel that sums the products in each row of a block.
func dotBlock[T block.Float](columns int) block.Func {
	return func(dst, x, y, _ unsafe.Pointer, n int) {
		vec.DotLines(block.View[T](dst, n/columns), block.View[T](x, n), block.View[T](y, n))
	}
}

// isSpread reports whether the access broadcasts a value of one element for each row that the unit has computed.
func (b *vmBuilder) isSpread(a fuse.Access) bool {
	_, computed := b.ptrOf[a.Source]
	return computed && !a.Dense && b.ofRows(a.Source)
}

// rowSide returns which operand of a product, sum or difference is one number for each row while the other one is not,
// else -1.
func (b *vmBuilder) rowSide(n *ir.Node) int {
	if b.u.Rows == 0 || n.Op != ir.Mul && n.Op != ir.Add && n.Op != ir.Sub || b.isSpread(b.u.Accesses[n.Inputs[0]]) == b.isSpread(b.u.Accesses[n.Inputs[1]]) {
		return -1
	}
	if b.isSpread(b.u.Accesses[n.Inputs[1]]) {
		return 1
	}
	if n.Op == ir.Sub {
		return -1
	}
	return 0
}

// compileRowScalar adds node i, which combines whole rows with one number for each row.
func (b *vmBuilder) compileRowScalar(i int, n *ir.Node, side int) {
	x, row := b.operand(b.u.Accesses[n.Inputs[1-side]]), b.ptrOf[b.u.Accesses[n.Inputs[side]].Source]
	v := n.Outputs[0]
	d := b.Program.Type(v).DType
	b.prog.ops = append(b.prog.ops, vmOp{fn: scalarRows(block.Scalar(n.Op, d), b.prog.columns, d.Size()), dst: b.result(v), a: x, b: row})
	b.release(n, i)
}

func scalarRows(one block.Func, columns, size int) block.Func {
	return func(dst, x, rows, _ unsafe.Pointer, n int) {
		for r := range n / columns {
			at := r * columns * size
			one(unsafe.Add(dst, at), unsafe.Add(x, at), unsafe.Add(rows, r*size), nil, columns)
		}
	}
}

// reduceBlock returns the kernel that reduces each row of a block to one element.
func reduceBlock[T block.Float](kind ir.Kind, columns int) block.Func {
	r := reductionOf[T](kind)
	return func(dst, x, _, _ unsafe.Pointer, n int) {
		r.combineRows(block.View[T](dst, n/columns), block.View[T](x, n))
	}
}

// spread returns the pointer to a register in which each row repeats the number that pointer row has for it.
func (b *vmBuilder) spread(d ir.DType, row uint8) uint8 {
	r := b.newRegister(d.Size())
	b.prog.ops = append(b.prog.ops, vmOp{fn: spreadRows(d.Size(), b.prog.columns), dst: r.ptr, a: row})
	return r.ptr
}

func spreadRows(size, columns int) block.Func {
	if size == 8 {
		return spreadOf[uint64](columns)
	}
	return func(dst, x, _, _ unsafe.Pointer, n int) { vec.FillRows(block.View[uint32](dst, n), x, columns, 4) }
}

func spreadOf[T any](columns int) block.Func {
	return func(dst, x, _, _ unsafe.Pointer, n int) {
		y := block.View[T](dst, n)
		for _, v := range block.View[T](x, n/columns) {
			row := y[:columns]
			for i := range row {
				row[i] = v
			}
			y = y[columns:]
		}
	}
}
