package randomtraining

import (
	"encoding/json"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras"
)

func (r *caller) compile(document json.RawMessage) error {
	if document == nil { // with the optimizer that is there
		text, err := r.m.ToJSON()
		if err != nil {
			return err
		}
		var o struct {
			Config json.RawMessage `json:"compile_config"`
		}
		if err := json.Unmarshal(text, &o); err != nil {
			return err
		}
		c, err := compileConfig(o.Config)
		if err != nil {
			return err
		}
		c.Optimizer = r.m.Optimizer()
		return r.m.Compile(c)
	}
	c, err := compileConfig(document)
	if err != nil {
		return err
	}
	return r.m.Compile(c)
}

// compileConfig reads what get_compile_config of Keras writes.
func compileConfig(document json.RawMessage) (c keras.CompileConfig, err error) {
	var o struct {
		Optimizer, Loss, Metrics json.RawMessage
		LossWeights              json.RawMessage `json:"loss_weights"`
		Weighted                 json.RawMessage `json:"weighted_metrics"`
		Steps                    int             `json:"steps_per_execution"`
	}
	if err := json.Unmarshal(document, &o); err != nil {
		return c, err
	}
	c.StepsPerExecution = o.Steps
	for _, part := range []struct {
		from json.RawMessage
		into *any
	}{{o.Optimizer, &c.Optimizer}, {o.Loss, &c.Loss}, {o.LossWeights, &c.LossWeights}, {o.Metrics, &c.Metrics}, {o.Weighted, &c.WeightedMetrics}} {
		if *part.into, err = value(part.from); err != nil {
			return c, err
		}
	}
	return c, nil
}

// value reads names, numbers, and lists and maps of them or of objects.
func value(text json.RawMessage) (any, error) {
	var list []json.RawMessage
	var dict map[string]json.RawMessage
	switch {
	case len(text) == 0:
		return nil, nil
	case text[0] == '[':
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		out := []any{}
		for _, e := range list {
			v, err := value(e)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		return out, nil
	case text[0] == '{':
		if err := json.Unmarshal(text, &dict); err != nil {
			return nil, err
		}
		if _, ok := dict["class_name"]; ok {
			return config.ParseObject(text)
		}
		out := map[string]any{}
		for k, e := range dict {
			v, err := value(e)
			if err != nil {
				return nil, err
			}
			out[k] = v
		}
		return out, nil
	}
	var v any
	return v, json.Unmarshal(text, &v)
}
