package plot

import (
	"slices"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// diagram is a model as boxes and arrows.
type diagram struct {
	name    string
	boxes   []*box
	edges   []edge
	inputs  []*box     // the box that receives each input
	outputs []endpoint // where each output comes from
}

// box is one layer or input. A layer with several calls is one box.
type box struct {
	name, class string
	layer       layers.Layer // nil for an input
	in, out     []ir.Type    // of the first call; nil if unknown
	inner       *diagram     // the layers of an expanded model
	label       label
}

// edge leads from a result of a box to an input of another; the indices matter for expanded models only.
type edge struct {
	from   endpoint
	to     *box
	toPort int
}

type endpoint struct {
	box  *box
	port int
}

// newDiagram reads the graph of a model.
func newDiagram(m *keras.Model, c *config) *diagram {
	d := &diagram{name: m.Name()}
	switch {
	case m.ClassName() == "Sequential" && len(m.Layers()) > 0:
		d.sequential(m, c)
	case m.Outputs() != nil:
		d.functional(m, c)
	default: // a subclass's calls are unknown before it runs: one box, as in Keras
		b := d.add(m, &config{})
		d.inputs, d.outputs = []*box{b}, []endpoint{{b, 0}}
	}
	return d
}

// add creates the box of a layer.
func (d *diagram) add(l layers.Layer, c *config) *box {
	b := &box{name: layers.Name(l), class: layers.ClassName(l), layer: l, out: layers.OutputTypes(l)}
	if m, ok := l.(*keras.Model); ok && c.expand && expandable(m) {
		b.inner = newDiagram(m, c)
	}
	d.boxes = append(d.boxes, b)
	return b
}

// expandable reports whether the calls inside a model are known.
func expandable(m *keras.Model) bool {
	return m.Outputs() != nil || m.ClassName() == "Sequential" && len(m.Layers()) > 0
}

// sequential adds a chain of layers. Keras draws no box for its input.
func (d *diagram) sequential(m *keras.Model, c *config) {
	var before *box
	for _, l := range m.Layers() {
		b := d.add(l, c)
		switch {
		case before != nil:
			b.in = before.out
			d.connect(endpoint{before, 0}, b, 0)
		case len(m.Inputs()) > 0:
			b.in = []ir.Type{typeOf(m.Inputs()[0])}
		}
		if b.in != nil { // a layer stores the results of its last call, which may differ
			if types, err := layers.InferTypes(l, b.in); err == nil {
				b.out = types
			}
		}
		before = b
	}
	d.inputs = d.boxes[:1]
	d.outputs = []endpoint{{before, 0}}
}

func typeOf(t *layers.KerasTensor) ir.Type { return ir.Type{DType: t.DType(), Shape: t.Shape()} }

func (d *diagram) functional(m *keras.Model, c *config) {
	source := map[*layers.KerasTensor]endpoint{}
	for _, t := range m.Inputs() {
		b := &box{name: t.Name(), class: "InputLayer", out: []ir.Type{typeOf(t)}}
		d.boxes = append(d.boxes, b)
		d.inputs = append(d.inputs, b)
		source[t] = endpoint{b, 0}
	}
	byLayer := map[layers.Layer]*box{}
	for _, n := range calls(m) {
		b := byLayer[n.Layer]
		if b == nil {
			b = d.add(n.Layer, c)
			b.out = nil
			for _, t := range n.Outputs {
				b.out = append(b.out, typeOf(t))
			}
			for _, t := range n.Inputs {
				b.in = append(b.in, typeOf(t))
			}
			byLayer[n.Layer] = b
		}
		for i, t := range n.Inputs {
			d.connect(source[t], b, i)
		}
		for i, t := range n.Outputs {
			if _, given := source[t]; !given {
				source[t] = endpoint{b, i}
			}
		}
	}
	for _, t := range m.Outputs() {
		d.outputs = append(d.outputs, source[t])
	}
}

// calls lists the layer calls between a model's inputs and outputs in the order in which they were made.
func calls(m *keras.Model) []*layers.Node {
	seen := map[*layers.Node]bool{}
	var found []*layers.Node
	pending := slices.Clone(m.Outputs())
	for len(pending) > 0 {
		t := pending[len(pending)-1]
		pending = pending[:len(pending)-1]
		n, _ := t.Node()
		if slices.Contains(m.Inputs(), t) || n.Layer == nil || seen[n] {
			continue
		}
		seen[n] = true
		found = append(found, n)
		pending = append(pending, n.Inputs...)
	}
	slices.SortFunc(found, func(a, b *layers.Node) int {
		if a.Sequence < b.Sequence {
			return -1
		}
		return 1
	})
	return found
}

// connect adds an arrow, once.
func (d *diagram) connect(from endpoint, to *box, port int) {
	if from.box.inner == nil {
		from.port = 0
	}
	if to.inner == nil {
		port = 0
	}
	e := edge{from, to, port}
	if !slices.Contains(d.edges, e) {
		d.edges = append(d.edges, e)
	}
}
