package keras

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/layers"
)

// functionalReader applies the layers of a Functional model in the order in which their inputs become known.
type functionalReader struct {
	made    map[string]layers.Layer
	tensors map[string][][]*layers.KerasTensor // layer -> call -> results
	legacy  bool                               // the document is one of Keras 2
}

func functionalFromConfig(o modelObject, options []Option) (*Model, error) {
	r := functionalReader{made: map[string]layers.Layer{}, tensors: map[string][][]*layers.KerasTensor{}}
	names, built := make([]string, len(o.Layers)), map[layers.Layer]*builtObject{}
	for i, l := range o.Layers {
		name, err := l.name()
		if err != nil {
			return nil, err
		}
		if names[i] = name; slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("two layers are named %q; names must be unique within a model", name)
		}
		if l.ClassName == "InputLayer" {
			t, err := l.input()
			if err != nil {
				return nil, err
			}
			t.SetName(name)
			r.tensors[name] = [][]*layers.KerasTensor{{t}}
			continue
		}
		made, err := l.layer()
		if err != nil {
			return nil, fmt.Errorf("layer %q: %w", name, err)
		}
		layers.SetName(made, name)
		if err := callArguments(made, l.Nodes); err != nil {
			return nil, fmt.Errorf("layer %q: %w", name, err)
		}
		r.made[name] = made
		built[made] = builtFrom(l.raw)
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
	m, err := NewFunctional(inputs, outputs, options...)
	if err == nil {
		m.topology.(*functional).built = built
	}
	return m, err
}

// name returns the name by which calls refer to the layer.
func (o layerObject) name() (string, error) {
	if o.Name != "" {
		return o.Name, nil
	}
	var c struct {
		Name string `json:"name"`
	}
	err := config.Unmarshal(o.Config, &c)
	return c.Name, err
}

// ignoredKeywords are arguments of calls in Keras that are not settings of the layer; the calls keep training.
var ignoredKeywords = []string{"training", "name"}

// callArguments sets the fields of a layer that correspond to arguments of its calls, which must agree.
func callArguments(l layers.Layer, nodes []nodeObject) error {
	if _, ok := l.(*layers.Operation); ok {
		return nil
	}
	literals := make([]map[string]any, len(nodes))
	for i, n := range nodes {
		literals[i] = map[string]any{}
		given := maps.Clone(n.Kwargs)
		if given == nil {
			given = map[string]json.RawMessage{}
		}
		for i, name := range layers.CallParameters(l) {
			if i < len(n.Args) {
				given[name] = n.Args[i]
			}
		}
		for key, raw := range given {
			var v any
			if slices.Contains(ignoredKeywords, key) || layers.IsCallArgument(l, key) || json.Unmarshal(raw, &v) != nil || v == nil || v == false {
				continue
			}
			switch v.(type) {
			case bool, float64, string:
				literals[i][key] = v
			}
		}
	}
	for i, m := range literals {
		if !maps.Equal(m, literals[0]) {
			return fmt.Errorf("calls 0 and %d have different arguments, %v and %v; here they belong to the layer, so all calls must agree", i, literals[0], m)
		}
	}
	if len(literals) == 0 {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(literals[0])) {
		if err := layers.SetCallArgument(l, key, literals[0][key]); err != nil {
			return err
		}
	}
	return nil
}

// applyAll applies calls until all are done. A round without progress means that an input is missing.
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
				node := l.Nodes[len(r.tensors[name])]
				call, ok, err := r.arguments(node)
				if err != nil {
					return fmt.Errorf("layer %q: %w", name, err)
				}
				if !ok {
					waiting = name
					break
				}
				call.TrainingYields = !node.Holds
				results := layers.ApplyArguments(made, call)
				if err := results[0].Err(); err != nil {
					return err
				}
				r.tensors[name] = append(r.tensors[name], results)
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

// arguments reads the arguments of a call. ok is false if one of its tensors is not known yet.
func (r *functionalReader) arguments(n nodeObject) (a layers.Arguments, ok bool, err error) {
	ok = true
	find := func(at tensorReference) (*layers.KerasTensor, error) {
		t, err := r.find(at)
		ok = ok && t != nil
		return t, err
	}
	a.Positional = make([]any, len(n.Args))
	for i, raw := range n.Args {
		if a.Positional[i], err = decodeArgument(raw, find); err != nil {
			return a, false, err
		}
	}
	a.Keywords = layers.Keywords{}
	for key, raw := range n.Kwargs {
		if a.Keywords[key], err = decodeArgument(raw, find); err != nil {
			return a, false, err
		}
	}
	return a, ok, nil
}

// find returns the tensor of a reference, or nil if it does not exist yet.
func (r *functionalReader) find(at tensorReference) (*layers.KerasTensor, error) {
	calls, isInput := r.tensors[at.layer]
	if r.made[at.layer] == nil && !isInput {
		return nil, fmt.Errorf("it takes a result of %q, which is not among the layers", at.layer)
	}
	if r.legacy = r.legacy || at.legacy; at.legacy && r.countsFromOne(at.layer) {
		at.call--
	}
	if at.call < 0 || at.index < 0 {
		return nil, fmt.Errorf("layer %q has no result %d of call %d", at.layer, at.index, at.call)
	}
	if at.call >= len(calls) {
		return nil, nil
	}
	if at.index >= len(calls[at.call]) {
		return nil, fmt.Errorf("layer %q has no result %d of call %d", at.layer, at.index, at.call)
	}
	return calls[at.call][at.index], nil
}

// countsFromOne reports whether a layer is a Functional model. Such a model has had one call before those of the
// document, the one that defines it, and Keras counts that one when it names results of the model. In Keras 2 a
// Sequential model with a known input is such a model too.
func (r *functionalReader) countsFromOne(name string) bool {
	m, ok := r.made[name].(*Model)
	if !ok {
		return false
	}
	s, stack := m.topology.(*sequential)
	return m.ClassName() == "Functional" || r.legacy && stack && s.input != nil
}

// references reads input_layers or output_layers: one triple, a list or a dict of triples, or nested ones.
func (r *functionalReader) references(raw json.RawMessage) (Tensors, error) {
	var t Tensors
	tree, err := r.structure(raw, &t.list)
	if err != nil {
		return Tensors{}, err
	}
	isList := func(v any) bool { _, isLeaf := v.(int); return !isLeaf }
	switch v := tree.(type) {
	case []any:
		t.listed = true
		if slices.ContainsFunc(v, isList) {
			t.nested = tree
		}
	case map[string]any:
		names := slices.Sorted(maps.Keys(v)) // the order in which their tensors were found
		if slices.ContainsFunc(names, func(name string) bool { return isList(v[name]) }) {
			t.nested = tree
		} else {
			t.names = names
		}
	}
	return t, nil
}

// structure reads nested lists and dicts of triples in the order in which Keras flattens them, dicts sorted by key, and
// replaces the triples by indices into list.
func (r *functionalReader) structure(raw json.RawMessage, list *[]*layers.KerasTensor) (any, error) {
	var dict map[string]json.RawMessage
	if json.Unmarshal(raw, &dict) == nil && dict != nil {
		out := make(map[string]any, len(dict))
		for _, key := range slices.Sorted(maps.Keys(dict)) {
			var err error
			if out[key], err = r.structure(dict[key], list); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	var members []json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return nil, fmt.Errorf("expected a triple, or lists and dicts of triples, received %.80s", raw)
	}
	var name string
	if len(members) > 0 && json.Unmarshal(members[0], &name) == nil {
		t, err := r.found(members)
		*list = append(*list, t)
		return len(*list) - 1, err
	}
	out := make([]any, len(members))
	for i, e := range members {
		var err error
		if out[i], err = r.structure(e, list); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *functionalReader) found(history []json.RawMessage) (*layers.KerasTensor, error) {
	at, err := reference(history)
	if err != nil {
		return nil, err
	}
	if r.countsFromOne(at.layer) && at.call > 0 {
		at.call--
	}
	t, err := r.find(at)
	if err == nil && t == nil {
		err = fmt.Errorf("[%s] is not in the document", strings.Trim(fmt.Sprintf("%s", history), "[]"))
	}
	return t, err
}
