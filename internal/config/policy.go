package config

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// quantizedPolicies are the classes of Keras's policies with a mode and the name of another policy, which one string
// says here: "int4/128_from_float32".
var quantizedPolicies = map[string]bool{"QuantizedDTypePolicy": true, "QuantizedFloat8DTypePolicy": true, "Int4DTypePolicy": true,
	"GPTQDTypePolicy": true, "AWQDTypePolicy": true}

// defaultHistory is the amax_history_length that Keras has by itself.
const defaultHistory = 1024

// onlyPolicy is the policy of a DTypePolicyMap that has the same for all layers; nil for other policies.
func onlyPolicy(o Object) json.RawMessage {
	var c struct {
		Default json.RawMessage            `json:"default_policy"`
		Map     map[string]json.RawMessage `json:"policy_map"`
	}
	if o.ClassName != "DTypePolicyMap" || json.Unmarshal(o.Config, &c) != nil || len(c.Map) > 0 || len(c.Default) == 0 || string(c.Default) == "null" {
		return nil
	}
	return c.Default
}

// quantizedPolicy turns the object of such a policy into its string; other values stay as they are.
func quantizedPolicy(raw json.RawMessage) (json.RawMessage, error) {
	o, err := ParseObject(raw)
	if err != nil || !strings.Contains(o.ClassName, "DTypePolicy") {
		return raw, nil
	}
	if !quantizedPolicies[o.ClassName] {
		if o.ClassName == "DTypePolicy" || o.ClassName == "FloatDTypePolicy" || hasName(o) {
			return raw, nil
		}
		if policy := onlyPolicy(o); policy != nil {
			return quantizedPolicy(policy)
		}
		return nil, fmt.Errorf("received the policy %s %s; maps of policies with entries for layers are not supported", o.ClassName, shorten(o.Config))
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

// DTypePolicyObject returns the object that Keras writes for a dtype policy.
func DTypePolicyObject(name string) map[string]any {
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
