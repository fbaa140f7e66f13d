package ops

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/gokeras/gokeras/internal/config"
)

// DTypePolicyMap gives the layers inside a layer or a model policies of their own, by their paths ("encoder/query"). A
// key is a path or a regular expression that matches whole paths: "encoder/.*" is all layers inside encoder, and
// "encoder" is encoder alone. Use the result of [DTypePolicyMap.String] in place of a policy's name, in the field DType
// of layers or in the model's option. Layers that make other layers, such as MultiHeadAttention, pass it on to them.
// Behaviour of keras.dtype_policies.DTypePolicyMap; regular expressions are those of package regexp.
//
// Differences: Keras writes no policy names to files if the map has no default policy; here they are written. A layer
// with a map can be quantized, which adds an entry for its path; in Keras that is an error.
type DTypePolicyMap struct{ m config.PolicyMap }

// NewDTypePolicyMap returns a map without entries. The default policy applies to paths that no key matches; "" is the
// policy of the model.
func NewDTypePolicyMap(defaultPolicy string) (*DTypePolicyMap, error) {
	if m, err := config.ParsePolicyMap(defaultPolicy); m != nil || err != nil {
		return nil, fmt.Errorf("ops: the default policy of a DTypePolicyMap cannot be a map itself")
	}
	if _, err := ParseDTypePolicy(defaultPolicy); err != nil {
		return nil, fmt.Errorf("ops: DTypePolicyMap: %w", err)
	}
	return &DTypePolicyMap{config.PolicyMap{Default: defaultPolicy, Map: map[string]string{}}}, nil
}

// ParseDTypePolicyMap returns the map for which [DTypePolicyMap.String] returned s, or nil if s is the name of a
// policy.
func ParseDTypePolicyMap(s string) (*DTypePolicyMap, error) {
	m, err := config.ParsePolicyMap(s)
	if m == nil || err != nil {
		return nil, err
	}
	p, err := NewDTypePolicyMap(m.Default)
	for _, key := range slices.Sorted(maps.Keys(m.Map)) {
		if err == nil {
			err = p.Set(key, m.Map[key])
		}
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Set adds an entry. It is an error if the key exists: to replace an entry, delete it first. The policy "" is that of
// the model.
func (p *DTypePolicyMap) Set(key, policy string) error {
	if has, ok := p.m.Map[key]; ok {
		return fmt.Errorf("ops: DTypePolicyMap: %q has the policy %q already; delete it first, or use another key", key, has)
	}
	if _, err := regexp.Compile(key); err != nil {
		return fmt.Errorf("ops: DTypePolicyMap: the key %q is no regular expression: %w", key, err)
	}
	if m, err := config.ParsePolicyMap(policy); m != nil || err != nil {
		return fmt.Errorf("ops: DTypePolicyMap: the policy of %q cannot be a map itself", key)
	}
	if _, err := ParseDTypePolicy(policy); err != nil {
		return fmt.Errorf("ops: DTypePolicyMap: %q: %w", key, err)
	}
	if p.m.Map == nil {
		p.m.Map = map[string]string{}
	}
	p.m.Map[key] = policy
	return nil
}

// Delete removes an entry.
func (p *DTypePolicyMap) Delete(key string) error {
	if !p.Has(key) {
		return fmt.Errorf("ops: DTypePolicyMap has no entry %q; its keys are %q", key, p.Keys())
	}
	delete(p.m.Map, key)
	return nil
}

// Has reports whether the map has an entry with exactly this key.
func (p *DTypePolicyMap) Has(key string) bool { _, ok := p.m.Map[key]; return ok }

// Keys returns the keys, sorted.
func (p *DTypePolicyMap) Keys() []string { return slices.Sorted(maps.Keys(p.m.Map)) }

// Match returns the name of the policy for a path: that of the entry with exactly this key, otherwise of the entry
// whose key matches the whole path. ok is false if there is none. It is an error if several match.
func (p *DTypePolicyMap) Match(path string) (policy string, ok bool, err error) {
	if policy, ok = p.m.Map[path]; ok {
		return policy, true, nil
	}
	var matching []string
	for _, key := range p.Keys() {
		re, err := regexp.Compile("^(?:" + key + ")$")
		if err != nil {
			return "", false, fmt.Errorf("ops: DTypePolicyMap: the key %q is no regular expression: %w", key, err)
		}
		if re.MatchString(path) {
			matching = append(matching, key)
		}
	}
	switch len(matching) {
	case 0:
		return "", false, nil
	case 1:
		return p.m.Map[matching[0]], true, nil
	}
	return "", false, fmt.Errorf("ops: DTypePolicyMap: the path %q matches several keys: %q; make sure that each path matches one at most", path, matching)
}

// Get is [DTypePolicyMap.Match], with the default policy if there is no entry.
func (p *DTypePolicyMap) Get(path string) (string, error) {
	policy, ok, err := p.Match(path)
	if !ok {
		policy = p.m.Default
	}
	return policy, err
}

// Default returns the policy of paths that no key matches; "" is that of the model.
func (p *DTypePolicyMap) Default() string { return p.m.Default }

// String returns the map as JSON, for the field DType of layers.
func (p *DTypePolicyMap) String() string { return p.m.String() }

// At returns the policy that a layer computes with, given that of its model: the policy itself, unless that is a map.
// If a layer has several paths, the first one with an entry counts.
func (p DTypePolicy) At(model DTypePolicy, paths ...string) (DTypePolicy, error) {
	if p.Map == nil {
		return p, nil
	}
	name := p.Map.Default()
	for _, path := range paths {
		policy, ok, err := p.Map.Match(path)
		if err != nil {
			return p, err
		}
		if ok {
			name = policy
			break
		}
	}
	if name == "" && model.Map == nil {
		return model, nil
	}
	return ParseDTypePolicy(name)
}

// Text returns what fields and options accept for the policy: its name, or the string of its map.
func (p DTypePolicy) Text() string {
	if p.Map != nil {
		return p.Map.String()
	}
	return p.Name
}
