package layers

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// HostArray is an array in the memory of the host, row-major: of strings, of integers or of floats. Exactly one of the
// three lists is used; an array without elements uses none.
type HostArray struct {
	Shape   []int
	Strings []string
	Ints    []int64
	Floats  []float64
}

// HostStrings is an array of strings; without a shape a vector.
func HostStrings(values []string, shape ...int) HostArray {
	if shape == nil {
		shape = []int{len(values)}
	}
	return HostArray{Shape: shape, Strings: values}
}

// HostInts is an array of integers; without a shape a vector.
func HostInts(values []int64, shape ...int) HostArray {
	if shape == nil {
		shape = []int{len(values)}
	}
	return HostArray{Shape: shape, Ints: values}
}

// check reports an array whose shape does not fit its elements.
func (a HostArray) check() error {
	n := 1
	for _, d := range a.Shape {
		if d < 0 { //dim:known the shapes of data
			return fmt.Errorf("an array has the shape %v; lengths cannot be negative", a.Shape)
		}
		n *= d //dim:known
	}
	if held := len(a.Strings) + len(a.Ints) + len(a.Floats); held != n {
		return fmt.Errorf("an array of shape %v holds %d elements; expected %d", a.Shape, held, n)
	}
	return nil
}

// HostLayer is implemented by layers that work on text. A program has no strings, so a model runs these layers on the
// host, on its input data, before its program; they cannot come later. Calling such a layer inside a trace is an error.
type HostLayer interface {
	Layer
	// Transform computes the layer.
	Transform(inputs ...HostArray) (HostArray, error)
	// HostType returns the shape and element type of the result for inputs of the given types, with Unknown for open
	// axes. Strings have the type ir.Invalid.
	HostType(inputs ...ir.Type) (ir.Type, error)
}

// AsHostLayer returns the layer as one that runs on the host; false for layers of the program. An [IntegerLookup] is
// one or the other, depending on its OOVMethod.
func AsHostLayer(l Layer) (HostLayer, bool) {
	if i, ok := l.(*IntegerLookup); ok && i.hashes() {
		return hashingLookup{i}, true
	}
	if e, ok := IsDynamic(l); ok {
		return dynamicEmbedding{e}, true
	}
	h, ok := l.(HostLayer)
	return h, ok
}

// Staged is implemented by models, which may begin with layers that run on the host. Their program then takes the
// results of those layers.
type Staged interface {
	Layer
	// StagedTypes returns the types of the program's inputs for model inputs of the given types. staged is false if no
	// layer works on the host.
	StagedTypes(inputs []ir.Type) (types []ir.Type, staged bool, err error)
}

// ArrayKeeper is implemented by layers with arrays that a weights file holds under specific names, unlike variables,
// which are numbered there: the weights of words in OutputMode "tf_idf".
type ArrayKeeper interface {
	// ArrayNames returns the paths of the datasets below the layer's group, such as "vars/idf_weights".
	ArrayNames() []string
	// Arrays returns their contents, or nothing if there is nothing to keep.
	Arrays() map[string][]float64
	// LoadArrays restores the arrays that a file has. It is called before LoadAssets.
	LoadArrays(arrays map[string][]float64) error
}

// NewTextInput returns a symbolic input of strings. Only a [HostLayer] takes it. shape includes the batch axis.
func NewTextInput(name string, shape ...int) *KerasTensor {
	return NewInput(name, ir.Invalid, shape...)
}

// ParseInputDType reads the element type of an input: that of numbers, or "string", which is ir.Invalid (see
// [NewTextInput]).
func ParseInputDType(name string) (ir.DType, error) {
	if name == "string" {
		return ir.Invalid, nil
	}
	return ir.ParseDType(name)
}

// IsText reports whether the tensor holds strings. Its DType is ir.Invalid.
func (t *KerasTensor) IsText() bool { return t.err == nil && t.dtype == ir.Invalid }

// DTypeName returns the element type in Keras's spelling, "string" for text.
func (t *KerasTensor) DTypeName() string {
	if t.IsText() {
		return "string"
	}
	return t.dtype.String()
}

// inferHostTypes returns the type of a host layer's result, as InferTypes does for layers of the program.
func inferHostTypes(l HostLayer, inputs []ir.Type) ([]ir.Type, error) {
	b := attach(l)
	t, err := l.HostType(inputs...)
	if err != nil {
		return nil, fmt.Errorf("layers: %s: %w", Name(l), err)
	}
	b.built, b.results = true, []ir.Type{t}
	return b.results, nil
}

// oneInput reports inputs that are not a single input of words or of numbers.
func oneInput(inputs []ir.Type, words bool) error {
	kind, dtype := "numbers", "int64"
	if words {
		kind, dtype = "strings", "string"
	}
	if len(inputs) != 1 {
		return fmt.Errorf("takes one input of %s, received %d inputs", kind, len(inputs))
	}
	if x := NewInput("", inputs[0].DType, inputs[0].Shape...); x.IsText() != words {
		return fmt.Errorf("takes one input of %s, received %v; give the input the DType %q", kind, x, dtype)
	}
	return nil
}

// refuseText reports text as an input of a layer of the program.
func refuseText(l Layer, inputs []ir.Type) error {
	if slices.ContainsFunc(inputs, func(t ir.Type) bool { return t.DType == ir.Invalid }) {
		return fmt.Errorf("layers: %s takes numbers and received text; put a layer such as StringLookup, TextVectorization or Hashing between the input and it", ClassName(l))
	}
	return nil
}
