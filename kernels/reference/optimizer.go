package reference

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

func (c *call) optimizerUpdate() error {
	a := c.node.Attrs.(ir.OptimizerAttrs)
	w, g, lr, t := c.in[0].F, c.in[1].F, c.in[2].F[0], c.in[3].F[0]
	slots, gated := c.in[4:], len(c.in) > 4+len(c.out)
	if gated && c.in[len(c.in)-2].I[0] == 0 {
		for i := range c.out {
			old := 0
			if i > 0 {
				old = 3 + i
			}
			copy(c.out[i].F, c.in[old].F)
		}
		return nil
	}
	if gated {
		g = slices.Clone(g)
		for i := range g {
			g[i] /= c.in[len(c.in)-1].F[0]
		}
	}
	out := func(i int) []float64 { return c.out[i].F }
	for i := range w {
		switch a.Rule {
		case "sgd":
			out(0)[i] = w[i] - lr*g[i]
		case "momentum":
			m := a.Values[0]*slots[0].F[i] - lr*g[i]
			out(0)[i], out(1)[i] = w[i]+m, m
		case "nesterov":
			m := a.Values[0]*slots[0].F[i] - lr*g[i]
			out(0)[i], out(1)[i] = w[i]+a.Values[0]*m-lr*g[i], m
		case "adam":
			beta1, beta2, epsilon := a.Values[0], a.Values[1], a.Values[2]
			m := slots[0].F[i] + (1-beta1)*(g[i]-slots[0].F[i])
			v := slots[1].F[i] + (1-beta2)*(g[i]*g[i]-slots[1].F[i])
			alpha := lr * math.Sqrt(1-math.Pow(beta2, t)) / (1 - math.Pow(beta1, t))
			out(0)[i], out(1)[i], out(2)[i] = w[i]-alpha*m/(math.Sqrt(v)+epsilon), m, v
		default:
			return fmt.Errorf("unknown rule %q", a.Rule)
		}
	}
	return nil
}
