package lower

import (
	"github.com/gokeras/gokeras/kernels/ir"
)

// Product is C[m,n] = Σ_k A[m,k]·B[k,n] for each of a batch, of matrices of In. C is dense, of Out; sums are float32.
type Product struct {
	Number         int
	M, N, K, Batch int
	In, Out        ir.DType
	TF32           bool
	A, B           Matrix
}

// Matrix is an operand: neighbours in lines lie beside each other.
type Matrix struct {
	Turned bool // lines are columns
	Stride int  // from line to line, in elements
	Batch  int  // from matrix to matrix
}

// workspaceBytes is the memory that a library may use beside the operands.
const workspaceBytes = 32 << 20

// dense describes a contraction as a product of matrices; nil where it is none. The axes are those of the batch, of
// rows and of columns of both operands.
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

// byLibrary lets a library make a product, where that is known to be faster than the kernel; write writes that. Sums
// that a chain follows are float32 in memory, and a kernel computes the chain.
func (s *scope) byLibrary(g *gen, c contraction, way way, n *ir.Node, root ir.Value, write func()) bool {
	if s.options.Library == nil || c.dense == nil || s.guard.Space != Nowhere || !aligned(s.places[c.a.value], chunkBytes) || !aligned(s.places[c.b.value], chunkBytes) {
		return false
	}
	out := s.p.Type(n.Outputs[0])
	result, chain := out, root != n.Outputs[0]
	if chain {
		result.DType = ir.Float32
	}
	q := Question{Node: n, Ways: []string{way.String()}, FLOPs: g.flops}
	for _, v := range n.Inputs {
		q.In = append(q.In, s.p.Type(v))
	}
	if chain {
		q.After = int64(2*result.Bytes() + s.p.Type(root).Bytes() - out.Bytes())
	}
	for _, sum := range c.sums {
		q.After += int64(s.p.Type(sum.n.Inputs[0]).Bytes())
	}
	if !s.options.Library(q) {
		return false
	}
	step := Step{Kind: Multiply, Scope: n.Scope, Op: n.Op, Name: n.Op.String() + " by cuBLASLt", FLOPs: g.flops, Tensor: out.DType.IsHalf(), TF32: !out.DType.IsHalf()}
	step.Product = c.dense
	step.Product.Number, step.Product.In, step.Product.Out, step.Product.TF32 = s.plan.Products, out.DType, result.DType, step.TF32
	s.plan.Products++
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
	return true
}

// collected returns what would be put after the steps so far, and does not count it.
func (s *scope) collected(write func()) []Step {
	var own []Step
	steps, launches := s.steps, s.plan.Launches
	s.steps = &own
	write()
	s.steps, s.plan.Launches = steps, launches
	return own
}

// afterLibrary computes the chain that follows a product, and sums of its operands.
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
}
