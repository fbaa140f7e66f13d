package distribution

import (
	"fmt"
	"regexp"
	"slices"
)

// LayoutMap assigns layouts to variables by their paths ("dense/kernel"). Keys are paths, or regular expressions that
// match a whole path.
type LayoutMap struct {
	mesh    *DeviceMesh
	keys    []string
	layouts map[string]*TensorLayout
	match   map[string]*regexp.Regexp
}

// NewLayoutMap returns an empty map.
func NewLayoutMap(mesh *DeviceMesh) *LayoutMap {
	return &LayoutMap{mesh: mesh, layouts: map[string]*TensorLayout{}, match: map[string]*regexp.Regexp{}}
}

// Set assigns a layout to the variables of a key: for each axis of the variable, the name of a mesh axis, or "" if it
// is not divided. An existing key is an error.
func (m *LayoutMap) Set(key string, axes ...string) error {
	if l, taken := m.layouts[key]; taken {
		return fmt.Errorf("distribution: the layout map has the key %q already, with %v", key, l)
	}
	l, err := NewTensorLayout(m.mesh, axes...)
	if err != nil {
		return err
	}
	r, err := regexp.Compile(`\A(?:` + key + `)\z`)
	if err != nil {
		return fmt.Errorf("distribution: the key %q of a layout map is no regular expression: %w", key, err)
	}
	m.keys, m.layouts[key], m.match[key] = append(m.keys, key), l, r
	return nil
}

// Get returns the layout of a path: that of the key equal to the path, or else of the key that matches it, or nil if
// none does. Several matching keys are an error.
func (m *LayoutMap) Get(path string) (*TensorLayout, error) {
	if l := m.layouts[path]; l != nil {
		return l, nil
	}
	var found []string
	for _, key := range m.keys {
		if m.match[key].MatchString(path) {
			found = append(found, key)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return m.layouts[found[0]], nil
	}
	return nil, fmt.Errorf("distribution: the path %q matches the keys %q of the layout map; each path may match one", path, found)
}

// Delete removes a key.
func (m *LayoutMap) Delete(key string) {
	delete(m.layouts, key)
	delete(m.match, key)
	m.keys = slices.DeleteFunc(m.keys, func(k string) bool { return k == key })
}

// Len returns the number of keys.
func (m *LayoutMap) Len() int { return len(m.keys) }

// Keys lists the keys in the order in which they were set.
func (m *LayoutMap) Keys() []string { return slices.Clone(m.keys) }

// Mesh returns the mesh of all layouts.
func (m *LayoutMap) Mesh() *DeviceMesh { return m.mesh }
