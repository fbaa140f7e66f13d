package optimizers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
)

// Ftrl follows the regularized leader. With gradient g, learning rate a, p = -LearningRatePower, regularization
// strengths λ1 and λ2, shrinkage λs and λ2' = λ2 + β/(2a),
//
//	n' = n + g²;  z ← z + (g + 2·λs·w) - (n'^p - n^p)/a·w
//	w ← (clip(z, -λ1, λ1) - z)/(n'^p/a + 2·λ2');  n ← n'
//
// With the default configuration the first step moves weights towards 0, because z starts at 0 and not at the value
// that corresponds to the weights. Slots: accumulator (n) and linear (z). Name: "ftrl". Behaviour of
// keras.optimizers.Ftrl. Source: McMahan et al., "Ad Click Prediction: a View from the Trenches", KDD 2013, algorithm
// 1.
type Ftrl struct {
	Base
	Options
	LearningRate                      any      `keras:"learning_rate,default=0.001"`           // float64 or schedules.Schedule; nil is 0.001
	LearningRatePower                 *float64 `keras:"learning_rate_power,default=-0.5"`      // at most 0; nil is -0.5
	InitialAccumulatorValue           *float64 `keras:"initial_accumulator_value,default=0.1"` // nil is 0.1
	L1RegularizationStrength          float64  `keras:"l1_regularization_strength"`
	L2RegularizationStrength          float64  `keras:"l2_regularization_strength"`
	L2ShrinkageRegularizationStrength float64  `keras:"l2_shrinkage_regularization_strength"`
	Beta                              float64  `keras:"beta"`
	Name                              string   `keras:"name,default=ftrl"`
}

func (o *Ftrl) check() error {
	if p := or(o.LearningRatePower, -0.5); !(p <= 0) {
		return fmt.Errorf("LearningRatePower must not be positive, received %v", p)
	}
	for _, v := range []struct {
		name  string
		value *float64
	}{{"InitialAccumulatorValue", o.InitialAccumulatorValue}, {"L1RegularizationStrength", &o.L1RegularizationStrength},
		{"L2RegularizationStrength", &o.L2RegularizationStrength}, {"L2ShrinkageRegularizationStrength", &o.L2ShrinkageRegularizationStrength}} {
		if err := checkNotNegative(v.name, v.value); err != nil {
			return err
		}
	}
	return nil
}

// Settings implements [Rule].
func (o *Ftrl) Settings() Settings {
	return Settings{named(o.Name, "ftrl"), o.LearningRate, 0.001, o.Options}
}

// Build implements [Optimizer].
func (o *Ftrl) Build(w distribute.Variables) error { return o.BuildRule(o, w) }

// Apply implements [Optimizer].
func (o *Ftrl) Apply(r *distribute.Replica, g ops.Gradients) { o.ApplyRule(o, r, g) }

// Slots implements [Rule].
func (o *Ftrl) Slots(w *distribute.Variable) []Slot {
	n := like(w, "accumulator")
	n.Value = or(o.InitialAccumulatorValue, 0.1)
	return []Slot{n, like(w, "linear")}
}

// Elementwise reports whether the update works element by element; see [Rule].
func (*Ftrl) Elementwise(_ *distribute.Variable) bool { return true }

// Update implements [Rule].
func (o *Ftrl) Update(s *Step, _ *distribute.Variable, w, g *ops.Tensor, slots []*ops.Tensor) (*ops.Tensor, []*ops.Tensor) {
	rate := s.Rate(w)
	power := func(x *ops.Tensor) *ops.Tensor {
		if p := -or(o.LearningRatePower, -0.5); p != 0.5 {
			return ops.PowerScalar(x, p)
		}
		return ops.Sqrt(x)
	}
	n := ops.Add(slots[0], ops.Square(g))
	raised := power(n)
	shrunk := ops.Add(g, ops.MultiplyScalar(w, 2*o.L2ShrinkageRegularizationStrength))
	z := ops.Add(slots[1], ops.Subtract(shrunk, ops.Multiply(ops.Divide(ops.Subtract(raised, power(slots[0])), rate), w)))
	l2 := ops.AddScalar(ops.Divide(ops.Scalar(w, o.Beta), rate), 2*o.L2RegularizationStrength)
	quadratic := ops.Add(ops.Divide(raised, rate), l2)
	limited := ops.Clip(z, -o.L1RegularizationStrength, o.L1RegularizationStrength)
	return ops.Divide(ops.Subtract(limited, z), quadratic), []*ops.Tensor{n, z}
}
