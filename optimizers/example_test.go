package optimizers_test

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// train takes two steps from the weight [[1 2] [3 4]] with the gradient [[0.5 -0.25] [1 0]] and prints where they lead.
func train(o optimizers.Optimizer) {
	w := distribute.NewVariable(distribute.VariableSpec{Name: "kernel", Shape: ir.Shape{2, 2}, DType: ir.Float32})
	start, err := kernels.FromFloat64s(ir.Float32, ir.Shape{2, 2}, []float64{1, 2, 3, 4})
	if err == nil {
		err = w.SetValue(start)
	}
	s := distribute.Default()
	step := s.Function(func(r *distribute.Replica, _ distribute.Batch) *ops.Tensor {
		gradient := ops.Constant(r, ir.Float32, ir.Shape{2, 2}, []float64{0.5, -0.25, 1, 0})
		o.Apply(r, ops.Gradients{Of: distribute.Variables{w}, Values: []*ops.Tensor{gradient}})
		return nil
	})
	for range 2 {
		if err == nil {
			_, err = s.Run(context.Background(), step, make(distribute.PerReplicaBatch, 1))
		}
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	value, _ := w.Value()
	for i := range 4 {
		fmt.Printf("%.4f ", value.Element(i))
	}
	fmt.Println()
}

func ExampleSGD() {
	train(&optimizers.SGD{LearningRate: 0.1, Momentum: 0.9})
	// Output: 0.8550 2.0725 2.7100 4.0000
}

func ExampleRMSprop() {
	train(&optimizers.RMSprop{LearningRate: 0.1})
	// Output: 0.4544 2.5456 2.4544 4.0000
}

func ExampleAdam() {
	train(&optimizers.Adam{LearningRate: 0.1})
	// Output: 0.8000 2.2000 2.8000 4.0000
}

func ExampleAdamW() {
	train(&optimizers.AdamW{LearningRate: 0.1, WeightDecay: new(0.2)})
	// Output: 0.7624 2.1188 2.6832 3.8416
}

func ExampleAdagrad() {
	train(&optimizers.Adagrad{LearningRate: 0.1})
	// Output: 0.8509 2.1147 2.8356 4.0000
}

func ExampleAdadelta() {
	train(&optimizers.Adadelta{LearningRate: 1.0})
	// Output: 0.9972 2.0028 2.9972 4.0000
}

func ExampleAdamax() {
	train(&optimizers.Adamax{LearningRate: 0.1})
	// Output: 0.8000 2.2000 2.8000 4.0000
}

func ExampleNadam() {
	train(&optimizers.Nadam{LearningRate: 0.1})
	// Output: 0.8164 2.1836 2.8164 4.0000
}

func ExampleFtrl() {
	train(&optimizers.Ftrl{LearningRate: 0.1})
	// Output: 0.3164 0.5458 1.9311 0.0000
}

func ExampleLion() {
	train(&optimizers.Lion{LearningRate: 0.1})
	// Output: 0.8000 2.2000 2.8000 4.0000
}

func ExampleLamb() {
	train(&optimizers.Lamb{LearningRate: 0.1})
	// Output: 0.3727 2.6273 2.3727 4.0000
}

func ExampleAdafactor() {
	train(&optimizers.Adafactor{LearningRate: 0.1})
	// Output: 0.5920 2.9123 2.5438 4.0000
}

func ExampleMuon() {
	train(&optimizers.Muon{LearningRate: 0.1})
	// Output: 0.9846 2.0414 2.9594 3.9790
}

func ExampleScheduleFreeAdamW() {
	train(&optimizers.ScheduleFreeAdamW{LearningRate: 0.1})
	// Output: 0.8500 2.1500 2.8500 4.0000
}

func ExampleLossScaleOptimizer() {
	train(&optimizers.LossScaleOptimizer{Inner: &optimizers.SGD{LearningRate: 0.1}, InitialScale: 2})
	// Output: 0.9500 2.0250 2.9000 4.0000
}

// Weights are told apart by their paths.
func ExampleMultiOptimizer() {
	o := &optimizers.MultiOptimizer{Map: &optimizers.OptimizerMap{
		Rules:   []optimizers.PathRule{{Pattern: ".*kernel", Optimizer: &optimizers.SGD{LearningRate: 1.0}}},
		Default: &optimizers.Adam{},
	}}
	train(o)
	// Output: 0.0000 2.5000 1.0000 4.0000
}

// Options are shared by all optimizers.
func ExampleOptions() {
	train(&optimizers.SGD{LearningRate: 0.1, Options: optimizers.Options{ClipValue: new(0.2), WeightDecay: new(0.5)}})
	// Output: 0.8635 1.8440 2.6685 3.6100
}

// A schedule takes the place of a learning rate.
func ExampleSGD_schedule() {
	train(&optimizers.SGD{LearningRate: &schedules.PiecewiseConstantDecay{Boundaries: []int{0}, Values: []float64{0.1, 0.01}}})
	// Output: 0.9450 2.0275 2.8900 4.0000
}

func ExampleOptimizerMap() {
	m := &optimizers.OptimizerMap{
		Rules:   []optimizers.PathRule{{Pattern: "encoder/.*", Optimizer: &optimizers.SGD{}}},
		Default: &optimizers.Adam{},
	}
	for _, path := range []string{"encoder/dense/kernel", "head/kernel"} {
		o, err := m.OptimizerFor(path)
		fmt.Printf("%T %v\n", o, err)
	}
	// Output:
	// *optimizers.SGD <nil>
	// *optimizers.Adam <nil>
}

func ExampleGet() {
	o, err := optimizers.Get("rmsprop")
	rate, _ := o.Rate()
	fmt.Printf("%T %v %v\n", o, rate, err)
	_, err = optimizers.Get(&optimizers.SGD{LearningRate: 1})
	fmt.Println(err)
	// Output:
	// *optimizers.RMSprop 0.001 <nil>
	// optimizers: sgd: the learning rate must be a float or a schedules.Schedule, received the int 1; write 1.0
}
