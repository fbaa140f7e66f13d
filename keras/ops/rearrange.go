package ops

import (
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Rearrange reorders, joins and splits axes by a pattern of names, as einops does: "b (h p) c -> (b p) h c" splits the
// second axis and joins its second part to the first. Names in parentheses make up one axis. lengths gives the lengths
// that cannot be computed; at most one in each pair of parentheses can be left out.
func Rearrange(x *Tensor, pattern string, lengths map[string]int) *Tensor {
	left, right, ok := strings.Cut(pattern, "->")
	if !ok {
		Failf(x.Graph(), "rearrange: the pattern %q has no \"->\"; write it like \"b h w -> b (h w)\"", pattern)
	}
	from, to := axisGroups(x.g, pattern, left), axisGroups(x.g, pattern, right)
	if len(from) != x.Rank() {
		Failf(x.g, "rearrange: the pattern %q names %d axes, but the shape is %v", pattern, len(from), x.Shape())
	}
	sizes := map[string]int{}
	var split []int
	var names []string
	for i, group := range from {
		known, open := 1, ""
		for _, name := range group {
			n, given := lengths[name]
			switch {
			case given && n > 0:
				known = dim.Mul(known, n)
				sizes[name] = n
			case given || open != "":
				Failf(x.g, "rearrange: axis %d of %v is (%s); give the lengths of all but one of its parts, received %v", i, x.Shape(), strings.Join(group, " "), lengths)
			default:
				open = name
			}
		}
		fits := dim.Check(known) == nil
		if fits && open != "" {
			sizes[open] = dim.FloorDiv(x.Dim(i), known)
			fits = dim.MayEqual(dim.Mod(x.Dim(i), known), 0)
		} else if fits {
			fits = dim.MayEqual(known, x.Dim(i))
		}
		if !fits {
			Failf(x.g, "rearrange: axis %d of %v does not divide into (%s) with the lengths %v", i, x.Shape(), strings.Join(group, " "), lengths)
		}
		for _, name := range group {
			split, names = append(split, sizes[name]), append(names, name)
		}
	}
	var order, shape []int
	for _, group := range to {
		n := 1
		for _, name := range group {
			at := slices.Index(names, name)
			if at < 0 || slices.Contains(order, at) {
				Failf(x.g, "rearrange: %q must have each name of the left side once on the right side", pattern)
			}
			order = append(order, at)
			n = dim.Mul(n, sizes[name])
		}
		shape = append(shape, n)
	}
	if len(order) != len(names) {
		Failf(x.g, "rearrange: %q must have each name of the left side once on the right side", pattern)
	}
	return Reshape(Transpose(Reshape(x, split...), order...), shape...)
}

// axisGroups reads one side of a pattern.
func axisGroups(g *Graph, pattern, side string) [][]string {
	var groups [][]string
	inside := false
	for _, word := range strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(side)) {
		switch {
		case word == "(" && !inside:
			groups, inside = append(groups, nil), true
		case word == ")" && inside:
			inside = false
		case word == "(" || word == ")":
			Failf(g, "rearrange: the parentheses of %q do not match", pattern)
		case inside:
			groups[len(groups)-1] = append(groups[len(groups)-1], word)
		default:
			groups = append(groups, []string{word})
		}
	}
	if inside {
		Failf(g, "rearrange: the parentheses of %q do not match", pattern)
	}
	return groups
}
