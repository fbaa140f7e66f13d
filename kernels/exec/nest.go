package exec

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/gokeras/gokeras/kernels"
)

// Structures are values nested in map[string]any and []any, like TensorFlow's dicts, lists and tuples. Everything else
// is a leaf.

// MapStructure returns the structure with f applied to each leaf. Maps are visited in the order of their keys; path
// names the position of the leaf.
func MapStructure(v any, f func(path string, leaf any) (any, error)) (any, error) {
	if f == nil {
		return nil, errors.New("MapStructure: the function is nil")
	}
	return mapStructure("", v, f)
}

func mapStructure(path string, v any, f func(string, any) (any, error)) (any, error) {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, k := range slices.Sorted(maps.Keys(v)) {
			var err error
			if out[k], err = mapStructure(path+"["+k+"]", v[k], f); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			var err error
			if out[i], err = mapStructure(fmt.Sprint(path, "[", i, "]"), e, f); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return f(path, v)
}

// PerReplicaObjects is one Go value on each replica: what a function of NewNestFunction returned apart from tensors.
type PerReplicaObjects []any

// merge combines the structures that the replicas returned. leaf combines the leaves of all replicas.
func merge(path string, parts []any, leaf func(path string, leaves []any) (any, error)) (any, error) {
	first := parts[0]
	for i, p := range parts[1:] {
		if err := alike(first, p); err != nil {
			return nil, fmt.Errorf("distribute: the replicas returned different structures at %q: replica 0 and replica %d: %w", path, i+1, err)
		}
	}
	collect := func(pick func(any) any) []any {
		out := make([]any, len(parts))
		for i, p := range parts {
			out[i] = pick(p)
		}
		return out
	}
	switch f := first.(type) {
	case map[string]any:
		out := make(map[string]any, len(f))
		for _, k := range slices.Sorted(maps.Keys(f)) {
			var err error
			if out[k], err = merge(path+"["+k+"]", collect(func(p any) any { return p.(map[string]any)[k] }), leaf); err != nil {
				return nil, err
			}
		}
		return out, nil
	case []any:
		out := make([]any, len(f))
		for k := range f {
			var err error
			if out[k], err = merge(fmt.Sprint(path, "[", k, "]"), collect(func(p any) any { return p.([]any)[k] }), leaf); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return leaf(path, parts)
}

// alike reports how the outermost levels of two structures differ.
func alike(a, b any) error {
	switch a := a.(type) {
	case map[string]any:
		m, ok := b.(map[string]any)
		if !ok {
			return fmt.Errorf("a map and a %T", b)
		}
		ka, kb := slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(m))
		if !slices.Equal(ka, kb) {
			return fmt.Errorf("maps with the keys %q and %q", ka, kb)
		}
	case []any:
		l, ok := b.([]any)
		if !ok {
			return fmt.Errorf("a list and a %T", b)
		}
		if len(a) != len(l) {
			return fmt.Errorf("lists of %d and %d elements", len(a), len(l))
		}
	default:
		if reflect.TypeOf(a) != reflect.TypeOf(b) {
			return fmt.Errorf("a %T and a %T", a, b)
		}
	}
	return nil
}

// isSame reports whether Go values are equal, if they can be compared.
func isSame(values []any) bool {
	for _, v := range values[1:] {
		if !reflect.DeepEqual(v, values[0]) {
			return false
		}
	}
	return true
}

// asValue returns the value to feed for a leaf of the arguments, or nil if it is not an array.
func asValue(leaf any) PerReplica {
	switch v := leaf.(type) {
	case PerReplica:
		return v
	case kernels.Array:
		return PerReplica{v}
	}
	return nil
}
