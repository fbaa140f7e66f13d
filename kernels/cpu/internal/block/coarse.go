package block

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Coarse returns the kernel of a function whose results are rounded to bfloat16 next, or nil if there is none but the
// one for all floats.
func Coarse(op ir.Op) Func {
	switch op {
	case ir.Gelu:
		return mapUnary(vec.CoarseGelu)
	case ir.Exp:
		return mapUnary(vec.CoarseExp)
	case ir.Sigmoid:
		return mapUnary(vec.CoarseSigmoid)
	case ir.GeluGrad:
		return mapBinary(func(dst, x, dy []float32) { vec.CoarseGeluGrad(dst, dy, x) })
	}
	return nil
}
