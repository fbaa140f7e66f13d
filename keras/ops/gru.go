package ops

import "github.com/gokeras/gokeras/kernels/ir"

// GRUCell is the elementwise part of a step of a GRU cell with the usual activations and the reset gate applied to the
// product with the state (Cho et al. 2014 in the form of cuDNN, Keras's reset_after). x and u (..., 3·units) hold the
// sums of the update gate z, the reset gate r and the candidate g side by side, from the input and from the state h
// (..., units):
//
//	h' = z·h + (1−z)·g, z = sigmoid(xz+uz), r = sigmoid(xr+ur), g = tanh(xg + r·ug)
//
// It returns h' (..., units).
func GRUCell(x, u, h *Tensor) *Tensor {
	return apply(ir.GruCell, nil, x, Cast(u, x.DType()), Cast(h, x.DType()))[0]
}

func init() {
	rules[ir.GruCell] = func(c *vjp) []*Tensor {
		u, h, gates := c.in(1), c.in(2), c.out(1)
		grads := make([]*Tensor, 3)
		if c.dys[0] != nil {
			copy(grads, apply(ir.GruCellGrad, nil, gates, u, h, c.dy(0)))
		}
		if c.dys[1] != nil { // of the gates themselves; the candidate also depends on the reset gate
			d, s, us := Split(c.dy(1), 3, -1), Split(gates, 3, -1), Split(u, 3, -1)
			candidate := Multiply(d[2], Subtract(OnesLike(s[2]), Square(s[2])))
			update := Multiply(d[0], Subtract(s[0], Square(s[0])))
			reset := Multiply(Add(d[1], Multiply(candidate, us[2])), Subtract(s[1], Square(s[1])))
			grads[0] = sumOf(grads[0], Concatenate(-1, update, reset, candidate))
			grads[1] = sumOf(grads[1], Concatenate(-1, update, reset, Multiply(candidate, s[1])))
		}
		return grads
	}
}
