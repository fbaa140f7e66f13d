//go:build linux

package pjrt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// TestRematNeedsLessMemory: XLA does not keep what is behind its barriers.
func TestRematNeedsLessMemory(t *testing.T) {
	b := pjrt.New("xla", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(4)})
	arena := func(remat bool) int64 {
		g := ops.NewGraph("step")
		y := g.Input("x", ir.Float32, 64, 8)
		var weights []*ops.Tensor
		for range 8 {
			wide, back := g.Input("wide", ir.Float32, 8, 512), g.Input("back", ir.Float32, 512, 8)
			weights = append(weights, wide, back)
			segment := ops.BeginSegment(g)
			y = ops.Tanh(ops.Matmul(ops.Sin(ops.Gelu(ops.Matmul(y, wide), false)), back))
			if remat {
				segment.Remat()
			}
		}
		for _, d := range ops.Grad(ops.Sum(y), weights...) {
			g.Program().AddOutput("gradient", d.Value())
		}
		e, err := b.Compile(g.Program(), kernels.CompileOptions{Device: kernels.Device{Kind: "xla"}})
		require.NoError(t, err)
		return e.Stats().ArenaBytes
	}
	require.Less(t, 3*arena(true), arena(false))
}
