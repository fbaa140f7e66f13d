package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// quantizedPolicies lists the classes of Keras's policies with a mode and the name of another policy. Here they are a
// single string: "int4/128_from_float32".
var quantizedPolicies = map[string]bool{"QuantizedDTypePolicy": true, "QuantizedFloat8DTypePolicy": true, "Int4DTypePolicy": true,
	"GPTQDTypePolicy": true, "AWQDTypePolicy": true}

// defaultHistory is Keras's default amax_history_length.
const defaultHistory = 1024

// quantizedPolicy converts the object of such a policy to its string. Other values are unchanged.
func quantizedPolicy(raw json.RawMessage) (json.RawMessage, error) {
	o, err := ParseObject(raw)
	if err != nil || !strings.Contains(o.ClassName, "DTypePolicy") {
		return raw, nil
	}
	if !quantizedPolicies[o.ClassName] {
		if o.ClassName == "DTypePolicy" || o.ClassName == "FloatDTypePolicy" || hasName(o) {
			return raw, nil
		}
		if o.ClassName == "DTypePolicyMap" {
			return policyMap(o)
		}
		return nil, fmt.Errorf("received the policy %s %s; expected one of Keras's", o.ClassName, shorten(o.Config))
	}
	var c struct {
		Mode    string `json:"mode"`
		Source  string `json:"source_name"`
		History int    `json:"amax_history_length"`
	}
	if err := json.Unmarshal(o.Config, &c); err != nil || c.Mode == "" {
		return nil, fmt.Errorf("received the policy %s %s; expected a mode and a source_name", o.ClassName, shorten(o.Config))
	}
	if c.Source == "" {
		c.Source = "float32"
	}
	if c.Mode == "float8" && c.History != 0 && c.History != defaultHistory {
		c.Mode += "/" + strconv.Itoa(c.History)
	}
	return json.Marshal(c.Mode + "_from_" + c.Source)
}

// PolicyName returns the name of the policy in a configuration, whether it is given as a name or as one of Keras's
// objects; "" for none.
func PolicyName(raw json.RawMessage) string {
	raw, err := quantizedPolicy(raw)
	var name string
	if err != nil || json.Unmarshal(unwrap(raw), &name) != nil {
		return ""
	}
	return name
}

// DTypePolicyObject returns the object that Keras writes for a dtype policy.
func DTypePolicyObject(name string) map[string]any {
	if m, err := ParsePolicyMap(name); m != nil && err == nil {
		return m.object()
	}
	mode, source, quantized := strings.Cut(name, "_from_")
	if !quantized {
		return map[string]any{"module": "keras", "class_name": "DTypePolicy", "config": map[string]any{"name": name}, "registered_name": nil}
	}
	class, c := "QuantizedDTypePolicy", map[string]any{"mode": mode, "source_name": source}
	switch kind, setting, given := strings.Cut(mode, "/"); {
	case kind == "int4" && given:
		class = "Int4DTypePolicy"
	case kind == "gptq":
		class = "GPTQDTypePolicy"
	case kind == "awq":
		class = "AWQDTypePolicy"
	case kind == "float8":
		class, c["mode"], c["amax_history_length"] = "QuantizedFloat8DTypePolicy", kind, defaultHistory
		if n, err := strconv.Atoi(setting); given && err == nil {
			c["amax_history_length"] = n
		}
	}
	return map[string]any{"module": "keras.dtype_policies", "class_name": class, "config": c, "registered_name": nil}
}
