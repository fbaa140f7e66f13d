package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Loose lists keys that Keras's base classes write into the configurations of all classes derived from them.
type Loose map[string]json.RawMessage

// TakeBaseKeys removes such keys from a configuration if into has a custom type without fields for them. Python writes
// them for custom classes whether those classes know them or not.
func TakeBaseKeys(raw json.RawMessage, into any, keys ...string) (rest json.RawMessage, taken Loose) {
	all := map[string]json.RawMessage{}
	if Module(into) != "" || json.Unmarshal(raw, &all) != nil {
		return raw, nil
	}
	ignored, _ := into.(interface{ IgnoredConfig() []string })
	for _, key := range keys {
		value, there := all[key]
		if !there || HasKey(into, key) || ignored != nil && slices.Contains(ignored.IgnoredConfig(), key) {
			continue
		}
		if taken == nil {
			taken = Loose{}
		}
		taken[key] = value
		delete(all, key)
	}
	if taken == nil {
		return raw, nil
	}
	rest, err := json.Marshal(all)
	if err != nil {
		return raw, nil
	}
	return rest, taken
}

// Text returns the value of a key as text, or "" if it is missing or null.
func (l Loose) Text(key string) (text string, err error) {
	if raw := l[key]; !isNull(raw) {
		if err = json.Unmarshal(raw, &text); err != nil {
			return "", fmt.Errorf("key %q: expected text, received %s", key, shorten(raw))
		}
	}
	return text, nil
}

// Only fails if a key has a value other than those that the type supports without a field for it.
func (l Loose) Only(into any, key string, values ...string) error {
	raw, there := l[key]
	if !there {
		return nil
	}
	text, err := l.Text(key)
	if err != nil || slices.Contains(values, text) {
		return err
	}
	return fmt.Errorf("config of %s: key %q is %s, and the Go type, which has no field for it, means %q; give it one with the tag `keras:%q`", ClassName(into), key, strings.TrimSpace(string(raw)), values[0], key)
}
