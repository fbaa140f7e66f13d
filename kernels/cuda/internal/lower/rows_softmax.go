package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// softmax writes exp(x-max)/Σ exp(x-max), or its logarithm.
func (s *scope) softmax(n *ir.Node) {
	x, y := n.Inputs[0], n.Outputs[0]
	r := s.rows(n, s.p.Type(x).Shape)
	largest, sum := r.softmaxSums(x)
	if n.Op == ir.LogSoftmax {
		logarithm := r.m.log(sum)
		r.write(y, func(e *element) ptx.Operand { return r.m.sub(r.m.sub(e.value(x), largest), logarithm) })
	} else {
		r.write(y, func(e *element) ptx.Operand { return r.m.div(r.m.exp(r.m.sub(e.value(x), largest)), sum) })
	}
	r.end()
}

// softmaxSums returns a row's largest element and the sum of exp(x-largest).
func (r *rows) softmaxSums(x ir.Value) (largest, sum ptx.Operand) {
	largest = r.reduce(ir.Max, func(e *element) ptx.Operand { return e.value(x) })
	sum = r.reduce(ir.Sum, func(e *element) ptx.Operand { return r.m.exp(r.m.sub(e.value(x), largest)) })
	return largest, sum
}

// softmaxGrad writes y·(dy - Σ y·dy), or for the logarithm dy - exp(y)·Σ dy.
func (s *scope) softmaxGrad(n *ir.Node) {
	y, dy := n.Inputs[0], n.Inputs[1]
	r := s.rows(n, s.p.Type(y).Shape)
	if n.Op == ir.LogSoftmaxGrad {
		sum := r.reduce(ir.Sum, func(e *element) ptx.Operand { return e.value(dy) })
		r.write(n.Outputs[0], func(e *element) ptx.Operand {
			return r.m.sub(e.value(dy), r.m.mul(r.m.exp(e.value(y)), sum))
		})
	} else {
		sum := r.reduce(ir.Sum, func(e *element) ptx.Operand { return r.m.mul(e.value(y), e.value(dy)) })
		r.write(n.Outputs[0], func(e *element) ptx.Operand { return r.m.mul(e.value(y), r.m.sub(e.value(dy), sum)) })
	}
	r.end()
}

// crossEntropy writes the loss log Σ exp(x-max) - (x of the label - max) of each row, and log Σ exp(x). The labels were
// checked before.
func (s *scope) crossEntropy(n *ir.Node) {
	x, labels := n.Inputs[0], n.Inputs[1]
	shape := s.p.Type(x).Shape
	r := s.rows(n, shape)
	largest, sum := r.softmaxSums(x)
	logarithm := r.m.log(sum)
	label, _ := r.inAxis(s.p.Type(labels).DType, r.ofRow(labels), r.length)
	picked := r.reduce(ir.Sum, func(e *element) ptx.Operand {
		hit := r.compare("eq", "s32", e.column, label)
		return r.pick(hit, r.m.sub(e.value(x), largest), r.m.num(0))
	})
	r.writeRow(n.Outputs[0], r.m.sub(logarithm, picked))
	r.writeRow(n.Outputs[1], r.m.add(largest, logarithm))
	r.end()
}
