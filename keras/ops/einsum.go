package ops

import (
	"slices"
	"strings"
	"unicode"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Einsum sums products in NumPy's notation: "ij,jk->ik" multiplies matrices. Letters name axes. A letter that is
// missing from the result is summed over; a letter that occurs twice in an operand takes its diagonal. "..." stands for
// any further axes, which broadcast. Without "->" the result has the letters that occur once, in alphabetical order.
// Operands are multiplied from left to right, or in another order if that takes less than half as many products.
func Einsum(equation string, xs ...*Tensor) *Tensor {
	e := parseEinsum(equation, xs)
	terms := make([]einsumTerm, len(xs))
	for i, x := range xs {
		x, axes := e.prepare(x, e.operands[i])
		terms[i].x, terms[i].axes = e.sumUnused(x, axes, slices.Concat(e.operands[:i], e.operands[i+1:]))
	}
	for _, pair := range e.order(terms) {
		a, b := terms[pair[0]], terms[pair[1]]
		terms = slices.Delete(terms, pair[1], pair[1]+1)
		var product einsumTerm
		product.x, product.axes = e.multiply(a.x, a.axes, b.x, b.axes, namesBeside(terms, pair[0]))
		terms[pair[0]] = product
	}
	return e.arrange(terms[0].x, terms[0].axes)
}

// einsum is a parsed equation. The axes behind "..." are named by runes of the private use area; the last axis has the
// first rune.
type einsum struct {
	g        *Graph
	equation string
	operands []string
	result   string
	length   map[rune]int // axis length of each letter
}

const ellipsisAxis = '\ue000'

func parseEinsum(equation string, xs []*Tensor) *einsum {
	if len(xs) == 0 {
		Failf(nil, "einsum %q needs at least one tensor, received none", equation)
	}
	e := &einsum{g: graphOf(xs...), equation: equation, length: map[rune]int{}}
	left, right, explicit := strings.Cut(strings.ReplaceAll(equation, " ", ""), "->")
	e.operands = strings.Split(left, ",")
	if len(e.operands) != len(xs) {
		Failf(e.g, "einsum %q: names %d operands, received %d", equation, len(e.operands), len(xs))
	}
	spread := 0
	for i, x := range xs {
		n := x.Rank() - strings.Count(e.operands[i], "") + 1
		if head, tail, found := strings.Cut(e.operands[i], "..."); found {
			n += len("...")
			if n < 0 {
				n = 0 // the mismatch is reported below
			}
			e.operands[i] = head + ellipsis(n) + tail
			spread = max(spread, n)
		}
		e.measure(i, x)
	}
	if !explicit {
		right = e.implicit()
	}
	e.result = strings.Replace(right, "...", ellipsis(spread), 1)
	e.checkResult()
	return e
}

// ellipsis names n axes; the last one always has the same name, so that they align at the end.
func ellipsis(n int) string {
	names := make([]rune, n)
	for i := range names {
		names[i] = ellipsisAxis + rune(n-1-i)
	}
	return string(names)
}

// measure records the axis lengths of operand i.
func (e *einsum) measure(i int, x *Tensor) {
	names := []rune(e.operands[i])
	if len(names) != x.Rank() {
		Failf(e.g, "einsum %q: operand %d is named %q, but its shape is %v", e.equation, i, e.operands[i], x.Shape())
	}
	for a, name := range names {
		if !unicode.IsLetter(name) && name < ellipsisAxis {
			Failf(e.g, "einsum %q: %q does not name an axis; use letters", e.equation, string(name))
		}
		n, known := e.length[name]
		if d := x.Shape()[a]; !known || n == 1 || !dim.Known(n) && d != 1 {
			e.length[name] = d
		} else if !dim.MayEqual(d, n) && d != 1 {
			Failf(e.g, "einsum %q: axis %q has lengths %d and %d", e.equation, string(name), n, d)
		}
	}
}

func (e *einsum) implicit() string {
	all := []rune(strings.Join(e.operands, ""))
	slices.Sort(all)
	var once []rune
	for _, name := range all {
		if name < ellipsisAxis && strings.Count(string(all), string(name)) == 1 {
			once = append(once, name)
		}
	}
	return "..." + string(once)
}

func (e *einsum) checkResult() {
	for _, name := range e.result {
		if _, known := e.length[name]; !known || strings.Count(e.result, string(name)) != 1 {
			Failf(e.g, "einsum %q: the result's axis %q must be an operand's and occur once", e.equation, string(name))
		}
	}
	for name := range e.length {
		if name >= ellipsisAxis && !strings.ContainsRune(e.result, name) {
			Failf(e.g, "einsum %q: the operands have \"...\", so the result needs it too", e.equation)
		}
	}
}

// prepare takes the diagonal over repeated names, and broadcasts axes of length 1 that are longer elsewhere.
func (e *einsum) prepare(x *Tensor, operand string) (*Tensor, []rune) {
	axes := []rune(operand)
	for i := 0; i < len(axes); i++ {
		if j := slices.Index(axes[i+1:], axes[i]); j >= 0 {
			x = Diagonal(x, i, i+1+j)
			name := axes[i]
			axes = append(slices.DeleteFunc(axes, func(r rune) bool { return r == name }), name)
			i = -1
		}
	}
	shape := make([]int, len(axes))
	for i, name := range axes {
		shape[i] = e.length[name]
	}
	return BroadcastTo(x, shape...), axes
}

// sumUnused sums over the axes that neither the result nor the other operands have.
func (e *einsum) sumUnused(x *Tensor, axes []rune, others []string) (*Tensor, []rune) {
	var drop []int
	var kept []rune
	for i, name := range axes {
		if e.wanted(name, others) {
			kept = append(kept, name)
		} else {
			drop = append(drop, i)
		}
	}
	if len(drop) > 0 {
		x = Sum(x, drop...)
	}
	return x, kept
}

func (e *einsum) wanted(name rune, others []string) bool {
	return strings.ContainsRune(e.result, name) || slices.ContainsFunc(others, func(o string) bool { return strings.ContainsRune(o, name) })
}

// multiply contracts two operands. An axis that both have is a batch axis if it is still needed; otherwise it is summed
// over.
func (e *einsum) multiply(a *Tensor, aAxes []rune, b *Tensor, bAxes []rune, later []string) (*Tensor, []rune) {
	var d ir.DotAttrs
	var axes, aFree, bFree []rune
	for i, name := range aAxes {
		j := slices.Index(bAxes, name)
		switch {
		case j < 0:
			aFree = append(aFree, name)
		case e.wanted(name, later):
			d.LhsBatch, d.RhsBatch = append(d.LhsBatch, i), append(d.RhsBatch, j)
			axes = append(axes, name)
		default:
			d.LhsContract, d.RhsContract = append(d.LhsContract, i), append(d.RhsContract, j)
		}
	}
	for _, name := range bAxes {
		if !slices.Contains(aAxes, name) {
			bFree = append(bFree, name)
		}
	}
	return Dot(a, b, d), slices.Concat(axes, aFree, bFree)
}

// arrange brings the axes into the order of the result.
func (e *einsum) arrange(x *Tensor, axes []rune) *Tensor {
	perm := make([]int, 0, len(axes))
	for _, name := range e.result {
		perm = append(perm, slices.Index(axes, name))
	}
	return Transpose(x, perm...)
}
