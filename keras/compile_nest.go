package keras

import (
	"slices"
	"strconv"
	"strings"
)

// alongNest fills out from a config value that is made of lists and maps as the outputs are, and reports whether it is.
// A map may leave entries out.
func alongNest(nest, v any, out []any) bool {
	switch nest := nest.(type) {
	case int:
		out[nest] = v
		return true
	case []any:
		list, ok := asList(v)
		if !ok || len(list) != len(nest) {
			return v == nil
		}
		for i, inner := range nest {
			if !alongNest(inner, list[i], out) {
				return false
			}
		}
		return true
	case map[string]any:
		m, ok := asMap(v)
		if !ok {
			return v == nil
		}
		for key, e := range m {
			if inner, has := nest[key]; !has || !alongNest(inner, e, out) {
				return false
			}
		}
		return true
	}
	return false
}

// nestPaths replaces the names of outputs by those under which Keras reports their losses: the keys and places on the
// way to each, "heads/0/price". In a list the last part is the output's own name.
func nestPaths(nest any, path, names []string) {
	switch nest := nest.(type) {
	case int:
		names[nest] = strings.Join(path, "/")
	case []any:
		for i, inner := range nest {
			part := strconv.Itoa(i)
			if at, leaf := inner.(int); leaf {
				part = names[at]
			}
			nestPaths(inner, append(slices.Clone(path), part), names)
		}
	case map[string]any:
		for key, inner := range nest {
			nestPaths(inner, append(slices.Clone(path), key), names)
		}
	}
}
