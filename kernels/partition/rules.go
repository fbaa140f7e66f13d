package partition

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// labels say which axes of the operands and results of an operation belong together: axes with the same label are
// divided alike, or not at all. An axis with the label none must be whole. If an axis of an operand has a label that a
// result lacks, devices compute partial results, which are combined with combine.
type labels struct {
	in, out [][]int
	combine ir.Kind // how partial results are combined; "" if there can be none
	attrs   func(out []ir.Type) ir.Attrs
}

const none = -1

// rule gives the labels of a node.
type rule func(p *ir.Program, n *ir.Node) *labels

// upTo is 0, 1, ..., n-1.
func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// blocked gives some axes the label none.
func blocked(l []int, axes ...int) []int {
	l = slices.Clone(l)
	for _, axis := range axes {
		l[axis] = none
	}
	return l
}

// ranked gives an array the labels of its first axes, and none to the others.
func ranked(l []int, rank int) []int {
	out := slices.Repeat([]int{none}, rank)
	copy(out, l)
	return out
}

// needsWhole reports whether an axis that must be whole is divided.
func (l *labels) needsWhole(in []value) bool {
	for j, v := range in {
		for i, axis := range v.at {
			if axis >= 0 && l.in[j][i] == none {
				return true
			}
		}
	}
	return false
}

// axes chooses the axis of the mesh for each label, from those of the operands. Labels on which operands agree come
// first, then those that the wanted layout of the first result has, then those of results, whose parts need not be
// combined, then sums. Broadcasts come last, because cutting them is free.
func (l *labels) axes(in []value, want layout) map[int]int {
	chosen, taken := map[int]int{}, map[int]bool{}
	choose := func(fits func(j, label, axis int) bool) {
		for j, v := range in {
			for i, axis := range v.at {
				label := l.in[j][i]
				if _, known := chosen[label]; axis >= 0 && label != none && !known && !taken[axis] && fits(j, label, axis) {
					chosen[label], taken[axis] = axis, true
				}
			}
		}
	}
	divides := func(j, label, axis int) bool {
		i := slices.Index(l.in[j], label)
		return i >= 0 && in[j].at[i] == axis
	}
	choose(func(j, label, axis int) bool {
		for k := range j {
			if in[j].spread == nil && in[k].spread == nil && divides(k, label, axis) {
				return true
			}
		}
		return false
	})
	choose(func(_, label, axis int) bool {
		i := slices.Index(l.out[0], label)
		return i >= 0 && want != nil && want[i] == axis
	})
	choose(func(j, label, _ int) bool { return in[j].spread == nil && slices.Contains(l.out[0], label) })
	choose(func(j, _, _ int) bool { return in[j].spread == nil })
	choose(func(int, int, int) bool { return true })
	return chosen
}

// layoutOf is the layout of an array with the given labels.
func layoutOf(labels []int, axes map[int]int) layout {
	at := whole(len(labels))
	for i, label := range labels {
		if axis, ok := axes[label]; ok && label != none {
			at[i] = axis
		}
	}
	return at
}

// apply computes an operation on parts.
func (s *spreader) apply(p *ir.Program, n *ir.Node, l *labels, in []value) []value {
	var want layout
	if p == s.top {
		want = s.wanted[n.Outputs[0]]
	}
	axes := l.axes(in, want)
	if want != nil && (n.Op.IsElementwise() || n.Op == ir.OptimizerUpdate) { // another layout gains nothing
		axes = map[int]int{}
		for i, axis := range want {
			if label := l.out[0][i]; axis >= 0 && label != none {
				axes[label] = axis
			}
		}
	}
	if l.combine == "" { // a label that a result lacks cannot be divided
		for _, labels := range l.in {
			for _, label := range labels {
				if slices.ContainsFunc(l.out, func(out []int) bool { return !slices.Contains(out, label) }) {
					delete(axes, label)
				}
			}
		}
	}
	ids := make([]ir.Value, len(in))
	for j, v := range in {
		ids[j] = s.place(v, layoutOf(l.in[j], axes)).id
	}
	out, parts := make([]value, len(n.Outputs)), make([]ir.Type, len(n.Outputs))
	for j, v := range n.Outputs {
		out[j] = value{of: p.Type(v), at: layoutOf(l.out[j], axes)}
		parts[j] = s.part(out[j].of, out[j].at)
	}
	attrs := n.Attrs
	if l.attrs != nil {
		attrs = l.attrs(parts)
	}
	for j, id := range s.add(n.Op, attrs, ids...) {
		if got := s.out.Type(id); !got.Equal(parts[j]) {
			s.failf("%v of parts gives %v, expected %v", n.Op, got, parts[j])
		}
		out[j].id = id
		var partial []int
		for label, axis := range axes {
			if !slices.Contains(l.out[j], label) && slices.ContainsFunc(l.in, func(in []int) bool { return slices.Contains(in, label) }) {
				partial = append(partial, axis)
			}
		}
		if len(partial) > 0 {
			out[j] = s.combine(l.combine, out[j], partial)
		}
	}
	if a, ok := n.Attrs.(ir.BroadcastAttrs); ok {
		out[0].spread, out[0].axes = &in[0], a.Axes
	}
	return out
}

// ruleOf returns the rule of an op; nil if there is none.
func ruleOf(op ir.Op) rule {
	if r := rules[op]; r != nil {
		return r
	}
	if op.IsElementwise() {
		return aligned
	}
	return nil
}

// aligned: all operands and results have one shape. Axes of shorter operands, mostly scalars, are whole.
func aligned(p *ir.Program, n *ir.Node) *labels {
	all := upTo(len(p.Type(n.Outputs[0]).Shape))
	return same(p, n, all)
}

// same gives every array the given labels; others have none.
func same(p *ir.Program, n *ir.Node, all []int) *labels {
	l := &labels{}
	shape := p.Type(n.Outputs[0]).Shape
	of := func(v ir.Value) []int {
		own := p.Type(v).Shape
		out := ranked(all, len(own))
		for i := range own {
			if i >= len(shape) || own[i] != shape[i] {
				out[i] = none
			}
		}
		return out
	}
	for _, v := range n.Inputs {
		l.in = append(l.in, of(v))
	}
	for _, v := range n.Outputs {
		l.out = append(l.out, of(v))
	}
	return l
}

// offAxis: same, and the axis must be whole.
func offAxis(axis func(n *ir.Node, rank int) int) rule {
	return func(p *ir.Program, n *ir.Node) *labels {
		all := upTo(len(p.Type(n.Inputs[0]).Shape))
		return &labels{
			in:  repeat(blocked(all, axis(n, len(all))), len(n.Inputs)),
			out: repeat(blocked(all, axis(n, len(all))), len(n.Outputs)),
		}
	}
}

func repeat(l []int, n int) [][]int {
	out := make([][]int, n)
	for i := range out {
		out[i] = l
	}
	return out
}

// firstAndLast: the examples and the channels of images are kept apart; results may have other lengths in between.
func firstAndLast(p *ir.Program, n *ir.Node) *labels {
	l := &labels{}
	of := func(v ir.Value) []int {
		out := ranked(nil, len(p.Type(v).Shape))
		out[0], out[len(out)-1] = 0, 1
		return out
	}
	for _, v := range n.Inputs {
		l.in = append(l.in, of(v))
	}
	for _, v := range n.Outputs {
		l.out = append(l.out, of(v))
	}
	return l
}
