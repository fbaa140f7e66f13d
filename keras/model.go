package keras

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// Model is a network with its weights and, once compiled, what is needed to train it. A model is a layer, so models can
// be nested.
//
// Predict may be called from many goroutines at once. Training and evaluation need exclusive use of the model: a second
// Fit or Evaluate at the same time is an error.
type Model struct {
	layers.Base

	topology topology
	strategy distribute.Strategy
	seed     uint64
	policy   ops.DTypePolicy

	ownPolicy bool     // set by the user, so it applies to nested models too
	part      bool     // read as a part of another model, which places its variables
	readable  [32]byte // checksum of the document that was last found readable, guarded by describing; see checkReadable

	revision, changes uint64 // layers.Revision and layers.RevisionOf when the functions were made; see refresh

	inputDType  ir.DType  // the input type that Build assumes; Invalid: the float type of the policy
	inputTypes  []ir.Type // of the first batch seen; the batch axis is Unknown
	outputTypes []ir.Type
	placed      bool
	probing     atomic.Bool  // while Build infers the shapes
	mu          sync.Mutex   // guards building and the functions below
	training    sync.Mutex   // held during Fit, Evaluate, the batch methods and Compile
	values      sync.RWMutex // guards the values of variables while steps run
	slots       sync.Mutex   // held while the optimizer creates its variables; taken after values
	describing  sync.Mutex   // held while files are described, which traces layers; between values and slots
	compiled    *compiled
	document    *insideDocument // of a nested model that was read and is not finished
	predict     *distribute.Function
	predictions predictions

	steps            uint32                 // training steps so far, from which the random numbers of training and evaluation are drawn
	predicted        atomic.Uint32          // number of batches predicted
	tested, testedAt uint32                 // number of batches evaluated since step testedAt
	run              atomic.Pointer[fitRun] // the current or last run of Fit or Evaluate
	measured         atomic.Uint64          // counts changes of metrics: logs that were not read before are lost
	toldNaN          bool                   // by TrainOnBatch or TestOnBatch, so they do not repeat the warning
	toldCut          bool                   // by the same, about sample weights that a metric truncates
}

// topology is how the layers of a model are connected.
type topology interface {
	forward(c *layers.Context, inputs []*ops.Tensor) []*ops.Tensor
	members() []layers.Layer
	// inputs returns the declared inputs, or nil if the first batch determines them.
	inputs() []*layers.KerasTensor
	// inputNames and outputNames return the keys of dict data, or nil.
	inputNames() []string
	outputNames() []string
	className() string
	// object describes the model as in Keras's files; policy applies to layers that name none.
	object(m *Model, policy string) (map[string]any, error)
}

// Option is an option of NewSequential, NewFunctional and NewModel: one of this package, or distribute.Scope.
type Option interface {
	ScopeStrategy() distribute.Strategy
}

type modelConfig struct {
	name       string
	strategy   distribute.Strategy
	seed       uint64
	policy     string
	inputShape []int
	inputDType string
	input      *layers.KerasTensor // used instead of the two
	part       bool                // for a model that is being made and will place the variables
	err        error               // from the options
}

type modelOption func(*modelConfig)

// ScopeStrategy returns nil: the option is not about a strategy.
func (modelOption) ScopeStrategy() distribute.Strategy { return nil }

// Name names the model; the default is made from its kind ("sequential"). Nested models without a name are numbered as
// Keras does: "sequential", "sequential_1", and the model itself last.
func Name(name string) Option { return modelOption(func(c *modelConfig) { c.name = name }) }

// Seed sets the seed of initial weights, dropout and shuffling; the default is 0. Equal seeds give equal runs, bit for
// bit.
//
// Models of equal layers begin with equal weights if their seeds are equal or not given, even within one program; in
// Keras their weights differ. So give each member of an ensemble, twin critics, or the two generators of a CycleGAN
// their own seed:
//
//	for i := range ensemble {
//		ensemble[i], err = keras.NewSequential(stack(), keras.InputShape(8), keras.Seed(uint64(i)))
//	}
func Seed(seed uint64) SeedOption { return seedOption{func(c *modelConfig) { c.seed = seed }} }

// SeedOption is an option for creating a model and for loading one.
type SeedOption interface {
	Option
	LoadModelOption
}

type seedOption struct{ modelOption }

// LoadScope returns nil: the option is not about a strategy.
func (seedOption) LoadScope() distribute.Strategy { return nil }

// DTypePolicy sets the types of computation and variables for layers without a policy of their own: "float32" (the
// default), "float64", "bfloat16", "float16", "mixed_bfloat16", or "mixed_float16" (with loss scaling).
func DTypePolicy(name string) Option { return modelOption(func(c *modelConfig) { c.policy = name }) }

// InputShape declares the shape of one example, without the batch axis, so that the model is built at once. It is for
// Sequential models, and for models of NewModel that have one input. For others see [Model.Build].
func InputShape(shape ...int) Option {
	return modelOption(func(c *modelConfig) { c.inputShape = append([]int{}, shape...) })
}

// InputDType declares the element type of the input of a Sequential model with InputShape, or of all inputs of a model
// of NewModel, for InputShape and Build. The default is "float32".
func InputDType(dtype string) Option {
	return modelOption(func(c *modelConfig) { c.inputDType = dtype })
}

func configure(options []Option) modelConfig {
	var c modelConfig
	for _, o := range options {
		switch o := o.(type) {
		case nil:
		case seedOption:
			o.modelOption(&c)
		case modelOption:
			o(&c)
		default:
			if scope, ok := o.(distribute.ScopeOption); ok && scope.ScopeStrategy() == nil {
				c.err = fmt.Errorf("distribute.Scope received no strategy; make one, as with distribute.NewMirroredStrategy(), or leave the option out for one device")
				continue
			}
			s, err := distribute.Nest(c.strategy, o.ScopeStrategy())
			if err != nil {
				c.err = err
				continue
			}
			c.strategy = s
		}
	}
	if c.strategy == nil {
		c.strategy = distribute.Default()
	}
	return c
}

// newModel makes a model from its topology.
func newModel(t topology, c modelConfig) (*Model, error) {
	if c.err != nil {
		return nil, fmt.Errorf("keras: %w", c.err)
	}
	policy, err := ops.ParseDTypePolicy(c.policy)
	if err != nil {
		return nil, fmt.Errorf("keras: %w", err)
	}
	if !policy.Compute.IsFloat() {
		return nil, fmt.Errorf("keras: the dtype policy of a model must be one of floats, received %q", c.policy)
	}
	m := &Model{topology: t, part: c.part, strategy: c.strategy, seed: c.seed, policy: policy, ownPolicy: c.policy != ""}
	layers.SetName(m, c.name)
	if err := m.adopt(); err != nil {
		return nil, err
	}
	m.nameItself()
	return m, nil
}

// nameItself names a model without a name after its kind. It comes after the models inside it, which were there before.
// A model that it becomes part of starts its own count.
func (m *Model) nameItself() {
	prefix := layers.SnakeCase(m.ClassName())
	name, taken := prefix, map[string]bool{}
	layers.Walk(m, func(l layers.Layer) {
		if l != layers.Layer(m) {
			taken[layers.Name(l)] = true
		}
	})
	for n := 1; taken[name]; n++ {
		name = fmt.Sprintf("%s_%d", prefix, n)
	}
	layers.SetDefaultName(m, name)
}

// adopt takes over the topology's layers and names them.
func (m *Model) adopt() error {
	layers.SetSublayers(m, m.topology.members())
	if _, own := m.topology.(*subclass); own {
		layers.TellApart(m)
	}
	if err := layers.AssignNames(m); err != nil {
		return fmt.Errorf("keras: model %q: %w", m.Name(), err)
	}
	return nil
}

// Name returns the model's name.
func (m *Model) Name() string { return layers.Name(m) }

// ClassName returns "Sequential", "Functional" or the name of the subclass.
func (m *Model) ClassName() string {
	if m.topology == nil { // a zero value, whose Forward reports the error
		return "Model"
	}
	return m.topology.className()
}

// String describes the model as Keras prints it: <Sequential name=sequential, built=True>. Summary shows its layers.
func (m *Model) String() string {
	built := "False"
	if m.isBuilt() {
		built = "True"
	}
	return fmt.Sprintf("<%s name=%s, built=%s>", m.ClassName(), m.Name(), built)
}

// Strategy returns the strategy of the model's variables.
func (m *Model) Strategy() distribute.Strategy { return m.strategy }

// Layers returns the direct layers of the model, in order. Inputs are not included, whereas Keras's model.layers of a
// Functional model has an InputLayer for each: model.layers[1] of a model with one input is Layers()[0] here. Inputs
// returns the model's inputs.
func (m *Model) Layers() []layers.Layer { return m.topology.members() }

// GetLayer returns the layer of the given name. Use Layers for access by index.
func (m *Model) GetLayer(name string) (layers.Layer, error) {
	var names []string
	for _, l := range m.Layers() {
		if layers.Name(l) == name {
			return l, nil
		}
		names = append(names, layers.Name(l))
	}
	return nil, fmt.Errorf("keras: model %q has no layer %q; %sits layers are %q", m.Name(), name, config.Guess(name, names), names)
}

// Inputs returns the declared symbolic inputs; nil if the first batch decides.
func (m *Model) Inputs() []*layers.KerasTensor { return m.topology.inputs() }

// OutputNames returns the names by which losses, metrics and targets of a model with several outputs are given.
func (m *Model) OutputNames() []string { return m.topology.outputNames() }

// Call applies the model inside a trace, as a layer of another model or in a custom loop.
func (m *Model) Call(c *layers.Context, inputs ...*ops.Tensor) *ops.Tensor {
	return m.CallAll(c, inputs...)[0]
}

// CallAll is Call for models with several outputs.
func (m *Model) CallAll(c *layers.Context, inputs ...*ops.Tensor) []*ops.Tensor {
	return layers.InvokeAll(m, c, inputs...)
}

// Forward connects the layers; users call Call instead. A model with its own policy applies it to its layers.
func (m *Model) Forward(c *layers.Context, inputs []*ops.Tensor) []*ops.Tensor {
	if m.topology == nil {
		ops.Failf(c.Graph(), "the model is a zero value; make models with NewSequential, NewFunctional or NewModel")
	}
	m.refuseUnstaged(c)
	outer, within := c.Policy, c.Within
	if m.ownPolicy {
		c.Policy = m.policy
	}
	if _, ok := m.topology.(*sequential); ok && m.Path() == m.Name() {
		c.Within = m.Name()
	}
	forward := m.topology.forward
	if c.Depth() == 1 && m.probing.Load() {
		forward = m.probe
	}
	outputs := forward(c, inputs)
	c.Policy, c.Within = outer, within
	return outputs
}

// ComputeMask keeps the masks computed by the model's layers.
func (m *Model) ComputeMask(_ *layers.Context, _, outputs []*ops.Tensor) []*ops.Tensor {
	masks := make([]*ops.Tensor, len(outputs))
	for i, y := range outputs {
		masks[i] = y.Mask()
	}
	return masks
}

// Build creates the weights for inputs of the given shapes, one for each input, with the batch axis (layers.Unknown
// while open). They are floats, unless NewModel was given an InputDType.
func (m *Model) Build(shapes ...[]int) error {
	types := make([]ir.Type, len(shapes))
	for i, s := range shapes {
		types[i] = ir.Type{DType: m.policy.Float(), Shape: s}
		if m.inputDType != ir.Invalid {
			types[i].DType = m.inputDType
		}
	}
	return prefixed("Build", m.build(types))
}

func (m *Model) build(types []ir.Type) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.placed && m.inputTypes != nil {
		return nil
	}
	if n := m.fed(); n != nil && len(n) != len(types) {
		return fmt.Errorf("model %q has %d inputs, received %d", m.Name(), len(n), len(types))
	}
	open := make([]ir.Type, len(types))
	for i, t := range types {
		open[i] = ir.Type{DType: t.DType, Shape: t.Shape.Clone()}
		if len(t.Shape) > 0 && !m.fixedBatch(i) {
			open[i].Shape[0] = layers.Unknown
		}
	}
	var err error
	m.probing.Store(!m.part) // part of another model, which searches itself
	m.outputTypes, err = layers.InferTypes(m, open)
	m.probing.Store(false)
	if err != nil {
		return err
	}
	m.inputTypes = open
	if m.part {
		return nil
	}
	return m.assignStorage(m.strategy)
}

// fixedBatch reports whether the length of the batch axis of input i is declared.
func (m *Model) fixedBatch(i int) bool {
	declared := m.fed()
	return i < len(declared) && declared[i].Shape().Rank() > 0 && declared[i].Shape()[0] != layers.Unknown
}

// assignStorage makes the strategy store all variables.
func (m *Model) assignStorage(s distribute.Strategy) error {
	for _, v := range layers.Weights(m) {
		if err := v.Place(s, m.seed); err != nil {
			return fmt.Errorf("model %q: %w", m.Name(), err)
		}
	}
	if err := layers.OpenTables(m, m.seed); err != nil {
		return fmt.Errorf("model %q: %w", m.Name(), err)
	}
	m.placed = true
	layers.Walk(m, func(l layers.Layer) {
		if inner, ok := l.(*Model); ok && inner.part {
			inner.strategy, inner.seed, inner.placed, inner.part = s, m.seed, true, false
		}
	})
	return nil
}

// isBuilt reports whether the model has its weights.
func (m *Model) isBuilt() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.placed
}

// prefixed is err as a public function returns it.
//
//go:noinline
func prefixed(what string, err error) error {
	return config.Prefixed("keras: "+what+": ", err)
}

// Weights returns all variables of the model in Keras's order. Those of a layer that consists of others, of one's own,
// follow the order of its exported fields, then that of [layers.Builder.Adopt]; Keras has them in the order in which
// Python assigned the attributes. Arrays that go between the two need the fields in that order; files find weights by
// the names of attributes, whatever the order, and Path of a variable says which one it is.
func (m *Model) Weights() distribute.Variables { return layers.Weights(m) }

// TrainableVariables returns the variables that training changes.
func (m *Model) TrainableVariables() distribute.Variables { return layers.TrainableWeights(m) }

// NonTrainableVariables returns moving statistics and the variables of frozen layers.
func (m *Model) NonTrainableVariables() distribute.Variables { return layers.NonTrainableWeights(m) }

// SetTrainable freezes or unfreezes all layers of the model; compile again for it to take effect.
func (m *Model) SetTrainable(trainable bool) { layers.SetTrainable(m, trainable) }

// CountParams returns the number of elements of all weights.
func (m *Model) CountParams() int { return m.Weights().Count() }
