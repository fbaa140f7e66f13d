package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/quant"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buildPackedEmbedding looks up rows of integers and writes the floats that they stand for.
func buildPackedEmbedding(b *build) (func(), error) {
	a := b.n.Attrs.(ir.PackedEmbeddingAttrs)
	table, indices, scale, out := b.in(0), b.in(1), b.in(2), b.out(0)
	positions, find := b.lookup(indices, 0, table.Typ.Shape[0], ir.IndexError)
	row := packedRow32
	if out.Typ.DType == ir.Float64 {
		row = packedRow64
	}
	zero := scale // unused without blocks
	if a.Block > 0 {
		zero = b.in(3)
	}
	write := b.rt().parallel(indices.N, grain(a.Columns/2), func(_ *worker, lo, hi int) {
		row(a, out, table, scale, zero, plan.Data[int64](positions), lo, hi)
	})
	return func() {
		if find() && out.N > 0 {
			write()
		}
	}, nil
}

// packedRow32 writes rows [lo, hi) of float32.
func packedRow32(a ir.PackedEmbeddingAttrs, out, table, scale, zero *plan.Operand, at []int64, lo, hi int) {
	t := quant.Table{Columns: a.Columns, Block: a.Block, Bytes: a.Bits == 8, Integers: plan.Data[int8](table), Scale: plan.Data[float32](scale)}
	if a.Block > 0 {
		t.Zero = plan.Data[int8](zero)
	}
	t.Rows(plan.Data[float32](out)[lo*a.Columns:hi*a.Columns], at[lo:hi])
}

// packedRow64 writes rows [lo, hi) of float64, in plain Go.
func packedRow64(a ir.PackedEmbeddingAttrs, out, table, scale, zero *plan.Operand, at []int64, lo, hi int) {
	x, y, scales := plan.Data[int8](table), plan.Data[float64](out), plan.Data[float64](scale)
	bytes := table.Typ.Shape[1]
	for i := lo; i < hi; i++ {
		row := x[int(at[i])*bytes:][:bytes]
		for j := range a.Columns {
			number := row[j*a.Bits/8]
			if a.Bits == 4 {
				if j%2 == 0 {
					number <<= 4
				}
				number >>= 4
			}
			if a.Block == 0 {
				y[i*a.Columns+j] = float64(number) * (1 / scales[at[i]])
				continue
			}
			k := int(at[i])*((a.Columns+a.Block-1)/a.Block) + j/a.Block
			y[i*a.Columns+j] = (float64(number) - float64(plan.Data[int8](zero)[k])) * scales[k]
		}
	}
}
