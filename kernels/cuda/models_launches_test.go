//go:build linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// costs are the launches of some steps, and the bytes that their kernels read and write, loops counted as often as they
// run.
func costs(steps []lower.Step) (launches int, bytes int64) {
	for _, s := range steps {
		switch s.Kind {
		case lower.Launch:
			launches, bytes = launches+1, bytes+s.Bytes
		case lower.Loop:
			l, b := costs(s.Body)
			launches, bytes = launches+s.Length*l, bytes+int64(s.Length)*b
		}
	}
	return launches, bytes
}

// A step of training of larger models launches few kernels, which move few bytes.
func TestModelLaunches(t *testing.T) {
	s, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	tensor := lower.Options{Capability: 90}
	for _, c := range []struct {
		name      string
		program   func() *ir.Program
		launches  int
		megabytes int64
	}{
		{"ResNet-20, batch 128", func() *ir.Program {
			return trainingProgram(t, resnet20(t, s, "float32"), zeros(ir.Float32, 128, 32, 32, 3), zeros(ir.Int32, 128))
		}, 155, 1538},
		{"ResNet-20, bfloat16, batch 128", func() *ir.Program {
			return trainingProgram(t, resnet20(t, s, "mixed_bfloat16"), zeros(ir.Float32, 128, 32, 32, 3), zeros(ir.Int32, 128))
		}, 180, 777},
		{"GPT-2 of 2 blocks, bfloat16, 1024 tokens, batch 1", func() *ir.Program {
			return trainingProgram(t, gpt2(t, s, "mixed_bfloat16", 2, 12, 768, 1024, 1024), zeros(ir.Int32, 1, 1024), zeros(ir.Int32, 1, 1024))
		}, 95, 1109},
		{"ResNet-50, bfloat16, batch 256", func() *ir.Program {
			return trainingProgram(t, resnet50(t, s, "mixed_bfloat16"), zeros(ir.Float32, 256, 224, 224, 3), zeros(ir.Int32, 256))
		}, 426, 82700},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan, err := lower.Program(c.program(), tensor)
			require.NoError(t, err)
			launches, bytes := costs(plan.Steps)
			t.Logf("%d launches, %.1f MB, arena of %.1f MB", launches, float64(bytes)/1e6, float64(plan.ArenaBytes)/1e6)
			assert.LessOrEqual(t, launches, c.launches)
			assert.LessOrEqual(t, bytes/1e6, c.megabytes)
		})
	}
}
