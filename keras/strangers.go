package keras

import (
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

// stranger is a call of a layer: which layer, and inside which layer.
type stranger struct {
	layer layers.Layer
	in    string
}

// probe is the forward pass that infers a model's shapes. It looks for layers that are called but unknown to the model:
// their weights would be neither trained nor saved.
func (m *Model) probe(c *layers.Context, inputs []*ops.Tensor) []*ops.Tensor {
	var calls []stranger
	c.Watch = func(l any, _, _ []*ops.Tensor) {
		calls = append(calls, stranger{l.(layers.Layer), c.Graph().Path()})
	}
	outputs := m.topology.forward(c, inputs)
	c.Watch = nil
	own := m.Weights()
	// Weights with storage belong to another model. Whether they may be used is known only when they are used.
	strange := func(v *distribute.Variable) bool { return v.Strategy() == nil && !slices.Contains(own, v) }
	var outermost stranger
	for _, s := range calls {
		if slices.ContainsFunc(layers.Weights(s.layer), strange) && (outermost.layer == nil || len(s.in) < len(outermost.in)) {
			outermost = s
		}
	}
	if outermost.layer == nil {
		return outputs
	}
	what := layers.Weights(outermost.layer)[0].Path()
	if outermost.in == m.Path() {
		ops.Failf(c.Graph(), strangeVariable, m.Name(), what)
	}
	ops.Failf(c.Graph(), "%s calls the layer %q, whose weights (%s, ...) would be neither trained nor saved, because it is in no exported field and not adopted; make it in Build and call b.Adopt on it there, or hold it in an exported field",
		outermost.in, layers.Name(outermost.layer), what)
	return nil
}

// strangeVariable is the message about a model and a variable of a layer unknown to it.
const strangeVariable = "model %q uses the variable %s of a layer that is not among its layers; make the layer before the model is made, and hold it in an exported field"
