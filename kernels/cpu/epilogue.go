package cpu

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// epilogue is what a contraction, convolution or batch normalisation does to its result before it is stored: result = relu?(product + bias?).
type epilogue struct {
	anchor int      // the node of the product
	bias   ir.Value // a vector over the last axis, or -1
	addend ir.Value // of a batch normalisation: a value of the result's shape, or -1
	relu   bool
	perm   []int // transpose of a contraction's result; without bias and relu
	pool   bool  // 2x2 maxima are taken of a convolution's result, which is then not stored
	result ir.Value

	// Of a batch normalisation's gradient behind that of a relu: the gradient of the relu's result; bias is then the normalisation's beta. Or -1.
	upstream ir.Value
}

// findEpilogues makes units of products whose only reader adds a bias or is a relu, of convolutions that are pooled, of pooling gradients that go through a
// relu, and of batch normalisations with what follows them.
func (g *graph) findEpilogues() {
	for i := range g.p.Nodes {
		g.findPoolGradient(i)
		g.findNormEpilogue(i)
		g.findNormGradient(i)
		n := &g.p.Nodes[i]
		if n.Op != ir.Dot && n.Op != ir.Conv || !hasEpilogue(g.p.Type(n.Outputs[0]).DType) || g.constant[i] {
			continue
		}
		e := &epilogue{anchor: i, bias: -1, addend: -1, upstream: -1, result: n.Outputs[0]}
		nodes := []int{i}
		if next, bias, ok := g.biasAdd(e.result); ok && g.def[bias] < i {
			nodes, e.bias, e.result = append(nodes, next), bias, g.p.Nodes[next].Outputs[0]
		}
		if next, ok := g.onlyReader(e.result); ok && g.p.Nodes[next].Op == ir.Relu {
			nodes, e.relu, e.result = append(nodes, next), true, g.p.Nodes[next].Outputs[0]
		}
		if next, perm, ok := g.transposed(n); ok && len(nodes) == 1 {
			nodes, e.perm, e.result = append(nodes, next), perm, g.p.Nodes[next].Outputs[0]
		}
		if next, ok := g.pools(n, e.result); ok {
			nodes, e.pool, e.result = append(nodes, next), true, g.p.Nodes[next].Outputs[0]
		}
		if len(nodes) == 1 {
			continue
		}
		g.fuse(&unit{nodes: nodes, position: nodes[len(nodes)-1], fused: e})
	}
}

// findNormEpilogue looks for a batch normalisation that another value is added to, or that goes through a relu, or both, as at the end of a residual
// block: one pass over memory does it all.
func (g *graph) findNormEpilogue(i int) {
	n := &g.p.Nodes[i]
	if n.Op != ir.BatchNorm || g.constant[i] {
		return
	}
	e := &epilogue{anchor: i, bias: -1, addend: -1, upstream: -1, result: n.Outputs[0]}
	nodes := []int{i}
	if next, ok := g.onlyReader(e.result); ok && g.p.Nodes[next].Op == ir.Add {
		other := g.p.Nodes[next].Inputs[0]
		if other == e.result {
			other = g.p.Nodes[next].Inputs[1]
		}
		if a := resolve(g.p, g.def, other); a.dense && g.def[other] < i && g.def[a.source] < i && !slices.Contains(n.Outputs, a.source) {
			nodes, e.addend, e.result = append(nodes, next), a.source, g.p.Nodes[next].Outputs[0]
		}
	}
	if next, ok := g.onlyReader(e.result); ok && g.p.Nodes[next].Op == ir.Relu {
		nodes, e.relu, e.result = append(nodes, next), true, g.p.Nodes[next].Outputs[0]
	}
	if len(nodes) > 1 { // at the place of the normalisation: its mean and variance may be read before its result is
		g.fuse(&unit{nodes: nodes, position: i, fused: e})
	}
}

// findNormGradient looks for the gradient of relu(batch normalisation of x): what the relu lets through is computed again from x, so that its
// gradient is neither stored nor its result read.
func (g *graph) findNormGradient(i int) {
	n := &g.p.Nodes[i]
	if n.Op != ir.BatchNormGrad || g.constant[i] {
		return
	}
	through := g.node(n.Inputs[4])
	if only, ok := g.onlyReader(n.Inputs[4]); !ok || only != i || through == nil || g.unitOf[g.def[n.Inputs[4]]] != nil {
		return
	}
	y, mask, ok := g.reluGradient(through)
	if !ok || len(g.users[g.p.Nodes[mask].Outputs[0]]) != 1 || g.isOutput[g.p.Nodes[mask].Outputs[0]] {
		return
	}
	if relu := g.node(y); relu != nil && relu.Op == ir.Relu {
		y = relu.Inputs[0]
	}
	f := g.node(y)
	if f == nil || f.Op != ir.BatchNorm || f.Outputs[0] != y || f.Attrs != n.Attrs ||
		!slices.Equal(n.Inputs[:4], []ir.Value{f.Inputs[0], f.Inputs[1], f.Outputs[1], f.Outputs[2]}) {
		return
	}
	g.fuse(&unit{nodes: []int{mask, g.def[n.Inputs[4]], i}, position: i,
		fused: &epilogue{anchor: i, bias: f.Inputs[2], addend: -1, upstream: through.Inputs[1], relu: true, result: n.Outputs[0]}})
}

func (g *graph) fuse(u *unit) {
	for _, j := range slices.Concat(u.nodes, u.sinks) {
		g.unitOf[j] = u
	}
	g.units = append(g.units, u)
}

// findPoolGradient looks for the gradient of relu followed by 2x2 pooling, select(c > 0, max_pool_grad(c, y, dy), 0), and a sum
// over all but the channels of it, which is the gradient of a bias. One kernel does it all.
func (g *graph) findPoolGradient(i int) {
	n := &g.p.Nodes[i]
	c, mask, ok := g.reluGradient(n)
	if !ok || g.constant[i] || len(g.users[g.p.Nodes[mask].Outputs[0]]) != 1 || g.isOutput[g.p.Nodes[mask].Outputs[0]] {
		return
	}
	anchor := g.node(n.Inputs[1])
	if anchor == nil || anchor.Op != ir.MaxPoolGrad || anchor.Inputs[0] != c {
		return
	}
	if only, ok := g.onlyReader(anchor.Outputs[0]); !ok || only != i {
		return
	}
	p := newPooling(g.p.Type(c).Shape, g.p.Type(anchor.Inputs[1]).Shape, anchor.Attrs.(ir.PoolAttrs))
	if p == nil || !p.halves2x2() {
		return
	}
	j := g.def[anchor.Outputs[0]]
	u := &unit{nodes: []int{j, mask, i}, position: i, fused: &epilogue{anchor: j, bias: -1, addend: -1, upstream: -1, relu: true, result: n.Outputs[0]}}
	for _, r := range g.users[n.Outputs[0]] {
		reader := &g.p.Nodes[r]
		s, ok := g.sinkOf(reader)
		if ok && s.leading && s.columns == p.channels && reader.Attrs.(ir.ReduceAttrs).Kind == ir.Sum && u.sinks == nil {
			u.sinks = []int{r}
		}
	}
	g.fuse(u)
}

func hasEpilogue(d ir.DType) bool { return d == ir.Float32 || d == ir.Float64 }

// transposed returns the transpose that is all that happens to a contraction's result, if the product can write it directly: the
// columns (or the rows) of its matrices must stay contiguous.
func (g *graph) transposed(n *ir.Node) (node int, perm []int, ok bool) {
	i, ok := g.onlyReader(n.Outputs[0])
	if !ok || n.Op != ir.Dot || g.p.Nodes[i].Op != ir.Transpose {
		return 0, nil, false
	}
	perm = g.p.Nodes[i].Attrs.(ir.TransposeAttrs).Perm
	a := n.Attrs.(ir.DotAttrs)
	rows := g.p.Type(n.Inputs[0]).Shape.Rank() - len(a.LhsBatch) - len(a.LhsContract)
	_, ok = productLayout(g.p.Type(n.Outputs[0]).Shape, len(a.LhsBatch), rows, perm)
	return i, perm, ok
}

// poolMinPixels is how large the convolutions are that are computed image by image, or in bands of their rows: the kernel must be small
// beside an image's work, because it may be packed for each.
const poolMinPixels = 64

// pools returns the node that takes 2x2 maxima of the result v of a convolution, if that is all that happens to v.
func (g *graph) pools(n *ir.Node, v ir.Value) (node int, ok bool) {
	i, ok := g.onlyReader(v)
	if !ok || n.Op != ir.Conv {
		return 0, false
	}
	pool := &g.p.Nodes[i]
	if pool.Op != ir.MaxPool || g.unitOf[i] != nil {
		return 0, false
	}
	s := g.p.Type(v).Shape
	p := newPooling(s, g.p.Type(pool.Outputs[0]).Shape, pool.Attrs.(ir.PoolAttrs))
	return i, p != nil && p.halves2x2() && p.batch > 0 && p.in[1]*p.in[2] >= poolMinPixels
}

// onlyReader returns the one node that reads v.
func (g *graph) onlyReader(v ir.Value) (int, bool) {
	if len(g.users[v]) != 1 || g.isOutput[v] {
		return 0, false
	}
	return g.users[v][0], true
}

// biasAdd returns the node that adds a vector over the last axis to v, if that is all that happens to v.
func (g *graph) biasAdd(v ir.Value) (node int, bias ir.Value, ok bool) {
	i, ok := g.onlyReader(v)
	if !ok || g.p.Nodes[i].Op != ir.Add {
		return 0, 0, false
	}
	other := g.p.Nodes[i].Inputs[0]
	if other == v {
		other = g.p.Nodes[i].Inputs[1]
	}
	shape := g.p.Type(v).Shape
	if len(shape) == 0 {
		return 0, 0, false
	}
	last := shape[len(shape)-1]
	if n := g.node(v); n.Op == ir.Dot {
		a := n.Attrs.(ir.DotAttrs)
		s := g.p.Type(n.Inputs[1]).Shape
		if columns := s.Without(append(slices.Clone(a.RhsBatch), a.RhsContract...)...).Size(); columns != last {
			return 0, 0, false // the last axis is not what the product calls columns
		}
	}
	a := resolve(g.p, g.def, other)
	vector := a.period() == last || a.dense && shape.Size() == last
	if !vector || a.offset != 0 || g.p.Type(a.source).Shape.Size() != last {
		return 0, 0, false
	}
	return i, a.source, true
}

// readEpilogue notes the operands of a unit made by findEpilogues.
func (g *graph) readEpilogue(u *unit) {
	g.fromMemory(u.fused.result)
	for _, i := range u.sinks {
		v := g.p.Nodes[i].Outputs[0]
		g.needed[v] = true
		g.fromMemory(v)
	}
	for _, v := range g.p.Nodes[u.fused.anchor].Inputs {
		if !slices.Contains(u.nodes, g.def[v]) {
			g.read(u, v, u.position)
		}
	}
	for _, v := range g.p.Nodes[u.fused.anchor].Outputs[1:] {
		g.fromMemory(v)
	}
	for _, v := range []ir.Value{u.fused.bias, u.fused.addend, u.fused.upstream} {
		if v >= 0 {
			g.read(u, v, u.position)
		}
	}
}
