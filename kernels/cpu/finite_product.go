package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
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
	// rounded. SurelyFloat is so for float32, by more than what sums of Winograd's products may be larger on the way.
	surelyHalf, surelyFloat = 65000, 1e35
)

// asksOfSums reports whether the unit asks whether a gradient is finite that nobody else reads.
func asksOfSums(b *build) bool {
	return b.n.Op != ir.Convert && b.n.Op != ir.IsFinite && b.Program.Nodes[b.u.Nodes[len(b.u.Nodes)-1]].Op == ir.Reduce && fuse.IsBounded(b.Program, b.n)
}

// buildFiniteProduct compiles such a unit.
func buildFiniteProduct(b *build) (func(), error) {
	out := b.out(0)
	beyond, surely := float32(math.Inf(1)), float64(surelyFloat)
	for _, i := range b.u.Nodes {
		if b.Program.Nodes[i].Op == ir.Convert {
			beyond, surely = firstBeyondHalf, surelyHalf
		}
	}
	sums := &build{placement: b.placement, c: b.c, u: &fuse.Unit{Nodes: b.u.Nodes[:1], Time: b.u.Time}, n: b.n}
	look, err := lookAtSums(sums, beyond)
	if err != nil {
		return nil, err
	}
	b.kids = append(b.kids, sums.kids...)
	longest := longestColumns(b)
	return func() { plan.Data[bool](out)[0] = longest() < surely*surely || look() }, nil
}

// lookAtSums returns the function that computes a gradient and reports whether all of it is finite.
func lookAtSums(b *build, beyond float32) (func() bool, error) {
	if b.n.Op == ir.Dot {
		return lookAtProduct(b, beyond)
	}
	v := b.n.Outputs[0]
	gradient := &b.Operands[v]
	*gradient = *b.scratch(ir.Float32, b.Program.Type(v).Shape.Size())
	gradient.Typ = b.Program.Type(v)
	compute, err := builders[b.n.Op](b)
	if err != nil {
		return nil, err
	}
	look := lookAtFloats(b, gradient, beyond)
	return func() bool {
		compute()
		return look()
	}, nil
}

// lookedAt is how many numbers of a product are computed at a time: they are looked at in the second-level cache.
const lookedAt = 1 << 16

// lookAtProduct is lookAtSums for a product of matrices, some rows of it at a time.
func lookAtProduct(b *build, beyond float32) (func() bool, error) {
	product, err := b.planDot()
	if err != nil {
		return nil, err
	}
	rows, columns, rt := product.a.rows, product.b.cols, b.rt()
	most := min(max(lookedAt/columns, 1), rows)
	numbers := b.scratch(ir.Float32, most*columns)
	type part struct {
		product *gemm.Product[float32]
		scratch *plan.Operand
		look    func() bool
	}
	args := &gemm.Args[float32]{N: columns, K: product.a.cols, LDC: columns}
	args.LDA, args.TransA = product.a.layout()
	args.LDB, args.TransB = product.b.layout()
	partOf := func(rows int) part {
		of, some := *args, *numbers
		of.M, some.N = rows, rows*columns
		p := part{product: gemm.Prepare(&of, rt.pool.Size()), look: lookAtFloats(b, &some, beyond)}
		p.scratch = b.scratch(ir.Float32, p.product.ScratchSize())
		return p
	}
	whole, rest := partOf(most), part{}
	if rows%most > 0 {
		rest = partOf(rows % most)
	}
	step := args.LDA // between rows of the first operand
	if args.TransA {
		step = 1
	}
	return func() bool {
		for _, f := range product.prepare {
			f()
		}
		x, y := plan.Data[float32](product.a.o), plan.Data[float32](product.b.o)
		for first := 0; first < rows; first += most {
			p := &whole
			if rows-first < most {
				p = &rest
			}
			p.product.Run(rt.pool, x[first*step:], y, plan.Data[float32](numbers), nil, plan.Data[float32](p.scratch))
			if !p.look() {
				return false
			}
		}
		return true
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
