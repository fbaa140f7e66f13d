package keras

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// isStack reports whether the graph is a plain chain, which Summary shows without connections. Any of its results may
// be outputs.
func (f *functional) isStack() bool {
	if len(f.in.list) != 1 || len(f.nodes) != len(f.layers) {
		return false
	}
	uses := map[*layers.KerasTensor]int{}
	for _, n := range f.nodes {
		if len(n.Inputs) != 1 {
			return false
		}
		if uses[n.Inputs[0]]++; uses[n.Inputs[0]] > 1 {
			return false
		}
	}
	return true
}

// connections lists where the inputs of a layer come from, as name[call][result].
func (f *functional) connections(l layers.Layer) string {
	calls := map[layers.Layer][]*layers.Node{}
	for _, n := range f.nodes {
		calls[n.Layer] = append(calls[n.Layer], n)
	}
	var out []string
	for _, n := range calls[l] {
		for _, t := range n.Inputs {
			from, index := t.Node()
			if slices.Contains(f.in.list, t) || from.Layer == nil {
				out = append(out, fmt.Sprintf("%s[0][0]", t.Name()))
				continue
			}
			out = append(out, fmt.Sprintf("%s[%d][%d]", layers.Name(from.Layer), slices.Index(calls[from.Layer], from), index))
		}
	}
	return strings.Join(out, ", ")
}

// typesString prints one shape, or a list of several.
func typesString(types []ir.Type) string {
	if len(types) == 1 {
		return layers.ShapeString(types[0].Shape)
	}
	shapes := make([]string, len(types))
	for i, t := range types {
		shapes[i] = layers.ShapeString(t.Shape)
	}
	return "[" + strings.Join(shapes, ", ") + "]"
}
