package config

import (
	"encoding/json"
	"fmt"
	"strings"
)

// PolicyMap is Keras's DTypePolicyMap as the fields of layers hold it: a string of JSON with the names of policies.
type PolicyMap struct {
	Default string            // "": that of the model
	Map     map[string]string // by the path of a layer, or by a regular expression for paths
}

// policyMapText is the JSON of a PolicyMap.
type policyMapText struct {
	Default *string           `json:"default_policy"`
	Map     map[string]string `json:"policy_map"`
}

// String returns the string; the entries are sorted.
func (m *PolicyMap) String() string {
	text := policyMapText{Map: m.Map}
	if m.Default != "" {
		text.Default = &m.Default
	}
	if text.Map == nil {
		text.Map = map[string]string{}
	}
	b, _ := json.Marshal(text) // of strings alone
	return string(b)
}

// ParsePolicyMap reads what String returns; nil if the string is the name of a policy.
func ParsePolicyMap(s string) (*PolicyMap, error) {
	if !strings.HasPrefix(s, "{") {
		return nil, nil
	}
	var text policyMapText
	if err := json.Unmarshal([]byte(s), &text); err != nil {
		return nil, fmt.Errorf("received the dtype policy %s; expected a name, or what DTypePolicyMap.String returns: %w", shorten(json.RawMessage(s)), err)
	}
	m := &PolicyMap{Map: text.Map}
	if text.Default != nil {
		m.Default = *text.Default
	}
	return m, nil
}

// policyMap converts Keras's object to the string. Without a default policy Keras writes no names at all, so the
// policies are those of the reader of the file.
func policyMap(o Object) (json.RawMessage, error) {
	var c struct {
		Default json.RawMessage            `json:"default_policy"`
		Map     map[string]json.RawMessage `json:"policy_map"`
	}
	if err := json.Unmarshal(o.Config, &c); err != nil {
		return nil, fmt.Errorf("received the policy %s %s; expected a default_policy and a policy_map", o.ClassName, shorten(o.Config))
	}
	m := PolicyMap{Map: map[string]string{}}
	name := func(raw json.RawMessage, to *string) error {
		if len(raw) == 0 {
			return nil
		}
		plain, err := quantizedPolicy(raw)
		if err != nil {
			return err
		}
		if plain = unwrap(plain); string(plain) == "null" {
			return nil
		}
		if err := json.Unmarshal(plain, to); err != nil {
			return fmt.Errorf("received the policy %s in a map; expected that of a layer", shorten(raw))
		}
		return nil
	}
	if err := name(c.Default, &m.Default); err != nil {
		return nil, err
	}
	for path, raw := range c.Map {
		policy := ""
		if err := name(raw, &policy); err != nil {
			return nil, fmt.Errorf("the entry %q of a DTypePolicyMap: %w", path, err)
		}
		m.Map[path] = policy
	}
	if len(m.Map) == 0 && m.Default != "" {
		return json.Marshal(m.Default) // the same for all layers
	}
	return json.Marshal(m.String())
}

// object returns what Keras writes for the map.
func (m *PolicyMap) object() map[string]any {
	entries := map[string]any{}
	for path, name := range m.Map {
		o := DTypePolicyObject(name)
		if name == "" {
			o["config"] = map[string]any{"name": nil}
		}
		entries[path] = o
	}
	c := map[string]any{"default_policy": nil, "policy_map": entries}
	if m.Default != "" {
		c["default_policy"] = m.Default
	}
	return map[string]any{"module": "keras.dtype_policies", "class_name": "DTypePolicyMap", "config": c, "registered_name": nil}
}
