package reference

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// activations are Keras's activation functions that a recurrent cell may name.
var activations = map[string]func(x float64) float64{
	"linear":      func(x float64) float64 { return x },
	"relu":        func(x float64) float64 { return math.Max(x, 0) },
	"sigmoid":     logistic,
	"tanh":        math.Tanh,
	"softsign":    func(x float64) float64 { return x / (1 + math.Abs(x)) },
	"exponential": math.Exp,
	"silu":        func(x float64) float64 { return x * logistic(x) },
	"gelu":        func(x float64) float64 { return x / 2 * (1 + math.Erf(x/math.Sqrt2)) },
	"hard_sigmoid": func(x float64) float64 {
		return math.Min(math.Max(x/6+0.5, 0), 1)
	},
	"softplus": func(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) },
	"elu": func(x float64) float64 {
		if x > 0 {
			return x
		}
		return math.Expm1(x)
	},
	"selu": func(x float64) float64 {
		const alpha, scale = 1.6732632423543772, 1.0507009873554805
		if x > 0 {
			return scale * x
		}
		return scale * alpha * math.Expm1(x)
	},
}

func logistic(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// cell is one recurrent cell for one example of the batch.
type cell struct {
	units, gates int
	kernel       []float64 // (units, gates·units)
	bias         []float64 // (gates·units), or nil
	activation   func(float64) float64
	recurrent    func(float64) float64
}

// product is (h·U) at column u of a gate's block.
func (c cell) product(h []float64, gate, u int) float64 {
	sum := 0.0
	for j, x := range h {
		sum += x * c.kernel[j*c.gates*c.units+gate*c.units+u]
	}
	return sum
}

// step returns the next states from the inputs' share x.
func (c cell) step(kind string, x []float64, states [][]float64) [][]float64 {
	h := states[0]
	next := make([][]float64, len(states))
	for s := range next {
		next[s] = make([]float64, c.units)
	}
	gate := func(g, u int) float64 { return x[g*c.units+u] + c.product(h, g, u) }
	reset := make([]float64, c.units) // r∘h of gru_reset_before
	if kind == "gru_reset_before" {
		for u := range reset {
			reset[u] = c.recurrent(gate(1, u)) * h[u]
		}
	}
	for u := range c.units {
		switch kind {
		case "simple":
			next[0][u] = c.activation(gate(0, u))
		case "lstm":
			input, forget, output := c.recurrent(gate(0, u)), c.recurrent(gate(1, u)), c.recurrent(gate(3, u))
			next[1][u] = forget*states[1][u] + input*c.activation(gate(2, u))
			next[0][u] = output * c.activation(next[1][u])
		case "gru":
			update := c.recurrent(gate(0, u) + c.bias[u])
			r := c.recurrent(gate(1, u) + c.bias[c.units+u])
			candidate := c.activation(x[2*c.units+u] + r*(c.product(h, 2, u)+c.bias[2*c.units+u]))
			next[0][u] = update*h[u] + (1-update)*candidate
		case "gru_reset_before":
			update := c.recurrent(gate(0, u))
			candidate := c.activation(x[2*c.units+u] + c.product(reset, 2, u))
			next[0][u] = update*h[u] + (1-update)*candidate
		}
	}
	return next
}

func (c *call) rnnScan() error {
	a := c.node.Attrs.(ir.RnnAttrs)
	gates, count, hasBias, err := ir.RnnCell(a.Cell)
	if err != nil {
		return err
	}
	unit := cell{gates: gates, kernel: c.in[1].F, activation: activations[a.Activation], recurrent: activations[a.RecurrentActivation]}
	if unit.activation == nil || unit.recurrent == nil && a.Cell != "simple" {
		return fmt.Errorf("unknown activation in %q, %q", a.Activation, a.RecurrentActivation)
	}
	operands := c.in[2:]
	if hasBias {
		unit.bias, operands = operands[0].F, operands[1:]
	}
	s := c.out[0].Type.Shape
	batch, steps := s[0], s[1]
	unit.units = s[2]
	for b := range batch {
		states := make([][]float64, count)
		for i := range states {
			states[i] = operands[i].F[b*unit.units : (b+1)*unit.units]
		}
		y := make([]float64, unit.units)
		for n := range steps {
			t := n
			if a.Reverse {
				t = steps - 1 - n
			}
			at, width := b*steps+t, gates*unit.units
			switch {
			case !a.Masked || operands[count].I[at] != 0:
				states = unit.step(a.Cell, c.in[0].F[at*width:(at+1)*width], states)
				y = states[0]
			case a.ZeroOutputForMask:
				y = make([]float64, unit.units)
			}
			copy(c.out[0].F[at*unit.units:], y)
		}
		for i := range states {
			copy(c.out[1+i].F[b*unit.units:], states[i])
		}
	}
	return nil
}
