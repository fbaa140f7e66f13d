package optimizers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/gokeras/gokeras/internal/config"
)

// OptimizerMap chooses the optimizer of a weight by its path, for [MultiOptimizer]. Behaviour of
// keras.optimizers.OptimizerMap.
type OptimizerMap struct {
	// Rules are tried in order. A path that matches several is an error, unless it is literally the pattern of one.
	Rules []PathRule
	// Default trains the weights that no rule matches.
	Default Optimizer
}

// PathRule assigns an optimizer to the weights whose whole path matches a regular expression.
type PathRule struct {
	Pattern   string
	Optimizer Optimizer
}

// OptimizerFor implements [Chooser].
func (m *OptimizerMap) OptimizerFor(path string) (Optimizer, error) {
	var found *PathRule
	for i, rule := range m.Rules {
		if rule.Pattern == path {
			return rule.Optimizer, nil
		}
		re, err := regexp.Compile("^(?:" + rule.Pattern + ")$")
		if err != nil {
			return nil, fmt.Errorf("optimizer map: %w", err)
		}
		if !re.MatchString(path) {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("optimizer map: weight %s matches both %q and %q; make the patterns disjoint", path, found.Pattern, rule.Pattern)
		}
		found = &m.Rules[i]
	}
	if found != nil {
		return found.Optimizer, nil
	}
	if m.Default == nil {
		return nil, fmt.Errorf("optimizer map: no pattern matches weight %s and there is no default", path)
	}
	return m.Default, nil
}

// Optimizers implements [Chooser]: those of the rules, then the default.
func (m *OptimizerMap) Optimizers() []Optimizer {
	var all []Optimizer
	add := func(o Optimizer) {
		if o != nil && !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	for _, rule := range m.Rules {
		add(rule.Optimizer)
	}
	add(m.Default)
	return all
}

func init() {
	config.RegisterKindWith("optimizer_map", resolveMap, describeMap)
}

// resolveMap reads a map from a configuration. It keeps the order of the file, because that is also the order of the
// variables.
func resolveMap(v any) (any, error) {
	o, ok := v.(config.Object)
	if !ok {
		if c, ok := v.(Chooser); ok {
			return c, nil
		}
		return nil, fmt.Errorf("expected an OptimizerMap, received %s", config.Received(v))
	}
	if o.ClassName != "OptimizerMap" {
		return nil, fmt.Errorf("expected an OptimizerMap, received %s", config.A(o.ClassName))
	}
	var c struct {
		Default json.RawMessage `json:"default_optimizer"`
		Rules   json.RawMessage `json:"optimizer_map"`
	}
	if err := config.Unmarshal(o.Config, &c); err != nil {
		return nil, err
	}
	m := &OptimizerMap{}
	var err error
	if m.Default, err = readOptimizer(c.Default); err != nil {
		return nil, fmt.Errorf("default optimizer: %w", err)
	}
	return m, m.readRules(c.Rules)
}

func readOptimizer(raw json.RawMessage) (Optimizer, error) {
	o, err := config.ParseObject(raw)
	if err != nil {
		return nil, err
	}
	return Get(o)
}

// readRules reads the entries of a JSON object in the order of the file.
func (m *OptimizerMap) readRules(raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return fmt.Errorf("expected an object of patterns and optimizers, received %s", raw)
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		o, err := readOptimizer(value)
		if err != nil {
			return fmt.Errorf("pattern %q: %w", key, err)
		}
		m.Rules = append(m.Rules, PathRule{key.(string), o})
	}
	return nil
}

// describeMap writes a map as Keras does.
func describeMap(v any) (any, error) {
	m, ok := v.(*OptimizerMap)
	if !ok {
		return nil, fmt.Errorf("a %T cannot be written; only an *optimizers.OptimizerMap can", v)
	}
	object := map[string]any{"module": "keras.optimizers", "class_name": "OptimizerMap", "registered_name": nil}
	c := map[string]any{"default_optimizer": nil}
	if m.Default != nil {
		d, err := config.EncodeObject(m.Default)
		if err != nil {
			return nil, err
		}
		c["default_optimizer"] = d
	}
	rules := make(orderedObject, len(m.Rules))
	for i, rule := range m.Rules {
		o, err := config.EncodeObject(rule.Optimizer)
		if err != nil {
			return nil, err
		}
		rules[i] = orderedEntry{rule.Pattern, o}
	}
	c["optimizer_map"], object["config"] = rules, c
	return object, nil
}

// orderedObject is a JSON object that keeps the order of its entries.
type orderedObject []orderedEntry

type orderedEntry struct {
	key   string
	value any
}

// MarshalJSON implements [json.Marshaler].
func (o orderedObject) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, e := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(e.key)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
