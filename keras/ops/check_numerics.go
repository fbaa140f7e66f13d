package ops

import "github.com/gokeras/gokeras/kernels/ir"

// NotFiniteError is the error of a step in which [CheckNumerics] found a number that is not finite.
type NotFiniteError = ir.NotFiniteError

// CheckNumerics returns x, and makes the step fail with a [*NotFiniteError] if an element of x, or of the gradient that
// flows back through it, is NaN or infinite. A step that fails changes no variable. The error names the calling layer
// and what. Use the result: operations on which nothing depends are not computed. x has a float type and any shape. It
// is tf.debugging.check_numerics.
func CheckNumerics(x *Tensor, what string) *Tensor { return checkFinite(x, what, true) }

// CheckNumericsForward is [CheckNumerics] without the check of the gradient, which may be infinite on purpose when a
// loss is scaled.
func CheckNumericsForward(x *Tensor, what string) *Tensor { return checkFinite(x, what, false) }

func checkFinite(x *Tensor, what string, gradient bool) *Tensor {
	return apply1(ir.CheckFinite, ir.CheckFiniteAttrs{What: what, Gradient: gradient}, x).WithMask(x.mask)
}

func init() {
	rules[ir.CheckFinite] = func(c *vjp) []*Tensor {
		a := c.node.Attrs.(ir.CheckFiniteAttrs)
		if !a.Gradient {
			return []*Tensor{c.dy(0)}
		}
		return []*Tensor{checkFinite(c.dy(0), "the gradient of "+a.What, true)}
	}
}
