package optimizers

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// MultiOptimizer trains different weights with different optimizers. Each has its own learning rate, options and
// iterations, and takes global norms over its own weights. MultiOptimizer itself has no learning rate, and it cannot be
// wrapped in a [LossScaleOptimizer]: with half precision set LossScaleFactor.
//
// Variables: iteration and learning_rate (unused), then those of the optimizers in the order of the map, its default
// last. Name: "multioptimizer". Behaviour of keras.optimizers.MultiOptimizer.
type MultiOptimizer struct {
	Map             Chooser  `keras:"optimizer_map"`     // an *OptimizerMap, or a choice of your own
	LossScaleFactor *float64 `keras:"loss_scale_factor"` // replaces those of the optimizers
	Name            string   `keras:"name,default=multi_optimizer"`

	own    Base
	inner  []based
	member map[*distribute.Variable]int // weight -> place of its optimizer
}

// Chooser says which optimizer trains a weight.
type Chooser interface {
	// OptimizerFor returns the optimizer for the weight of the given path.
	OptimizerFor(path string) (Optimizer, error)
	// Optimizers returns all optimizers, each once.
	Optimizers() []Optimizer
}

func (o *MultiOptimizer) name() string { return named(o.Name, "multi_optimizer") }

// prepare checks the configuration and lists the optimizers.
func (o *MultiOptimizer) prepare() error {
	if o.inner != nil {
		return nil
	}
	fail := func(err error) error { return fmt.Errorf("optimizers: %s: %w", o.name(), err) }
	if err := (Options{LossScaleFactor: o.LossScaleFactor}).check(); err != nil {
		return fail(err)
	}
	if o.Map == nil {
		return fail(fmt.Errorf("Map is nil; give it an *optimizers.OptimizerMap"))
	}
	var inner []based
	for _, member := range o.Map.Optimizers() {
		b, ok := member.(based)
		if !ok || config.IsNil(member) {
			return fail(fmt.Errorf("%s cannot be one of several optimizers; they must be of this package, or embed optimizers.Base, and neither scale losses nor be several themselves", config.Received(member)))
		}
		if err := attach(b, b.base()); err != nil {
			return err
		}
		b.base().settings.Options.LossScaleFactor = o.LossScaleFactor
		inner = append(inner, b)
	}
	o.inner = inner
	return nil
}

// Build implements [Optimizer].
func (o *MultiOptimizer) Build(weights distribute.Variables) error {
	if err := o.prepare(); err != nil {
		return err
	}
	if len(o.member) > 0 || o.member != nil && len(weights) == 0 {
		return o.own.known(weights)
	}
	member, index := map[*distribute.Variable]int{}, map[*distribute.Variable]int{}
	groups := make([]distribute.Variables, len(o.inner))
	for i, w := range weights {
		chosen, err := o.Map.OptimizerFor(w.Path())
		if err != nil {
			return fmt.Errorf("optimizers: %s: %w", o.name(), err)
		}
		k := slices.IndexFunc(o.inner, func(b based) bool { return Optimizer(b) == chosen })
		if k < 0 {
			return fmt.Errorf("optimizers: %s: weight %s is given to a %T that the map does not list", o.name(), w.Path(), chosen)
		}
		member[w], index[w] = k, i
		groups[k] = append(groups[k], w)
	}
	for k, b := range o.inner {
		if groups[k] == nil {
			b.base().makeIdle(weights)
		} else if err := b.base().BuildRule(b, groups[k]); err != nil {
			return err
		}
	}
	o.own.settings.Name = o.name()
	o.own.weights = slices.Clone(weights)
	o.own.makeIdle(weights)
	o.own.index, o.member = index, member
	return nil
}

// makeIdle creates the variables of an optimizer that trains no weight, on the devices of the given ones.
func (b *Base) makeIdle(beside distribute.Variables) {
	if b.iteration == nil {
		b.iteration = b.add("iteration", ir.Int64, nil, 0)
		if b.schedule == nil {
			b.learningRate = b.add("learning_rate", ir.Float32, nil, b.rate)
		}
	}
	_ = placeBeside(beside, b.all) // a new variable takes any strategy
}

// Apply implements [Optimizer].
func (o *MultiOptimizer) Apply(r *distribute.Replica, gradients ops.Gradients) {
	g := r.Graph()
	g.InScope(o.name(), func() {
		if all, ok := gradients.Of.(distribute.Variables); ok {
			if err := o.Build(all); err != nil {
				ops.Fail(g, err)
			}
		}
		weights, grads := withGradients(r, gradients)
		grads = r.SumGradients(grads)
		for k, b := range o.inner {
			var group distribute.Variables
			var part []*ops.Tensor
			for i, w := range weights {
				if o.member[w] == k {
					group, part = append(group, w), append(part, grads[i])
				}
			}
			if group != nil {
				b.base().step(r, group, b.base().unscale(part), nil)
			}
		}
		r.AssignMirrored(o.own.iteration, ops.AddScalar(r.Read(o.own.iteration), 1))
	})
}

// ScaleLoss implements [Optimizer].
func (o *MultiOptimizer) ScaleLoss(_ *distribute.Replica, loss *ops.Tensor) *ops.Tensor {
	if o.LossScaleFactor != nil {
		return ops.MultiplyScalar(loss, *o.LossScaleFactor)
	}
	return loss
}

// Variables implements [Optimizer].
func (o *MultiOptimizer) Variables() distribute.Variables {
	if o.member == nil {
		return nil
	}
	all := slices.Clone(o.own.all)
	for _, b := range o.inner {
		all = append(all, b.base().all...)
	}
	return all
}

// Averages implements [Optimizer]: nil unless every weight has one.
func (o *MultiOptimizer) Averages() distribute.Variables {
	averages := make(distribute.Variables, len(o.own.weights))
	for i, w := range o.own.weights {
		b := o.inner[o.member[w]].base()
		if b.averages == nil {
			return nil
		}
		averages[i] = b.averages[b.index[w]]
	}
	return averages
}

// Rate implements [Optimizer]: an error, because every optimizer has its own.
func (o *MultiOptimizer) Rate() (float64, error) {
	return 0, fmt.Errorf("optimizers: %s has no learning rate; ask the optimizers of its map", o.name())
}

// SetLearningRate implements [Optimizer]: an error, because every optimizer has its own.
func (o *MultiOptimizer) SetLearningRate(float64) error {
	return fmt.Errorf("optimizers: %s has no learning rate to set; set those of the optimizers of its map", o.name())
}

// FinalizeVariables implements [Optimizer].
func (o *MultiOptimizer) FinalizeVariables() error {
	for _, b := range o.inner {
		if err := b.base().FinalizeVariables(); err != nil {
			return err
		}
	}
	return nil
}
