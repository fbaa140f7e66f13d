package keras

import (
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/layers"
)

// Outputs returns the symbolic outputs of a Functional model, or of a Sequential model with a declared input; nil for
// other models. From them and [Model.Inputs] you can walk the graph of layer calls with [layers.KerasTensor.Node], and
// make other models: a new head on an old body, or a body without its head; see [Model.LayerOutput].
func (m *Model) Outputs() []*layers.KerasTensor {
	switch t := m.topology.(type) {
	case *functional:
		return t.out.list
	case *sequential:
		if calls := t.calls(); len(calls) > 0 {
			return calls[len(calls)-1].Outputs
		}
	}
	return nil
}

// LayerOutput returns the symbolic (first) result of the model's layer, or input, of the given name, Keras's
// get_layer(name).output. A model of it shares the layer and all layers before it:
//
//	features, err := keras.NewFunctional(keras.Inputs(model.Inputs()...), keras.Outputs(model.LayerOutput("block4_pool")))
//
// The model must be Functional, or Sequential with a declared input, and the layer one of [Model.Layers]; for the
// layers of a nested model, call the method of that model. For a layer with several calls it is the result of the first
// call in this model. Errors are reported by the function that the result is passed to, as for [layers.Apply].
func (m *Model) LayerOutput(name string) *layers.KerasTensor { return m.LayerOutputs(name)[0] }

// LayerOutputs is [Model.LayerOutput] for a layer with several results.
func (m *Model) LayerOutputs(name string) []*layers.KerasTensor {
	if m.topology != nil {
		for _, in := range m.Inputs() {
			if in.Name() == name {
				return []*layers.KerasTensor{in}
			}
		}
	}
	n, err := m.callOf(name)
	if err != nil {
		return []*layers.KerasTensor{layers.Failed(fmt.Errorf("keras: LayerOutput: %w", err))}
	}
	return n.Outputs
}

// LayerInputs returns the inputs of the named layer in this model, Keras's get_layer(name).input; see
// [Model.LayerOutput].
func (m *Model) LayerInputs(name string) []*layers.KerasTensor {
	n, err := m.callOf(name)
	if err != nil {
		return []*layers.KerasTensor{layers.Failed(fmt.Errorf("keras: LayerInputs: %w", err))}
	}
	return n.Inputs
}

// callOf returns the first call of a layer in the graph of the model.
func (m *Model) callOf(name string) (*layers.Node, error) {
	var calls []*layers.Node
	switch t := m.topology.(type) {
	case *functional:
		calls = t.nodes
	case *sequential:
		if t.input == nil {
			return nil, fmt.Errorf("model %q has no symbolic input yet; make it with keras.InputShape or a leading InputLayer", m.Name())
		}
		calls = t.calls()
	default:
		return nil, fmt.Errorf("model %q is %s, whose graph is not known; only Functional and Sequential models have one", m.Name(), config.A(m.ClassName()))
	}
	var names []string
	for _, n := range calls {
		if layers.Name(n.Layer) == name {
			return n, nil
		}
		names = append(names, layers.Name(n.Layer))
	}
	return nil, fmt.Errorf("model %q has no layer %q; %sits layers are %q", m.Name(), name, config.Guess(name, names), names)
}

// stackGraph is a stack of layers as the calls of a Functional model. The calls are recorded on first use and kept, so
// that models made from several of them share them.
type stackGraph struct {
	mu    sync.Mutex
	calls []*layers.Node
}

func (g *stackGraph) forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.calls = nil
}

// calls returns a call for each layer, or nil without an input.
func (s *sequential) calls() []*layers.Node {
	if s.input == nil {
		return nil
	}
	s.graph.mu.Lock()
	defer s.graph.mu.Unlock()
	if s.graph.calls == nil {
		outputs := []*layers.KerasTensor{s.input}
		for _, l := range s.stack {
			outputs = layers.ApplyAll(l, outputs...)
			n, _ := outputs[0].Node()
			if n == nil { // an error, which the tensor carries
				n = &layers.Node{Layer: l, Outputs: outputs}
			}
			s.graph.calls = append(s.graph.calls, n)
		}
	}
	return s.graph.calls
}
