package lower

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The variance is the mean of (x-mean)², which would read x twice. One kernel computes both in one pass: it keeps the
// count, the mean and the sum of squared differences from the mean, and merges those of parts with the formulas of
// Chan, Golub and LeVeque ("Updating formulae and a pairwise algorithm for computing sample variances", 1979). A mean
// far from 0 costs no precision.

// momentsOf returns the count, the mean and the sum of squares of one or four numbers.
func (g *gen) momentsOf(x ...ptx.Operand) []ptx.Operand {
	m := g.calc(x[0].Class)
	if len(x) == 1 {
		return []ptx.Operand{m.num(1), x[0], m.num(0)}
	}
	mean := m.mul(m.add(m.add(x[0], x[1]), m.add(x[2], x[3])), m.num(0.25))
	var squares ptx.Operand
	for i, e := range x {
		d := m.sub(e, mean)
		if i == 0 {
			squares = m.mul(d, d)
		} else {
			squares = m.fma(d, d, squares)
		}
	}
	return []ptx.Operand{m.num(4), mean, squares}
}

// mergeMoments merges moments: with d = mean' - mean and n = count + count', the mean grows by d·count'/n, and the
// squares by d²·count·count'/n. Merging two empty parts gives an empty one.
func (g *gen) mergeMoments(sums, theirs []ptx.Operand) {
	m := g.calc(sums[0].Class)
	n := m.add(sums[0], theirs[0])
	share := m.div(theirs[0], m.op("max", n, m.num(1)))
	d := m.sub(theirs[1], sums[1])
	move := m.mul(d, share)
	g.assign(sums[2], m.fma(m.mul(d, move), sums[0], m.add(sums[2], theirs[2])))
	g.assign(sums[1], m.add(sums[1], move))
	g.assign(sums[0], n)
}

// findMoments finds, for a mean that node i computes, the sum of squared differences from it: one kernel computes both.
func (s *scope) findMoments(f *fusion, i int) bool {
	n, root := s.reduces(f, i), s.p.Nodes[i].Outputs[0]
	if n == nil || !s.isMean(n, root) {
		return false
	}
	for j := i + 1; j < min(len(s.p.Nodes), i+lookAhead); j++ {
		m := s.reduces(f, j)
		if m == nil || s.early[j] || s.committed[s.p.Nodes[j].Outputs[0]] || len(f.checks[j]) > 0 || !s.sumsSquares(f, m, n, root) {
			continue
		}
		// The other operands of the chain after it must be available.
		ready := true
		for v := range s.readsOf(f, &s.p.Nodes[j]).inPlace {
			ready = ready && (v == root || s.inMemory[v] && !s.underWay.brings(v))
		}
		if ready && s.readsInOrder(f, &s.p.Nodes[j], true, m, root) {
			s.beside, s.moments = []*total{s.total(m, s.p.Nodes[j].Outputs[0])}, true
			s.early[j] = true
			return true
		}
	}
	return false
}

// readsInOrder reports whether a chain that uses the result of m reads a value only at the chain's own index.
func (s *scope) readsInOrder(f *fusion, n *ir.Node, inPlace bool, m *ir.Node, v ir.Value) bool {
	if n == m {
		return true
	}
	inPlace = inPlace && n.Op.IsElementwise()
	for _, u := range n.Inputs {
		made := s.makers[u]
		switch {
		case u == v && !inPlace:
			return false
		case u != v && made != nil && (made == m || !f.kernel[s.position[u]]) && !s.readsInOrder(f, made, inPlace, m, v):
			return false
		}
	}
	return true
}

// isMean reports whether root is the mean of the floats that a Reduce sums.
func (s *scope) isMean(n *ir.Node, root ir.Value) bool {
	t := s.p.Type(n.Inputs[0])
	made := s.makers[root]
	if n.Attrs.(ir.ReduceAttrs).Kind != ir.Sum || !t.DType.IsFloat() || t.DType.IsHalf() || made == n || made.Inputs[0] != n.Outputs[0] {
		return false
	}
	out := s.p.Type(root).Shape.Size()
	if len(made.Inputs) < 2 || out == 0 {
		return false
	}
	by, known := s.constantOf(made.Inputs[1])
	length := float64(t.Shape.Size() / out)
	return known && (made.Op == ir.Div && by == length || made.Op == ir.Mul && math.Abs(by*length-1) < 1e-6)
}

// constantOf returns the number that all elements of a value equal, if known.
func (s *scope) constantOf(v ir.Value) (float64, bool) {
	n := s.makers[v]
	for n != nil && (n.Op == ir.Broadcast || n.Op == ir.Reshape) {
		n = s.makers[n.Inputs[0]]
	}
	if n == nil || n.Op != ir.Constant {
		return 0, false
	}
	l := n.Attrs.(ir.ConstantAttrs).Literal
	if !l.Splat && l.Type.Shape.Size() != 1 {
		return 0, false
	}
	return ir.Element(l.Data, l.Type.DType, 0), true
}

// sumsSquares reports whether a Reduce sums the squares of x - mean, where mean is the mean of x along the same axes.
func (s *scope) sumsSquares(f *fusion, m, n *ir.Node, mean ir.Value) bool {
	a, b := m.Attrs.(ir.ReduceAttrs), n.Attrs.(ir.ReduceAttrs)
	made := func(v ir.Value, op ir.Op) *ir.Node {
		if q := s.makers[v]; q != nil && q.Op == op && !f.kernel[s.position[v]] {
			return q
		}
		return nil
	}
	square := made(m.Inputs[0], ir.Mul)
	if a.Kind != ir.Sum || square == nil || square.Inputs[0] != square.Inputs[1] {
		return false
	}
	centered := made(square.Inputs[0], ir.Sub)
	if centered == nil || centered.Inputs[0] != n.Inputs[0] {
		return false
	}
	wide := made(centered.Inputs[1], ir.Broadcast)
	if wide == nil {
		return false
	}
	// The mean lacks the reduced axes, or they have length 1.
	shape, from := s.p.Type(n.Inputs[0]).Shape, wide.Inputs[0]
	if r := made(from, ir.Reshape); r != nil {
		from = r.Inputs[0]
	}
	if from != mean || len(a.Axes) != len(b.Axes) {
		return false
	}
	reduced := make([]bool, len(shape))
	for i, axis := range b.Axes {
		reduced[axis] = true
		if a.Axes[i] != axis {
			return false
		}
	}
	at := s.p.Type(wide.Inputs[0]).Shape
	for i, axis := range wide.Attrs.(ir.BroadcastAttrs).Axes {
		if reduced[axis] && at[i] != 1 || i > 0 && axis <= wide.Attrs.(ir.BroadcastAttrs).Axes[i-1] {
			return false
		}
		if !reduced[axis] && at[i] != shape[axis] {
			return false
		}
	}
	kept := 1
	for i, d := range shape {
		if !reduced[i] {
			kept *= d
		}
	}
	return at.Size() == kept
}

// maxFollowers limits the nodes that are computed after a reduction in its kernel.
const maxFollowers = 4

// findFollowers finds nodes computed elementwise from the results of node i's kernel, such as the reciprocal root of a
// variance: the same threads compute them.
func (s *scope) findFollowers(f *fusion, i int) {
	reduce, root := s.reduces(f, i), s.p.Nodes[i].Outputs[0]
	if reduce == nil || s.committed[root] {
		return
	}
	here := []ir.Value{root}
	for _, t := range s.beside {
		here = append(here, t.root)
	}
	r := s.reductionOf(reduce, root)
	w := r.spreading(f, here)
	for j := i + 1; j < min(len(s.p.Nodes), i+lookAhead) && len(s.followers) < maxFollowers; j++ {
		n := &s.p.Nodes[j]
		v := n.Outputs[0]
		if !f.kernel[j] || s.early[j] || f.anchor[j] != nil || roots[n.Op] != nil || s.committed[v] || len(f.checks[j]) > 0 || s.p.Type(v).Shape.Size() != r.outputs {
			continue
		}
		w.follows = false
		if w.computes(n, false) && w.follows {
			s.followers, s.early[j], w.here[v] = append(s.followers, v), true, true
		}
	}
}
