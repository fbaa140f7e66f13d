package keras

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
)

// each calls f for the leaves of nested lists and maps.
func each(v any, f func(any) error) error {
	list, ok := asList(v)
	if m, isMap := asMap(v); isMap {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			list = append(list, m[key])
		}
		ok = true
	}
	if !ok {
		return f(v)
	}
	for _, e := range list {
		if err := each(e, f); err != nil {
			return err
		}
	}
	return nil
}

// asList turns the slice types that the config allows into a list.
func asList(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case []string:
		return convertList(v), true
	case []metrics.Metric:
		return convertList(v), true
	case []losses.Loss:
		return convertList(v), true
	case []float64:
		return convertList(v), true
	case [][]any:
		return convertList(v), true
	case [][]string:
		return convertList(v), true
	case [][]metrics.Metric:
		return convertList(v), true
	}
	return nil, false
}

func convertList[T any](in []T) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = v
	}
	return out
}

// asMap turns the map types that the config allows into a map.
func asMap(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case map[string]any:
		return v, true
	case map[string]string:
		return convertMap(v), true
	case map[string]float64:
		return convertMap(v), true
	case map[string]losses.Loss:
		return convertMap(v), true
	case map[string]metrics.Metric:
		return convertMap(v), true
	case map[string][]any:
		return convertMap(v), true
	case map[string][]metrics.Metric:
		return convertMap(v), true
	case map[string][]string:
		return convertMap(v), true
	}
	return nil, false
}

func convertMap[T any](in map[string]T) map[string]any {
	out := make(map[string]any, len(in))
	for k, v := range in {
		out[k] = v
	}
	return out
}

// byOutput returns a config value that is a map. An entry for a layer applies to each output of that layer.
func (c *compiled) byOutput(v any, names []string) (map[string]any, bool) {
	m, ok := asMap(v)
	if !ok || len(names) != len(c.layerNames) {
		return m, ok
	}
	m = maps.Clone(m)
	for i, name := range names {
		if e, has := m[c.layerNames[i]]; has {
			if _, own := m[name]; !own {
				m[name] = e
			}
		}
	}
	return m, true
}

// perOutput assigns a config value to the outputs. A single value applies to all outputs if shared is set.
func (c *compiled) perOutput(what string, v any, names []string, n int, shared bool) ([]any, error) {
	out := make([]any, n)
	if v == nil || c.nest != nil && alongNest(c.nest, v, out) {
		return out, nil
	}
	clear(out)
	if m, ok := c.byOutput(v, names); ok {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			i := slices.Index(names, k)
			if i < 0 {
				return nil, fmt.Errorf("%s: there is no output %q; %sthe outputs are %q", what, k, config.Guess(k, names), names)
			}
			out[i] = m[k]
		}
		return out, nil
	}
	list, ok := asList(v)
	if ok && (n > 1 || !shared) {
		if len(list) != n {
			return nil, fmt.Errorf("%s: the model has %d outputs, received a list of %d", what, n, len(list))
		}
		copy(out, list)
		return out, nil
	}
	for i := range out {
		out[i] = v
	}
	return out, nil
}

// metricOf reads a function as a metric as Keras does, which looks for its name among the losses first: the function
// cosine_similarity is the loss, which is negative, not the metric of that name.
func metricOf(v any) any {
	o, ok := v.(config.Object)
	if !ok {
		return v
	}
	if name, ok := o.FunctionName(); ok {
		if l, err := losses.Get(name); err == nil {
			return l
		}
	}
	return v
}
