package keras

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/saving"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// optimized is an optimizer and what it trains.
type optimized struct {
	name      string // in files
	optimizer optimizers.Optimizer
	variables distribute.Variables // the variables that it was built for, in order
	updated   distribute.Variables // those of variables that the step updates
}

// prepareOptimizer creates the optimizer's variables, for all weights that can be trained until the model is compiled
// again.
func (m *Model) prepareOptimizer() error {
	m.slots.Lock()
	defer m.slots.Unlock()
	c := m.compiled
	if c.trainable != nil {
		return nil
	}
	if c.trainStep != nil {
		return fmt.Errorf("the optimizers of model %q are those of its TrainStep, which is known once it was traced; train on a batch first, with Fit or TrainOnBatch", m.Name())
	}
	if !m.isBuilt() {
		return fmt.Errorf("model %q has no weights yet; build it first, with InputShape, Build or Fit", m.Name())
	}
	trainable := append(distribute.Variables{}, m.TrainableVariables()...)
	if err := c.optimizer.Build(trainable); err != nil {
		return err
	}
	if err := m.placeAll(c.optimizer.Variables()); err != nil {
		return err
	}
	if len(trainable) > 0 { // as in Keras, Fit accepts a model without any: nothing changes
		c.optimized = []optimized{{"optimizer", c.optimizer, trainable, trainable}}
	}
	c.trainable = trainable
	return nil
}

// takeOptimizers registers the optimizers that a step applies. Every trainable weight must be trained by one of them.
func (m *Model) takeOptimizers(s *Step) error {
	c := m.compiled
	trained, taken := map[*distribute.Variable]bool{}, map[string]bool{"optimizer": true}
	compiled := slices.ContainsFunc(s.applied, func(o optimized) bool { return o.optimizer == c.optimizer })
	for i := range s.applied {
		o := &s.applied[i]
		for _, v := range o.updated {
			trained[v] = true
		}
		if err := m.placeAll(o.optimizer.Variables()); err != nil {
			return err
		}
		switch o.name = m.fieldOf(o.optimizer); {
		case o.optimizer == c.optimizer:
			o.name = "optimizer"
		case o.name == "", o.name == "optimizer" && compiled: // a field of this name besides the optimizer of Compile
			o.name = uniqueName("optimizer", taken)
		}
	}
	trainable := distribute.Variables{}
	for _, v := range m.TrainableVariables() {
		if !trained[v] {
			return fmt.Errorf("TrainStep trains the weight %s of model %q by no optimizer; give it to Minimize or Apply, or freeze its layer with SetTrainable(false)", v.Path(), m.Name())
		}
	}
	for _, o := range s.applied {
		for _, v := range o.variables {
			if trained[v] && !slices.Contains(trainable, v) {
				trainable = append(trainable, v)
			}
		}
	}
	c.trainable, c.optimized = trainable, s.applied
	m.fixFrozen()
	return nil
}

// fieldOf returns the name of the attribute that holds an optimizer in the user-defined type, or "". Keras's weights
// files store optimizers under such names.
func (m *Model) fieldOf(o optimizers.Optimizer) (name string) {
	if s, ok := m.topology.(*subclass); ok {
		eachField(reflect.ValueOf(s.value), func(field string, value any) {
			if value == any(o) {
				name = field
			}
		})
	}
	return name
}

// eachField visits the exported fields that hold pointers, in a struct and in the structs embedded in it.
func eachField(v reflect.Value, f func(name string, value any)) {
	v = reflect.Indirect(v)
	if v.Kind() != reflect.Struct {
		return
	}
	for i := range v.NumField() {
		field, value := v.Type().Field(i), v.Field(i)
		if field.Anonymous && (field.IsExported() || value.Kind() == reflect.Struct) {
			eachField(value, f)
			continue
		}
		if !field.IsExported() {
			continue
		}
		if k := value.Kind(); (k == reflect.Pointer || k == reflect.Interface) && !value.IsNil() {
			f(layers.SnakeCase(field.Name), value.Interface())
		}
	}
}

// optimizerVariables lists the variables of all optimizers, or returns nil before they have any.
func (c *compiled) optimizerVariables() distribute.Variables {
	if c.trainStep == nil {
		return c.optimizer.Variables()
	}
	var all distribute.Variables
	for _, o := range c.optimized {
		all = append(all, o.optimizer.Variables()...)
	}
	return all
}

// finalizeVariables copies moving averages into the weights.
func (c *compiled) finalizeVariables() error {
	for _, o := range c.optimized {
		if err := o.optimizer.FinalizeVariables(); err != nil {
			return err
		}
	}
	return nil
}

// leading returns the optimizer whose learning rate and step count are the model's: that of Compile, or the only one of
// a TrainStep.
func (c *compiled) leading() (optimizers.Optimizer, error) {
	if c.trainStep == nil || len(c.optimized) == 0 {
		return c.optimizer, nil
	}
	for _, o := range c.optimized {
		if o.optimizer == c.optimizer || len(c.optimized) == 1 {
			return o.optimizer, nil
		}
	}
	return nil, fmt.Errorf("keras: TrainStep uses %d optimizers, none of which Compile was given; use them, and not the model, for their learning rates and counts of steps", len(c.optimized))
}

// optimizerObjects lists the objects of a weights file that hold optimizers, once these have variables.
func (m *Model) optimizerObjects() []saving.Object {
	m.slots.Lock()
	defer m.slots.Unlock()
	if m.compiled == nil {
		return nil
	}
	list := m.compiled.optimized
	if o := m.compiled.optimizer; m.compiled.trainStep == nil {
		list = []optimized{{name: "optimizer", optimizer: o}}
	}
	var objects []saving.Object
	for _, o := range list {
		if len(o.optimizer.Variables()) == 0 {
			continue
		}
		if scaled, ok := o.optimizer.(*optimizers.LossScaleOptimizer); ok {
			all, inner := scaled.FileVariables()
			objects = append(objects,
				saving.Object{Path: o.name, Name: optimizerName(scaled), Variables: all, Older: scaled.Variables(), Lenient: true},
				saving.Object{Path: o.name + "/inner_optimizer", Name: optimizerName(scaled.Inner), Variables: inner, Older: scaled.Inner.Variables(), Lenient: true})
			continue
		}
		objects = append(objects, saving.Object{Path: o.name, Name: optimizerName(o.optimizer), Variables: o.optimizer.Variables(), Lenient: true})
		if several, ok := o.optimizer.(*optimizers.MultiOptimizer); ok {
			taken := map[string]bool{}
			for _, inner := range several.Map.Optimizers() {
				place := uniqueName(layers.SnakeCase(fmt.Sprintf("%T", inner)[len("*optimizers."):]), taken) // by class, whatever its name is
				objects = append(objects, saving.Object{Path: o.name + "/optimizers/" + place, Name: optimizerName(inner), Variables: inner.Variables(), Lenient: true})
			}
		}
	}
	return objects
}

// allOptimizers lists the file objects of the model's optimizers and of those of compiled models inside it.
func (m *Model) allOptimizers(objects []saving.Object) []saving.Object {
	all := m.optimizerObjects()
	for _, o := range objects {
		if inner, ok := o.Layer.(*Model); ok && inner != m {
			for _, optimizer := range inner.optimizerObjects() {
				optimizer.Path = o.Path + "/" + optimizer.Path
				all = append(all, optimizer)
			}
		}
	}
	return all
}

func optimizerName(o optimizers.Optimizer) string {
	if p, ok := o.(interface{ Path() string }); ok && p.Path() != "" {
		return p.Path()
	}
	return layers.SnakeCase(fmt.Sprintf("%T", o)[len("*optimizers."):])
}

// Optimizer returns the optimizer that Compile was given, or nil. For a custom TrainStep it returns the step's only
// optimizer, or nil if the step uses several others.
func (m *Model) Optimizer() optimizers.Optimizer {
	if m.compiled == nil {
		return nil
	}
	o, err := m.compiled.leading()
	if err != nil {
		return nil
	}
	return o
}

// OptimizerArrays returns copies of the optimizer's variables in Keras's file order. Several optimizers follow one
// another in the order in which the TrainStep applies them.
func (m *Model) OptimizerArrays() ([]kernels.Array, error) {
	if m.compiled == nil {
		return nil, m.errNotCompiled("OptimizerArrays")
	}
	m.slots.Lock()
	vars := m.compiled.optimizerVariables()
	m.slots.Unlock()
	m.values.RLock()
	defer m.values.RUnlock()
	return readAll(vars)
}

// SetOptimizerArrays replaces the variables of the optimizer, or of all optimizers.
func (m *Model) SetOptimizerArrays(values []kernels.Array) error {
	if m.compiled == nil {
		return m.errNotCompiled("SetOptimizerArrays")
	}
	if err := m.prepareOptimizer(); err != nil {
		return prefixed("SetOptimizerArrays", err)
	}
	vars := m.compiled.optimizerVariables()
	if len(values) != len(vars) {
		return fmt.Errorf("keras: the optimizer has %d variables, received %d; use values of the same optimizer and model", len(vars), len(values))
	}
	return prefixed("SetOptimizerArrays", m.writeAll(vars, values))
}

// LearningRate returns the learning rate of the next step.
func (m *Model) LearningRate() (float64, error) {
	if m.compiled == nil {
		return 0, m.errNotCompiled("LearningRate")
	}
	o, err := m.compiled.leading()
	if err != nil {
		return 0, err
	}
	m.values.RLock()
	defer m.values.RUnlock()
	m.slots.Lock()
	defer m.slots.Unlock()
	return o.Rate()
}

// SetLearningRate changes the learning rate of the next step. It fails if a schedule controls the rate.
func (m *Model) SetLearningRate(rate float64) error {
	if m.compiled == nil {
		return m.errNotCompiled("SetLearningRate")
	}
	o, err := m.compiled.leading()
	if err != nil {
		return err
	}
	m.values.Lock()
	defer m.values.Unlock()
	m.slots.Lock()
	defer m.slots.Unlock()
	return o.SetLearningRate(rate)
}

// SwapEMA exchanges the weights with the optimizers' moving averages of them.
func (m *Model) SwapEMA() error {
	if m.compiled == nil {
		return m.errNotCompiled("SwapEMA")
	}
	if !slices.ContainsFunc(m.compiled.optimized, func(o optimized) bool { return o.optimizer.Averages() != nil }) {
		return fmt.Errorf("keras: SwapEMA: the optimizer keeps no moving averages; set UseEMA in its options")
	}
	m.values.Lock()
	defer m.values.Unlock()
	for _, o := range m.compiled.optimized {
		for i, average := range o.optimizer.Averages() {
			if err := swap(o.variables[i], average); err != nil {
				return err
			}
		}
	}
	return nil
}

// swap exchanges the values of two variables.
func swap(a, b *distribute.Variable) error {
	first, err := a.Value()
	if err != nil {
		return err
	}
	second, err := b.Value()
	if err != nil {
		return err
	}
	if err := a.SetValue(second); err != nil {
		return err
	}
	return b.SetValue(first)
}
