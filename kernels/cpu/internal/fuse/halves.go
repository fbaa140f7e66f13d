package fuse

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// halfOperands lists, for normalizations and losses, the operands that their kernels can read in 16 bits if they were
// converted from 16 bits. Mixed precision computes these ops in float32. The kernels widen a few rows at a time, which
// stay in the cache, and round results that are converted to 16 bits, so that no value is stored in 32 bits only for a
// conversion.
var halfOperands = map[ir.Op][]int{ir.BatchNorm: {0}, ir.BatchNormGrad: {0, 4}, ir.LayerNorm: {0}, ir.LayerNormGrad: {0, 4},
	ir.SparseSoftmaxCrossEntropy: {0}, ir.SparseSoftmaxCrossEntropyGrad: {0}}

// leastHalfRow is the length of the shortest rows that are widened row by row.
const leastHalfRow = 32

// Before returns what a fused unit's kernel reads for operand i of its node. If the kernel takes 16 bits, that is the
// value from which the operand is converted.
func (g *Graph) Before(n *ir.Node, i int) ir.Value {
	v := n.Inputs[i]
	if c := g.Node(v); c != nil && slices.Contains(halfOperands[n.Op], i) && c.Op == ir.Convert && !g.constant[g.Def[v]] &&
		g.Program.Type(v).DType == ir.Float32 && g.Program.Type(c.Inputs[0]).DType.IsHalf() {
		return c.Inputs[0]
	}
	return v
}

// findHalves looks for normalizations and losses that only need to read or write 16 bits, with no other fusion.
func (g *Graph) findHalves(i int) {
	n := &g.Program.Nodes[i]
	if halfOperands[n.Op] == nil || g.UnitOf[i] != nil || g.constant[i] {
		return
	}
	if s := g.Program.Type(n.Inputs[0]).Shape; n.Op != ir.BatchNorm && n.Op != ir.BatchNormGrad && (len(s) == 0 || s[len(s)-1] < leastHalfRow) {
		return
	}
	e := NewEpilogue(i, n.Outputs[0])
	nodes := []int{i}
	if n.Op != ir.SparseSoftmaxCrossEntropy { // a loss is a single number for each row
		nodes = g.narrowed(nodes, e)
	}
	reads := slices.ContainsFunc(halfOperands[n.Op], func(j int) bool { return g.Before(n, j) != n.Inputs[j] })
	if reads || len(nodes) > 1 {
		g.fuse(&Unit{Nodes: nodes, position: i, Fused: e})
	}
}

// narrowed adds the conversion of the result to 16 bits, if nothing else reads the result.
func (g *Graph) narrowed(nodes []int, e *Epilogue) []int {
	next, ok := g.onlyReader(e.Result)
	if !ok || g.Program.Nodes[next].Op != ir.Convert || g.UnitOf[next] != nil || g.Program.Type(e.Result).DType != ir.Float32 {
		return nodes
	}
	if v := g.Program.Nodes[next].Outputs[0]; g.Program.Type(v).DType.IsHalf() {
		nodes, e.Result = append(nodes, next), v
	}
	return nodes
}

// halfGradient returns the node that computes the gradient that a normalization's gradient reads, before its conversion
// from bfloat16, if nothing else reads it. It returns -1 if there is none.
func (g *Graph) halfGradient(i int) (through, conversion int) {
	n := &g.Program.Nodes[i]
	v := n.Inputs[4]
	only, ok := g.onlyReader(v)
	if !ok || only != i {
		return -1, -1
	}
	conversion = -1
	if from := g.Before(n, 4); from != v {
		conversion = g.Def[v]
		if only, ok := g.onlyReader(from); !ok || only != conversion || g.Program.Type(from).DType != ir.BFloat16 || g.UnitOf[conversion] != nil {
			return -1, -1
		}
		v = from
	}
	return g.Def[v], conversion
}
