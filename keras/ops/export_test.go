package ops

import (
	"maps"

	"github.com/gokeras/gokeras/kernels/ir"
)

// WatchGradients passes every gradient that a rule computes for an operand through f until restore is called.
func WatchGradients(f func(op ir.Op, operand int, grad *Tensor) *Tensor) (restore func()) {
	saved := maps.Clone(rules)
	for _, op := range ir.Ops() {
		right := saved[op]
		if right == nil {
			right = decomposedRule
		}
		rules[op] = func(c *vjp) []*Tensor {
			grads := right(c)
			for i, grad := range grads {
				if grad != nil && c.needs(i) {
					grads[i] = f(op, i, grad)
				}
			}
			return grads
		}
	}
	return func() { rules = saved }
}

// Elastic is ElasticTransform with given noise.
func Elastic(images, across, down *Tensor, alpha, sigma float64, s ImageSampling) *Tensor {
	return elastic(images, across, down, alpha, sigma, s)
}

// ApplyUnary applies an op of one operand.
func ApplyUnary(op ir.Op, x *Tensor) *Tensor { return unary(op, x) }
