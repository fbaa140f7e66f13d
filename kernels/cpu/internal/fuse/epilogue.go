package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/cpu/internal/geometry"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Epilogue is what a contraction, convolution or batch normalization does to its result before storing it: result =
// relu?(product + bias?).
type Epilogue struct {
	Anchor int      // the node of the product
	Bias   ir.Value // a vector over the last axis, or -1
	Addend ir.Value // a value of the result's shape, added before the relu, or -1
	Relu   bool
	Perm   []int // transpose of a contraction's result, if there is neither bias nor relu
	Pool   bool  // 2x2 maxima of a convolution's result replace it; the result itself is not stored
	Result ir.Value

	// For a product or convolution whose kernel is scaled column by column: the kernel as an input of the program, and
	// the numbers that it is multiplied by, one for each column. Otherwise both are -1.
	Kernel, Scale ir.Value

	// For a batch normalization's gradient after that of a relu: the gradient of the relu's result; bias is then the
	// normalization's beta. Otherwise -1.
	Upstream ir.Value

	Coding *RowCoding // of a unit that quantizes rows and computes their scales, too; else nil

	Axis int // for a softmax whose unit has transposes: the axis of the outer values that these move to the end; else -1
}

// NewEpilogue returns an epilogue that does nothing yet.
func NewEpilogue(anchor int, result ir.Value) *Epilogue {
	return &Epilogue{Anchor: anchor, Bias: -1, Addend: -1, Kernel: -1, Scale: -1, Upstream: -1, Axis: -1, Result: result}
}

// findProduct looks for a product or convolution whose only reader adds a bias. It also looks for a relu, a transpose
// or 2x2 maxima after it, and for a kernel that is scaled before it.
func (g *Graph) findProduct(i int) {
	n := &g.Program.Nodes[i]
	d := g.Program.Type(n.Outputs[0]).DType
	transposed := n.Op == ir.ConvInputGrad && d.IsWideFloat() // this is also the transposed convolution, which has a bias
	if g.constant[i] || n.Op != ir.Dot && n.Op != ir.Conv && !transposed || !d.IsFloat() {
		return
	}
	e, nodes := NewEpilogue(i, n.Outputs[0]), []int{i}
	if !transposed {
		if j, ok := g.scaledKernel(n, e); ok {
			nodes = []int{j, i}
		}
	}
	late := g.Program.Type(e.Result).DType.IsHalf() // a bias is converted when it is needed, before the sum
	if next, bias, ok := g.biasAdd(e.Result); ok && (late || g.Def[bias] < i) {
		nodes, e.Bias, e.Result = append(nodes, next), bias, g.Program.Nodes[next].Outputs[0]
	}
	if next, addend, ok := g.addend(i, e.Result); ok && g.accumulates(n) {
		nodes, e.Addend, e.Result = append(nodes, next), addend, g.Program.Nodes[next].Outputs[0]
	}
	if next, ok := g.onlyReader(e.Result); ok && g.Program.Nodes[next].Op == ir.Relu {
		nodes, e.Relu, e.Result = append(nodes, next), true, g.Program.Nodes[next].Outputs[0]
	}
	if next, perm, ok := g.transposed(n); ok && len(nodes) == 1 {
		nodes, e.Perm, e.Result = append(nodes, next), perm, g.Program.Nodes[next].Outputs[0]
	}
	if next, ok := g.pools(n, e.Result); ok && e.Addend < 0 {
		nodes, e.Pool, e.Result = append(nodes, next), true, g.Program.Nodes[next].Outputs[0]
	}
	if len(nodes) == 1 {
		return
	}
	g.fuse(&Unit{Nodes: nodes, position: nodes[len(nodes)-1], Fused: e})
}

// findNormEpilogue looks for a batch normalization to which another value is added, or that is followed by a relu, or
// both, as at the end of a residual block. One pass over memory does all of it.
func (g *Graph) findNormEpilogue(i int) {
	n := &g.Program.Nodes[i]
	if n.Op != ir.BatchNorm || g.constant[i] {
		return
	}
	e, nodes := NewEpilogue(i, n.Outputs[0]), []int{i}
	nodes = g.narrowed(nodes, e)
	if next, addend, ok := g.addend(i, e.Result); ok {
		nodes, e.Addend, e.Result = append(nodes, next), addend, g.Program.Nodes[next].Outputs[0]
	}
	if next, ok := g.onlyReader(e.Result); ok && g.Program.Nodes[next].Op == ir.Relu {
		nodes, e.Relu, e.Result = append(nodes, next), true, g.Program.Nodes[next].Outputs[0]
	}
	nodes = g.narrowed(nodes, e)
	if len(nodes) > 1 { // at the place of the normalization: its mean and variance may be read before its result is
		g.fuse(&Unit{Nodes: nodes, position: i, Fused: e})
	}
}

// addend returns the node that adds another value to v, and that value, if v is read nowhere else. Node i computes v,
// and the other value must be computed before node i.
func (g *Graph) addend(i int, v ir.Value) (node int, value ir.Value, ok bool) {
	next, ok := g.onlyReader(v)
	if !ok || g.Program.Nodes[next].Op != ir.Add {
		return 0, 0, false
	}
	other := g.Program.Nodes[next].Inputs[0]
	if other == v {
		other = g.Program.Nodes[next].Inputs[1]
	}
	a := resolve(g.Program, g.Def, other)
	return next, a.Source, a.Dense && g.Def[other] < i && g.Def[a.Source] < i && !slices.Contains(g.Program.Nodes[i].Outputs, a.Source)
}

// accumulates reports whether the node is a single matrix product of a program that only predicts. Such a product may
// add to what is in memory, in another order than its operations say.
func (g *Graph) accumulates(n *ir.Node) bool {
	x, k, y := g.Program.Type(n.Inputs[0]), g.Program.Type(n.Inputs[1]), g.Program.Type(n.Outputs[0])
	if !g.predicts || !y.DType.IsWideFloat() || x.Shape.Size()*k.Shape.Size()*y.Shape.Size() == 0 {
		return false
	}
	switch a := n.Attrs.(type) {
	case ir.DotAttrs:
		return len(a.LhsBatch) == 0 && len(y.Shape) > 1 && y.Shape[len(y.Shape)-1] > 1
	case ir.ConvAttrs:
		pads := ints.Concat(a.PadLow, a.PadHigh)
		return a.Groups == 1 && k.Shape[:len(k.Shape)-2].Size() == 1 && !slices.ContainsFunc(pads, func(n int) bool { return n != 0 })
	}
	return false
}

// findNormGradient looks for the gradient of relu(batch normalization of x). What passes the relu is recomputed from x,
// so the relu's gradient is not stored and its result is not read.
func (g *Graph) findNormGradient(i int) {
	n := &g.Program.Nodes[i]
	if n.Op != ir.BatchNormGrad || g.constant[i] {
		return
	}
	at, conversion := g.halfGradient(i)
	if at < 0 || g.UnitOf[at] != nil {
		return
	}
	through := &g.Program.Nodes[at]
	y, mask, ok := g.keptWherePositive(through)
	if !ok || len(g.Users[g.Program.Nodes[mask].Outputs[0]]) != 1 || g.IsOutput[g.Program.Nodes[mask].Outputs[0]] {
		return
	}
	if relu := g.Node(y); relu != nil && relu.Op == ir.Relu {
		y = relu.Inputs[0]
	}
	if c := g.Node(y); c != nil && c.Op == ir.Convert && conversion >= 0 {
		y = c.Inputs[0] // rounding to bfloat16 does not change what is positive
	}
	f := g.Node(y)
	if f == nil || f.Op != ir.BatchNorm || f.Outputs[0] != y || f.Attrs != n.Attrs ||
		!slices.Equal(n.Inputs[1:4], []ir.Value{f.Inputs[1], f.Outputs[1], f.Outputs[2]}) || g.Before(n, 0) != g.Before(f, 0) { // x may be converted twice
		return
	}
	e := NewEpilogue(i, n.Outputs[0])
	e.Bias, e.Upstream, e.Relu = f.Inputs[2], through.Inputs[1], true
	nodes := []int{mask, at, i}
	if conversion >= 0 {
		nodes = []int{mask, at, conversion, i}
	}
	g.fuse(&Unit{Nodes: g.narrowed(nodes, e), position: i, Fused: e})
}

func (g *Graph) fuse(u *Unit) {
	for _, j := range ints.Concat(u.Nodes, u.Sinks) {
		g.UnitOf[j] = u
	}
	g.Units = append(g.Units, u)
}

// findPoolGradient looks for the gradient of a relu followed by 2x2 pooling, select(c > 0, max_pool_grad(c, y, dy), 0),
// and for a sum of it over all axes but the channels, which is the gradient of a bias. One kernel does all of it.
func (g *Graph) findPoolGradient(i int) {
	n := &g.Program.Nodes[i]
	c, mask, ok := g.keptWherePositive(n)
	if !ok || g.constant[i] || len(g.Users[g.Program.Nodes[mask].Outputs[0]]) != 1 || g.IsOutput[g.Program.Nodes[mask].Outputs[0]] {
		return
	}
	anchor := g.Node(n.Inputs[1])
	if anchor == nil || anchor.Op != ir.MaxPoolGrad || anchor.Inputs[0] != c {
		return
	}
	if only, ok := g.onlyReader(anchor.Outputs[0]); !ok || only != i {
		return
	}
	p := geometry.NewPooling(g.Program.Type(c).Shape, g.Program.Type(anchor.Inputs[1]).Shape, anchor.Attrs.(ir.PoolAttrs))
	if p == nil || !p.Halves2x2() {
		return
	}
	j := g.Def[anchor.Outputs[0]]
	e := NewEpilogue(j, n.Outputs[0])
	e.Relu = true
	u := &Unit{Nodes: []int{j, mask, i}, position: i, Fused: e}
	for _, r := range g.Users[n.Outputs[0]] {
		nodes := u.Nodes
		if half := g.Program.Type(n.Outputs[0]).DType.IsHalf(); half {
			widened := g.Program.Nodes[r].Outputs[0] // the numbers of a sum of 16-bit floats are converted first
			next, ok := g.onlyReader(widened)
			if g.Program.Nodes[r].Op != ir.Convert || g.Program.Type(widened).DType != ir.Float32 || !ok || g.UnitOf[r] != nil {
				continue
			}
			nodes, r = append(nodes, r), next
		}
		reader := &g.Program.Nodes[r]
		s, ok := g.SinkOf(reader)
		if ok && s.Leading && s.Columns == p.Channels && reader.Attrs.(ir.ReduceAttrs).Kind == ir.Sum && u.Sinks == nil {
			u.Nodes, u.Sinks = nodes, []int{r}
		}
	}
	g.fuse(u)
}

// transposed returns the transpose of a contraction's result, if nothing else reads the result and the product can
// write it transposed. For that, the columns (or the rows) of its matrices must stay contiguous.
func (g *Graph) transposed(n *ir.Node) (node int, perm []int, ok bool) {
	i, ok := g.onlyReader(n.Outputs[0])
	if !ok || n.Op != ir.Dot || g.Program.Nodes[i].Op != ir.Transpose {
		return 0, nil, false
	}
	perm = g.Program.Nodes[i].Attrs.(ir.TransposeAttrs).Perm
	a := n.Attrs.(ir.DotAttrs)
	rows := g.Program.Type(n.Inputs[0]).Shape.Rank() - len(a.LhsBatch) - len(a.LhsContract)
	_, ok = geometry.ProductLayout(g.Program.Type(n.Outputs[0]).Shape, len(a.LhsBatch), rows, perm)
	return i, perm, ok
}

// poolMinPixels is the least size of convolutions that are computed image by image, or in bands of rows. The kernel
// must be small compared with an image's work, because it may be packed for each.
const poolMinPixels = 64

// pools returns the node that takes 2x2 maxima of v, the result of a convolution, if nothing else reads v.
func (g *Graph) pools(n *ir.Node, v ir.Value) (node int, ok bool) {
	i, ok := g.onlyReader(v)
	if !ok || n.Op != ir.Conv {
		return 0, false
	}
	pool := &g.Program.Nodes[i]
	if pool.Op != ir.MaxPool || g.UnitOf[i] != nil {
		return 0, false
	}
	s := g.Program.Type(v).Shape
	p := geometry.NewPooling(s, g.Program.Type(pool.Outputs[0]).Shape, pool.Attrs.(ir.PoolAttrs))
	return i, p != nil && p.Halves2x2() && p.Batch > 0 && p.In[1]*p.In[2] >= poolMinPixels
}

// onlyReader returns the only node that reads v.
//
//go:noinline
func (g *Graph) onlyReader(v ir.Value) (int, bool) {
	if len(g.Users[v]) != 1 || g.IsOutput[v] {
		return 0, false
	}
	return g.Users[v][0], true
}

// biasAdd returns the node that adds a vector over the last axis to v, if nothing else reads v.
func (g *Graph) biasAdd(v ir.Value) (node int, bias ir.Value, ok bool) {
	shape := g.Program.Type(v).Shape
	if len(shape) == 0 {
		return 0, 0, false
	}
	columns := shape[len(shape)-1]
	if n := g.Node(v); n.Op == ir.Dot { // its matrix may have several axes of columns, such as heads and their elements
		a := n.Attrs.(ir.DotAttrs)
		columns = g.Program.Type(n.Inputs[1]).Shape.Without(append(slices.Clone(a.RhsBatch), a.RhsContract...)...).Size()
	}
	return g.vectorAdd(v, columns)
}

// vectorAdd returns the node that adds a vector to each row of v, both with the given columns, if nothing else reads v.
func (g *Graph) vectorAdd(v ir.Value, columns int) (node int, bias ir.Value, ok bool) {
	i, ok := g.onlyReader(v)
	if !ok || g.Program.Nodes[i].Op != ir.Add {
		return 0, 0, false
	}
	other := g.Program.Nodes[i].Inputs[0]
	if other == v {
		other = g.Program.Nodes[i].Inputs[1]
	}
	a := resolve(g.Program, g.Def, other)
	vector := a.period() == columns || a.Dense && g.Program.Type(v).Shape.Size() == columns
	if !vector || a.Offset != 0 || g.Program.Type(a.Source).Shape.Size() != columns {
		return 0, 0, false
	}
	return i, a.Source, true
}

// readEpilogue records the operands of a unit that a pattern made.
func (g *Graph) readEpilogue(u *Unit) {
	g.fromMemory(u.Fused.Result)
	if u.Fused.Coding != nil {
		g.Needed[u.Fused.Coding.Scale] = true
		g.fromMemory(u.Fused.Coding.Scale)
	}
	for _, i := range u.Sinks {
		v := g.Program.Nodes[i].Outputs[0]
		g.Needed[v] = true
		g.fromMemory(v)
	}
	anchor := &g.Program.Nodes[u.Fused.Anchor]
	for i, v := range anchor.Inputs {
		if !slices.Contains(u.Nodes, g.Def[v]) {
			g.read(u, g.Before(anchor, i), u.position)
		}
	}
	for _, i := range u.Nodes {
		if n := &g.Program.Nodes[i]; u.Fused.Axis >= 0 && n.Op == ir.Transpose && i < u.Fused.Anchor {
			g.read(u, n.Inputs[0], u.position)
		}
	}
	for _, v := range g.Program.Nodes[u.Fused.Anchor].Outputs[1:] {
		g.fromMemory(v)
	}
	for _, v := range []ir.Value{u.Fused.Bias, u.Fused.Addend, u.Fused.Upstream, u.Fused.Kernel, u.Fused.Scale} {
		if v >= 0 {
			g.read(u, v, u.position)
		}
	}
}
