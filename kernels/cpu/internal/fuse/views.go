package fuse

import (
	"github.com/gokeras/gokeras/kernels/ir"
)

// Root follows views to the value that owns the memory and returns the offset in bytes.
func (g *Graph) Root(v ir.Value) (ir.Value, int) {
	offset := 0
	for n := g.Node(v); n != nil && g.IsView(n); n = g.Node(v) {
		if a, ok := n.Attrs.(ir.SliceAttrs); ok {
			first, _ := contiguousSlice(a, g.Program.Type(n.Inputs[0]).Shape)
			offset += first * g.Program.Type(v).DType.Size()
		}
		v = n.Inputs[0]
	}
	return v, offset
}

// IsView reports whether the node's result is its operand's memory, or a contiguous piece of it.
func (g *Graph) IsView(n *ir.Node) bool {
	if n.Op == ir.BitCast { // with elements of the same size, aligned memory stays aligned
		return g.Program.Type(n.Inputs[0]).DType.Size() == g.Program.Type(n.Outputs[0]).DType.Size()
	}
	switch a := n.Attrs.(type) {
	case ir.ReshapeAttrs:
		return true
	case ir.SliceAttrs:
		_, ok := contiguousSlice(a, g.Program.Type(n.Inputs[0]).Shape)
		return ok
	}
	return false
}

// contiguousSlice returns the first element of a slice that cuts one contiguous piece.
func contiguousSlice(a ir.SliceAttrs, s ir.Shape) (first int, ok bool) {
	strides := s.Strides()
	cut := false // an outer axis is longer than 1 in the result
	for i := range s {
		n := a.Limit[i] - a.Start[i]
		first += a.Start[i] * strides[i]
		if n > 1 && a.Stride[i] != 1 || cut && n != s[i] {
			return 0, false
		}
		cut = cut || n > 1
	}
	return first, true
}

// leastCut is how many bytes of a slice must be contiguous for a concatenation to read them in place.
const leastCut = 64

// Cut returns the slice that makes operand v of a concatenation, if the concatenation copies it from the sliced value
// without the slice being stored. Otherwise it returns nil.
func (g *Graph) Cut(n *ir.Node, v ir.Value) *ir.Node {
	cut := g.Node(v)
	if g.Plain || n.Op != ir.Concat || cut == nil || cut.Op != ir.Slice || g.IsView(cut) || g.constant[g.Def[v]] {
		return nil
	}
	a, s := cut.Attrs.(ir.SliceAttrs), g.Program.Type(cut.Inputs[0])
	row := s.DType.Size()
	for i := len(s.Shape) - 1; i >= 0; i-- {
		if a.Stride[i] != 1 {
			break
		}
		if row *= a.Limit[i] - a.Start[i]; a.Limit[i]-a.Start[i] != s.Shape[i] {
			break
		}
	}
	if row < leastCut {
		return nil
	}
	return cut
}

// joinSlices joins successive slices of the same value into one unit.
func (g *Graph) joinSlices() {
	kept := g.Units[:0]
	for _, u := range g.Units {
		if n := len(kept); n > 0 && g.cutsTogether(kept[n-1], u) {
			first, i := kept[n-1], u.Nodes[0]
			first.Nodes = append(first.Nodes, i)
			g.UnitOf[i] = first
			continue
		}
		kept = append(kept, u)
	}
	clear(g.Units[len(kept):])
	g.Units = kept
}

// cutsTogether reports whether unit b is a slice of the same value as the preceding unit a, which is one or several
// slices.
func (g *Graph) cutsTogether(a, b *Unit) bool {
	if len(a.Nodes) == 0 || len(b.Nodes) == 0 {
		return false
	}
	x, y := &g.Program.Nodes[a.Nodes[0]], &g.Program.Nodes[b.Nodes[0]]
	return x.Op == ir.Slice && y.Op == ir.Slice && x.Inputs[0] == y.Inputs[0] && !a.Elementwise && !b.Elementwise && a.Fused == nil &&
		b.Fused == nil && a.Constant == b.Constant
}
