package partition_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/partition"
)

// collectives counts those of a program on two devices.
func collectives(t *testing.T, p *ir.Program, layouts [][]int) map[ir.Op]int {
	t.Helper()
	parts, err := partition.Program(p, []int{2}, layouts)
	require.NoError(t, err)
	counts := map[ir.Op]int{}
	for i, live := range parts.Live() {
		if n := parts.Nodes[i]; live && n.Op.IsCollective() {
			counts[n.Op]++
		}
	}
	return counts
}

// Values are divided so that devices exchange little.
func TestCollectives(t *testing.T) {
	matrix := func(rows, columns int) ir.Type { return ir.Type{DType: ir.Float32, Shape: ir.Shape{rows, columns}} }
	dot := func(p *ir.Program, l, r ir.Value) ir.Value {
		return must(p.Add("layer", ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, l, r))[0]
	}

	p := ir.New("columns, then rows")
	x, w, v := p.AddInput("x", matrix(6, 4)), p.AddInput("w", matrix(4, 8)), p.AddInput("v", matrix(8, 4))
	p.AddOutput("y", dot(p, dot(p, x, w), v))
	require.Equal(t, map[ir.Op]int{ir.AllReduce: 1}, collectives(t, p, [][]int{nil, {-1, 0}, {0, -1}}))

	p = ir.New("divided input, then columns: the input is fetched, not the weights and a sum")
	x, w, v = p.AddInput("x", matrix(6, 4)), p.AddInput("w", matrix(4, 8)), p.AddInput("v", matrix(8, 4))
	p.AddOutput("y", dot(p, dot(p, x, w), v))
	require.Equal(t, map[ir.Op]int{ir.AllGather: 1, ir.AllReduce: 1}, collectives(t, p, [][]int{{-1, 0}, {-1, 0}, {0, -1}}))

	p = ir.New("a gradient of other columns is fetched once for weight and slot")
	g, w, m := p.AddInput("g", matrix(4, 8)), p.AddInput("w", matrix(4, 8)), p.AddInput("m", matrix(4, 8))
	next := must(p.Add("sgd", ir.Add, nil, m, g))[0]
	p.AddAlias("w", must(p.Add("sgd", ir.Sub, nil, w, next))[0], 1)
	p.AddAlias("m", next, 2)
	require.Equal(t, map[ir.Op]int{ir.AllGather: 1}, collectives(t, p, [][]int{{-1, 0}, nil, nil}))
	require.Equal(t, map[ir.Op]int{ir.AllGather: 1}, collectives(t, p, [][]int{{-1, 0}, {0, -1}, {0, -1}}))
	require.Empty(t, collectives(t, p, [][]int{nil, {0, -1}, {0, -1}}))
}
