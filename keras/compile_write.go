package keras

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// compileObject returns the compile_config of a Keras document, or nil if the model is not compiled: what was passed to
// Compile, with the optimizer's current learning rate.
func (m *Model) compileObject() (map[string]any, error) {
	if m.compiled == nil {
		return nil, nil
	}
	c := m.compiled.config
	optimizer, err := m.optimizerObject()
	if err != nil {
		return nil, fmt.Errorf("optimizer: %w", err)
	}
	loss, err := describeCompiled(c.Loss, func(v any) (any, error) { return losses.Get(v) })
	if err != nil {
		return nil, fmt.Errorf("loss: %w", err)
	}
	metric := func(v any) (any, error) { return metrics.Get(v) }
	plain, err := describeCompiled(c.Metrics, metric)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	weighted, err := describeCompiled(c.WeightedMetrics, metric)
	if err != nil {
		return nil, fmt.Errorf("weighted metrics: %w", err)
	}
	weights, err := describeCompiled(c.LossWeights, nil)
	if err != nil {
		return nil, fmt.Errorf("loss weights: %w", err)
	}
	jit := c.jitCompile
	if jit == nil {
		jit = "auto"
	}
	return map[string]any{
		"optimizer": optimizer, "loss": loss, "loss_weights": weights, "metrics": plain, "weighted_metrics": weighted,
		"run_eagerly": false, "steps_per_execution": c.StepsPerExecution, "jit_compile": jit,
	}, nil
}

// optimizerObject describes the optimizer. An optimizer that was wrapped for half precision is written without the
// wrapper, which Compile adds again.
func (m *Model) optimizerObject() (map[string]any, error) {
	o := m.compiled.optimizer
	if scaled, ok := o.(*optimizers.LossScaleOptimizer); ok && !givenScaled(m.compiled.config.Optimizer) {
		o = scaled.Inner
	}
	wide := slices.ContainsFunc(m.TrainableVariables(), func(v *distribute.Variable) bool { return v.Type().DType == ir.Float64 })
	m.slots.Lock() // another goroutine may be making the rate a variable
	defer m.slots.Unlock()
	return describeOptimizer(o, wide)
}

// givenScaled reports whether the user passed the wrapper.
func givenScaled(v any) bool {
	switch v := v.(type) {
	case *optimizers.LossScaleOptimizer:
		return true
	case config.Object:
		return v.ClassName == "LossScaleOptimizer"
	}
	return false
}

// describeOptimizer describes an optimizer. wide says that some of its weights are float64, and so is its learning
// rate.
func describeOptimizer(o optimizers.Optimizer, wide bool) (map[string]any, error) {
	object, err := config.EncodeObject(o)
	if err != nil {
		return nil, err
	}
	c := object["config"].(map[string]any)
	if config.RegisteredName(o) == "" || config.HasKey(o, "name") { // a caller's own type may have none
		c["name"] = optimizerName(o)
	}
	if scaled, ok := o.(*optimizers.LossScaleOptimizer); ok {
		c["inner_optimizer"], err = describeOptimizer(scaled.Inner, wide)
		return object, err
	}
	if _, scheduled := c["learning_rate"].(map[string]any); scheduled {
		return object, nil
	}
	if _, has := c["learning_rate"]; has {
		rate, err := o.Rate()
		if err != nil {
			return nil, err
		}
		if !wide {
			rate = float64(float32(rate)) // as the variable holds it
		}
		c["learning_rate"] = rate
	}
	return object, nil
}

// describeCompiled writes names unchanged, values as objects, and lists and maps of both.
func describeCompiled(v any, get func(any) (any, error)) (any, error) {
	if list, ok := asList(v); ok {
		out := make([]any, len(list))
		for i, e := range list {
			var err error
			if out[i], err = describeCompiled(e, get); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if m, ok := asMap(v); ok {
		out := make(map[string]any, len(m))
		for k, e := range m {
			var err error
			if out[k], err = describeCompiled(e, get); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	switch o := v.(type) {
	case string:
		if get == nil {
			return v, nil
		}
		if value, err := get(o); err == nil && config.IsFunction(value) { // a name that only this program knows
			return config.EncodeObject(value)
		}
		return v, nil
	case nil, bool, float64, float32, int:
		return v, nil
	case config.Object:
		if _, ok := o.FunctionName(); ok {
			return o, nil
		}
	}
	if get == nil {
		return nil, fmt.Errorf("%s has no place in a file", config.Received(v))
	}
	value, err := get(v)
	if err != nil {
		return nil, err
	}
	object, err := config.EncodeObject(value)
	if m, own := value.(interface{ NameOr(names ...string) string }); own && err == nil && config.Module(value) == "" && m.NameOr() != "" {
		object["config"].(map[string]any)["name"] = m.NameOr() // given by SetName, as Keras's base class stores it
	}
	return object, err
}
