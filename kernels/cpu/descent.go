package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// joinDescent joins a product that is the gradient of a variable, and nothing else, with the step of plain gradient descent that it is for. The
// kernels then add -rate·gradient to the variable, w + Aᵀ·(-rate·B), and the gradient is never stored.
func (g *graph) joinDescent() {
	kept := g.units[:0]
	for _, u := range g.units {
		if product := g.descent(u); product != nil {
			v := g.p.Nodes[product.nodes[0]].Outputs[0]
			g.unitOf[product.nodes[0]] = u
			u.nodes = append(u.nodes, product.nodes[0])
			slices.Sort(u.nodes)
			u.reads = slices.DeleteFunc(u.reads, func(x ir.Value) bool { return x == v })
			for _, x := range product.reads {
				if !slices.Contains(u.reads, x) {
					u.reads = append(u.reads, x)
				}
			}
			g.needed[v] = false
			kept = slices.DeleteFunc(kept, func(other *unit) bool { return other == product })
		}
		kept = append(kept, u)
	}
	clear(g.units[len(kept):])
	g.units = kept
}

// descent returns the unit of the product that unit u may be joined with, or nil.
func (g *graph) descent(u *unit) *unit {
	n := &g.p.Nodes[u.nodes[0]]
	if len(u.nodes) != 1 || n.Op != ir.OptimizerUpdate || n.Attrs.(ir.OptimizerAttrs).Rule != "sgd" || u.constant {
		return nil
	}
	v := n.Inputs[1]
	d := g.node(v)
	if d == nil || d.Op != ir.Dot || len(g.users[v]) != 1 || g.isOutput[v] || v == n.Inputs[0] || slices.Contains(d.Inputs, n.Inputs[0]) {
		return nil
	}
	product := g.unitOf[g.def[v]]
	if product == nil || product.fused != nil || len(product.nodes) != 1 || product.constant || len(d.Attrs.(ir.DotAttrs).LhsBatch) > 0 {
		return nil
	}
	s := g.p.Type(v).Shape
	if len(s) != 2 || s.Size() <= bucketVariable {
		return nil
	}
	sums := g.p.Type(d.Inputs[0]).Shape.Size() / s[0]
	if gemm.IsLong(&gemm.Args[float32]{M: s[0], N: s[1], K: sums, TransA: true}) { // these have kernels of their own
		return nil
	}
	return product
}

// buildDescent compiles a unit that joinDescent has made.
func buildDescent(b *build) (func(), error) {
	if b.in(0).typ.DType == ir.Float64 {
		return descend[float64](b)
	}
	return descend[float32](b)
}

func descend[T float](b *build) (func(), error) {
	update := &b.p.Nodes[b.u.nodes[1]]
	plan, err := b.planDot()
	if err != nil {
		return nil, err
	}
	w, old, rate := &b.operands[update.Outputs[0]], &b.operands[update.Inputs[0]], &b.operands[update.Inputs[2]]
	scaled := &plan.a // the smaller operand is multiplied by -rate
	if plan.b.o.n < plan.a.o.n {
		scaled = &plan.b
	}
	from := scaled.o
	to := b.scratch(from.typ.DType, from.n)
	scaled.o = to
	args := &gemm.Args[T]{M: plan.a.rows, N: plan.b.cols, K: plan.a.cols, LDC: plan.c.rowStride, Accumulate: true}
	args.LDA, args.TransA = plan.a.layout()
	args.LDB, args.TransB = plan.b.layout()
	x, y, rt := plan.a.o, plan.b.o, b.rt()
	scratch := b.scratch(w.typ.DType, gemm.ScratchSize(args, rt.pool.Size()))
	return func() {
		for _, f := range plan.prepare {
			f()
		}
		copyOperand(w, old)
		vec.Scale(data[T](to), data[T](from), -data[T](rate)[0])
		args.A, args.B, args.C = data[T](x), data[T](y), data[T](w)
		gemm.Run(rt.pool, args, data[T](scratch))
		args.A, args.B, args.C = nil, nil, nil
	}, nil
}
