package schedules

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ExponentialDecay is initial · rate^(s/steps): over DecaySteps steps the rate is gradually multiplied by DecayRate.
// With Staircase it changes all at once, because s/steps is rounded down. Behaviour of
// keras.optimizers.schedules.ExponentialDecay.
type ExponentialDecay struct {
	InitialLearningRate float64 `keras:"initial_learning_rate,required"`
	DecaySteps          float64 `keras:"decay_steps,required"` // positive
	DecayRate           float64 `keras:"decay_rate,required"`
	Staircase           bool    `keras:"staircase"`
	Name                string  `keras:"name,default=ExponentialDecay"`
}

func (s *ExponentialDecay) check() error { return positiveSteps(s.DecaySteps) }

// Rate implements [Schedule].
func (s *ExponentialDecay) Rate(step *ops.Tensor) *ops.Tensor {
	p := fraction(begin(s, step), s.DecaySteps, s.Staircase)
	return ops.MultiplyScalar(ops.Power(ops.Scalar(p, s.DecayRate), p), s.InitialLearningRate)
}

// At implements [Schedule].
func (s *ExponentialDecay) At(step int64) float64 {
	return s.InitialLearningRate * math.Pow(s.DecayRate, fractionAt(step, s.DecaySteps, s.Staircase))
}

// fraction is s/steps, rounded down for a staircase.
func fraction(step *ops.Tensor, steps float64, staircase bool) *ops.Tensor {
	p := ops.DivideScalar(step, steps)
	if staircase {
		p = ops.Floor(p)
	}
	return p
}

func fractionAt(step int64, steps float64, staircase bool) float64 {
	p := float64(step) / steps
	if staircase {
		p = math.Floor(p)
	}
	return p
}

// InverseTimeDecay is initial / (1 + rate·s/steps), where Staircase rounds s/steps down. Behaviour of
// keras.optimizers.schedules.InverseTimeDecay.
type InverseTimeDecay struct {
	InitialLearningRate float64 `keras:"initial_learning_rate,required"`
	DecaySteps          float64 `keras:"decay_steps,required"` // positive
	DecayRate           float64 `keras:"decay_rate,required"`
	Staircase           bool    `keras:"staircase"`
	Name                string  `keras:"name,default=InverseTimeDecay"`
}

func (s *InverseTimeDecay) check() error { return positiveSteps(s.DecaySteps) }

// Rate implements [Schedule].
func (s *InverseTimeDecay) Rate(step *ops.Tensor) *ops.Tensor {
	p := fraction(begin(s, step), s.DecaySteps, s.Staircase)
	return ops.Divide(ops.Scalar(p, s.InitialLearningRate), ops.AddScalar(ops.MultiplyScalar(p, s.DecayRate), 1))
}

// At implements [Schedule].
func (s *InverseTimeDecay) At(step int64) float64 {
	return s.InitialLearningRate / (1 + s.DecayRate*fractionAt(step, s.DecaySteps, s.Staircase))
}

// PolynomialDecay is (initial - end)·(1 - s/steps)^power + end, and stays at end after DecaySteps. With Cycle, steps is
// instead the first multiple of DecaySteps that is not below s, so that the rate jumps up again whenever it has come
// down. Behaviour of keras.optimizers.schedules.PolynomialDecay.
type PolynomialDecay struct {
	InitialLearningRate float64  `keras:"initial_learning_rate,required"`
	DecaySteps          float64  `keras:"decay_steps,required"`             // positive
	EndLearningRate     *float64 `keras:"end_learning_rate,default=0.0001"` // nil is 0.0001
	Power               *float64 `keras:"power,default=1"`                  // nil is 1
	Cycle               bool     `keras:"cycle"`
	Name                string   `keras:"name,default=PolynomialDecay"`
}

func (s *PolynomialDecay) check() error { return positiveSteps(s.DecaySteps) }

// Rate implements [Schedule].
func (s *PolynomialDecay) Rate(step *ops.Tensor) *ops.Tensor {
	step = begin(s, step)
	n := s.DecaySteps
	steps := ops.Scalar(step, n)
	if s.Cycle {
		cycles := ops.MaximumScalar(ops.Ceil(ops.DivideScalar(step, n)), 1)
		steps = ops.Multiply(steps, cycles)
	} else {
		step = ops.MinimumScalar(step, n)
	}
	end := or(s.EndLearningRate, 1e-4)
	left := ops.PowerScalar(ops.Subtract(ops.OnesLike(step), ops.Divide(step, steps)), or(s.Power, 1))
	return ops.AddScalar(ops.MultiplyScalar(left, s.InitialLearningRate-end), end)
}

// At implements [Schedule].
func (s *PolynomialDecay) At(step int64) float64 {
	at, steps := float64(step), s.DecaySteps
	if s.Cycle {
		steps *= max(math.Ceil(at/steps), 1)
	} else {
		at = min(at, steps)
	}
	end := or(s.EndLearningRate, 1e-4)
	return (s.InitialLearningRate-end)*math.Pow(1-at/steps, or(s.Power, 1)) + end
}

// PiecewiseConstantDecay is values[i] for the first i with s <= boundaries[i], and the last value after the last
// boundary. Behaviour of keras.optimizers.schedules.PiecewiseConstantDecay.
type PiecewiseConstantDecay struct {
	Boundaries []int     `keras:"boundaries"` // strictly increasing
	Values     []float64 `keras:"values"`     // one more than boundaries
	Name       string    `keras:"name,default=PiecewiseConstant"`
}

// MigrateConfig truncates boundaries to whole numbers, as Keras does for steps that are whole numbers.
func (s *PiecewiseConstantDecay) MigrateConfig(c map[string]json.RawMessage) error {
	var boundaries []float64
	if json.Unmarshal(c["boundaries"], &boundaries) != nil {
		return nil // what is wrong is said where they are read
	}
	whole := make([]int64, len(boundaries))
	for i, b := range boundaries {
		if whole[i] = int64(b); math.Abs(b) > 1<<53 {
			return nil
		}
	}
	text, err := json.Marshal(whole)
	c["boundaries"] = text
	return err
}

func (s *PiecewiseConstantDecay) check() error {
	if len(s.Boundaries) == 0 || len(s.Values) != len(s.Boundaries)+1 {
		return fmt.Errorf("needs one value more than boundaries, received %d values for %d boundaries", len(s.Values), len(s.Boundaries))
	}
	for i, b := range s.Boundaries[1:] {
		if b <= s.Boundaries[i] {
			return fmt.Errorf("boundaries must increase, received %v", s.Boundaries)
		}
	}
	return nil
}

// Rate implements [Schedule].
func (s *PiecewiseConstantDecay) Rate(step *ops.Tensor) *ops.Tensor {
	like := begin(s, step)
	rate := ops.Scalar(like, s.Values[len(s.Boundaries)])
	for i := len(s.Boundaries) - 1; i >= 0; i-- {
		before := ops.CompareScalar(ir.Le, step, float64(s.Boundaries[i]))
		rate = ops.Where(before, ops.Scalar(like, s.Values[i]), rate)
	}
	return rate
}

// At implements [Schedule].
func (s *PiecewiseConstantDecay) At(step int64) float64 {
	for i, b := range s.Boundaries {
		if step <= int64(b) {
			return s.Values[i]
		}
	}
	return s.Values[len(s.Boundaries)]
}
