package keras

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// hostStage is the part of a model that runs on the host: the layers directly after its inputs that take text, or turn
// words into numbers in other ways (layers.HostLayer). It processes each batch before the batch goes to the program.
type hostStage struct {
	inputs []*layers.KerasTensor                       // of the model
	nodes  []*layers.Node                              // calls of host layers, in order
	hosts  []layers.HostLayer                          // the layer that computes each call
	fed    []*layers.KerasTensor                       // inputs of the program
	rows   []rowInput                                  // those of fed that belong to dynamic embeddings
	nested map[*layers.Node][]*layers.KerasTensor      // the inputs of the programs of nested models that begin on the host
	fitted map[*layers.KerasTensor]*layers.KerasTensor // tensors with a last axis of length 1 added or removed, and the original of each
}

// newHostStage finds the host layers among a model's calls. It returns nil if there are none, and no text input is left
// unread.
func newHostStage(inputs, outputs []*layers.KerasTensor, nodes []*layers.Node) (*hostStage, error) {
	h := &hostStage{inputs: inputs, nested: map[*layers.Node][]*layers.KerasTensor{}, fitted: map[*layers.KerasTensor]*layers.KerasTensor{}}
	used := map[*layers.KerasTensor]bool{}   // by the program
	onHost := map[*layers.KerasTensor]bool{} // inputs, and the results of host layers
	behind := map[*layers.KerasTensor]bool{} // inputs of host layers
	for _, t := range inputs {
		onHost[t] = true
	}
	for _, t := range outputs {
		used[t] = true
	}
	early := beforeHost(nodes)
	for _, n := range nodes {
		if inner := stageOf(n.Layer); inner != nil {
			if err := h.inline(n, inner, onHost, behind); err != nil {
				return nil, fmt.Errorf("model %q: %w", layers.Name(n.Layer), err)
			}
			for _, t := range h.nested[n] {
				used[t] = true
			}
			continue
		}
		hostLayer, host := layers.AsHostLayer(n.Layer)
		if !host && early[n] != nil {
			hostLayer, host = early[n], true
		}
		for _, t := range n.Inputs {
			switch {
			case !host:
				used[t] = true
			case !onHost[t]:
				return nil, fmt.Errorf("layer %q works on the host, before the model's program; its input must be an input of the model or made by another such layer, or given to its "+
					"Transform after the model predicts it", layers.Name(n.Layer))
			default:
				behind[t] = true
			}
		}
		if host {
			h.nodes, h.hosts = append(h.nodes, n), append(h.hosts, hostLayer)
			onHost[n.Outputs[0]] = true
		}
	}
	unread := false // unread text, which stays on the host
	for _, t := range inputs {
		switch {
		case used[t] || !behind[t] && !t.IsText():
			h.fed = append(h.fed, t)
		case !behind[t]:
			unread = true
		}
	}
	for _, n := range h.nodes {
		if t := n.Outputs[0]; used[t] {
			h.fed = append(h.fed, t)
		}
	}
	for _, t := range h.fed {
		if t.IsText() {
			return nil, h.textRead(t, outputs)
		}
	}
	if len(h.nodes) == 0 && !unread {
		return nil, nil
	}
	return h, h.findRows()
}

// textRead is the error for text that the program would have to take.
func (h *hostStage) textRead(t *layers.KerasTensor, outputs []*layers.KerasTensor) error {
	for _, n := range h.nodes {
		if n.Outputs[0] == t && slices.Contains(outputs, t) {
			return fmt.Errorf("layer %q makes text of shape %s, which a model cannot return; end the model before it, and give what the model predicts to the layer's Transform", layers.Name(n.Layer), layers.ShapeString(t.Shape()))
		}
	}
	return fmt.Errorf("the model hands text %s on unchanged, which a program cannot do; put a layer such as StringLookup or TextVectorization after it", layers.ShapeString(t.Shape()))
}

// beforeHost finds the calls of ordinary layers that must run on the host, because layers after them run only there.
func beforeHost(nodes []*layers.Node) map[*layers.Node]layers.HostLayer {
	early := map[*layers.Node]layers.HostLayer{}
	needed := map[*layers.KerasTensor]bool{}
	for _, n := range slices.Backward(nodes) {
		if inner := stageOf(n.Layer); inner != nil {
			for i, o := range n.Operands() {
				needed[o.Tensor] = needed[o.Tensor] || i < len(inner.inputs) && inner.takes(inner.inputs[i])
			}
			continue
		}
		_, host := layers.AsHostLayer(n.Layer)
		if capable, ok := n.Layer.(layers.HostCapable); ok && !host && needed[n.Outputs[0]] {
			if early[n] = capable.OnHost(); early[n] != nil {
				host = true
			}
		}
		if host {
			for _, t := range n.Inputs {
				needed[t] = true
			}
		}
	}
	return early
}

// staged is implemented by topologies that may have a host stage.
type staged interface{ hostStage() *hostStage }

// stage returns the host stage of a model, or nil.
func (m *Model) stage() *hostStage {
	if s, ok := m.topology.(staged); ok {
		return s.hostStage()
	}
	return nil
}

// fed returns the inputs of a model's program: its declared inputs, or what the host stage makes of them.
func (m *Model) fed() []*layers.KerasTensor {
	if h := m.stage(); h != nil {
		return h.fed
	}
	return m.topology.inputs()
}

// typesOf lists the types of tensors.
func typesOf(tensors []*layers.KerasTensor) []ir.Type {
	types := make([]ir.Type, len(tensors))
	for i, t := range tensors {
		types[i] = ir.Type{DType: t.DType(), Shape: t.Shape()}
	}
	return types
}

// transform makes the arrays for the program from those for the model's inputs.
func (h *hostStage) transform(arrays []data.Array, into *parts) ([]data.Array, error) {
	if len(arrays) != len(h.inputs) {
		return nil, fmt.Errorf("the model has %d inputs, the batch %d", len(h.inputs), len(arrays))
	}
	values := map[*layers.KerasTensor]layers.HostArray{}
	given := map[*layers.KerasTensor]data.Array{}
	for i, t := range h.inputs {
		given[t] = arrays[i]
	}
	for i, n := range h.nodes {
		in := make([]layers.HostArray, len(n.Inputs))
		for j, t := range n.Inputs {
			v, ok := values[t]
			if !ok {
				var err error
				if v, err = h.value(t, values, given); err != nil {
					return nil, err
				}
				values[t] = v
			}
			in[j] = v
		}
		if _, rows := layers.IsDynamic(n.Layer); rows {
			continue
		}
		out, err := h.hosts[i].Transform(in...)
		if err != nil {
			return nil, err
		}
		values[n.Outputs[0]] = out
	}
	fed := make([]data.Array, len(h.fed))
	if err := h.lookUp(values, fed, into); err != nil {
		return nil, err
	}
	for i, t := range h.fed {
		if !fed[i].IsZero() {
			continue
		}
		if fed[i] = given[t]; fed[i].IsZero() {
			fed[i] = arrayOfHost(values[t], t.DType())
		}
	}
	return fed, nil
}

// arrayOfHost returns an array of numbers as the program takes it.
func arrayOfHost(a layers.HostArray, d ir.DType) data.Array {
	if a.Floats == nil {
		return data.Must(data.Must(data.ArrayOf(a.Ints, a.Shape...)).Convert(d))
	}
	values := make([]float32, len(a.Floats))
	for i, v := range a.Floats {
		values[i] = float32(v)
	}
	return data.Must(data.Must(data.ArrayOf(values, a.Shape...)).Convert(d))
}

// hostArray reads the batch's array for input t, in its declared rank.
func hostArray(t *layers.KerasTensor, d data.Array) (layers.HostArray, error) {
	var a layers.HostArray
	var err error
	if t.IsText() {
		if d.DType() != ir.Uint8 { // see data.Text
			return a, fmt.Errorf("input %q takes text, received an array of %v of shape %v; give it a []string", t.Name(), d.DType(), layers.ShapeString(d.Shape()))
		}
		if a.Strings, a.Shape, err = data.Strings(d); err != nil {
			return a, fmt.Errorf("input %q takes text: %w", t.Name(), err)
		}
	} else if a, err = hostNumbers(d); err != nil {
		return a, fmt.Errorf("input %q: %w", t.Name(), err)
	}
	want := t.Shape()
	switch n := len(want); {
	case len(a.Shape) == n-1 && want[n-1] == 1:
		a.Shape = append(slices.Clone(a.Shape), 1)
	case len(a.Shape) == n+1 && a.Shape[n] == 1:
		a.Shape = a.Shape[:n]
	}
	fits := len(a.Shape) == len(want)
	for i := 1; fits && i < len(want); i++ { // a batch may have another length than declared
		fits = want[i] == layers.Unknown || want[i] == a.Shape[i]
	}
	if !fits {
		return a, fmt.Errorf("input %q expects shape %s, received shape %s", t.Name(), layers.ShapeString(want), layers.ShapeString(a.Shape))
	}
	return a, nil
}

// hostNumbers reads numbers for a host layer.
func hostNumbers(d data.Array) (layers.HostArray, error) {
	if err := d.Check(); err != nil {
		return layers.HostArray{}, err
	}
	a := layers.HostArray{Shape: slices.Clone(d.Shape())}
	switch t := d.DType(); {
	case t.IsFloat():
		a.Floats = d.Float64s()
	case t.IsInteger():
		a.Ints = d.Int64s()
	default:
		return a, fmt.Errorf("takes whole numbers or floats, received elements of type %v", t)
	}
	return a, nil
}

// placeHostLayers makes the host stage of a stack: its first layers, as far as they run on the host.
func (s *sequential) placeHostLayers() error {
	s.host, s.first, s.inner = nil, 0, nil
	var nodes []*layers.Node
	at := s.input
	for _, l := range s.stack {
		inner := stageOf(l)
		if _, ok := layers.AsHostLayer(l); !ok && inner == nil {
			break
		}
		if at == nil {
			return fmt.Errorf("it begins with %s, which works on the host and needs to know the input; give it in InputShape and InputDType (\"string\" for text)", config.A(layers.ClassName(l)))
		}
		if at = layers.Apply(l, at); at.Err() != nil {
			return at.Err()
		}
		n, _ := at.Node()
		nodes = append(nodes, n)
		if inner != nil {
			s.inner = n
			break
		}
		s.first++
	}
	if at == nil {
		return nil
	}
	var err error
	s.host, err = newHostStage([]*layers.KerasTensor{s.input}, []*layers.KerasTensor{at}, nodes)
	return err
}

func (s *sequential) hostStage() *hostStage { return s.host }

// prepareInputs runs the host stage on the inputs of a batch.
func (m *Model) prepareInputs(into *parts) error {
	h := m.stage()
	if h == nil {
		return nil
	}
	var err error
	into.x, err = h.transform(into.x, into)
	return err
}
