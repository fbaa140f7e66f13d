package ops

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// einsumTerm is an operand of an einsum, or a product of several.
type einsumTerm struct {
	x    *Tensor
	axes []rune
}

// namesBeside returns the axes of all terms but one.
func namesBeside(terms []einsumTerm, i int) []string {
	var names []string
	for k, t := range terms {
		if k != i {
			names = append(names, string(t.axes))
		}
	}
	return names
}

// order returns which two terms are multiplied, pair by pair: the product replaces the first term, and the second is
// removed. Terms are multiplied from left to right, unless the greedy order, which picks the pair with the fewest
// products next, needs less than half as many products in all, whatever the length of the first axis. If that axis is
// the batch, an example therefore has the same bits in any batch.
func (e *einsum) order(terms []einsumTerm) [][2]int {
	left, least := e.plan(terms, false), e.plan(terms, true)
	if least.each <= left.each/2 && least.fixed+least.each < (left.fixed+left.each)/2 {
		return least.pairs
	}
	return left.pairs
}

// einsumPlan is an order with the number of its products: those that do not depend on the first axis of the first
// operand, and those for each element of that axis.
type einsumPlan struct {
	pairs       [][2]int
	fixed, each float64
}

// plan multiplies from left to right, or, if least is set, the pair with the fewest products first.
func (e *einsum) plan(terms []einsumTerm, least bool) (p einsumPlan) {
	var first rune
	if axes := terms[0].axes; len(axes) > 0 {
		first = axes[0]
	}
	for terms = slices.Clone(terms); len(terms) > 1; {
		best, pair := math.Inf(1), [2]int{}
		for i := range terms {
			for j := i + 1; j < len(terms); j++ {
				if n := e.products(terms[i], terms[j], first); n < best && (least || j == 1) {
					best, pair = n, [2]int{i, j}
				}
			}
		}
		a, b := terms[pair[0]], terms[pair[1]]
		terms = slices.Delete(terms, pair[1], pair[1]+1)
		others := namesBeside(terms, pair[0])
		var kept []rune
		for _, name := range slices.Concat(a.axes, b.axes) {
			if !slices.Contains(kept, name) && e.wanted(name, others) {
				kept = append(kept, name)
			}
		}
		terms[pair[0]] = einsumTerm{axes: kept}
		p.pairs = append(p.pairs, pair)
		if slices.Contains(a.axes, first) || slices.Contains(b.axes, first) {
			p.each += best
		} else {
			p.fixed += best
		}
	}
	return p
}

// products returns how many numbers the product of two terms multiplies. The axis but, and axes of unknown length,
// count as 1.
func (e *einsum) products(a, b einsumTerm, but rune) float64 {
	n := 1.0
	count := func(name rune) {
		if d := e.length[name]; dim.Known(d) && name != but {
			n *= float64(d)
		}
	}
	for _, name := range a.axes {
		count(name)
	}
	for _, name := range b.axes {
		if !slices.Contains(a.axes, name) {
			count(name)
		}
	}
	return n
}
