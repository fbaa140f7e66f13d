package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Product is C[m,n] = Σ_k A[m,k]·B[k,n] for each of a batch of matrices with elements of type In. C is dense, with
// elements of type Out; sums are float32.
type Product struct {
	Number         int
	M, N, K, Batch int
	In, Out        ir.DType
	TF32           bool
	A, B           Matrix
}

// Matrix is an operand; the elements of a line are contiguous.
type Matrix struct {
	Turned bool // lines are columns
	Stride int  // from line to line, in elements
	Batch  int  // from matrix to matrix
}

// workspaceBytes is the size of a library's scratch memory.
const workspaceBytes = 32 << 20

// dense describes a contraction as a matrix product; nil if it is not one. The axes are those of the batch, the rows
// and the columns of both operands.
func dense(c contraction, x, y ir.Shape, axes [2][3][]int) *Product {
	p := &Product{M: c.m, N: c.n, K: c.k, Batch: c.batch}
	for i, to := range []*Matrix{&p.A, &p.B} {
		shape := []ir.Shape{x, y}[i]
		var stride [3]int
		for j, which := range axes[i] {
			list := axesOf(shape, which)
			if len(list) != 1 && (j > 0 || c.batch > 1) {
				return nil
			}
			if len(list) == 1 {
				stride[j] = list[0].stride
			}
		}
		rows, columns := lengthOf(shape, axes[i][1]), lengthOf(shape, axes[i][2])
		switch *to = (Matrix{Stride: stride[1], Batch: stride[0]}); {
		case stride[2] == 1 && stride[1] >= columns:
		case stride[1] == 1 && stride[2] >= rows:
			to.Turned, to.Stride = true, stride[2]
		default:
			return nil
		}
	}
	return p
}

// The libraries that can compute products and convolutions.
const (
	BLAS = "cuBLASLt"
	DNN  = "cuDNN"
)

// byLibrary lets a library compute a product or a convolution, if one is known to be faster than the named kernel;
// write writes that kernel.
func (s *scope) byLibrary(g *gen, c contraction, way string, n *ir.Node, root ir.Value, write func()) bool {
	d := s.p.Type(n.Outputs[0]).DType
	if s.options.Library == nil || s.guard.Space != Nowhere || !d.IsHalf() && d != ir.Float32 {
		return false
	}
	for _, v := range []ir.Value{c.a.value, c.b.value} {
		if s.p.Type(v).DType != d || !aligned(s.places[v], chunkBytes) {
			return false
		}
	}
	q := Question{Node: n, Ways: []string{way}, FLOPs: g.flops}
	for _, v := range n.Inputs {
		q.In = append(q.In, s.p.Type(v))
	}
	after := s.afterBytes(c, n, root)
	if c.dense != nil {
		q.Libraries, q.After = append(q.Libraries, BLAS), append(q.After, after)
	}
	call := c.convolution
	if call != nil && call.fits() {
		if call.Bias, call.ReLU, call.fused = s.biasAndReLU(n, root); call.fused {
			after = s.afterBytes(c, n, n.Outputs[0])
		}
		q.Libraries, q.After = append(q.Libraries, DNN), append(q.After, after)
	}
	if len(q.Libraries) == 0 {
		return false
	}
	library := s.options.Library(q)
	switch {
	case !slices.Contains(q.Libraries, library):
		return false
	case library == BLAS:
		s.multiplied(g, c, n, root, write)
	default:
		s.convolved(g, c, n, root, write)
	}
	return true
}

// afterBytes is the number of bytes that other kernels read and write if a library computes the result of n.
func (s *scope) afterBytes(c contraction, n *ir.Node, root ir.Value) (bytes int64) {
	out := s.p.Type(n.Outputs[0])
	if root != n.Outputs[0] {
		bytes = int64(2*4*out.Shape.Size() + s.p.Type(root).Bytes() - out.Bytes())
	}
	for _, sum := range c.sums {
		bytes += int64(s.p.Type(sum.n.Inputs[0]).Bytes())
	}
	if s.statistics != nil {
		bytes += int64(s.p.Type(root).Bytes())
	}
	return bytes
}

// librarian begins the step of a library call.
func (s *scope) librarian(g *gen, n *ir.Node, library string) Step {
	d := s.p.Type(n.Outputs[0]).DType
	s.plan.Products++
	return Step{
		Kind: Multiply, Scope: n.Scope, Op: n.Op, Name: n.Op.String() + " by " + library, FLOPs: g.flops, Tensor: d.IsHalf(),
		TF32: d == ir.Float32 && s.options.TF32 && s.options.Capability >= 80,
	}
}

// multiplied lets cuBLASLt compute a product. If a chain follows, the product is float32 in memory, and a kernel
// computes the chain.
func (s *scope) multiplied(g *gen, c contraction, n *ir.Node, root ir.Value, write func()) {
	out := s.p.Type(n.Outputs[0])
	result, chain := out, root != n.Outputs[0]
	if chain {
		result.DType = ir.Float32
	}
	step := s.librarian(g, n, BLAS)
	step.Product = c.dense
	step.Product.Number, step.Product.In, step.Product.Out, step.Product.TF32 = s.plan.Products-1, out.DType, result.DType, step.TF32
	step.Body = s.collected(write)
	to := s.places[root]
	if chain {
		to = Place{Space: Arena, Offset: s.arena.take(result.Bytes())}
	}
	workspace := Place{Space: Arena, Offset: s.arena.take(workspaceBytes)}
	for _, p := range []Place{s.places[c.a.value], s.places[c.b.value], to, workspace} {
		step.Args = append(step.Args, Arg{Kind: Address, Place: p})
	}
	step.Bytes = int64(s.p.Type(c.a.value).Bytes() + s.p.Type(c.b.value).Bytes() + result.Bytes())
	s.arena.give(workspace.Offset, workspaceBytes)
	launches := s.plan.Launches
	step.Head = s.collected(func() { s.afterLibrary(n, root, to, result, c.sums) })
	s.plan.Launches = launches + len(step.Head) + 1
	if chain {
		s.arena.give(to.Offset, result.Bytes())
	}
	*s.steps = append(*s.steps, step)
}

// collected returns the steps that write appends, and does not count them.
func (s *scope) collected(write func()) []Step {
	var own []Step
	steps, launches := s.steps, s.plan.Launches
	s.steps = &own
	write()
	s.steps, s.plan.Launches = steps, launches
	return own
}

// afterLibrary computes the chain that follows a product, and the sums of its operands.
func (s *scope) afterLibrary(n *ir.Node, root ir.Value, from Place, result ir.Type, sums []sideSum) {
	if root != n.Outputs[0] {
		g := s.kernel(n)
		g.commit(root)
		source, to := g.place(from), g.place(g.places[root])
		thread, grid, block := g.threads(result.Shape.Size())
		sum := g.load(result.DType, g.element(source, thread, result.DType.Size()))
		g.finish(n.Outputs[0], root, at(result.Shape, thread), sum, to)
		g.launch(grid, block)
	}
	for _, q := range sums {
		s.reduce(q.n, q.root)
	}
	s.statisticsOnTheirOwn(root)
}
