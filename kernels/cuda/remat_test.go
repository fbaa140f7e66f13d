//go:build linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/losses"
)

// What a model computes again is not kept meanwhile: of the values within blocks there are those of one at a time.
func TestRematNeedsLessMemory(t *testing.T) {
	s, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	arena := func(remat *keras.RematScope) int64 {
		m := gpt2(t, s, "mixed_bfloat16", 8, 4, 256, 100, 256)
		require.NoError(t, m.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Remat: remat}))
		p, err := m.TrainingProgram(t.Context(), data.Arrays(zeros(ir.Int32, 16, 256), zeros(ir.Int32, 16, 256)))
		require.NoError(t, err)
		plan, err := lower.Program(p, lower.Options{Capability: 90})
		require.NoError(t, err)
		launches, bytes := costs(plan.Steps)
		t.Logf("%d launches, %.1f MB, arena of %.1f MB", launches, float64(bytes)/1e6, float64(plan.ArenaBytes)/1e6)
		return plan.ArenaBytes
	}
	require.Less(t, 3*arena(&keras.RematScope{}), 2*arena(nil))
}
