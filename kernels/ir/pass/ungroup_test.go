package pass_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Collectives of groups, made of those of all replicas, give the same bits, in loops too.
func TestUngroup(t *testing.T) {
	for _, groups := range [][][]int{{{0, 1}, {2, 3}}, {{3, 0}, {1, 2}}, {{1}, {0}, {3}, {2}}, {{2, 0, 3, 1}}} {
		p := ir.New("groups")
		b := b{t, p}
		x, h := b.input("x", ir.Float32, 4, 8), b.input("h", ir.BFloat16, 3)
		a := ir.CollectiveAttrs{Replicas: 4, Groups: groups}
		out := func(v ir.Value) { p.AddOutput(fmt.Sprint("y", len(p.Outputs)), v) }
		for _, kind := range []ir.Kind{ir.Sum, ir.Mean, ir.Max, ir.Min} {
			a.Kind = kind
			out(b.add(ir.AllReduce, a, x))
			out(b.add(ir.AllReduce, a, h))
		}
		a.Kind, a.Axis, a.Root = ir.Sum, 1, len(groups[0])-1
		out(b.add(ir.AllGather, a, x))
		out(b.add(ir.ReduceScatter, a, x))
		out(b.add(ir.CollectiveBroadcast, a, x))
		body := ir.New("body")
		c := body.AddInput("c", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 8}})
		sum, err := body.Add("", ir.AllReduce, a, c)
		require.NoError(t, err)
		body.AddOutput("c", sum[0])
		out(b.add(ir.Scan, ir.ScanAttrs{Body: body, Length: 2, Carry: 1}, x))
		q, err := pass.Ungroup().Run(p)
		require.NoError(t, err)
		require.NotContains(t, q.String(), "groups=")
		inputs := make([][]reference.Value, 4)
		for r := range inputs {
			for _, in := range p.Inputs {
				typ := p.Type(in.Value)
				numbers := make([]float64, typ.Shape.Size())
				for e := range numbers {
					numbers[e] = float64((e*11+r*5)%32) - 13
				}
				v, err := reference.New(typ.DType, typ.Shape, numbers...)
				require.NoError(t, err)
				inputs[r] = append(inputs[r], v)
			}
		}
		want, err := reference.RunReplicas(p, inputs)
		require.NoError(t, err)
		got, err := reference.RunReplicas(q, inputs)
		require.NoError(t, err)
		for r := range want {
			for i := range want[r] {
				require.Equal(t, want[r][i].Bytes(), got[r][i].Bytes(), "groups %v, replica %d, output %d", groups, r, i)
			}
		}
	}
	whole := ir.New("whole")
	same, err := pass.Ungroup().Run(whole)
	require.NoError(t, err)
	require.Same(t, whole, same)
}
