package schedules_test

import (
	"fmt"

	"github.com/gokeras/gokeras/optimizers/schedules"
)

func print(s schedules.Schedule, steps ...int64) {
	for _, step := range steps {
		fmt.Printf("%.4f ", s.At(step))
	}
	fmt.Println()
}

func ExampleExponentialDecay() {
	print(&schedules.ExponentialDecay{InitialLearningRate: 0.1, DecaySteps: 2, DecayRate: 0.5}, 0, 1, 2, 4)
	// Output: 0.1000 0.0707 0.0500 0.0250
}

func ExampleInverseTimeDecay() {
	print(&schedules.InverseTimeDecay{InitialLearningRate: 0.1, DecaySteps: 2, DecayRate: 1}, 0, 1, 2, 4)
	// Output: 0.1000 0.0667 0.0500 0.0333
}

func ExamplePolynomialDecay() {
	print(&schedules.PolynomialDecay{InitialLearningRate: 0.1, DecaySteps: 4, EndLearningRate: new(0.0)}, 0, 1, 2, 4, 9)
	// Output: 0.1000 0.0750 0.0500 0.0000 0.0000
}

func ExamplePiecewiseConstantDecay() {
	print(&schedules.PiecewiseConstantDecay{Boundaries: []int{2, 4}, Values: []float64{0.1, 0.05, 0.01}}, 0, 2, 3, 4, 5)
	// Output: 0.1000 0.1000 0.0500 0.0500 0.0100
}

func ExampleCosineDecay() {
	warm := &schedules.CosineDecay{DecaySteps: 4, WarmupTarget: new(0.1), WarmupSteps: 2}
	print(warm, 0, 1, 2, 4, 6)
	// Output: 0.0000 0.0500 0.1000 0.0500 0.0000
}

func ExampleCosineDecayRestarts() {
	print(&schedules.CosineDecayRestarts{InitialLearningRate: 0.1, FirstDecaySteps: 2, MMul: new(0.5)}, 0, 1, 2, 4, 6)
	// Output: 0.1000 0.0500 0.0500 0.0250 0.0250
}
