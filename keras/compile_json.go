package keras

import (
	"encoding/json"
	"fmt"

	"github.com/gokeras/gokeras/internal/config"
)

// isCompiled reports whether a compile configuration is more than empty: models that were not compiled have an empty
// one.
func isCompiled(raw json.RawMessage) bool {
	var o map[string]json.RawMessage
	return json.Unmarshal(raw, &o) != nil && len(raw) > 0 || len(o) > 0
}

// parseCompile reads the compile configuration of a Keras document.
func parseCompile(raw json.RawMessage) (CompileConfig, error) {
	var o struct {
		Optimizer       json.RawMessage `json:"optimizer"`
		Loss            json.RawMessage `json:"loss"`
		LossWeights     json.RawMessage `json:"loss_weights"`
		Metrics         json.RawMessage `json:"metrics"`
		WeightedMetrics json.RawMessage `json:"weighted_metrics"`
		Steps           *int            `json:"steps_per_execution"`
		JIT             any             `json:"jit_compile"`
	}
	if err := config.Unmarshal(raw, &o); err != nil {
		return CompileConfig{}, fmt.Errorf("compile_config: %w", err)
	}
	c := CompileConfig{fromFile: true, jitCompile: o.JIT}
	for _, part := range []struct {
		raw  json.RawMessage
		into *any
	}{{o.Optimizer, &c.Optimizer}, {o.Loss, &c.Loss}, {o.LossWeights, &c.LossWeights}, {o.Metrics, &c.Metrics}, {o.WeightedMetrics, &c.WeightedMetrics}} {
		v, err := parseValue(part.raw)
		if err != nil {
			return c, fmt.Errorf("compile_config: %w", err)
		}
		*part.into = v
	}
	if o.Steps != nil {
		c.StepsPerExecution = *o.Steps
	}
	return c, nil
}

// parseValue reads names, numbers, lists and maps; objects with a class become config.Object, which Get functions take.
func parseValue(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var list []json.RawMessage
	if raw[0] == '[' {
		if err := config.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		out := make([]any, len(list))
		for i, e := range list {
			var err error
			if out[i], err = parseValue(e); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	if raw[0] != '{' {
		var v any
		err := config.Unmarshal(raw, &v)
		return v, err
	}
	var dict map[string]json.RawMessage
	if err := config.Unmarshal(raw, &dict); err != nil {
		return nil, err
	}
	if _, ok := dict["class_name"]; ok {
		return config.ParseObject(raw)
	}
	out := map[string]any{}
	for k, e := range dict {
		v, err := parseValue(e)
		if err != nil {
			return nil, err
		}
		out[k] = v
	}
	return out, nil
}
