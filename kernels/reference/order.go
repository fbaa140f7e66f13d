package reference

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// lines returns, for each index of the other axes in row-major order, the positions of the elements along one axis.
func lines(s ir.Shape, axis int) [][]int {
	var all [][]int
	at := make([]int, len(s))
	for _, rest := range indices(s.Without(axis)) {
		copy(at, rest[:axis])
		copy(at[axis+1:], rest[axis:])
		line := make([]int, s[axis])
		for k := range line {
			at[axis] = k
			line[k] = position(s, at)
		}
		all = append(all, line)
	}
	return all
}

// compareElements orders elements i and j: NaN is greater than all numbers and equal to itself, -0 equals 0.
func compareElements(v Value, i, j int) int {
	if v.F == nil {
		return compareIntegers(v.Type.DType, v.I[i], v.I[j])
	}
	x, y := v.F[i], v.F[j]
	switch {
	case x != x && y != y:
		return 0
	case x != x, x > y:
		return 1
	case y != y, x < y:
		return -1
	}
	return 0
}

// sorted returns the offsets along a line in stable order.
func sorted(v Value, line []int, descending bool) []int {
	order := make([]int, len(line))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if descending {
			return compareElements(v, line[b], line[a])
		}
		return compareElements(v, line[a], line[b])
	})
	return order
}

func (c *call) sort() error {
	a := c.node.Attrs.(ir.SortAttrs)
	for _, line := range lines(c.in[0].Type.Shape, a.Axis) {
		for k, from := range sorted(c.in[0], line, a.Descending) {
			c.out[0].set(line[k], c.in[0], line[from])
			c.out[1].I[line[k]] = int64(from)
		}
	}
	return nil
}

func (c *call) topK() error {
	k := c.node.Attrs.(ir.TopKAttrs).K
	s := c.in[0].Type.Shape
	for n, line := range lines(s, len(s)-1) {
		for i, from := range sorted(c.in[0], line, true)[:k] {
			c.out[0].set(n*k+i, c.in[0], line[from])
			c.out[1].I[n*k+i] = int64(from)
		}
	}
	return nil
}

func (c *call) argMax() error {
	return c.arg(func(candidate, best int) bool { return compareElements(c.in[0], candidate, best) > 0 })
}

func (c *call) argMin() error {
	return c.arg(func(candidate, best int) bool {
		if x := c.in[0].F; x != nil { // NaN counts as the smallest here
			if x[best] != x[best] {
				return false
			}
			if x[candidate] != x[candidate] {
				return true
			}
		}
		return compareElements(c.in[0], candidate, best) < 0
	})
}

func (c *call) arg(better func(candidate, best int) bool) error {
	for n, line := range lines(c.in[0].Type.Shape, c.node.Attrs.(ir.AxisAttrs).Axis) {
		best := 0
		for k := range line {
			if better(line[k], line[best]) {
				best = k
			}
		}
		c.out[0].I[n] = int64(best)
	}
	return nil
}
