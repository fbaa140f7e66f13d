package optimizers

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers/schedules"
)

// Base is the state that all optimizers share. The zero value is ready.
type Base struct {
	rule     Rule // the optimizer that this is part of, once it is known
	settings Settings
	schedule schedules.Schedule // nil: the learning rate is a variable
	rate     float64            // what the learning rate is set to while it has no memory

	weights      distribute.Variables
	index        map[*distribute.Variable]int
	iteration    *distribute.Variable
	learningRate *distribute.Variable
	averages     distribute.Variables
	accumulators distribute.Variables
	slots        []distribute.Variables // of each weight, in the order of the rule's Slots
	shared       distribute.Variables
	all          distribute.Variables
	unlisted     distribute.Variables // which Keras lists only where no LossScaleOptimizer is around the optimizer

	excluded      map[*distribute.Variable]bool
	excludedNames *regexp.Regexp
}

// sharer is implemented by rules with state that belongs to no weight in particular.
type sharer interface {
	sharedSlots() []Slot
	// advance returns the new values. It is called once in each update, before the weights are updated.
	advance(s *Step, shared []*ops.Tensor) []*ops.Tensor
}

// checker is implemented by rules whose configuration can be invalid.
type checker interface{ check() error }

// decayer is implemented by rules that choose the weight decay of each weight; nil is none.
type decayer interface {
	decayOf(weight *distribute.Variable) *float64
}

func (b *Base) base() *Base { return b }

// based is implemented by all optimizers that embed Base.
type based interface {
	Optimizer
	Rule
	base() *Base
}

// attach makes the optimizer known to its Base.
func attach(o Rule, b *Base) error {
	if b.rule != nil {
		return nil
	}
	s := o.Settings()
	fail := func(err error) error { return fmt.Errorf("optimizers: %s: %w", s.Name, err) }
	if err := s.Options.check(); err != nil {
		return fail(err)
	}
	if c, ok := o.(checker); ok {
		if err := c.check(); err != nil {
			return fail(err)
		}
	}
	rate, schedule, err := parseRate(s.LearningRate, s.DefaultRate)
	if err != nil {
		return fail(err)
	}
	b.rule, b.settings, b.schedule, b.rate = o, s, schedule, rate
	return nil
}

// parseRate reads a learning rate: nil, a float, or a schedule.
func parseRate(v any, def float64) (float64, schedules.Schedule, error) {
	if config.IsNil(v) {
		return 0, nil, fmt.Errorf("the learning rate must be a float or a schedules.Schedule, received %s", config.Received(v))
	}
	switch v := v.(type) {
	case nil:
		return def, nil, nil
	case float64:
		return v, nil, nil
	case float32:
		return float64(v), nil, nil
	case schedules.Schedule:
		return 0, v, schedules.Check(v)
	case int, int32, int64:
		return 0, nil, fmt.Errorf("the learning rate must be a float or a schedules.Schedule, received the %T %v; write %v.0", v, v, v)
	}
	return 0, nil, fmt.Errorf("the learning rate must be a float or a schedules.Schedule, received %s", config.Received(v))
}

func (o Options) check() error {
	kinds := make([]string, 0, 3)
	for _, k := range []struct {
		name  string
		value *float64
	}{{"ClipNorm", o.ClipNorm}, {"ClipValue", o.ClipValue}, {"GlobalClipNorm", o.GlobalClipNorm}} {
		if k.value != nil {
			kinds = append(kinds, fmt.Sprintf("%s=%v", k.name, *k.value))
		}
	}
	if len(kinds) > 1 {
		return fmt.Errorf("only one of ClipNorm, ClipValue and GlobalClipNorm can be set, received %s", strings.Join(kinds, ", "))
	}
	if n := o.GradientAccumulationSteps; n < 0 || n == 1 {
		return fmt.Errorf("GradientAccumulationSteps must be at least 2 (or 0 for off), received %d", n)
	}
	if m := or(o.EMAMomentum, 0.99); o.UseEMA && !(m >= 0 && m <= 1) {
		return fmt.Errorf("EMAMomentum must be in [0, 1], received %v", m)
	}
	if o.EMAOverwriteFrequency < 0 {
		return fmt.Errorf("EMAOverwriteFrequency must be at least 1 (or 0 for never), received %d", o.EMAOverwriteFrequency)
	}
	if s := o.LossScaleFactor; s != nil && !(*s > 0) {
		return fmt.Errorf("LossScaleFactor must be positive, received %v", *s)
	}
	return nil
}

// BuildRule makes the variables of optimizer o, of which b is the Base; see [Optimizer].Build.
func (b *Base) BuildRule(o Rule, weights distribute.Variables) error {
	if err := attach(o, b); err != nil {
		return err
	}
	if len(b.weights) > 0 || b.index != nil && len(weights) == 0 {
		return b.known(weights)
	}
	index := map[*distribute.Variable]int{}
	for i, w := range weights {
		if _, twice := index[w]; twice {
			return fmt.Errorf("optimizers: %s: weight %s is listed twice", b.settings.Name, w.Path())
		}
		index[w] = i
	}
	b.weights, b.index = slices.Clone(weights), index
	b.makeVariables()
	return placeBeside(weights, b.all)
}

// placeBeside puts an optimizer's variables on the devices of the weights.
func placeBeside(weights, variables distribute.Variables) error {
	if len(weights) == 0 {
		return nil
	}
	if s := weights[0].Strategy(); s != nil {
		for _, v := range variables {
			if err := v.Place(s, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *Base) known(weights distribute.Variables) error {
	for _, w := range weights {
		if _, ok := b.index[w]; !ok {
			return fmt.Errorf("optimizers: %s: weight %s is unknown; an optimizer serves only the %d weights that it was built for: make a new one", b.settings.Name, w.Path(), len(b.weights))
		}
	}
	return nil
}

// makeVariables makes all variables in file order.
func (b *Base) makeVariables() {
	o := b.settings.Options
	b.all, b.shared, b.unlisted = nil, nil, nil // those made for no weights
	b.iteration = b.add("iteration", ir.Int64, nil, 0)
	if b.schedule == nil {
		b.learningRate = b.add("learning_rate", b.float(), nil, b.rate)
	}
	if o.UseEMA {
		for _, w := range b.weights {
			b.averages = append(b.averages, b.slot(w, like(w, "average")))
		}
	}
	if o.GradientAccumulationSteps > 0 {
		for _, w := range b.weights {
			b.accumulators = append(b.accumulators, b.slot(w, like(w, "gradient_accumulator")))
		}
	}
	b.slots = make([]distribute.Variables, len(b.weights))
	for run, more := 0, true; more; run++ {
		more = false
		for i, w := range b.weights {
			list := b.rule.Slots(w)
			if b.slots[i] == nil {
				b.slots[i] = make(distribute.Variables, len(list))
			}
			for j, s := range list {
				if s.Run == run {
					b.slots[i][j] = b.slot(w, s)
					if s.placeholder {
						b.unlisted = append(b.unlisted, b.slots[i][j])
					}
				}
				more = more || s.Run > run
			}
		}
	}
	if s, ok := b.rule.(sharer); ok {
		d := b.float()
		if len(b.weights) > 0 {
			d = b.weights[0].Type().DType
		}
		for _, slot := range s.sharedSlots() {
			b.shared = append(b.shared, b.add(slot.Name, d, slot.Shape, slot.Value))
		}
		b.unlisted = append(b.unlisted, b.shared...)
	}
}

// float is the type of the learning rate: float64 if weights are float64.
func (b *Base) float() ir.DType {
	for _, w := range b.weights {
		if w.Type().DType == ir.Float64 {
			return ir.Float64
		}
	}
	return ir.Float32
}

func (b *Base) slot(w *distribute.Variable, s Slot) *distribute.Variable {
	d := s.DType
	if d == ir.Invalid {
		d = w.Type().DType
	}
	v := b.add(strings.ReplaceAll(w.Path(), "/", "_")+"_"+s.Name, d, s.Shape, s.Value)
	return b.replace(v, func(spec *distribute.VariableSpec) {
		spec.Sharded = true
		if s.OfWeight {
			spec.Initializer = copyOf{w}
		}
	})
}

func (b *Base) add(name string, d ir.DType, shape ir.Shape, value float64) *distribute.Variable {
	spec := distribute.VariableSpec{Name: name, Shape: shape, DType: d, Frozen: true, Owner: b}
	if value != 0 { // zeros need no initializer
		spec.Initializer = constant(value)
	}
	v := distribute.NewVariable(spec)
	b.all = append(b.all, v)
	return v
}

// replace recreates the variable created last, with another specification.
func (b *Base) replace(v *distribute.Variable, change func(*distribute.VariableSpec)) *distribute.Variable {
	spec := v.Spec()
	change(&spec)
	v = distribute.NewVariable(spec)
	b.all[len(b.all)-1] = v
	return v
}

// Path is the name of the optimizer, the first part of its variables' paths.
func (b *Base) Path() string { return b.settings.Name }

// constant fills a variable with one number.
type constant float64

// Initialize implements [distribute.Initializer].
func (c constant) Initialize(into kernels.Array, _ uint64) error {
	into.Fill(float64(c))
	return nil
}

// copyOf initializes a variable with the value that another variable has at that time.
type copyOf struct{ v *distribute.Variable }

// Initialize implements [distribute.Initializer].
func (c copyOf) Initialize(into kernels.Array, _ uint64) error {
	a, err := c.v.Value()
	if err != nil {
		return err
	}
	if a.Type.Equal(into.Type) {
		copy(into.Data, a.Data)
		return nil
	}
	return into.SetFloat64s(0, a.Float64s())
}

// Variables implements [Optimizer].
func (b *Base) Variables() distribute.Variables { return b.all }

// Averages implements [Optimizer].
func (b *Base) Averages() distribute.Variables { return b.averages }

// Iterations is the variable that counts the steps, an int64 scalar; nil before Build.
func (b *Base) Iterations() *distribute.Variable { return b.iteration }

// Updates is the number of updates of the weights: the count of steps, divided by GradientAccumulationSteps if
// gradients are accumulated. It is what Keras's optimizer.iterations gives. It is 0 before Build.
func (b *Base) Updates() (int64, error) {
	if b.iteration == nil {
		return 0, nil
	}
	a, err := b.iteration.Value()
	if err != nil {
		return 0, err
	}
	return int64(a.Element(0)) / int64(max(b.settings.Options.GradientAccumulationSteps, 1)), nil
}

var errUnknownOptimizer = errors.New("optimizers: the learning rate is known only after Get, Compile or Build")

// Rate implements [Optimizer].
func (b *Base) Rate() (float64, error) {
	if b.rule == nil {
		return 0, errUnknownOptimizer
	}
	v := b.learningRate
	if b.schedule != nil {
		v = b.iteration
	}
	if v == nil || v.Strategy() == nil { // no memory yet
		if b.schedule != nil {
			return b.schedule.At(0), nil
		}
		return b.rate, nil
	}
	a, err := v.Value()
	if err != nil {
		return 0, err
	}
	if b.schedule != nil {
		return b.schedule.At(int64(a.Element(0))), nil
	}
	return a.Element(0), nil
}

// SetLearningRate implements [Optimizer].
func (b *Base) SetLearningRate(rate float64) error {
	if b.rule == nil {
		return errUnknownOptimizer
	}
	if b.schedule != nil {
		return fmt.Errorf("optimizers: %s: a schedule (%T) drives the learning rate, so it cannot be set; give the optimizer a float for that", b.settings.Name, b.schedule)
	}
	b.rate = rate
	if b.learningRate == nil {
		return nil
	}
	a, err := kernels.FromFloat64s(b.learningRate.Type().DType, nil, []float64{rate})
	if err != nil {
		return err
	}
	return b.learningRate.SetValue(a)
}

// FinalizeVariables implements [Optimizer].
func (b *Base) FinalizeVariables() error {
	for i, average := range b.averages {
		a, err := average.Value()
		if err != nil {
			return err
		}
		if err := b.weights[i].SetValue(a); err != nil {
			return err
		}
	}
	return nil
}

// ScaleLoss implements [Optimizer].
func (b *Base) ScaleLoss(r *distribute.Replica, loss *ops.Tensor) *ops.Tensor {
	if b.rule == nil {
		ops.Failf(r.Graph(), "ScaleLoss was called before the optimizer was built; call Build first")
	}
	if f := b.settings.Options.LossScaleFactor; f != nil {
		return ops.MultiplyScalar(loss, *f)
	}
	return loss
}

// ExcludeFromWeightDecay excludes weights from weight decay: the given ones, and all whose name (the last part of the
// path, "bias") matches one of the regular expressions. It replaces earlier exclusions and must come before Build.
func (b *Base) ExcludeFromWeightDecay(weights distribute.Variables, names ...string) error {
	if b.index != nil {
		return fmt.Errorf("optimizers: %s: weights can be excluded from weight decay only before the optimizer is built", b.settings.Name)
	}
	b.excluded, b.excludedNames = map[*distribute.Variable]bool{}, nil
	for _, w := range weights {
		b.excluded[w] = true
	}
	if len(names) > 0 {
		re, err := regexp.Compile(strings.Join(names, "|"))
		if err != nil {
			return fmt.Errorf("optimizers: ExcludeFromWeightDecay: %w", err)
		}
		b.excludedNames = re
	}
	return nil
}

// decay returns the weight decay of a weight, or nil if it has none.
func (b *Base) decay(w *distribute.Variable) *float64 {
	if b.excluded[w] || b.excludedNames != nil && b.excludedNames.MatchString(w.Name()) {
		return nil
	}
	if d, ok := b.rule.(decayer); ok {
		return d.decayOf(w)
	}
	return b.settings.Options.WeightDecay
}
