//go:build linux

package cuda

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// The kernels by which replicas combine what they bring have few enough parameters, however many replicas there are.
func TestCombiningManyReplicas(t *testing.T) {
	few := func(t *testing.T, p *ir.Program, err error) {
		t.Helper()
		require.NoError(t, err)
		plan, err := lower.Program(p, lower.Options{})
		require.NoError(t, err)
		for _, s := range plan.Steps {
			require.LessOrEqual(t, len(s.Args), 512)
		}
	}
	for _, n := range []int{2, 70, 600, 1100} {
		for _, d := range []ir.DType{ir.Float32, ir.BFloat16} {
			t.Run(fmt.Sprint(d, " of ", n), func(t *testing.T) {
				typ := ir.Type{DType: d, Shape: ir.Shape{n}}
				for op, a := range map[ir.Op]ir.CollectiveAttrs{
					ir.AllReduce: {Kind: ir.Mean, Replicas: n}, ir.ReduceScatter: {Kind: ir.Sum, Replicas: n}, ir.AllGather: {Replicas: n}, ir.CollectiveBroadcast: {Root: n - 1, Replicas: n},
				} {
					p, err := combine(op, a, typ, n, n-1)
					few(t, p, err)
				}
			})
		}
		p, err := pickFlag(n)
		few(t, p, err)
	}
}
