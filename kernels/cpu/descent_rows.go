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
	if b.in(0).Typ.DType == ir.Float64 {
		return descendRows[float64](b), nil
	}
	return descendRows[float32](b), nil
}

func descendRows[T block.Float](b *build) func() {
	update := &b.Program.Nodes[b.u.Nodes[len(b.u.Nodes)-1]]
	w, old, rate := &b.Operands[update.Outputs[0]], &b.Operands[update.Inputs[0]], &b.Operands[update.Inputs[2]]
	var gate, divisor *plan.Operand // of an update that may be skipped
	if len(update.Inputs) > 4 {
		gate, divisor = &b.Operands[update.Inputs[4]], &b.Operands[update.Inputs[5]]
	}
	indices, dy := b.in(1), b.in(2)
	length := w.Typ.Shape[0]
	row := w.N / max(length, 1)
	positions, find := b.lookup(indices, 0, length, ir.IndexError)
	groups := b.newRowGroups(length, indices.N)
	b.rt().need(row * w.Typ.DType.Size())
	var by T
	descend := &loop{b.rt(), func(of *worker, lo, hi int) {
		table, from, at := plan.Data[T](w), plan.Data[T](dy), plan.Data[int64](positions)
		first, next := plan.Data[int32](groups.first)[:hi], plan.Data[int32](groups.next)
		for _, i := range first[lo:] {
			to, sum := table[int(at[i])*row:][:row], from[int(i)*row:][:row]
			if i = next[i]; i != lastOfRow {
				own := scratchOf[T](of, row)
				copy(own, sum)
				for ; i != lastOfRow; i = next[i] {
					vec.Add(own, own, from[int(i)*row:][:row])
				}
				sum = own
			}
			vec.SGD(to, sum, by, 0)
		}
	}}
	return func() {
		if !find() {
			return
		}
		copyOperand(w, old)
		by = plan.Data[T](rate)[0]
		if gate != nil {
			if !plan.Data[bool](gate)[0] {
				return
			}
			by /= plan.Data[T](divisor)[0]
		}
		b.rt().pool.Parallel(groups.find(plan.Data[int64](positions)), grain(row), descend)
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
