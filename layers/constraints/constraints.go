// Package constraints projects weights after each update, under the names and with the defaults of keras.constraints.
package constraints

import (
	"encoding/json"

	"github.com/gokeras/gokeras/keras/ops"
)

// Constraint maps a weight to the value that replaces it after an optimizer step. Initial values are not changed. Any
// type with this method can be given to a layer.
type Constraint interface {
	// Apply returns a tensor of the type of w.
	Apply(w *ops.Tensor) *ops.Tensor
}

// epsilon avoids NaN when a length is 0. It is keras.backend.epsilon().
const epsilon = 1e-7

// MaxNorm shortens vectors that are longer than MaxValue:
//
//	w · min(‖w‖, MaxValue) / (1e-7 + ‖w‖)
//
// A vector runs along Axis: {0} for the inputs of each unit of a Dense kernel, {0, 1, 2} for each filter of a Conv2D
// kernel. With Whole the weight is one vector, as in Keras without an axis.
type MaxNorm struct {
	MaxValue *float64 `keras:"max_value,default=2"`   // nil is 2
	Axis     []int    `keras:"axis,scalar,default=0"` // nil is {0}
	Whole    bool     `keras:"-"`                     // in place of Axis
}

// Apply returns the shortened vectors.
func (c MaxNorm) Apply(w *ops.Tensor) *ops.Tensor {
	norms := lengths(w, c.Axis, c.Whole)
	return rescale(w, norms, ops.Clip(norms, 0, valueOr(c.MaxValue, 2)))
}

// MigrateConfig reads an axis of null, which stands for Whole.
func (c *MaxNorm) MigrateConfig(keys map[string]json.RawMessage) error {
	c.Whole = migrateAxis(keys)
	return nil
}

// AmendConfig writes null for the axis of Whole.
func (c MaxNorm) AmendConfig(keys map[string]any) error { return amendAxis(keys, c.Whole) }

// NonNeg replaces negative numbers by 0.
type NonNeg struct{}

// Apply returns max(w, 0).
func (NonNeg) Apply(w *ops.Tensor) *ops.Tensor { return ops.MaximumScalar(w, 0) }

// UnitNorm scales vectors to length 1: w / (1e-7 + ‖w‖). A vector runs along Axis, or is the weight, as for [MaxNorm].
type UnitNorm struct {
	Axis  []int `keras:"axis,scalar,default=0"` // nil is {0}
	Whole bool  `keras:"-"`                     // in place of Axis
}

// Apply returns the vectors of length 1.
func (c UnitNorm) Apply(w *ops.Tensor) *ops.Tensor {
	return ops.Divide(w, ops.AddScalar(lengths(w, c.Axis, c.Whole), epsilon))
}

// MigrateConfig reads an axis of null, which stands for Whole.
func (c *UnitNorm) MigrateConfig(keys map[string]json.RawMessage) error {
	c.Whole = migrateAxis(keys)
	return nil
}

// AmendConfig writes null for the axis of Whole.
func (c UnitNorm) AmendConfig(keys map[string]any) error { return amendAxis(keys, c.Whole) }

// MinMaxNorm moves the length of vectors into [MinValue, MaxValue], by the share Rate of the way:
//
//	w · (Rate · clip(‖w‖, MinValue, MaxValue) + (1 - Rate) · ‖w‖) / (1e-7 + ‖w‖)
//
// A vector runs along Axis, or is the weight, as for [MaxNorm].
type MinMaxNorm struct {
	MinValue float64  `keras:"min_value"`
	MaxValue *float64 `keras:"max_value,default=1.0"` // nil is 1
	Rate     *float64 `keras:"rate,default=1.0"`      // nil is 1
	Axis     []int    `keras:"axis,scalar,default=0"` // nil is {0}
	Whole    bool     `keras:"-"`                     // in place of Axis
}

// Apply returns the rescaled vectors.
func (c MinMaxNorm) Apply(w *ops.Tensor) *ops.Tensor {
	norms, rate := lengths(w, c.Axis, c.Whole), valueOr(c.Rate, 1)
	desired := ops.Clip(norms, c.MinValue, valueOr(c.MaxValue, 1))
	if rate != 1 {
		desired = ops.Add(ops.MultiplyScalar(desired, rate), ops.MultiplyScalar(norms, 1-rate))
	}
	return rescale(w, norms, desired)
}

// MigrateConfig reads an axis of null, which stands for Whole.
func (c *MinMaxNorm) MigrateConfig(keys map[string]json.RawMessage) error {
	c.Whole = migrateAxis(keys)
	return nil
}

// AmendConfig writes null for the axis of Whole.
func (c MinMaxNorm) AmendConfig(keys map[string]any) error { return amendAxis(keys, c.Whole) }

func migrateAxis(keys map[string]json.RawMessage) (whole bool) {
	if whole = string(keys["axis"]) == "null"; whole {
		delete(keys, "axis")
	}
	return whole
}

func amendAxis(keys map[string]any, whole bool) error {
	if whole {
		keys["axis"] = nil
	}
	return nil
}

// lengths returns ‖w‖ along the axes, or of the whole weight, kept with length 1.
func lengths(w *ops.Tensor, axes []int, whole bool) *ops.Tensor {
	if !w.DType().IsFloat() {
		ops.Failf(w.Graph(), "constraint: a weight of type %v has no length; constraints by norm need a float type", w.DType())
	}
	switch {
	case whole:
		axes = make([]int, w.Rank())
		for i := range axes {
			axes[i] = i
		}
	case axes == nil:
		axes = []int{0}
	}
	if len(axes) == 0 { // along none: each number by itself
		return ops.Abs(w)
	}
	if w.Rank() == 0 {
		ops.Failf(w.Graph(), "constraint: a scalar has no axis to take the length along; use NonNeg or no constraint")
	}
	return ops.KeepDims(ops.Norm(w, axes...), w, axes...)
}

func rescale(w, norms, desired *ops.Tensor) *ops.Tensor {
	return ops.Multiply(w, ops.Divide(desired, ops.AddScalar(norms, epsilon)))
}

// valueOr returns what p points to, or the default for nil.
func valueOr(p *float64, def float64) float64 {
	if p == nil {
		return def
	}
	return *p
}
