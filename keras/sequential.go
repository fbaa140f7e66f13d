package keras

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// sequential is a stack of layers, each fed with the result of the previous one.
type sequential struct {
	stack []layers.Layer
	input *layers.KerasTensor
	built *layers.KerasTensor // if input is nil: the input that the layers were built for
	name  string
	names []string // of a declared input; nil: any name is accepted
	host  *hostStage
	first int          // first layer of the program; those before it run on the host
	inner *layers.Node // the call of that layer if it is a model that begins on the host; otherwise nil
	dtype string       // the policy in the document that the model was read from; its layers have their own
	graph stackGraph   // the symbolic results of the layers, created on first use
}

// NewSequential returns a model that is a stack of layers. Without InputShape its input is that of a model which is the
// first of several layers; otherwise the weights are created when the first batch, or Build, determines the shape. Two
// models of equal layers begin with equal weights unless each has its own [Seed].
func NewSequential(stack []layers.Layer, options ...Option) (*Model, error) {
	c := configure(options)
	s := &sequential{stack: append([]layers.Layer{}, stack...)}
	for i, l := range stack {
		if layers.IsNil(l) {
			return nil, fmt.Errorf("keras: layer %d of the Sequential model is nil", i)
		}
		for j, other := range stack[:i] {
			if other == l {
				return nil, fmt.Errorf("keras: layers %d and %d of the Sequential model are the same %s; a stack holds each layer once, use a Functional model to share one", j, i, layers.ClassName(l))
			}
		}
	}
	if err := s.declareInput(c); err != nil {
		return nil, err
	}
	if err := s.placeHostLayers(); err != nil {
		return nil, prefixed("Sequential model", err)
	}
	m, err := newModel(s, c)
	if err != nil {
		return nil, err
	}
	s.name = m.Name()
	if s.input != nil {
		s.names = []string{s.input.Name()}
		if c.policy != "" { // nested models were built under the default policy
			resetUnplaced(s.stack)
		}
		if err := m.build(typesOf(m.fed())); err != nil {
			return nil, fmt.Errorf("keras: %w", err)
		}
	}
	return m, nil
}

// declareInput takes the input's shape from the options or from a leading InputLayer.
func (s *sequential) declareInput(c modelConfig) error {
	if len(s.stack) > 0 {
		if in, ok := s.stack[0].(*layers.InputLayer); ok {
			input, err := in.Tensor()
			if err != nil {
				return fmt.Errorf("keras: %w", err)
			}
			s.input, s.stack = input, s.stack[1:]
			return nil
		}
	}
	if s.input = c.input; s.input != nil {
		return nil
	}
	if c.inputShape == nil {
		if c.inputDType == "" {
			s.takeInput()
		}
		return nil
	}
	dtype := ir.Float32
	if c.inputDType != "" {
		var err error
		if dtype, err = layers.ParseInputDType(c.inputDType); err != nil {
			return prefixed("InputDType", err)
		}
	}
	s.input = layers.NewInput("input_layer", dtype, append([]int{layers.Unknown}, c.inputShape...)...)
	if err := s.input.Err(); err != nil {
		return prefixed("InputShape", err)
	}
	return nil
}

// takeInput declares the input of the first layer, if that is a model with one input and other layers follow, as in
// Keras.
func (s *sequential) takeInput() {
	if s.input != nil || len(s.stack) < 2 {
		return
	}
	if m, ok := s.stack[0].(*Model); ok {
		if f, ok := m.topology.(*functional); ok && (f.in.names != nil || f.in.nested != nil) {
			return
		}
		if in := m.Inputs(); len(in) == 1 {
			s.input = layers.NewInput("input_layer", in[0].DType(), in[0].Shape()...)
		}
	}
}

func (s *sequential) forward(c *layers.Context, inputs []*ops.Tensor) []*ops.Tensor {
	if len(s.stack) == 0 {
		ops.Failf(c.Graph(), "the Sequential model has no layers; add at least one")
	}
	switch {
	case s.host != nil:
		inputs = s.host.masked(adjustInputs(c, s.host.fed, inputs))
		if s.inner == nil {
			inputs = inputs[:1]
		}
	case s.input != nil:
		inputs = adjustInputs(c, []*layers.KerasTensor{s.input}, inputs)
	case s.built != nil && len(inputs) == 1:
		inputs = fitInputs(c, []*layers.KerasTensor{s.built}, inputs)
	}
	given := inputs
	rest := s.stack[s.first:]
	if s.inner != nil {
		fed := inputs
		inputs = s.host.callStaged(c, s.inner, func(t *layers.KerasTensor) *ops.Tensor { return fed[slices.Index(s.host.fed, t)] })
		rest = rest[1:]
	}
	for _, l := range rest {
		inputs = layers.InvokeAll(l, c, inputs...)
	}
	if s.input == nil && s.built == nil && len(given) == 1 {
		s.built = anyOfRank(given[0])
	}
	return inputs
}

// anyOfRank describes the inputs of a model that is built for x without a declared shape: they must have the same
// number of axes, as in Keras. Otherwise the features of one example could be mistaken for many examples with one
// number each.
func anyOfRank(x *ops.Tensor) *layers.KerasTensor {
	shape := make([]int, x.Rank())
	for i := range shape {
		shape[i] = layers.Unknown
	}
	if n := len(shape); n > 0 && x.Dim(-1) == 1 {
		shape[n-1] = 1 // may be left out
	}
	return layers.NewInput("input_layer", ir.Float32, shape...) // the input keeps its own type
}

func (s *sequential) members() []layers.Layer { return s.stack }
func (s *sequential) className() string       { return "Sequential" }
func (s *sequential) inputNames() []string    { return s.names }

func (s *sequential) inputs() []*layers.KerasTensor {
	if s.input == nil {
		return nil
	}
	return []*layers.KerasTensor{s.input}
}

func (s *sequential) outputNames() []string {
	if len(s.stack) == 0 {
		return nil
	}
	return []string{layers.Name(s.stack[len(s.stack)-1])}
}

// Add appends a layer to a Sequential model. Compile again afterwards.
func (m *Model) Add(l layers.Layer) error {
	s, ok := m.topology.(*sequential)
	if !ok {
		return fmt.Errorf("keras: Add: %s %q is not a Sequential model", m.ClassName(), m.Name())
	}
	if layers.IsNil(l) {
		return fmt.Errorf("keras: Add: the layer is nil")
	}
	if slices.Contains(s.stack, l) {
		return fmt.Errorf("keras: Add: layer %q is in the model already; a stack holds each layer once, use a Functional model to share one", layers.Name(l))
	}
	circle := false
	layers.Walk(l, func(inner layers.Layer) { circle = circle || inner == layers.Layer(m) })
	if circle {
		return fmt.Errorf("keras: Add: %s %q contains model %q itself", layers.ClassName(l), layers.Name(l), m.Name())
	}
	return prefixed("Add", m.change(append(slices.Clone(s.stack), l)))
}

// Pop removes the last layer of a Sequential model. Compile again afterwards.
func (m *Model) Pop() (layers.Layer, error) {
	s, ok := m.topology.(*sequential)
	if !ok || len(s.stack) == 0 {
		return nil, fmt.Errorf("keras: Pop: %s %q has no top layer to take off", m.ClassName(), m.Name())
	}
	top := s.stack[len(s.stack)-1]
	return top, prefixed("Pop", m.change(slices.Clone(s.stack[:len(s.stack)-1])))
}

// change gives a Sequential model another stack, or leaves it unchanged if that does not fit.
func (m *Model) change(stack []layers.Layer) error {
	if !m.training.TryLock() {
		return fmt.Errorf("model %q is training or evaluating; wait for it to end", m.Name())
	}
	defer m.training.Unlock()
	s := m.topology.(*sequential)
	before, input, names := s.stack, s.input, s.names
	s.stack = stack
	if s.takeInput(); s.input != nil {
		s.names = []string{s.input.Name()}
	}
	err := s.placeHostLayers()
	if err == nil {
		err = m.changed()
	}
	if err != nil {
		s.stack, s.input, s.names = before, input, names
		err = errors.Join(err, s.placeHostLayers(), m.changed())
	}
	return err
}

// changed updates the model after its stack has changed.
func (m *Model) changed() error {
	if err := m.adopt(); err != nil {
		return err
	}
	m.mu.Lock()
	types := m.inputTypes
	m.placed, m.inputTypes, m.compiled = false, nil, nil
	m.topology.(*sequential).built = nil
	m.topology.(*sequential).graph.forget()
	m.forgetPredictions()
	m.mu.Unlock()
	if in := m.fed(); in != nil {
		types = typesOf(in)
	}
	if types == nil || len(m.Layers()) == 0 {
		return nil
	}
	return m.build(types)
}
