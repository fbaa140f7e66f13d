package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Whether all numbers of a gradient are finite can mostly be told from what it is a product of: no sum of products is
// larger than the product of the lengths of the two columns that it is of (the inequality of Cauchy and Schwarz). If
// the longest columns have a product below the first number that is not finite, the gradient need not exist. Otherwise
// it is computed, and each number is looked at. So the answer is the same, and so is how it is found for any number of
// threads.

const (
	// surelyHalf is less than the first number that float16 rounds to infinity, by more than the bound and the sums are
	// rounded, and surelyFloat is so for float32.
	surelyHalf, surelyFloat = 65000, 1e38
)

// asksOfSums reports whether the unit asks whether a gradient is finite that nobody else reads.
func asksOfSums(b *build) bool {
	return b.n.Op != ir.Convert && b.n.Op != ir.IsFinite && b.Program.Nodes[b.u.Nodes[len(b.u.Nodes)-1]].Op == ir.Reduce && fuse.IsBounded(b.Program, b.n)
}

// buildFiniteProduct compiles such a unit.
func buildFiniteProduct(b *build) (func(), error) {
	v, out := b.n.Outputs[0], b.out(0)
	gradient := &b.Operands[v]
	*gradient = *b.scratch(ir.Float32, b.Program.Type(v).Shape.Size())
	gradient.Typ = b.Program.Type(v)
	sums := &build{placement: b.placement, c: b.c, u: &fuse.Unit{Nodes: b.u.Nodes[:1], Time: b.u.Time}, n: b.n}
	compute, special := func() {}, false
	if b.n.Op == ir.Dot {
		compute, special = sums.specialDot()
	}
	if !special {
		var err error
		if compute, err = builders[b.n.Op](sums); err != nil {
			return nil, err
		}
	}
	b.kids = append(b.kids, sums.kids...)
	beyond, surely := float32(math.Inf(1)), float64(surelyFloat)
	for _, i := range b.u.Nodes {
		if b.Program.Nodes[i].Op == ir.Convert {
			beyond, surely = firstBeyondHalf, surelyHalf
		}
	}
	look := lookAtFloats(b, gradient, beyond)
	longest := longestColumns(b)
	return func() {
		if longest() < surely*surely {
			plan.Data[bool](out)[0] = true
			return
		}
		compute()
		plan.Data[bool](out)[0] = look()
	}, nil
}

// longestColumns returns the function that computes the square of the product of the lengths of the longest column of
// each operand; of a single one, of which some rows are added up, its length times that of a column of ones. It is NaN
// if some number is.
func longestColumns(b *build) func() float64 {
	vx, vy, _ := fuse.BoundingOperands(b.n)
	x, y := &b.Operands[vx], &b.Operands[vy]
	columns := func(o *plan.Operand) int { return o.Typ.Shape[len(o.Typ.Shape)-1] }
	scratch := b.scratch(ir.Float32, max(columns(x), columns(y)))
	longest := func(o *plan.Operand) float64 {
		n, numbers := columns(o), plan.Data[float32](o)
		squares := plan.Data[float32](scratch)[:n]
		clear(squares)
		for at := 0; at < len(numbers); at += n {
			row := numbers[at:][:n]
			vec.MulAdd(squares, row, row, squares)
		}
		return float64(vec.MaxOf(squares)) + float64(len(numbers)/n)*leastNormal // squares below it may have become 0
	}
	rows := float64(y.N / columns(y))
	return func() float64 {
		if x == y {
			return rows * longest(y)
		}
		return longest(x) * longest(y)
	}
}

const leastNormal = 0x1p-126 // of float32
