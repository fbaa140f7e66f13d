package reference

import "math"

// lstmRows calls f for every unit with the positions of its four gates and of its carry.
func (c *call) lstmRows(f func(gates [4]int, i int)) {
	s := c.in[1].Type.Shape
	units := s[len(s)-1]
	for i := range c.in[1].F {
		row, unit := i/units, i%units
		var gates [4]int
		for g := range gates {
			gates[g] = (4*row+g)*units + unit
		}
		f(gates, i)
	}
}

func (c *call) lstmCell() error {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	z, carry := c.in[0].F, c.in[1].F
	h, next, gates := c.out[0].F, c.out[1].F, c.out[2].F
	c.lstmRows(func(at [4]int, i int) {
		for g, place := range at {
			if g == 2 {
				gates[place] = math.Tanh(z[place])
			} else {
				gates[place] = sigmoid(z[place])
			}
		}
		next[i] = gates[at[1]]*carry[i] + gates[at[0]]*gates[at[2]]
		h[i] = gates[at[3]] * math.Tanh(next[i])
	})
	return nil
}

func (c *call) lstmCellGrad() error {
	gates, carry, dh, dnext := c.in[0].F, c.in[1].F, c.in[2].F, c.in[3].F
	dz, dcarry := c.out[0].F, c.out[1].F
	c.lstmRows(func(at [4]int, i int) {
		input, forget, candidate, output := gates[at[0]], gates[at[1]], gates[at[2]], gates[at[3]]
		t := math.Tanh(forget*carry[i] + input*candidate)
		d := dnext[i] + dh[i]*output*(1-t*t)
		dz[at[0]] = d * candidate * input * (1 - input)
		dz[at[1]] = d * carry[i] * forget * (1 - forget)
		dz[at[2]] = d * input * (1 - candidate*candidate)
		dz[at[3]] = dh[i] * t * output * (1 - output)
		dcarry[i] = d * forget
	})
	return nil
}
