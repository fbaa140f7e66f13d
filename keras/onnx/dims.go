package onnx

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// openAxis is the position of an open axis: the input and the axis.
type openAxis struct{ input, axis int }

// openAxes finds, for each open size, the first input axis of that size.
func openAxes(trace *ir.Program, inputs int) map[string]openAxis {
	axes := map[string]openAxis{}
	for i, in := range trace.Inputs[:inputs] {
		for j, d := range trace.Type(in.Value).Shape {
			if name := dim.Name(d); name != "" {
				if _, taken := axes[name]; !taken {
					axes[name] = openAxis{i, j}
				}
			}
		}
	}
	return axes
}

// length returns the name of a list with one length. Computed lengths are nodes of the main graph.
func (b *builder) length(d int) (string, error) {
	if dim.Known(d) || d == maxInt64 {
		return b.vector(d), nil
	}
	if name, ok := b.w.lengths[d]; ok {
		return name, nil
	}
	main := b.w.main
	two := func(op string) func(x, y string) (string, error) {
		return func(x, y string) (string, error) { return main.add(op, list(x, y)), nil }
	}
	name, err := dim.Fold(d, dim.Steps[string]{
		Constant: func(n int) (string, error) { return main.vector(n), nil },
		Size:     main.size,
		Add:      two("Add"),
		Mul:      two("Mul"),
		Div: func(x, y string) (string, error) { // ONNX rounds towards zero
			return main.add("Div", list(main.add("Sub", list(x, main.add("Mod", list(x, y)))), y)), nil
		},
		Max: two("Max"),
	})
	if err != nil {
		return "", b.errorf("%w", err)
	}
	b.w.lengths[d] = name
	return name, nil
}

// size reads the length of an open axis from the shape of an input.
func (b *builder) size(name string) (string, error) {
	d := dim.Symbol(name)
	if known, ok := b.w.lengths[d]; ok {
		return known, nil
	}
	at, ok := b.w.open[name]
	if !ok {
		return "", b.errorf("a length follows %q, but no input has that axis", name)
	}
	b.w.lengths[d] = b.add("Shape", list(b.g.inputs[at.input].name), attribute{"start", at.axis}, attribute{"end", at.axis + 1})
	return b.w.lengths[d], nil
}
