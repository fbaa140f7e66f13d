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

// Model is a network with its weights, and, once compiled, what is needed to train it. It is a layer, so models nest.
//
// Predict may be called from many goroutines at once. Training and evaluation need exclusive use of the model: a second
// Fit or Evaluate at the same time is an error.
type Model struct {
	layers.Base

	topology topology
	strategy distribute.Strategy
	seed     uint64
	policy   ops.DTypePolicy

	ownPolicy bool     // named by the user, so it holds for a model inside another too
	part      bool     // read as a part of another model, which places its variables
	readable  [32]byte // sum of the document that was last found to be readable, guarded by describing; see checkReadable

	revision, changes uint64 // layers.Revision and layers.RevisionOf when the functions were made; see refresh

	inputDType  ir.DType  // what Build takes the inputs for; Invalid: the float type of the policy
	inputTypes  []ir.Type // of the first batch seen; batch axis Unknown
	outputTypes []ir.Type
	placed      bool
	probing     atomic.Bool  // while Build works out the shapes
	mu          sync.Mutex   // guards building and the functions below
	training    sync.Mutex   // held during Fit, Evaluate, the batch methods and Compile
	values      sync.RWMutex // guards the values of variables while steps run
	slots       sync.Mutex   // held while the optimizer gets its variables; taken after values
	describing  sync.Mutex   // held while files are described, for which layers are traced; between values and slots
	compiled    *compiled
	document    *insideDocument // of a model inside another that was read and is not finished
	predict     *distribute.Function
	predictions predictions

	steps            uint32                 // training steps so far: the random numbers of each are different, as are those of what follows
	predicted        atomic.Uint32          // batches of predictions so far
	tested, testedAt uint32                 // batches evaluated since step testedAt
	run              atomic.Pointer[fitRun] // the run of Fit or Evaluate that is under way, or the last one
	measured         atomic.Uint64          // counts what changes metrics: logs that were not read before are lost
	toldNaN          bool                   // by TrainOnBatch or TestOnBatch
	toldCut          bool                   // by them, of sample weights that a metric cuts
}

// topology is the way in which a model's layers are connected.
type topology interface {
	forward(c *layers.Context, inputs []*ops.Tensor) []*ops.Tensor
	members() []layers.Layer
	// inputs are the declared inputs, nil where the first batch decides.
	inputs() []*layers.KerasTensor
	// inputNames and outputNames are the keys of dict data; nil where there are none.
	inputNames() []string
	outputNames() []string
	className() string
	// object describes the model in the way of Keras's files; policy is that of layers which name none.
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
	input      *layers.KerasTensor // takes the place of the two
	part       bool                // of a model that is not made yet, which will place the variables
	err        error               // of the options
}

type modelOption func(*modelConfig)

// ScopeStrategy returns nil: the option is not about a strategy.
func (modelOption) ScopeStrategy() distribute.Strategy { return nil }

// Name names the model; the default is made from its kind ("sequential"). Models inside it without a name are numbered
// as Keras does: "sequential", "sequential_1", and then the model itself.
func Name(name string) Option { return modelOption(func(c *modelConfig) { c.name = name }) }

// Seed sets the seed of initial weights, dropout and shuffling; the default is 0. Equal seeds give equal runs, bit for
// bit.
//
// Models of equal layers begin with equal weights where their seeds are equal, or none is given, also within one
// program; in Keras each has its own. The members of an ensemble, twin critics or the two generators of a CycleGAN need
// a seed each:
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

// DTypePolicy sets the types of computation and variables for layers that have no policy of their own: "float32" (the
// default), "float64", "bfloat16", "float16", "mixed_bfloat16", "mixed_float16" (with loss scaling).
func DTypePolicy(name string) Option { return modelOption(func(c *modelConfig) { c.policy = name }) }

// InputShape declares the shape of one example of a Sequential model, without the batch axis, so that it is built at
// once; also of a model of NewModel that has one input. For others see [Model.Build].
func InputShape(shape ...int) Option {
	return modelOption(func(c *modelConfig) { c.inputShape = append([]int{}, shape...) })
}

// InputDType declares the element type of the input of a Sequential model with InputShape, and of all inputs of a model
// of NewModel, for InputShape and Build; the default is "float32".
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

// newModel puts a model together from its topology.
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

// nameItself gives a model without a name one made from its kind, after those of the models inside it: these were there
// before. A model that it becomes part of starts its own count.
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

// adopt takes the topology's layers in and names them.
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
	if m.topology == nil { // a zero value, whose Forward says so
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

// Layers returns the direct layers of the model, in order. Inputs are not among them, while Keras's model.layers of a
// Functional model has an InputLayer for each: model.layers[1] of a model with one input is Layers()[0] here. Inputs
// returns what the model is fed with.
func (m *Model) Layers() []layers.Layer { return m.topology.members() }

// GetLayer returns the layer of the given name. Use Layers for access by position.
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

// OutputNames returns the names under which losses, metrics and targets of a model with several outputs are given.
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
	m.probing.Store(!m.part) // what is part of another model leaves the search to that
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

// assignStorage gives all variables to the strategy.
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
