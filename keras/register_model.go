package keras

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// models are the model types that users have registered.
var models = config.NewRegistry[any]("keras")

// RegisterModel registers a type for [NewModel], so that [Model.Save] can write its models and [LoadModel] can read
// them. Call it from init. It panics if T is not a struct, has no method Call, or if the name is taken:
//
//	type Autoencoder struct {
//		Units   int          `keras:"units"`
//		Encoder layers.Layer `keras:"-"`
//		Decoder layers.Layer `keras:"-"`
//	}
//
//	func (a *Autoencoder) Assemble() error {
//		a.Encoder, a.Decoder = &layers.Dense{Units: a.Units}, &layers.Dense{Units: 8}
//		return nil
//	}
//
//	func init() { keras.RegisterModel[Autoencoder]() }
//
// A file stores the fields that have a tag, as Keras's get_config does. A reader creates a new value, sets these
// fields, and calls Assemble if the type is an [Assembler]. Fields with layers may have a tag too, such as
// `keras:"inner_layer"`. The name in files is "Custom>Autoencoder". A given packageName replaces Custom, as in
// @keras.saving.register_keras_serializable(package="my_package").
func RegisterModel[T any](packageName ...string) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct || t.Name() == "" {
		panic(fmt.Sprintf("keras: RegisterModel: %v is no struct type with a name; expected the type whose pointers are passed to NewModel, as in RegisterModel[Autoencoder]()", t))
	}
	if _, err := callOf(new(T)); err != nil {
		panic(fmt.Sprintf("keras: RegisterModel: %v", err))
	}
	models.Register((*T)(nil), packageName...)
	layers.RegisterModel(config.RegisteredName(new(T)), func(configuration, build, compile json.RawMessage) (layers.Layer, error) {
		m, err := registeredModel(new(T), configuration, asPart)
		return inside(m, err, build, compile)
	})
}

// everyModel are the keys that files have for every model.
var everyModel = []string{"name", "trainable", "dtype"}

// registeredModel creates a model from a new value of a registered type.
func registeredModel(value any, configuration json.RawMessage, options []Option) (*Model, error) {
	var ignored []string
	for _, key := range everyModel { // which do not concern the user's type
		if !config.HasKey(value, key) {
			ignored = append(ignored, key)
		}
	}
	if err := config.Decode(configuration, value, ignored...); err != nil {
		return nil, err
	}
	var o modelObject
	if err := config.Unmarshal(configuration, &o); err != nil {
		return nil, err
	}
	if policy, err := decodeArgument(o.DType, nil); err == nil {
		if name, ok := policy.(string); ok && name != "float32" {
			options = append([]Option{DTypePolicy(name)}, options...)
		}
	}
	if o.Name != "" {
		options = append([]Option{Name(o.Name)}, options...)
	}
	m, err := NewModel(value, options...)
	if err == nil && o.Trainable != nil && !*o.Trainable {
		layers.FreezeAlone(m)
	}
	return m, err
}

// builtFor describes the inputs for which a model of a user's type was built, according to a document.
type builtFor struct {
	Shape  json.RawMessage `json:"input_shape"`  // of the input, or a list for several inputs
	DTypes []string        `json:"input_dtypes"` // Keras has no such key
	Named  json.RawMessage `json:"shapes_dict"`  // of the arguments of a Python method
}

// types returns the types of the inputs, or nil if the document does not have them.
func (b builtFor) types() ([]ir.Type, error) {
	if len(b.Shape) == 0 || string(b.Shape) == "null" {
		if len(b.Named) > 0 {
			return nil, fmt.Errorf("it was built for arguments by name, %s; expected a model whose call takes one tensor or a list of some", b.Named)
		}
		return nil, nil
	}
	var shapes [][]*int
	var single []*int
	if json.Unmarshal(b.Shape, &single) == nil {
		shapes = [][]*int{single}
	} else if err := config.Unmarshal(b.Shape, &shapes); err != nil {
		return nil, fmt.Errorf("it was built for inputs of shape %s; expected one shape or a list of some", b.Shape)
	}
	if len(b.DTypes) != 0 && len(b.DTypes) != len(shapes) {
		return nil, fmt.Errorf("it was built for %d inputs and has %d types of inputs", len(shapes), len(b.DTypes))
	}
	types := make([]ir.Type, len(shapes))
	for i, s := range shapes {
		types[i] = ir.Type{DType: ir.Float32, Shape: make(ir.Shape, len(s))}
		for j, n := range s {
			switch {
			case n == nil || j == 0: // Keras writes the size of the first batch
				types[i].Shape[j] = layers.Unknown
			case *n < 0:
				return nil, fmt.Errorf("it was built for inputs of shape %s; a length cannot be negative", b.Shape)
			default:
				types[i].Shape[j] = *n
			}
		}
		if len(b.DTypes) > 0 {
			var err error
			if types[i].DType, err = layers.ParseInputDType(b.DTypes[i]); err != nil {
				return nil, err
			}
		}
	}
	return types, nil
}

// registered creates the model of a document whose type a user has registered, with its weights if the document says
// for which inputs. ok is false for other documents.
func (d modelDocument) registered(options []Option) (m *Model, ok bool, err error) {
	if !strings.Contains(d.RegisteredName, ">") {
		return nil, false, nil
	}
	value, err := models.Object(config.Object{RegisteredName: d.RegisteredName, ClassName: d.ClassName}, nil)
	if err != nil {
		return nil, true, err
	}
	if m, err = registeredModel(value, d.Config, options); err == nil {
		err = m.buildFor(d.Build)
	}
	if err != nil {
		return nil, true, fmt.Errorf("%s: %w", d.RegisteredName, err)
	}
	return m, true, nil
}

// buildFor creates the weights of a model of a user's type for the inputs that a document describes.
func (m *Model) buildFor(raw json.RawMessage) error {
	built, err := parseBuilt(raw)
	if err != nil {
		return err
	}
	types, err := built.types()
	if err != nil {
		return err
	}
	if types != nil {
		return m.build(types)
	}
	if len(layers.Weights(m)) == 0 {
		return nil
	}
	m.mu.Lock() // if a model was only ever trained, by its own step, its parts know their inputs
	defer m.mu.Unlock()
	return m.assignStorage(m.strategy)
}

func parseBuilt(raw json.RawMessage) (built builtFor, err error) {
	if len(raw) > 0 {
		if err = config.Unmarshal(raw, &built); err != nil {
			err = fmt.Errorf("build_config: %w", err)
		}
	}
	return built, err
}

// buildInside is buildFor for a nested model, whose weights exist if the outer model calls it.
func (m *Model) buildInside(raw json.RawMessage) error {
	if m.inputTypes != nil {
		return nil
	}
	built, err := parseBuilt(raw)
	if err != nil || len(layers.Weights(m)) > 0 && len(built.DTypes) == 0 { // Keras gives no types, so a build could fail for wrong ones
		return err
	}
	types, err := built.types()
	if err == nil && types != nil {
		err = m.build(types)
	}
	return err
}

// object describes a model of a registered type.
func (s *subclass) object(m *Model, policy string) (map[string]any, error) {
	if config.RegisteredName(s.value) == "" {
		return nil, fmt.Errorf("model %q is %s, a Go type of yours, and no file could say how to make it again; register it, as in func init() { keras.RegisterModel[%s]() }, or write its weights with SaveWeights", m.Name(), config.A(s.name), s.name)
	}
	o, err := config.EncodeObject(s.value)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", m.Name(), err)
	}
	c := o["config"].(map[string]any)
	fillPolicy(c, policy)
	own := map[string]any{"name": m.Name(), "trainable": m.Trainable()}
	if policy != "" {
		own["dtype"] = config.DTypePolicyObject(policy)
	}
	for key := range own {
		if config.HasKey(s.value, key) && !reflect.DeepEqual(c[key], own[key]) {
			return nil, fmt.Errorf("model %q: the field of %s with the tag `keras:%q` holds another value than the model has, which files hold under that key; give the field another one", m.Name(), s.name, key)
		}
		c[key] = own[key]
	}
	o["compile_config"] = map[string]any{}
	if len(m.inputTypes) > 0 {
		dtypes := make([]string, len(m.inputTypes))
		for i, t := range m.inputTypes {
			dtypes[i] = layers.NewInput("", t.DType, t.Shape...).DTypeName()
		}
		var shape any = typeLists(m.inputTypes)
		if len(m.inputTypes) == 1 {
			shape = typeLists(m.inputTypes)[0]
		}
		o["build_config"] = map[string]any{"input_shape": shape, "input_dtypes": dtypes}
	}
	return o, nil
}
