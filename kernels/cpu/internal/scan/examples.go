package scan

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// A program that predicts computes layer after layer for the whole batch. If images are large, a layer's results have
// left the caches before the next layer reads them. ByExamples puts the first layers, whose results are large and whose
// weights are small, into a loop over blocks of examples. Each block goes through all of these layers while it is in
// the cache. The loop is a scan without carries. What is computed from weights alone always comes first, with a loop or
// without, so that products fuse the same sums with vectors. The loop therefore changes no bits of an example's
// results.

// NearExamples is how many bytes of a node's operands and results stay in the second-level cache. The other limits are
// proportional to it.
const NearExamples = 512 << 10

// WorthExamples is the least number of times NearExamples that a loop must save. With less, its steps took as much time
// as they saved.
const WorthExamples = 16

const (
	farFactor = 16 // number of times NearExamples that stay in the cache beyond the second level
	farCost   = 3  // cost of a byte beyond that, relative to a byte in between
	stepParts = 8  // one part in eight could be moved while the steps of a node are prepared
)

// SameSums reports whether a product with packed weights, of k numbers for each column, gives the same bits for the
// given rows as for more of them.
type SameSums func(a ir.PackedDotAttrs, rows, more, k int) bool

// SameImages reports whether a convolution gives the same bits for fewer images.
type SameImages func(d ir.DType, x, kernel ir.Shape, a ir.ConvAttrs) bool

// ByExamples returns the pass that rewrites a program that only predicts; see NearExamples and WorthExamples.
func ByExamples(near, worth int, same SameSums, images SameImages) pass.Pass {
	return pass.New("by_examples", func(p *ir.Program) (*ir.Program, error) {
		e := newExamples(p, near, worth, same, images)
		if e.find(); len(e.nodes) == 0 {
			return p, nil
		}
		e.choose()
		return e.rewrite()
	})
}

// examples are the nodes of a program that can run on blocks of examples. Each computes rows of its results, along the
// first axis, from the same rows of its operands.
type examples struct {
	p       *ir.Program
	batch   int
	def     []int   // by value: its node, or -1
	row     []bool  // by value: the nodes read or write it by rows
	whole   []bool  // by value: the nodes read all of it
	after   []bool  // by value: other nodes compute it, and it depends on what the nodes compute
	taken   []bool  // by node
	nodes   []int   // those nodes, in order
	readers [][]int // by value

	near   int // see NearExamples
	worth  int // see WorthExamples
	same   SameSums
	images SameImages
	block  int // examples of a block, or 0 if no loop is worth it
}

func newExamples(p *ir.Program, near, worth int, same SameSums, images SameImages) *examples {
	n := p.NumValues()
	e := &examples{p: p, row: make([]bool, n), whole: make([]bool, n), after: make([]bool, n), readers: pass.Readers(p), taken: make([]bool, len(p.Nodes)), near: near, worth: worth, same: same, images: images}
	_, e.def = pass.Uses(p)
	for i := range p.Nodes {
		if e.batch == 0 && begins(p, &p.Nodes[i]) {
			e.batch = p.Type(p.Nodes[i].Inputs[0]).Shape[0]
		}
	}
	return e
}

// begins reports whether a loop may begin with the node.
func begins(p *ir.Program, n *ir.Node) bool {
	switch n.Op {
	case ir.Conv, ir.MaxPool, ir.AvgPool, ir.LayerNorm, ir.PackedDot:
	case ir.Dot:
		a := n.Attrs.(ir.DotAttrs)
		return len(a.LhsBatch) == 0 && !slices.Contains(a.LhsContract, 0) && len(p.Type(n.Inputs[0]).Shape) > 2
	default:
		return false
	}
	return len(p.Type(n.Inputs[0]).Shape) > 2
}

// find looks for the nodes.
func (e *examples) find() {
	for i := range e.p.Nodes {
		n := &e.p.Nodes[i]
		if e.accepts(n) {
			e.nodes, e.taken[i] = append(e.nodes, i), true
			for _, v := range n.Inputs {
				e.whole[v] = e.whole[v] || !e.row[v]
			}
			for _, v := range n.Outputs {
				e.row[v] = true
			}
			continue
		}
		if slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return e.after[v] || e.inside(v) }) {
			for _, v := range n.Outputs {
				e.after[v] = true
			}
		}
	}
}

// inside reports whether the nodes compute v.
func (e *examples) inside(v ir.Value) bool { return e.def[v] >= 0 && e.taken[e.def[v]] }

// hasRows reports whether the first axis of v has the length of the batch.
func (e *examples) hasRows(v ir.Value) bool {
	s := e.p.Type(v).Shape
	return len(s) > 0 && s[0] == e.batch
}

// accepts reports whether the node can run on blocks of examples, and marks what it reads by rows.
func (e *examples) accepts(n *ir.Node) bool {
	if len(n.Inputs) == 0 || slices.ContainsFunc(n.Outputs, func(v ir.Value) bool { return !e.hasRows(v) }) || !e.hasRows(n.Inputs[0]) && !n.Op.IsElementwise() {
		return false
	}
	if !e.allowed(n) || slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return e.after[v] }) {
		return false
	}
	in, out, more := make([]int, len(n.Inputs)), make([]int, len(n.Outputs)), []ir.Value(nil)
	any := slices.ContainsFunc(n.Inputs, func(v ir.Value) bool { return e.row[v] })
	for i, v := range n.Inputs {
		switch aligned := n.Op.IsElementwise() || n.Op == ir.Concat; {
		case e.row[v]:
		case e.hasRows(v) && !e.whole[v] && (any && aligned || !any && i == 0 && begins(e.p, n)):
			more = append(more, v)
		default:
			in[i] = -1
		}
	}
	if !any && len(more) == 0 || !ir.KeepsRows(e.p, n, in, out) {
		return false
	}
	for _, v := range more {
		e.row[v] = true
	}
	return true
}

// allowed reports whether the node's op and attributes can be adapted to another number of examples.
func (e *examples) allowed(n *ir.Node) bool {
	switch a := n.Attrs.(type) {
	case ir.TransposeAttrs:
		return a.Perm[0] == 0
	case ir.DotAttrs:
		rows := 1 // of an example; a single row is summed in another order
		for i, d := range e.p.Type(n.Inputs[0]).Shape[1:] {
			if !slices.Contains(a.LhsContract, i+1) && !slices.Contains(a.LhsBatch, i+1) {
				rows *= d
			}
		}
		return rows > 1 && (len(a.LhsBatch) == 0 || a.LhsBatch[0] == 0)
	case ir.ConvAttrs:
		x, s := e.p.Type(n.Inputs[0]), e.p.Type(n.Outputs[0]).Shape
		return s[1:len(s)-1].Size() > 1 && e.images(x.DType, x.Shape, e.p.Type(n.Inputs[1]).Shape, a)
	case ir.PackedDotAttrs: // one example is computed in the same way as all of them
		s := e.p.Type(n.Outputs[0]).Shape
		if len(s) < 3 {
			return false
		}
		rows, k := s[1:len(s)-1].Size(), e.p.Type(n.Inputs[0]).Shape[len(s)-1]
		return rows > 1 && k > 0 && e.same(a, rows, e.batch*rows, k)
	}
	switch n.Op {
	case ir.BitCast:
		return e.p.Type(n.Inputs[0]).DType.Size() == e.p.Type(n.Outputs[0]).DType.Size()
	case ir.Attention: // a mask for each example would have to be read by rows
		return !slices.ContainsFunc(n.Inputs, func(v ir.Value) bool {
			return !e.row[v] && !slices.Equal(e.p.Type(v).Shape[:min(1, len(e.p.Type(v).Shape))], []int{1})
		})
	case ir.Reshape, ir.Broadcast, ir.Slice, ir.Pad, ir.Concat, ir.Reduce, ir.MaxPool, ir.AvgPool, ir.LayerNorm, ir.GroupNorm, ir.Softmax, ir.LogSoftmax:
		return true
	}
	return n.Op.IsElementwise()
}

// repeats reports whether v has the same numbers for all examples, so that it can be computed for fewer.
func (e *examples) repeats(v ir.Value) bool {
	if e.def[v] < 0 {
		return false
	}
	switch a := e.p.Nodes[e.def[v]].Attrs.(type) {
	case ir.ConstantAttrs:
		return a.Literal.Splat
	case ir.BroadcastAttrs:
		at := slices.Index(a.Axes, 0)
		return at < 0 || e.p.Type(e.p.Nodes[e.def[v]].Inputs[0]).Shape[at] == 1
	}
	return false
}

// choose sets the size of blocks, if a loop is worth it. It leaves out nodes at the end that are better computed for
// the whole batch.
func (e *examples) choose() {
	best, until := e.worth*e.near, 0
	for block := 1; block < e.batch; block++ {
		if e.batch%block != 0 {
			continue
		}
		gain, loops := 0, e.batch/block
		for k, i := range e.nodes {
			moved, shared := e.traffic(i)
			if shared > NearExamples { // for each block, its kernel goes through the cache of each processor
				break
			}
			gain += e.moves(e.batch*moved) - loops*e.moves(block*moved) - (loops-1)*shared
			if moved > 0 { // else it is part of another node's step
				gain -= loops * e.near / stepParts
			}
			if gain > best && !e.endsWithin(k) {
				best, until, e.block = gain, k+1, block
			}
		}
	}
	if e.block > 0 {
		for _, i := range e.nodes[until:] {
			e.taken[i] = false
		}
		e.nodes = e.nodes[:until]
	}
}

// endsWithin reports whether a loop that ends with the k-th node would part it from elementwise nodes, which work on
// results on their way to memory. Broadcasts, which move nothing, may lie between.
func (e *examples) endsWithin(k int) bool {
	for _, i := range e.nodes[k+1:] {
		if op := e.p.Nodes[i].Op; op != ir.Broadcast {
			return op.IsElementwise()
		}
	}
	return false
}

// moves returns the cost of writing and reading the given bytes, besides those that stay near.
func (e *examples) moves(bytes int) int {
	switch {
	case bytes <= e.near:
		return 0
	case bytes <= farFactor*e.near:
		return bytes
	}
	return farCost * bytes
}

// traffic returns the bytes that node i reads and writes for each example, and those that all examples share.
// Elementwise nodes work on the results of other nodes on their way to memory, and add no traffic for these.
func (e *examples) traffic(i int) (moved, shared int) {
	n := &e.p.Nodes[i]
	if n.Op == ir.Reshape || n.Op == ir.Broadcast || n.Op == ir.BitCast {
		return 0, 0
	}
	for k, v := range slices.Concat(n.Inputs, n.Outputs) {
		bytes := e.p.Type(v).Bytes()
		switch {
		case e.repeats(v):
		case !e.row[v]:
			shared += bytes
		case n.Op.IsElementwise() && (k > 0 || e.def[v] >= 0 && e.p.Nodes[e.def[v]].Op.IsElementwise()):
		default:
			moved += bytes / e.batch
		}
	}
	return moved, shared
}
