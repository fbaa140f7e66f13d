package data

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Tensors is an ordered set of arrays: one array, a list of arrays (Names is nil), or a dictionary (Names[i] names
// Arrays[i]). The zero value is the empty set, such as missing labels.
type Tensors struct {
	Names  []string // nil: the arrays are identified by position; else as long as Arrays, without repetition
	Arrays []Array
}

// List returns the given arrays as a set without names. List(x) is the set of one array.
func List(arrays ...Array) Tensors { return Tensors{Arrays: arrays} }

// Dict returns the named set of the given arrays, sorted by name.
func Dict(arrays map[string]Array) Tensors {
	t := Tensors{Names: make([]string, 0, len(arrays)), Arrays: make([]Array, 0, len(arrays))}
	for name := range arrays {
		t.Names = append(t.Names, name)
	}
	sort.Strings(t.Names)
	for _, name := range t.Names {
		t.Arrays = append(t.Arrays, arrays[name])
	}
	return t
}

// Len returns the number of arrays.
func (t Tensors) Len() int { return len(t.Arrays) }

// Single returns the only array of the set; nil if the set has no array or more than one.
func (t Tensors) Single() Array {
	if len(t.Arrays) != 1 {
		return Array{}
	}
	return t.Arrays[0]
}

// Get returns the array of that name, or nil.
func (t Tensors) Get(name string) Array {
	if i := slices.Index(t.Names, name); i >= 0 && i < len(t.Arrays) {
		return t.Arrays[i]
	}
	return Array{}
}

// Clone returns a deep copy.
func (t Tensors) Clone() Tensors {
	c := Tensors{Names: slices.Clone(t.Names)}
	if t.Arrays != nil {
		c.Arrays = make([]Array, len(t.Arrays))
	}
	for i, a := range t.Arrays {
		c.Arrays[i] = a.Clone()
	}
	return c
}

// String lists names, element types and shapes, not values: "(image uint8[64 28 28], tags int64[64 16])".
func (t Tensors) String() string {
	parts := make([]string, len(t.Arrays))
	for i, a := range t.Arrays {
		parts[i] = describe(a)
		if i < len(t.Names) {
			parts[i] = t.Names[i] + " " + parts[i]
		}
	}
	if len(parts) == 1 && t.Names == nil {
		return parts[0]
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// label names array i of a component in error messages: x, x[1] or x["tags"].
func (t Tensors) label(component string, i int) string {
	switch {
	case i < len(t.Names):
		return fmt.Sprintf("%s[%q]", component, t.Names[i])
	case len(t.Arrays) == 1:
		return component
	default:
		return fmt.Sprintf("%s[%d]", component, i)
	}
}

func (t Tensors) check(component string) error {
	if t.Names != nil && len(t.Names) != len(t.Arrays) {
		return fmt.Errorf("%s has %d names for %d arrays", component, len(t.Names), len(t.Arrays))
	}
	for i, a := range t.Arrays {
		if a.IsZero() {
			return fmt.Errorf("%s is no array", t.label(component, i))
		}
		if i < len(t.Names) && slices.Contains(t.Names[:i], t.Names[i]) {
			return fmt.Errorf("%s has two arrays named %q", component, t.Names[i])
		}
	}
	return nil
}

// Batch is what a model takes in one step: the arrays of some examples, stacked along axis 0. Each component may hold
// several arrays, for models with several inputs or outputs. In a Pipeline an element has the same three components.
type Batch struct {
	X            Tensors // inputs
	Y            Tensors // targets; empty for prediction
	SampleWeight Tensors // one weight for each example (or time step), for each output or for all; empty means 1
}

// components returns the three sets in their fixed order.
func (b *Batch) components() [3]*Tensors { return [3]*Tensors{&b.X, &b.Y, &b.SampleWeight} }

var componentNames = [3]string{"x", "y", "sample_weight"}

// Size returns the number of examples in a stacked batch: the length of axis 0 of its first array; 0 if there is no
// array or it is a scalar.
func (b Batch) Size() int {
	for _, t := range b.components() {
		if len(t.Arrays) > 0 {
			if shape := t.Arrays[0].Shape(); len(shape) > 0 {
				return shape[0]
			}
			return 0
		}
	}
	return 0
}

// Clone returns a deep copy, owned by the caller.
func (b Batch) Clone() Batch {
	return Batch{X: b.X.Clone(), Y: b.Y.Clone(), SampleWeight: b.SampleWeight.Clone()}
}

// String shows element types and shapes of the components present: "x float32[32 10], y int64[32]".
func (b Batch) String() string {
	var parts []string
	for i, t := range b.components() {
		if t.Len() > 0 {
			parts = append(parts, componentNames[i]+" "+t.String())
		}
	}
	return strings.Join(parts, ", ")
}

func (b *Batch) check() error {
	arrays := 0
	for i, t := range b.components() {
		if err := t.check(componentNames[i]); err != nil {
			return err
		}
		arrays += t.Len()
	}
	if arrays == 0 {
		return fmt.Errorf("the element holds no array")
	}
	return nil
}

// rows returns the common length of axis 0 of all arrays.
func (b *Batch) rows() (int, error) {
	n, first := -1, ""
	for i, t := range b.components() {
		for j, a := range t.Arrays {
			label, shape := t.label(componentNames[i], j), a.Shape()
			switch {
			case len(shape) == 0:
				return 0, fmt.Errorf("%s is a scalar; expected a leading axis that counts the samples", label)
			case n < 0:
				n, first = shape[0], label
			case shape[0] != n:
				return 0, fmt.Errorf("%s has %d samples but %s has %d; every array needs the same number", first, n, label, shape[0])
			}
		}
	}
	return max(n, 0), nil
}
