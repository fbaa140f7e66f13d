package keras

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/layers"
)

// Tensors are the inputs or outputs of a Functional model, in order, with names where they are a dict.
type Tensors struct {
	names  []string
	list   []*layers.KerasTensor
	listed bool // read as a list; without it one tensor is written alone
	nested any  // of lists and dicts inside lists and dicts: []any and map[string]any with places in list; else nil
}

// Inputs lists the inputs of a Functional model. Data for it are one array, a list in this order, or a dict by input names.
func Inputs(tensors ...*layers.KerasTensor) Tensors { return Tensors{list: tensors} }

// Outputs lists the outputs of a Functional model.
func Outputs(tensors ...*layers.KerasTensor) Tensors { return Tensors{list: tensors} }

// Dict gives the inputs or outputs of a Functional model by name; they are ordered by name.
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

// InputName names the input; the default is "input_layer", with a count from the second on.
func InputName(name string) InputOption { return inputOption(func(c *inputConfig) { c.name = name }) }

// DType gives the element type; the default is "float32". "string" is text, which only layers such as TextVectorization take.
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
