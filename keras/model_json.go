package keras

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/layers"
)

// modelDocument is the object that Keras's to_json writes for a model.
type modelDocument struct {
	ClassName      string          `json:"class_name"`
	RegisteredName string          `json:"registered_name"`
	Config         json.RawMessage `json:"config"`
	Build          json.RawMessage `json:"build_config"`
	Compile        json.RawMessage `json:"compile_config"`
}

// modelObject is the configuration of a Sequential or Functional model.
type modelObject struct {
	Name      string          `json:"name"`
	Layers    []layerObject   `json:"layers"`
	Inputs    json.RawMessage `json:"input_layers"`
	Trainable *bool           `json:"trainable"`
	Outputs   json.RawMessage `json:"output_layers"`
	DType     json.RawMessage `json:"dtype"`
}

type layerObject struct {
	Module    string          `json:"module"`
	ClassName string          `json:"class_name"`
	Name      string          `json:"name"`
	Config    json.RawMessage `json:"config"`
	Nodes     []nodeObject    `json:"inbound_nodes"`
	raw       json.RawMessage
}

type nodeObject struct {
	Args   []json.RawMessage          `json:"args"`
	Kwargs map[string]json.RawMessage `json:"kwargs"`
	Holds  bool                       `json:"training_holds"` // see layers.Arguments.TrainingYields; Keras has no such key
}

// UnmarshalJSON keeps the whole object besides its parts.
func (o *layerObject) UnmarshalJSON(text []byte) error {
	type plain layerObject
	if err := json.Unmarshal(text, (*plain)(o)); err != nil {
		return err
	}
	o.raw = slices.Clone(text)
	return nil
}

// ModelFromJSON creates a model from the document that Keras's model.to_json writes: Sequential and Functional models,
// including nested ones, shared layers, and operations of keras.ops between layers. A compile configuration in it is
// applied. Weights are initialized. The format of Keras 2 is understood too.
func ModelFromJSON(document []byte, options ...Option) (*Model, error) {
	m, err := modelFromJSON(document, options)
	if err == nil {
		err = m.finishInside(true)
	}
	if err != nil {
		return nil, prefixed("ModelFromJSON", err)
	}
	return m, nil
}

// modelFromJSON is ModelFromJSON without finishing the nested models.
func modelFromJSON(document []byte, options []Option) (*Model, error) {
	if err := saving.CheckDepth(document); err != nil {
		return nil, err
	}
	document = quoteNonFinite(document)
	if saving.IsLegacyConfig(document) {
		var err error
		if document, err = saving.ModernConfig(document); err != nil {
			return nil, err
		}
	}
	if len(bytes.TrimSpace(document)) == 0 {
		return nil, fmt.Errorf("the document is empty; expected %s", modelDocumentForm)
	}
	var d modelDocument
	if err := config.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	if d.ClassName == "" {
		return nil, fmt.Errorf("the document has no class_name; expected %s", modelDocumentForm)
	}
	m, registered, err := d.registered(options)
	if !registered && len(d.Config) == 0 {
		return nil, fmt.Errorf("the document of a %s has no config; expected %s", d.ClassName, modelDocumentForm)
	}
	if !registered {
		m, err = modelFromConfig(d.ClassName, d.Config, options)
	}
	if err != nil {
		return nil, err
	}
	if len(d.Compile) == 0 || string(d.Compile) == "null" || string(d.Compile) == "{}" {
		return m, nil
	}
	c, err := parseCompile(d.Compile)
	if err == nil {
		err = m.Compile(c)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// modelDocumentForm says in errors what a document should be.
const modelDocumentForm = `{"class_name": ..., "config": ...}, as Keras's to_json and Model.ToJSON write it`

// nonFinite finds, outside of strings, the non-finite numbers that Python writes although JSON has none.
var nonFinite = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|-?Infinity|NaN`)

// quoteNonFinite turns NaN, Infinity and -Infinity into strings, which are then read as numbers.
func quoteNonFinite(document []byte) []byte {
	return nonFinite.ReplaceAllFunc(document, func(found []byte) []byte {
		if found[0] == '"' {
			return found
		}
		return append(append([]byte{'"'}, found...), '"')
	})
}

func modelFromConfig(class string, raw json.RawMessage, options []Option) (*Model, error) {
	var o modelObject
	if err := config.Unmarshal(raw, &o); err != nil {
		return nil, fmt.Errorf("%s: %w", class, err)
	}
	if o.Name != "" {
		options = append([]Option{Name(o.Name)}, options...)
	}
	var m *Model
	var err error
	switch class {
	case "Sequential":
		m, err = sequentialFromConfig(o, options)
	case "Functional", "Model":
		m, err = functionalFromConfig(o, options)
	default:
		return nil, fmt.Errorf("class %q is not a model that can be read; known: Sequential, Functional", class)
	}
	if err == nil {
		m.readPolicy(&o)
	}
	if err == nil && o.Trainable != nil && !*o.Trainable && class != "Sequential" { // Keras ignores this key of a Sequential
		layers.FreezeAlone(m)
	}
	return m, err
}

// asPart are the options of a nested model.
var asPart = []Option{modelOption(func(c *modelConfig) { c.part = true })}

// Models may be wrapped in layers, as in TimeDistributed.
func init() {
	for _, class := range []string{"Sequential", "Functional", "Model"} {
		layers.RegisterModel(class, func(configuration, build, compile json.RawMessage) (layers.Layer, error) {
			m, err := modelFromConfig(class, configuration, asPart)
			return inside(m, err, build, compile)
		})
	}
}

// insideDocument is what the object of a nested model says besides its configuration.
type insideDocument struct{ build, compile json.RawMessage }

// inside records how to finish a nested model: it is built and compiled once the whole model exists.
func inside(m *Model, err error, build, compile json.RawMessage) (layers.Layer, error) {
	if err != nil {
		return nil, err
	}
	m.document = &insideDocument{build, compile}
	return m, nil
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
	if err := config.Unmarshal(o.Config, &in); err != nil {
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
	dtype, err := layers.ParseInputDType(in.DType)
	if err != nil {
		return nil, err
	}
	t := layers.NewInput(in.Name, dtype, shape...)
	return t, t.Err()
}

// layer makes the layer or nested model that the object describes.
func (o layerObject) layer() (layers.Layer, error) {
	if o.isOperation() {
		return operationFromObject(o)
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
	m, err := NewSequential(stack, options...)
	if err != nil {
		return nil, err
	}
	m.topology.(*sequential).dtype = config.PolicyName(o.DType)
	return m, nil
}

// isOperation reports whether the object is a function of keras.ops and not a layer.
func (o layerObject) isOperation() bool { return strings.HasPrefix(o.Module, "keras.src.ops.") }

// operationFromObject makes the operation that the object describes.
func operationFromObject(o layerObject) (layers.Layer, error) {
	v, err := decodeArgument(o.Config, nil)
	if err != nil {
		return nil, err
	}
	settings, _ := v.(map[string]any)
	delete(settings, "name")
	return layers.NewOperation(o.ClassName, settings)
}
