package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/quant"
)

// buildRowCoding quantizes rows to int8; see fuse.RowCoding.
func buildRowCoding(b *build) func() {
	c := b.u.Fused.Coding
	x, to, scales := b.in(0), b.out(0), &b.Operands[c.Scale]
	coding := &quant.RowCoding{Numerator: float32(c.Numerator), Epsilon: float32(c.Epsilon), Low: int32(c.Low), High: int32(c.High)}
	n := c.Columns
	return b.rt().parallel(scales.N, grain(n), func(_ *worker, lo, hi int) {
		coding.Run(plan.Data[int8](to)[lo*n:hi*n], plan.Data[float32](scales)[lo:hi], plan.Data[float32](x)[lo*n:hi*n], n)
	})
}
