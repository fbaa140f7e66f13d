package keras

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// ToJSON returns the document that Keras's model.to_json writes: the configuration of the model and of its compilation,
// without weights. Python's keras.models.model_from_json and [ModelFromJSON] read it. User-defined model types can be
// written if they are registered; see [RegisterModel].
//
// Masks that accompany tensors are not written, because Keras recomputes them when it reads the document.
func (m *Model) ToJSON() ([]byte, error) {
	o, err := m.object(m.policy.Text())
	if err == nil {
		err = finishDocument(o, true)
	}
	if err != nil {
		return nil, prefixed("ToJSON", err)
	}
	compiled, err := m.compileObject()
	if err != nil {
		return nil, prefixed("ToJSON", fmt.Errorf("what the model is compiled with cannot be written: %w, or save the model with keras.WithoutCompile()", err))
	}
	if compiled != nil {
		o["compile_config"] = compiled
	}
	text, err := config.Marshal(o)
	return text, prefixed("ToJSON", err)
}

// object describes the model; policy applies to layers that name none.
func (m *Model) object(policy string) (map[string]any, error) {
	if m.ownPolicy {
		policy = m.policy.Text()
	}
	return m.topology.object(m, policy)
}

// memberObject describes a nested model, with its compile configuration.
func (m *Model) memberObject(policy string) (map[string]any, error) {
	o, err := m.object(policy)
	if err != nil || m.compiled == nil {
		return o, err
	}
	compile, err := m.compileObject()
	if o["compile_config"] = compile; err != nil {
		o["compile_config"] = unwritable{fmt.Errorf("what the model %q inside is compiled with cannot be written: %w, or save the model with keras.WithoutCompile()", m.Name(), err)}
	}
	return o, nil
}

// unwritable takes the place of a part of a document that cannot be written. Writing it returns the error.
type unwritable struct{ error }

// MarshalJSON returns the error.
func (u unwritable) MarshalJSON() ([]byte, error) { return nil, u.error }

// finishDocument clears the compile configurations of nested models if they are not requested. Otherwise it returns the
// error of one that cannot be stored in a file.
func finishDocument(v any, compiled bool) error {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if err := finishDocument(e, compiled); err != nil {
				return err
			}
		}
	case map[string]any:
		if _, has := v["compile_config"]; has && !compiled {
			v["compile_config"] = map[string]any{}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := finishDocument(v[key], compiled); err != nil {
				return err
			}
		}
	case unwritable:
		return v.error
	}
	return nil
}

// LayerObject describes a model inside a layer, as in Keras files; see [layers.ObjectWriter]. Its layers without a
// policy stay without, unless the model has its own policy: the enclosing model fills it in.
func (m *Model) LayerObject() (map[string]any, error) { return m.memberObject("") }

// layerMember describes a layer inside a model.
func layerMember(l layers.Layer, policy string, inputs [][]any) (map[string]any, error) {
	var o map[string]any
	var err error
	switch l := l.(type) {
	case *Model:
		return l.memberObject(policy)
	case *layers.Operation:
		return operationObject(l)
	default:
		if o, err = layers.ToObject(l); err != nil {
			return nil, err
		}
	}
	fillPolicy(o, policy)
	if c, ok := o["config"].(map[string]any); ok {
		c["name"] = layers.Name(l)
	}
	if b := buildConfig(l, inputs); b != nil {
		o["build_config"] = b
		buildInner(o, inputs[0])
		buildPipeline(o, l, inputs[0])
	}
	return o, nil
}

// plainDTypes are the layers whose policy Keras writes by name only.
var plainDTypes = map[string]bool{"SpatialDropout1D": true, "SpatialDropout2D": true, "SpatialDropout3D": true, "Discretization": true}

// fillPolicy writes the model's policy into the layers that name none.
func fillPolicy(v any, policy string) {
	if policy == "" {
		return
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			fillPolicy(e, policy)
		}
	case map[string]any:
		c, isObject := v["config"].(map[string]any)
		if _, has := c["dtype"]; isObject && !has && takesPolicy(v, c) {
			c["dtype"] = config.DTypePolicyObject(policy)
			if class, _ := v["class_name"].(string); plainDTypes[class] {
				c["dtype"] = policy
			}
		}
		for _, e := range v {
			fillPolicy(e, policy)
		}
	}
}

// takesPolicy reports whether an object is a layer or model with a policy: one of Keras, but for pipelines, or of a
// user's type, which files tell from losses and the like by a key that only layers have.
func takesPolicy(o, c map[string]any) bool {
	class, _ := o["class_name"].(string)
	if registered, _ := o["registered_name"].(string); strings.Contains(registered, ">") {
		_, is := c["trainable"].(bool)
		return is
	}
	return class != "Pipeline" && isLayerModule(o["module"]) || class == "Sequential" && o["module"] == "keras"
}

// isLayerModule reports whether the classes of a Python module are layers: those of keras.layers, and some that belong
// to applications.
func isLayerModule(module any) bool {
	name, _ := module.(string)
	return name == "keras.layers" || strings.HasPrefix(name, "keras.src.applications.")
}

func operationObject(o *layers.Operation) (map[string]any, error) {
	settings, err := encodeArgument(o.Settings(), nil)
	if err != nil {
		return nil, fmt.Errorf("operation %q: %w", layers.Name(o), err)
	}
	c := settings.(map[string]any)
	c["name"] = layers.Name(o)
	return map[string]any{"module": o.Module(), "class_name": o.ClassName(), "config": c, "registered_name": o.ClassName()}, nil
}

// inputObjectOf describes an input as an InputLayer.
func inputObjectOf(t *layers.KerasTensor, name string) map[string]any {
	return map[string]any{"module": "keras.layers", "class_name": "InputLayer", "registered_name": nil, "config": map[string]any{
		"batch_shape": shapeList(t.Shape()), "dtype": t.DTypeName(), "sparse": false, "ragged": false, "name": name, "optional": false,
	}}
}

// object describes a stack.
func (s *sequential) object(m *Model, policy string) (map[string]any, error) {
	input := s.input
	if input == nil && len(m.inputTypes) == 1 {
		input = layers.NewInput("input_layer", m.inputTypes[0].DType, m.inputTypes[0].Shape...)
	}
	list := []any{}
	var types []ir.Type // of what goes into the next layer
	if input != nil {
		list = append(list, inputObjectOf(input, input.Name()))
		types = []ir.Type{{DType: input.DType(), Shape: input.Shape()}}
	}
	for _, l := range s.stack {
		o, err := layerMember(l, policy, typeLists(types))
		if err != nil {
			return nil, err
		}
		list = append(list, o)
		if types != nil {
			if types, err = layers.InferTypes(l, types); err != nil {
				return nil, err
			}
		}
	}
	c := map[string]any{"name": m.Name(), "trainable": m.Trainable(), "layers": list}
	if s.dtype != "" && !m.ownPolicy { // of the document that the model comes from; its layers have their own
		policy = s.dtype
	}
	if policy != "" {
		c["dtype"] = config.DTypePolicyObject(policy)
	}
	o := map[string]any{"module": "keras", "class_name": "Sequential", "config": c, "registered_name": nil, "compile_config": map[string]any{}}
	if input != nil {
		c["build_input_shape"] = shapeList(input.Shape())
		o["build_config"] = map[string]any{"input_shape": shapeList(input.Shape())}
	}
	return o, nil
}

func typeLists(types []ir.Type) [][]any {
	var out [][]any
	for _, t := range types {
		out = append(out, shapeList(t.Shape))
	}
	return out
}

// object describes a graph.
func (f *functional) object(m *Model, policy string) (map[string]any, error) {
	calls := map[layers.Layer][]*layers.Node{}
	for _, n := range f.nodes {
		calls[n.Layer] = append(calls[n.Layer], n)
	}
	history := func(t *layers.KerasTensor) []any {
		n, index := t.Node()
		if slices.Contains(f.in.list, t) || n.Layer == nil {
			return []any{t.Name(), 0, 0}
		}
		return []any{layers.Name(n.Layer), slices.Index(calls[n.Layer], n), index}
	}
	list := []any{}
	for _, e := range f.order {
		if e.input != nil {
			o := inputObjectOf(e.input, e.input.Name())
			o["name"], o["inbound_nodes"] = e.input.Name(), []any{}
			list = append(list, o)
			continue
		}
		var shapes [][]any
		for i, o := range calls[e.layer][0].Operands() {
			mask := o.Argument == "attention_mask" || o.Argument == "" && o.DType() == ir.Bool && i > 0 &&
				(slices.Contains(takesQuery, layers.ClassName(e.layer)) || slices.Contains(takesState, layers.ClassName(e.layer)))
			if !mask { // which is no input
				shapes = append(shapes, shapeList(o.Shape()))
			}
		}
		o, err := layerMember(e.layer, policy, shapes)
		if err != nil {
			return nil, err
		}
		f.built[e.layer].restore(o)
		nodes := []any{}
		for _, n := range calls[e.layer] {
			node, err := callObject(n, history)
			if err != nil {
				return nil, fmt.Errorf("layer %q: %w", layers.Name(e.layer), err)
			}
			nodes = append(nodes, node)
		}
		o["name"], o["inbound_nodes"] = layers.Name(e.layer), nodes
		list = append(list, o)
	}
	// If results of a model inside are named, the call that describes it counts.
	result := func(t *layers.KerasTensor) []any {
		h := history(t)
		if n, _ := t.Node(); n.Layer != nil {
			if inner, ok := n.Layer.(*Model); ok && inner.ClassName() == "Functional" {
				h[1] = h[1].(int) + 1
			}
		}
		return h
	}
	c := map[string]any{"name": m.Name(), "trainable": m.Trainable(), "layers": list, "input_layers": f.in.references(history), "output_layers": f.out.references(result)}
	return map[string]any{
		"module": "keras.src.models.functional", "class_name": "Functional", "config": c, "registered_name": "Functional",
		"build_config": map[string]any{"input_shape": nil}, "compile_config": map[string]any{},
	}, nil
}

// references names tensors in the structure in which they were given: one, a list or a dict.
func (t Tensors) references(history func(*layers.KerasTensor) []any) any {
	if t.nested != nil {
		return mapLeaves(t.nested, func(at int) any { return history(t.list[at]) })
	}
	if t.names != nil {
		out := map[string]any{}
		for i, name := range t.names {
			out[name] = history(t.list[i])
		}
		return out
	}
	if len(t.list) == 1 && !t.listed {
		return history(t.list[0])
	}
	out := make([]any, len(t.list))
	for i, e := range t.list {
		out[i] = history(e)
	}
	return out
}

// mapLeaves replaces the places of tensors in nested lists and dicts.
func mapLeaves(v any, leaf func(at int) any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = mapLeaves(e, leaf)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, e := range v {
			out[key] = mapLeaves(e, leaf)
		}
		return out
	}
	return leaf(v.(int))
}
