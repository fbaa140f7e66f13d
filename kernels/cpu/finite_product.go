package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Whether a gradient is finite can mostly be told from the operands of its product. No sum of products exceeds the
// product of the lengths of the two columns that it multiplies (Cauchy and Schwarz). If the longest columns have a
// product below the first number that is not finite, the gradient need not be computed. Otherwise it is computed, and
// each number is checked. The answer is the same either way, and the choice does not depend on the number of threads.

const (
	// safeFloat16 is less than the smallest number that float16 rounds to infinity, by more than the rounding errors of
	// the bound and of the sums. safeFloat32 is the same for float32; it also leaves room for larger intermediate sums
	// in Winograd's algorithm.
	safeFloat16, safeFloat32 = 65000, 1e35
)

// checksUnreadGradient reports whether the unit checks a gradient that nothing else reads.
func checksUnreadGradient(b *build) bool {
	return b.n.Op != ir.Convert && b.n.Op != ir.IsFinite && b.Program.Nodes[b.u.Nodes[len(b.u.Nodes)-1]].Op == ir.Reduce && fuse.IsBounded(b.Program, b.n)
}

// buildFiniteProduct compiles such a unit.
func buildFiniteProduct(b *build) (func(), error) {
	out := b.out(0)
	beyond, surely := float32(math.Inf(1)), float64(safeFloat32)
	for _, i := range b.u.Nodes {
		if b.Program.Nodes[i].Op == ir.Convert {
			beyond, surely = float16Overflow, safeFloat16
		}
	}
	sums := &build{placement: b.placement, c: b.c, u: &fuse.Unit{Nodes: b.u.Nodes[:1], Time: b.u.Time}, n: b.n}
	look, err := gradientFiniteCheck(sums, beyond)
	if err != nil {
		return nil, err
	}
	b.kids = append(b.kids, sums.kids...)
	longest := longestColumns(b)
	return func() { plan.Data[bool](out)[0] = longest() < surely*surely || look() }, nil
}

// gradientFiniteCheck returns a function that computes a gradient and reports whether all of it is finite.
func gradientFiniteCheck(b *build, beyond float32) (func() bool, error) {
	if b.n.Op == ir.Dot {
		return productFiniteCheck(b, beyond)
	}
	v := b.n.Outputs[0]
	gradient := &b.Operands[v]
	*gradient = *b.scratch(ir.Float32, b.Program.Type(v).Shape.Size())
	gradient.Typ = b.Program.Type(v)
	compute, err := builders[b.n.Op](b)
	if err != nil {
		return nil, err
	}
	look := floatsFiniteCheck(b, gradient, beyond)
	return func() bool {
		compute()
		return look()
	}, nil
}

// checkedElements is how many elements of a product are computed at a time, so that the check finds them in the
// second-level cache.
const checkedElements = 1 << 16

// productFiniteCheck is gradientFiniteCheck for a matrix product, a few rows at a time.
func productFiniteCheck(b *build, beyond float32) (func() bool, error) {
	product, err := b.planDot()
	if err != nil {
		return nil, err
	}
	rows, columns, rt := product.a.rows, product.b.cols, b.rt()
	most := min(max(checkedElements/columns, 1), rows)
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
		p := part{product: gemm.Prepare(&of, rt.pool.Size()), look: floatsFiniteCheck(b, &some, beyond)}
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

// longestColumns returns a function that computes the square of the product of the lengths of the longest columns of
// both operands. A single operand, whose rows are summed, is multiplied by a column of ones. The result is NaN if any
// number is.
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
