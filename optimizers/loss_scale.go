package optimizers

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// LossScaleOptimizer multiplies the loss by a scale that it adjusts while training, so that gradients in float16
// neither vanish nor overflow, and passes the divided gradients to another optimizer:
//
//	all gradients finite:  inner step with g/scale; after DynamicGrowthSteps such steps in a row, scale ← 2·scale
//	otherwise:             the step is skipped (weights, slots and iteration stay), scale ← scale/2
//
// Clipping, weight decay and so on are options of the inner optimizer, which sees divided gradients; its
// LossScaleFactor is ignored. A model with the policy mixed_float16 wraps its optimizer automatically. Variables:
// iteration and learning_rate (both unused), step_counter, dynamic_scale, then those of the inner optimizer. Behaviour
// of keras.optimizers.LossScaleOptimizer. Source: Micikevicius et al., "Mixed Precision Training", ICLR 2018, section
// 3.2.
type LossScaleOptimizer struct {
	Inner              Optimizer `keras:"inner_optimizer,required"`
	InitialScale       float64   `keras:"initial_scale,default=32768"`       // 0 is 2¹⁵
	DynamicGrowthSteps int       `keras:"dynamic_growth_steps,default=2000"` // 0 is 2000
	Name               string    `keras:"name,default=loss_scale_optimizer"`

	own     Base
	counter *distribute.Variable
	scale   *distribute.Variable
}

// WithLossScale wraps an optimizer in a [LossScaleOptimizer] with default configuration. A wrapped optimizer is
// returned as it is.
func WithLossScale(o Optimizer) Optimizer {
	if _, ok := o.(*LossScaleOptimizer); ok {
		return o
	}
	return &LossScaleOptimizer{Inner: o}
}

// IgnoredConfig lists options that older versions of Keras write but do not use.
func (o *LossScaleOptimizer) IgnoredConfig() []string {
	return []string{"weight_decay=null", "clipnorm=null", "global_clipnorm=null", "clipvalue=null", "use_ema=null", "ema_momentum",
		"ema_overwrite_frequency=null", "loss_scale_factor=null", "gradient_accumulation_steps=null", "learning_rate"}
}

func (o *LossScaleOptimizer) inner() (based, error) {
	inner, ok := o.Inner.(based)
	if !ok || config.IsNil(o.Inner) {
		return nil, fmt.Errorf("optimizers: LossScaleOptimizer needs an inner optimizer of this package or one that embeds optimizers.Base, received %s", config.Received(o.Inner))
	}
	return inner, attach(inner, inner.base())
}

// Build implements [Optimizer].
func (o *LossScaleOptimizer) Build(weights distribute.Variables) error {
	inner, err := o.inner()
	if err != nil {
		return err
	}
	if o.InitialScale < 0 || o.DynamicGrowthSteps < 0 {
		return fmt.Errorf("optimizers: LossScaleOptimizer: InitialScale and DynamicGrowthSteps must be positive, received %v and %d", o.InitialScale, o.DynamicGrowthSteps)
	}
	again := inner.base().iteration != nil && len(inner.base().weights) == 0 && len(weights) > 0
	if err := inner.base().BuildRule(inner, weights); err != nil || o.scale != nil && !again {
		return err
	}
	o.own.all = nil
	o.own.settings.Name = named(o.Name, "loss_scale_optimizer")
	o.own.add("iteration", ir.Int64, nil, 0)
	o.own.add("learning_rate", inner.base().float(), nil, 0)
	o.counter = o.own.add("step_counter", ir.Int64, nil, 0)
	o.scale = o.own.add("dynamic_scale", ir.Float32, nil, o.initialScale())
	return placeBeside(weights, o.own.all)
}

func (o *LossScaleOptimizer) initialScale() float64 {
	if o.InitialScale == 0 {
		return 1 << 15
	}
	return o.InitialScale
}

// Apply implements [Optimizer].
func (o *LossScaleOptimizer) Apply(r *distribute.Replica, gradients ops.Gradients) {
	g := r.Graph()
	g.InScope(named(o.Name, "loss_scale_optimizer"), func() {
		if all, ok := gradients.Of.(distribute.Variables); ok {
			if err := o.Build(all); err != nil {
				ops.Fail(g, err)
			}
		}
		inner, err := o.inner()
		if err != nil {
			ops.Fail(g, err)
		}
		weights, grads := inner.base().begin(inner, r, gradients)
		grads = r.SumGradients(grads)
		scale := r.Read(o.scale)
		var finite *ops.Tensor
		for i, g := range grads {
			all := ops.All(ops.Isfinite(g))
			if finite != nil {
				all = ops.LogicalAnd(finite, all)
			}
			finite = all
			grads[i] = ops.Divide(g, ops.Cast(scale, g.DType()))
		}
		inner.base().step(r, weights, grads, finite)
		o.adjust(r, finite, scale)
	})
}

// adjust doubles the scale after enough finite steps and halves it after a step that was not finite.
func (o *LossScaleOptimizer) adjust(r *distribute.Replica, finite, scale *ops.Tensor) {
	growth := o.DynamicGrowthSteps
	if growth == 0 {
		growth = 2000
	}
	counter := r.Read(o.counter)
	enough := ops.CompareScalar(ir.Eq, counter, float64(growth-1))
	grown := ops.Where(enough, ops.MultiplyScalar(scale, 2), scale)
	counted := ops.Where(enough, ops.ZerosLike(counter), ops.AddScalar(counter, 1))
	r.AssignMirrored(o.scale, ops.Where(finite, grown, ops.MultiplyScalar(scale, 0.5)))
	r.AssignMirrored(o.counter, ops.Where(finite, counted, ops.ZerosLike(counter)))
}

// ScaleLoss implements [Optimizer].
func (o *LossScaleOptimizer) ScaleLoss(r *distribute.Replica, loss *ops.Tensor) *ops.Tensor {
	if o.scale == nil {
		return ops.MultiplyScalar(loss, o.initialScale())
	}
	return ops.Multiply(loss, ops.Cast(r.Read(o.scale), loss.DType()))
}

// Variables implements [Optimizer].
func (o *LossScaleOptimizer) Variables() distribute.Variables {
	if o.scale == nil {
		return nil
	}
	return append(append(distribute.Variables{}, o.own.all...), o.Inner.Variables()...)
}

// FileVariables returns the variables that Keras's files hold, of this optimizer and of the inner one. They lack the
// product of a [Nadam] and the placeholders of an [Adafactor], which Keras does not write for an inner optimizer.
func (o *LossScaleOptimizer) FileVariables() (all, inner distribute.Variables) {
	if o.scale == nil {
		return nil, nil
	}
	inner = o.Inner.Variables()
	if b, ok := o.Inner.(based); ok {
		inner = slices.DeleteFunc(slices.Clone(inner), func(v *distribute.Variable) bool { return slices.Contains(b.base().unlisted, v) })
	}
	return slices.Concat(o.own.all, inner), inner
}

// Resume computes the variables that files lack (see FileVariables) after the others have been read from a file.
func (o *LossScaleOptimizer) Resume() error {
	n, ok := o.Inner.(*Nadam)
	if !ok || len(n.shared) == 0 {
		return nil
	}
	updates, err := n.Updates()
	if err != nil {
		return err
	}
	product := n.shared[0]
	value, err := kernels.FromFloat64s(product.Type().DType, nil, []float64{n.productAfter(updates)})
	if err != nil {
		return err
	}
	return product.SetValue(value)
}

// Averages implements [Optimizer]: those of the inner optimizer.
func (o *LossScaleOptimizer) Averages() distribute.Variables { return o.Inner.Averages() }

// Rate implements [Optimizer].
func (o *LossScaleOptimizer) Rate() (float64, error) {
	inner, err := o.inner()
	if err != nil {
		return 0, err
	}
	return inner.base().Rate()
}

// SetLearningRate implements [Optimizer].
func (o *LossScaleOptimizer) SetLearningRate(rate float64) error {
	inner, err := o.inner()
	if err != nil {
		return err
	}
	return inner.base().SetLearningRate(rate)
}

// FinalizeVariables implements [Optimizer].
func (o *LossScaleOptimizer) FinalizeVariables() error { return o.Inner.FinalizeVariables() }

// CurrentScale returns the scale of the next step.
func (o *LossScaleOptimizer) CurrentScale() (float64, error) {
	if o.scale == nil || o.scale.Strategy() == nil {
		return o.initialScale(), nil
	}
	a, err := o.scale.Value()
	if err != nil {
		return 0, err
	}
	return a.Element(0), nil
}

// Updates returns the number of updates that the wrapped optimizer has made.
func (o *LossScaleOptimizer) Updates() (int64, error) {
	if u, ok := o.Inner.(interface{ Updates() (int64, error) }); ok {
		return u.Updates()
	}
	return 0, fmt.Errorf("optimizers: %T does not count its updates", o.Inner)
}
