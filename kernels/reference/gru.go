package reference

import "math"

// gruUnits calls f for every unit with the positions of its three gates and of its state.
func gruUnits(states, units int, f func(gates [3]int, i int)) {
	for i := range states {
		row, unit := i/units, i%units
		f([3]int{3*row*units + unit, (3*row+1)*units + unit, (3*row+2)*units + unit}, i)
	}
}

func (c *call) gruCell() error {
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	x, u, h := c.in[0].F, c.in[1].F, c.in[2].F
	next, gates := c.out[0].F, c.out[1].F
	s := c.in[2].Type.Shape
	gruUnits(len(h), s[len(s)-1], func(at [3]int, i int) {
		z, r := sigmoid(x[at[0]]+u[at[0]]), sigmoid(x[at[1]]+u[at[1]])
		g := math.Tanh(x[at[2]] + r*u[at[2]])
		gates[at[0]], gates[at[1]], gates[at[2]] = z, r, g
		next[i] = z*h[i] + (1-z)*g
	})
	return nil
}

func (c *call) gruCellGrad() error {
	gates, u, h, dnext := c.in[0].F, c.in[1].F, c.in[2].F, c.in[3].F
	dx, du, dh := c.out[0].F, c.out[1].F, c.out[2].F
	s := c.in[2].Type.Shape
	gruUnits(len(h), s[len(s)-1], func(at [3]int, i int) {
		z, r, g := gates[at[0]], gates[at[1]], gates[at[2]]
		update := dnext[i] * (h[i] - g) * z * (1 - z)
		candidate := dnext[i] * (1 - z) * (1 - g*g)
		reset := candidate * u[at[2]] * r * (1 - r)
		dx[at[0]], dx[at[1]], dx[at[2]] = update, reset, candidate
		du[at[0]], du[at[1]], du[at[2]] = update, reset, candidate*r
		dh[i] = dnext[i] * z
	})
	return nil
}
