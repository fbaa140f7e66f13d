package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buildRowDescent compiles a step of plain gradient descent together with the gradient of a table. It computes and
// subtracts only the rows that were looked up, so a table of millions of rows takes no more time than a small one. Rows
// of dy for the same row of the table are summed with the same bits as in the whole gradient.
func buildRowDescent(b *build) (func(), error) {
	update := &b.Program.Nodes[b.u.Nodes[len(b.u.Nodes)-1]]
	switch t := b.Operands[update.Outputs[0]].Typ.DType; {
	case t.IsHalf():
		return descendHalfRows(b, update, halfOf[t]), nil
	case t == ir.Float64:
		return descendFloatRows[float64](b, update), nil
	}
	return descendFloatRows[float32](b, update), nil
}

func descendFloatRows[T block.Float](b *build, update *ir.Node) func() {
	w, rate := &b.Operands[update.Outputs[0]], &b.Operands[update.Inputs[2]]
	var gate, divisor *plan.Operand // of an update that may be skipped
	if len(update.Inputs) > 4 {
		gate, divisor = &b.Operands[update.Inputs[4]], &b.Operands[update.Inputs[5]]
	}
	var by T
	return descendRows(b, update, func() bool {
		by = plan.Data[T](rate)[0]
		if gate != nil {
			if !plan.Data[bool](gate)[0] {
				return false
			}
			by /= plan.Data[T](divisor)[0]
		}
		return true
	}, func(_ *worker, at int, gradient []T) { vec.SGD(plan.Data[T](w)[at:][:len(gradient)], gradient, by, 0) })
}

// descendHalfRows widens the rows of a table of 16 bits and rounds them once.
func descendHalfRows(b *build, update *ir.Node, half *vec.Half) func() {
	w, rate := &b.Operands[update.Outputs[0]], &b.Operands[update.Inputs[2]]
	row := w.N / max(w.Typ.Shape[0], 1)
	b.rt().need(2 * row * 4) // after the sum of a row's gradients
	var by [1]float32
	return descendRows(b, update, func() bool {
		half.Widen(by[:], plan.Data[uint16](rate)[:1])
		return true
	}, func(of *worker, at int, gradient []float32) {
		wide, to := scratchOf[float32](of, 2*row)[row:], plan.Data[uint16](w)[at:][:row]
		half.Widen(wide, to)
		vec.SGD(wide, gradient, by[0], 0)
		half.Narrow(to, wide)
	})
}

// descendRows calls step for each row that was looked up, with its first element in the table and its gradient, unless
// begin returns false.
func descendRows[T block.Float](b *build, update *ir.Node, begin func() bool, step func(of *worker, at int, gradient []T)) func() {
	w, old := &b.Operands[update.Outputs[0]], &b.Operands[update.Inputs[0]]
	indices, dy := b.in(1), b.in(2)
	length := w.Typ.Shape[0]
	row := w.N / max(length, 1)
	positions, find := b.lookup(indices, 0, length, ir.IndexError)
	groups := b.newRowGroups(length, indices.N)
	b.rt().need(row * dy.Typ.DType.Size())
	descend := &loop{b.rt(), func(of *worker, lo, hi int) {
		from, at := plan.Data[T](dy), plan.Data[int64](positions)
		first, next := plan.Data[int32](groups.first)[:hi], plan.Data[int32](groups.next)
		for _, i := range first[lo:] {
			to, sum := int(at[i])*row, from[int(i)*row:][:row]
			if i = next[i]; i != lastOfRow {
				own := scratchOf[T](of, row)
				copy(own, sum)
				for ; i != lastOfRow; i = next[i] {
					vec.Add(own, own, from[int(i)*row:][:row])
				}
				sum = own
			}
			step(of, to, sum)
		}
	}}
	return func() {
		if !find() {
			return
		}
		if copyOperand(w, old); begin() {
			b.rt().pool.Parallel(groups.find(plan.Data[int64](positions)), grain(row), descend)
		}
	}
}

// rowGroups groups the indices that name the same row of a table. Indices are referred to by their positions.
type rowGroups struct {
	groups *plan.Operand // for each row of the table: its group, if it has one, else an arbitrary number
	first  *plan.Operand // for each group: its first index
	last   *plan.Operand // for each group: its last index
	next   *plan.Operand // for each index: the next one of its group, or lastOfRow
}

const lastOfRow = -1

func (b *build) newRowGroups(rows, indices int) *rowGroups {
	list := func(n int) *plan.Operand { return b.scratch(ir.Int32, n) }
	return &rowGroups{list(rows), list(indices), list(indices), list(indices)}
}

// find groups the positions by row, in the order in which the rows first occur, and returns the number of groups.
// groups need not be cleared: its entry for a row is valid only if the first index of that group names the row. Source:
// Briggs, Torczon, "An efficient representation for sparse sets", 1993.
func (g *rowGroups) find(at []int64) int {
	groups, next := plan.Data[int32](g.groups), plan.Data[int32](g.next)[:len(at)]
	first, last := plan.Data[int32](g.first)[:len(at)], plan.Data[int32](g.last)[:len(at)]
	found := 0
	for i, row := range at {
		next[i] = lastOfRow
		if k := groups[row]; uint(k) < uint(found) && at[first[k]] == row {
			next[last[k]] = int32(i)
			last[k] = int32(i)
			continue
		}
		groups[row], first[found], last[found] = int32(found), int32(i), int32(i)
		found++
	}
	return found
}
