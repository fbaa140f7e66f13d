package keras

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gokeras/gokeras/layers"
)

// Tensors are the inputs or outputs of a Functional model, in order, with names where they are a dict.
type Tensors struct {
	names  []string
	list   []*layers.KerasTensor
	listed bool // written as a list in files; otherwise a single tensor is written alone
	nested any  // for nested lists and dicts: []any and map[string]any with indices into list; otherwise nil
}

// Inputs lists the inputs of a Functional model. Its data are one array, a list in this order, or a dict by input
// names.
func Inputs(tensors ...*layers.KerasTensor) Tensors { return Tensors{list: slices.Clone(tensors)} }

// Outputs lists the outputs of a Functional model.
func Outputs(tensors ...*layers.KerasTensor) Tensors { return Tensors{list: slices.Clone(tensors)} }

// Dict gives the inputs or outputs of a Functional model by name. They are sorted by name.
func Dict(tensors map[string]*layers.KerasTensor) Tensors {
	var t Tensors
	for name := range tensors {
		t.names = append(t.names, name)
	}
	slices.Sort(t.names)
	for _, name := range t.names {
		t.list = append(t.list, tensors[name])
	}
	return t
}

// PickInputs selects the inputs from a dict, in the order of the model's inputs, as calling a Functional model with a
// dict does. Keys that name no input are ignored. If the model's inputs are themselves a dict, such a key is an error
// if it precedes an input's key in alphabetical order: Keras then assigns by position, and values would reach the wrong
// inputs. Missing keys are errors. Models that are not a graph, and models whose inputs are nested, take the dict
// unchanged.
func (m *Model) PickInputs(given map[string]any) (any, error) {
	f, isGraph := m.topology.(*functional)
	if !isGraph {
		return given, nil
	}
	if f.in.nested != nil {
		return given, f.in.sameStructure(given)
	}
	names := f.inputNames()
	list := make([]any, len(names))
	for i, name := range names {
		v, has := given[name]
		if !has {
			return nil, fmt.Errorf("its inputs are %q; the dict of the call has %q", names, slices.Sorted(maps.Keys(given)))
		}
		list[i] = v
	}
	if f.in.names != nil {
		for key := range given {
			if !slices.Contains(names, key) && key < slices.Max(names) {
				return nil, fmt.Errorf("its inputs are %q; the dict of the call has %q, of which Keras would take the first %d; leave %q out", names, slices.Sorted(maps.Keys(given)), len(names), key)
			}
		}
	}
	return list, nil
}

// sameStructure returns an error for a dict if the model's inputs are nested and not a dict with the same keys.
func (t Tensors) sameStructure(given map[string]any) error {
	own, isDict := t.nested.(map[string]any)
	if !isDict {
		return fmt.Errorf("its inputs are lists inside a list; received a dict of %q", slices.Sorted(maps.Keys(given)))
	}
	if !slices.Equal(slices.Sorted(maps.Keys(own)), slices.Sorted(maps.Keys(given))) {
		return fmt.Errorf("its inputs are a dict of %q; received a dict of %q", slices.Sorted(maps.Keys(own)), slices.Sorted(maps.Keys(given)))
	}
	return nil
}

// InputOption is an option of Input.
type InputOption interface{ applyInput(*inputConfig) }

type inputConfig struct {
	name  string
	shape []int
	dtype string
	batch int
}

type inputOption func(*inputConfig)

func (f inputOption) applyInput(c *inputConfig) { f(c) }

// Shape gives the shape of one example, without the batch axis; layers.Unknown leaves an axis open.
func Shape(shape ...int) InputOption {
	return inputOption(func(c *inputConfig) { c.shape = append([]int{}, shape...) })
}

// InputName names the input; the default is "input_layer", with a number from the second input on.
func InputName(name string) InputOption { return inputOption(func(c *inputConfig) { c.name = name }) }

// DType sets the element type; the default is "float32". "string" is text, which only layers such as TextVectorization
// take.
func DType(dtype string) InputOption { return inputOption(func(c *inputConfig) { c.dtype = dtype }) }

// FixedBatch fixes the length of the batch axis, for stateful layers.
func FixedBatch(n int) InputOption { return inputOption(func(c *inputConfig) { c.batch = n }) }

// Input declares an input of a Functional model.
func Input(options ...InputOption) *layers.KerasTensor {
	c := inputConfig{dtype: "float32", batch: layers.Unknown}
	for _, o := range options {
		if o != nil {
			o.applyInput(&c)
		}
	}
	dtype, err := layers.ParseInputDType(c.dtype)
	if err != nil {
		return layers.Failed(fmt.Errorf("Input: %w", err))
	}
	return layers.NewInput(c.name, dtype, append([]int{c.batch}, c.shape...)...)
}
