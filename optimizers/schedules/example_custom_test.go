package schedules_test

import (
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// warmup rises linearly to Peak and stays there.
type warmup struct {
	Peak  float64
	Steps int
}

func (w warmup) Rate(step *ops.Tensor) *ops.Tensor {
	if !step.DType().IsFloat() {
		step = ops.Cast(step, ir.Float32)
	}
	return ops.MultiplyScalar(ops.MinimumScalar(ops.DivideScalar(step, float64(w.Steps)), 1), w.Peak)
}

func (w warmup) At(step int64) float64 { return w.Peak * min(1, float64(step)/float64(w.Steps)) }

// A custom schedule is given to an optimizer as its LearningRate.
func ExampleSchedule() {
	var s schedules.Schedule = warmup{Peak: 0.1, Steps: 4}
	fmt.Println(s.At(0), s.At(2), s.At(9))
	// Output: 0 0.05 0.1
}
