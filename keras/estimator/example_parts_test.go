package estimator_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

func ExampleRunConfig() {
	fmt.Println(estimator.RunConfig{SaveCheckpointsSteps: 100, KeepCheckpointMax: new(0)}.Validate())
	fmt.Println(estimator.RunConfig{KeepCheckpointMax: new(-1)}.Validate())
	// Output:
	// <nil>
	// estimator: RunConfig: keep_checkpoint_max should be >= 0, received KeepCheckpointMax -1
}

func ExampleTrainSpec() {
	fmt.Println(estimator.TrainSpec{InputFn: ones, MaxSteps: new(0)}.Validate())
	// Output: estimator: TrainSpec: Must specify max_steps > 0, given: 0
}

func ExampleEvalSpec() {
	fmt.Println(estimator.EvalSpec{InputFn: ones, AllData: true, ThrottleSecs: new(0)}.Validate())
	// Output: <nil>
}

// Two weights with an optimizer each, in one step.
func ExampleGroup() {
	dir, remove := folder()
	defer remove()
	modelFn := func(c *estimator.Context, features estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, _ estimator.Params) (estimator.EstimatorSpec, error) {
		weight := func(name string) *distribute.Variable {
			return c.GetVariable(distribute.VariableSpec{Name: name, Shape: ir.Shape{}, DType: ir.Float32})
		}
		slow, fast := weight("slow"), weight("fast")
		spec := estimator.EstimatorSpec{Mode: mode}
		spec.Loss = ops.Mean(ops.Square(ops.Subtract(ops.Add(c.Read(slow), c.Read(fast)), labels)))
		if mode == estimator.TRAIN {
			spec.TrainOp = estimator.Group(
				c.Minimize(&optimizers.SGD{LearningRate: 0.01, Name: "sgd_slow"}, spec.Loss, slow),
				c.Minimize(&optimizers.SGD{LearningRate: 0.1, Name: "sgd_fast"}, spec.Loss, fast),
			)
		}
		return spec, nil
	}
	e, err := estimator.New(modelFn, estimator.RunConfig{ModelDir: dir}, nil)
	check(err)
	check(e.Train(context.Background(), ones, estimator.Steps(1)))
	for _, name := range []string{"slow", "fast", "global_step"} {
		v, err := e.VariableValue(name)
		check(err)
		fmt.Println(name, v)
	}
	// Output:
	// slow [0.02]
	// fast [0.2]
	// global_step [1]
}

// Fetch hands numbers to hooks.
func ExampleContext_Fetch() {
	dir, remove := folder()
	defer remove()
	modelFn := func(c *estimator.Context, features estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, params estimator.Params) (estimator.EstimatorSpec, error) {
		spec, err := scale(c, features, labels, mode, params)
		if mode != estimator.PREDICT {
			c.Fetch("root", ops.Sqrt(spec.Loss))
		}
		return spec, err
	}
	e, err := estimator.New(modelFn, estimator.RunConfig{ModelDir: dir}, estimator.Params{"rate": 0.25})
	check(err)
	check(e.Train(context.Background(), ones, estimator.Steps(3), estimator.Hooks(
		&estimator.LoggingTensorHook{Output: os.Stdout, Tensors: []string{"root"}, AtEnd: true})))
	// Output: step = 3, root = 0.25
}

// patience stops when the loss is small enough.
type patience struct{ estimator.HookBase }

func (patience) AfterRun(c *estimator.RunContext, v *estimator.RunValues) error {
	if v.Loss < 0.01 {
		c.RequestStop()
	}
	return nil
}

func ExampleHookBase() {
	dir, remove := folder()
	defer remove()
	e, err := estimator.New(scale, estimator.RunConfig{ModelDir: dir}, estimator.Params{"rate": 0.25})
	check(err)
	check(e.Train(context.Background(), ones, estimator.Hooks(patience{})))
	step, err := e.VariableValue("global_step")
	check(err)
	fmt.Println(step)
	// Output: [5]
}

func ExampleNaNTensorHook() {
	dir, remove := folder()
	defer remove()
	e, err := estimator.New(scale, estimator.RunConfig{ModelDir: dir}, estimator.Params{"rate": 1e30})
	check(err)
	err = e.Train(context.Background(), ones, estimator.Steps(10))
	fmt.Println(errors.Is(err, estimator.ErrNaNLoss))
	// Output: true
}

func ExampleCheckpointSaverHook() {
	dir, remove := folder()
	defer remove()
	e, err := estimator.New(scale, estimator.RunConfig{ModelDir: dir}, estimator.Params{"rate": 0.25})
	check(err)
	check(e.Train(context.Background(), ones, estimator.Steps(5), estimator.Hooks(&estimator.CheckpointSaverHook{SaveSteps: 3}),
		estimator.SavingListeners(func(s *estimator.Session, step int64) error {
			w, err := s.VariableValue("w")
			fmt.Println(step, w)
			return err
		})))
	// Output:
	// 0 [0]
	// 3 [0.875]
	// 5 [0.96875]
}
