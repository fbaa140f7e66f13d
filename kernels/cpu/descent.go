package cpu

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// buildDescent compiles a unit that joinDescent has made.
func buildDescent(b *build) (func(), error) {
	if halfOf[b.in(0).Typ.DType] != nil {
		return descendHalf(b)
	}
	if b.in(0).Typ.DType == ir.Float64 {
		return descend[float64](b)
	}
	return descend[float32](b)
}

func descend[T block.Float](b *build) (func(), error) {
	update := &b.Program.Nodes[b.u.Nodes[len(b.u.Nodes)-1]]
	product, err := b.planDot()
	if err != nil {
		return nil, err
	}
	w, old, rate := &b.Operands[update.Outputs[0]], &b.Operands[update.Inputs[0]], &b.Operands[update.Inputs[2]]
	scaled := &product.a // the smaller operand is multiplied by -rate
	if product.b.o.N < product.a.o.N {
		scaled = &product.b
	}
	from := scaled.o
	to := b.scratch(from.Typ.DType, from.N)
	scaled.o = to
	args := &gemm.Args[T]{M: product.a.rows, N: product.b.cols, K: product.a.cols, LDC: product.c.RowStride, Accumulate: true}
	args.LDA, args.TransA = product.a.layout()
	args.LDB, args.TransB = product.b.layout()
	x, y, rt := product.a.o, product.b.o, b.rt()
	gradient := gemm.Prepare(args, rt.pool.Size())
	scratch := b.scratch(w.Typ.DType, gradient.ScratchSize())
	var gate, divisor *plan.Operand // of an update that may be skipped
	if len(update.Inputs) > 4 {
		gate, divisor = &b.Operands[update.Inputs[4]], &b.Operands[update.Inputs[5]]
	}
	return func() {
		factor := -plan.Data[T](rate)[0]
		if gate != nil {
			if !plan.Data[bool](gate)[0] {
				copyOperand(w, old)
				return
			}
			factor /= plan.Data[T](divisor)[0]
		}
		for _, f := range product.prepare {
			f()
		}
		copyOperand(w, old)
		vec.Scale(plan.Data[T](to), plan.Data[T](from), factor)
		gradient.Run(rt.pool, plan.Data[T](x), plan.Data[T](y), plan.Data[T](w), nil, plan.Data[T](scratch))
	}, nil
}

// descendHalf subtracts a gradient that is a product of 16-bit floats. It does so piece by piece, as soon as the
// numbers of a piece have been accumulated and rounded.
func descendHalf(b *build) (func(), error) {
	update := &b.Program.Nodes[b.u.Nodes[len(b.u.Nodes)-1]]
	product, err := b.planDot()
	if err != nil {
		return nil, err
	}
	w, old, rate := &b.Operands[update.Outputs[0]], &b.Operands[update.Inputs[0]], &b.Operands[update.Inputs[2]]
	x, y, rt := product.a.o, product.b.o, b.rt()
	args := &gemm.HalfArgs{Type: *halfOf[x.Typ.DType], M: product.a.rows, N: product.b.cols, K: product.a.cols, LDC: product.c.RowStride}
	args.LDA, args.TransA = product.a.layout()
	args.LDB, args.TransB = product.b.layout()
	scratch := b.scratch(ir.Float32, gemm.HalfScratch(args, rt.pool.Size()))
	return func() {
		for _, f := range product.prepare {
			f()
		}
		copyOperand(w, old)
		args.A, args.B = plan.Data[uint16](x), plan.Data[uint16](y)
		args.Variable, args.Rate = plan.Data[float32](w), plan.Data[float32](rate)[0]
		gemm.RunHalf(rt.pool, args, plan.Data[float32](scratch))
		args.A, args.B, args.Variable = nil, nil, nil
	}, nil
}
