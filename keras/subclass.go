package keras

import (
	"fmt"
	"reflect"

	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// subclass is a user's own type with a Call method.
type subclass struct {
	name  string
	value any
	call  func(c *layers.Context, in []*ops.Tensor) []*ops.Tensor
	found []layers.Layer
}

// NewModel creates a model from any Go value with a Call method of one of these forms, with any number of tensors:
//
//	Call(c *layers.Context, x *ops.Tensor) *ops.Tensor
//	Call(c *layers.Context, x, y *ops.Tensor) (*ops.Tensor, *ops.Tensor)
//	Call(c *layers.Context, xs ...*ops.Tensor) []*ops.Tensor
//
// Layers in its exported fields, also in slices, maps and nested structs, are found and tracked. Create layers
// beforehand, not inside Call.
//
// A type that is an [Assembler] creates its layers when NewModel calls Assemble. That happens once for each value; a
// second model of the same value is an error. Saving such types requires [RegisterModel].
//
// If the value has a method TrainStep or TestStep, Fit and Evaluate use these; see [Step].
func NewModel(value any, options ...Option) (*Model, error) {
	v := reflect.ValueOf(value)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("keras: NewModel: the value is nil; expected a pointer to a struct with a Call method")
	}
	if err := checkSteps(value); err != nil {
		return nil, err
	}
	a, ok := value.(Assembler)
	if !ok {
		return modelOf(value, options)
	}
	done, err := assemble(a)
	if err != nil {
		return nil, fmt.Errorf("keras: NewModel: %T: %w", value, err)
	}
	m, err := modelOf(value, options)
	done(err == nil)
	return m, err
}

// modelOf makes the model of a value whose layers exist.
func modelOf(value any, options []Option) (*Model, error) {
	call, err := callOf(value)
	if err != nil {
		return nil, err
	}
	v := reflect.ValueOf(value)
	t := v.Type()
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	s := &subclass{name: t.Name(), value: value, call: call, found: distinct(layers.LayersIn(v))}
	if s.name == "" {
		s.name = "Model"
	}
	c := configure(options)
	m, err := newModel(s, c)
	if err != nil {
		return nil, err
	}
	if c.inputDType != "" {
		if m.inputDType, err = layers.ParseInputDType(c.inputDType); err != nil {
			return nil, prefixed("InputDType", err)
		}
		if m.inputDType == ir.Invalid {
			return nil, fmt.Errorf("keras: InputDType: a model of NewModel takes no text, received %q; put a Functional model around it, whose input of text goes through a TextVectorization or StringLookup", c.inputDType)
		}
	}
	if c.inputShape == nil {
		return m, nil
	}
	if err := m.Build(append([]int{layers.Unknown}, c.inputShape...)); err != nil {
		return nil, prefixed("InputShape", err)
	}
	return m, nil
}

// checkAssembly refuses methods that look as if they created layers or weights, but that nothing would call.
func checkAssembly(value any) error {
	v := reflect.ValueOf(value)
	if m := v.MethodByName("Assemble"); m.IsValid() {
		if _, ok := value.(Assembler); !ok {
			return fmt.Errorf("keras: NewModel: %T: method Assemble has the form %v; expected func() error", value, m.Type())
		}
	}
	_, builds := value.(layers.WeightBuilder)
	_, alike := value.(interface {
		Build(*layers.Builder, ir.Shape)
	})
	if !builds && !alike {
		return nil
	}
	if _, ok := value.(layers.Layer); ok {
		return nil
	}
	return fmt.Errorf("keras: NewModel: %T has a method Build, which is that of layers: a model's own weights belong to a layer in one of its exported fields; make a type that embeds layers.Base and has this Build", value)
}

// callOf returns the method Call. A layer is called like any layer. A type with a TrainStep needs no Call as long as
// nothing calls it.
func callOf(value any) (func(*layers.Context, []*ops.Tensor) []*ops.Tensor, error) {
	method := reflect.ValueOf(value).MethodByName("Call")
	if _, trains := value.(TrainStepper); !method.IsValid() && trains {
		return func(c *layers.Context, _ []*ops.Tensor) []*ops.Tensor {
			ops.Failf(c.Graph(), "%T has no method Call, only a step of its own; add Call(c *layers.Context, x *ops.Tensor) *ops.Tensor to predict with it, and a TestStep to evaluate it", value)
			return nil
		}, nil
	}
	if l, ok := value.(layers.Layer); ok && !method.IsValid() {
		return func(c *layers.Context, in []*ops.Tensor) []*ops.Tensor { return layers.InvokeAll(l, c, in...) }, nil
	}
	if !method.IsValid() {
		return nil, fmt.Errorf("keras: NewModel: %T has no method Call; add Call(c *layers.Context, x *ops.Tensor) *ops.Tensor (and pass a pointer, if its receiver is one)", value)
	}
	call, err := adapt(method)
	if err != nil {
		return nil, fmt.Errorf("keras: NewModel: %T: %w", value, err)
	}
	return call, nil
}

func distinct(all []layers.Layer) []layers.Layer {
	seen := map[layers.Layer]bool{}
	var out []layers.Layer
	for _, l := range all {
		if !seen[l] {
			seen[l] = true
			out = append(out, l)
		}
	}
	return out
}

var (
	contextType = reflect.TypeFor[*layers.Context]()
	tensorType  = reflect.TypeFor[*ops.Tensor]()
	tensorsType = reflect.TypeFor[[]*ops.Tensor]()
)

// adapt wraps a Call method of any of the allowed forms.
func adapt(method reflect.Value) (func(*layers.Context, []*ops.Tensor) []*ops.Tensor, error) {
	t := method.Type()
	if t.NumIn() < 2 || t.In(0) != contextType || t.NumOut() < 1 {
		return nil, formError(t)
	}
	for i := 1; i < t.NumIn(); i++ {
		last := t.IsVariadic() && i == t.NumIn()-1
		if t.In(i) != tensorType && !(last && t.In(i) == tensorsType) {
			return nil, formError(t)
		}
	}
	list := t.NumOut() == 1 && t.Out(0) == tensorsType
	for i := range t.NumOut() {
		if t.Out(i) != tensorType && !list {
			return nil, formError(t)
		}
	}
	fixed := t.NumIn() - 1
	if t.IsVariadic() {
		fixed--
	}
	return func(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
		if len(in) < fixed || len(in) > fixed && !t.IsVariadic() {
			ops.Failf(c.Graph(), "Call takes %d tensors, received %d", fixed, len(in))
		}
		args := []reflect.Value{reflect.ValueOf(c)}
		for _, x := range in {
			args = append(args, reflect.ValueOf(x))
		}
		var results []reflect.Value
		guard(c, "Call", func() { results = method.Call(args) })
		if list {
			return results[0].Interface().([]*ops.Tensor)
		}
		out := make([]*ops.Tensor, len(results))
		for i, r := range results {
			out[i] = r.Interface().(*ops.Tensor)
		}
		return out
	}, nil
}

// PanicError is the error for a panic in a user's Call, TrainStep, TestStep or Assemble.
type PanicError struct {
	Method string // "Call"
	Value  any
	Stack  []byte
}

// Error says what the panic was about; Stack says where it happened.
func (e *PanicError) Error() string {
	return fmt.Sprintf("%s panicked: %v; see Stack of the wrapped *keras.PanicError for the place", e.Method, e.Value)
}

func formError(t reflect.Type) error {
	return fmt.Errorf("method Call has the form %s; expected func(*layers.Context, *ops.Tensor) *ops.Tensor, with any number of tensors", config.Form(t))
}

func (s *subclass) forward(c *layers.Context, inputs []*ops.Tensor) []*ops.Tensor {
	outputs := s.call(c, inputs)
	if len(outputs) == 0 {
		ops.Failf(c.Graph(), "Call returned no tensors")
	}
	for i, y := range outputs {
		if y == nil {
			ops.Failf(c.Graph(), "Call returned nil as result %d", i)
		}
	}
	return outputs
}

// Attributes lists the parts of a model of a user-defined type by the names of its fields. It returns false for other
// models. Weights files address layers by these names.
func (m *Model) Attributes() ([]layers.Attribute, bool) {
	s, ok := m.topology.(*subclass)
	if !ok {
		return nil, false
	}
	return layers.FieldAttributes(s.value), true
}

// isSubclass reports whether the model is of a user's type.
func (m *Model) isSubclass() bool {
	_, ok := m.topology.(*subclass)
	return ok
}

func (s *subclass) members() []layers.Layer       { return s.found }
func (s *subclass) inputs() []*layers.KerasTensor { return nil }
func (s *subclass) inputNames() []string          { return nil }
func (s *subclass) outputNames() []string         { return nil }
func (s *subclass) className() string             { return s.name }
