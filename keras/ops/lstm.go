package ops

import "github.com/gokeras/gokeras/kernels/ir"

// LSTMCell is the elementwise part of a step of an LSTM cell with the usual activations (Hochreiter and Schmidhuber
// 1997, with the forget gate of Gers et al. 2000). z (..., 4·units) holds the sums of the gates input i, forget f,
// candidate g and output o side by side, carry (..., units) the cell's state c:
//
//	c' = sigmoid(f)·c + sigmoid(i)·tanh(g)
//	h' = sigmoid(o)·tanh(c')
//
// It returns h' and c', both (..., units).
func LSTMCell(z, carry *Tensor) (h, next *Tensor) {
	out := apply(ir.LstmCell, nil, z, Cast(carry, z.DType()))
	return out[0], out[1]
}

func init() {
	rules[ir.LstmCell] = func(c *vjp) []*Tensor {
		grads := make([]*Tensor, 2)
		if c.dys[0] != nil || c.dys[1] != nil {
			copy(grads, apply(ir.LstmCellGrad, nil, c.out(2), c.in(1), c.dy(0), c.dy(1)))
		}
		if c.dys[2] != nil { // of the gates themselves: their slopes are s·(1−s) and, for the candidate, 1−t²
			gates := c.out(2)
			slope := make([]*Tensor, 4)
			for i, s := range Split(gates, 4, -1) {
				if i == 2 {
					slope[i] = Subtract(OnesLike(s), Square(s))
				} else {
					slope[i] = Subtract(s, Square(s))
				}
			}
			grads[0] = sumOf(grads[0], Multiply(Concatenate(-1, slope...), c.dy(2)))
		}
		return grads
	}
}
