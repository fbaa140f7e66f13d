package keras

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// modelDocument is the object that Keras's to_json writes for a model.
type modelDocument struct {
	ClassName string          `json:"class_name"`
	Config    json.RawMessage `json:"config"`
	Compile   json.RawMessage `json:"compile_config"`
}

// modelObject is the configuration of a Sequential or Functional model.
type modelObject struct {
	Name    string          `json:"name"`
	Layers  []layerObject   `json:"layers"`
	Inputs  json.RawMessage `json:"input_layers"`
	Outputs json.RawMessage `json:"output_layers"`
	Build   []*int          `json:"build_input_shape"`
}

type layerObject struct {
	Module    string          `json:"module"`
	ClassName string          `json:"class_name"`
	Config    json.RawMessage `json:"config"`
	Nodes     []nodeObject    `json:"inbound_nodes"`
	raw       json.RawMessage
}

type nodeObject struct {
	Args   []json.RawMessage          `json:"args"`
	Kwargs map[string]json.RawMessage `json:"kwargs"`
}

// UnmarshalJSON keeps the whole object beside its parts.
func (o *layerObject) UnmarshalJSON(text []byte) error {
	type plain layerObject
	if err := json.Unmarshal(text, (*plain)(o)); err != nil {
		return err
	}
	o.raw = slices.Clone(text)
	return nil
}

// ModelFromJSON makes a model of the document that Keras's model.to_json writes: Sequential and Functional models, also nested
// and with shared layers. A compile configuration in it is applied. Weights start anew.
//
// Operations on symbolic tensors outside of layers (x + y in Python) are not read, except those that only make masks.
func ModelFromJSON(document []byte, options ...Option) (*Model, error) {
	var d modelDocument
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, fmt.Errorf("keras: ModelFromJSON: %w", err)
	}
	m, err := modelFromConfig(d.ClassName, d.Config, options)
	if err != nil {
		return nil, fmt.Errorf("keras: ModelFromJSON: %w", err)
	}
	if len(d.Compile) > 0 && string(d.Compile) != "null" {
		c, err := parseCompile(d.Compile)
		if err == nil {
			err = m.Compile(c)
		}
		if err != nil {
			return nil, fmt.Errorf("keras: ModelFromJSON: %w", err)
		}
	}
	return m, nil
}

func modelFromConfig(class string, raw json.RawMessage, options []Option) (*Model, error) {
	var o modelObject
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", class, err)
	}
	if o.Name != "" {
		options = append([]Option{Name(o.Name)}, options...)
	}
	switch class {
	case "Sequential":
		return sequentialFromConfig(o, options)
	case "Functional", "Model":
		return functionalFromConfig(o, options)
	}
	return nil, fmt.Errorf("class %q is not a model that can be read; known: Sequential, Functional", class)
}

// inputObject is the configuration of an InputLayer.
type inputObject struct {
	Name       string `json:"name"`
	DType      string `json:"dtype"`
	BatchShape []*int `json:"batch_shape"`
	Older      []*int `json:"batch_input_shape"`
}

func (o layerObject) input() (*layers.KerasTensor, error) {
	var in inputObject
	if err := json.Unmarshal(o.Config, &in); err != nil {
		return nil, fmt.Errorf("InputLayer: %w", err)
	}
	if in.BatchShape == nil {
		in.BatchShape = in.Older
	}
	shape := make([]int, len(in.BatchShape))
	for i, d := range in.BatchShape {
		shape[i] = layers.Unknown
		if d != nil {
			shape[i] = *d
		}
	}
	if in.DType == "" {
		in.DType = "float32"
	}
	dtype, err := ir.ParseDType(in.DType)
	if err != nil {
		return nil, err
	}
	t := layers.NewInput(in.Name, dtype, shape...)
	return t, t.Err()
}

// layer makes the layer, or the model inside the model, that the object describes.
func (o layerObject) layer() (layers.Layer, error) {
	switch o.ClassName {
	case "Sequential", "Functional", "Model":
		return modelFromConfig(o.ClassName, o.Config, nil)
	}
	if mergesLikeLayer[o.ClassName] {
		return layers.FromObject(o.raw, "trainable", "dtype")
	}
	return layers.FromObject(o.raw)
}

func sequentialFromConfig(o modelObject, options []Option) (*Model, error) {
	var stack []layers.Layer
	for i, l := range o.Layers {
		if l.ClassName == "InputLayer" {
			t, err := l.input()
			if err != nil {
				return nil, err
			}
			options = append(options, modelOption(func(c *modelConfig) { c.input = t }))
			continue
		}
		made, err := l.layer()
		if err != nil {
			return nil, fmt.Errorf("layer %d: %w", i, err)
		}
		stack = append(stack, made)
	}
	return NewSequential(stack, options...)
}

// functionalReader applies the layers of a Functional model in the order in which their inputs become known.
type functionalReader struct {
	made       map[string]layers.Layer
	operations map[string]string                  // name -> class, of operations that are not layers
	tensors    map[string][][]*layers.KerasTensor // layer -> call -> results
}

func functionalFromConfig(o modelObject, options []Option) (*Model, error) {
	r := functionalReader{made: map[string]layers.Layer{}, operations: map[string]string{}, tensors: map[string][][]*layers.KerasTensor{}}
	names := make([]string, len(o.Layers))
	for i, l := range o.Layers {
		var c struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(l.Config, &c); err != nil {
			return nil, err
		}
		names[i] = c.Name
		if l.ClassName == "InputLayer" {
			t, err := l.input()
			if err != nil {
				return nil, err
			}
			r.tensors[c.Name] = [][]*layers.KerasTensor{{t}}
			continue
		}
		if strings.HasPrefix(l.Module, "keras.src.ops.") && !mergesLikeLayer[l.ClassName] {
			r.operations[c.Name] = l.ClassName // masks travel with the tensors; any other use is refused where it is met
			continue
		}
		made, err := l.layer()
		if err != nil {
			return nil, fmt.Errorf("layer %q: %w", c.Name, err)
		}
		layers.SetName(made, c.Name)
		if err := callArguments(made, l.Nodes); err != nil {
			return nil, fmt.Errorf("layer %q: %w", c.Name, err)
		}
		r.made[c.Name] = made
	}
	if err := r.applyAll(o.Layers, names); err != nil {
		return nil, err
	}
	inputs, err := r.references(o.Inputs)
	if err != nil {
		return nil, fmt.Errorf("input_layers: %w", err)
	}
	outputs, err := r.references(o.Outputs)
	if err != nil {
		return nil, fmt.Errorf("output_layers: %w", err)
	}
	return NewFunctional(inputs, outputs, options...)
}

// mergesLikeLayer are operations on two tensors (x + y) that a merging layer of the same name computes.
var mergesLikeLayer = map[string]bool{"Add": true, "Subtract": true, "Multiply": true, "Maximum": true, "Minimum": true}

// callFields are arguments of a call in Keras that are fields of the layer here.
var callFields = map[string]string{"use_causal_mask": "UseCausalMask", "return_attention_scores": "ReturnAttentionScores"}

// callArguments sets the fields of a layer from the arguments of its calls, which must agree.
func callArguments(l layers.Layer, nodes []nodeObject) error {
	for key, name := range callFields {
		set := 0
		for _, n := range nodes {
			if string(n.Kwargs[key]) == "true" {
				set++
			}
		}
		if set == 0 {
			continue
		}
		f := reflect.ValueOf(l).Elem().FieldByName(name)
		if !f.IsValid() || set != len(nodes) {
			return fmt.Errorf("%s is true in %d of %d calls; here it belongs to the layer, so all calls must agree", key, set, len(nodes))
		}
		f.SetBool(true)
	}
	return nil
}

// applyAll applies calls until all are done; a round without progress means that an input is missing.
func (r *functionalReader) applyAll(objects []layerObject, names []string) error {
	for {
		progress, waiting := false, ""
		for i, l := range objects {
			name := names[i]
			made := r.made[name]
			if made == nil {
				continue
			}
			for len(r.tensors[name]) < len(l.Nodes) {
				inputs, ok, err := r.arguments(l.Nodes[len(r.tensors[name])])
				if err != nil {
					return fmt.Errorf("layer %q: %w", name, err)
				}
				if !ok {
					waiting = name
					break
				}
				r.tensors[name] = append(r.tensors[name], layers.ApplyAll(made, inputs...))
				progress = true
			}
		}
		if waiting == "" {
			return nil
		}
		if !progress {
			return fmt.Errorf("layer %q: its inputs are not in the document, or the graph has a cycle", waiting)
		}
	}
}

// arguments finds the tensors that a call takes; ok is false while one is not known yet.
func (r *functionalReader) arguments(n nodeObject) (inputs []*layers.KerasTensor, ok bool, err error) {
	var walk func(raw json.RawMessage) error
	ok = true
	walk = func(raw json.RawMessage) error {
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil {
			for _, e := range list {
				if err := walk(e); err != nil {
					return err
				}
			}
			return nil
		}
		var t struct {
			ClassName string `json:"class_name"`
			Config    struct {
				History []json.RawMessage `json:"keras_history"`
			} `json:"config"`
		}
		if json.Unmarshal(raw, &t) != nil || t.ClassName != "__keras_tensor__" {
			return nil
		}
		found, err := r.find(t.Config.History)
		if err != nil {
			return err
		}
		ok = ok && found != nil
		inputs = append(inputs, found)
		return nil
	}
	for _, a := range n.Args {
		if err := walk(a); err != nil {
			return nil, false, err
		}
	}
	for _, key := range []string{"query", "value", "key", "attention_mask", "initial_state", "inputs"} { // tensors handed over by name, in the order of the call
		if raw, given := n.Kwargs[key]; given {
			if err := walk(raw); err != nil {
				return nil, false, err
			}
		}
	}
	return inputs, ok, nil
}

// find returns the tensor that [layer, call, result] names, nil while it is not made.
func (r *functionalReader) find(history []json.RawMessage) (*layers.KerasTensor, error) {
	var name string
	var call, index int
	if len(history) < 3 || json.Unmarshal(history[0], &name) != nil || json.Unmarshal(history[1], &call) != nil || json.Unmarshal(history[2], &index) != nil {
		return nil, fmt.Errorf("a tensor must be named by [layer, call, result], received %s", history)
	}
	if class, ok := r.operations[name]; ok {
		return nil, fmt.Errorf("it takes the result of operation %q (%s), and operations outside of layers are not read yet; put it into a layer", name, class)
	}
	calls := r.tensors[name]
	if call >= len(calls) {
		return nil, nil
	}
	if call < 0 || index < 0 || index >= len(calls[call]) {
		return nil, fmt.Errorf("layer %q has no result %d of call %d", name, index, call)
	}
	return calls[call][index], nil
}

// references reads input_layers or output_layers: one triple, a list or a dict of triples.
func (r *functionalReader) references(raw json.RawMessage) (Tensors, error) {
	var dict map[string][]json.RawMessage
	if json.Unmarshal(raw, &dict) == nil && dict != nil {
		named := map[string]*layers.KerasTensor{}
		for key, history := range dict {
			t, err := r.found(history)
			if err != nil {
				return Tensors{}, err
			}
			named[key] = t
		}
		return Dict(named), nil
	}
	var single []json.RawMessage
	if err := json.Unmarshal(raw, &single); err != nil {
		return Tensors{}, fmt.Errorf("expected a triple, a list or a dict of triples: %w", err)
	}
	var name string
	list := [][]json.RawMessage{single}
	if len(single) > 0 && json.Unmarshal(single[0], &name) != nil {
		if err := json.Unmarshal(raw, &list); err != nil {
			return Tensors{}, err
		}
	}
	var out Tensors
	for _, history := range list {
		t, err := r.found(history)
		if err != nil {
			return Tensors{}, err
		}
		out.list = append(out.list, t)
	}
	return out, nil
}

func (r *functionalReader) found(history []json.RawMessage) (*layers.KerasTensor, error) {
	t, err := r.find(history)
	if err == nil && t == nil {
		err = fmt.Errorf("%s is not in the document", history)
	}
	return t, err
}
