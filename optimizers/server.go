package optimizers

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/ops"
)

// ServerRule returns the rule by which parameter servers update a weight from its gradients, for an optimizer that has
// been built. Servers support SGD, Adagrad, Adam, AdamW, RMSprop and Ftrl. Options that need all weights at once, or
// state over several steps (moving averages, accumulated gradients, loss scales), are errors.
func ServerRule(o Optimizer, weight *distribute.Variable) (parameters.Rule, error) {
	b, ok := o.(based)
	if !ok {
		return parameters.Rule{}, errServers(fmt.Sprintf("%T", o), "")
	}
	s := b.Settings()
	switch {
	case s.Options.UseEMA:
		return parameters.Rule{}, errServers(s.Name, " with UseEMA")
	case s.Options.GradientAccumulationSteps > 0:
		return parameters.Rule{}, errServers(s.Name, " with GradientAccumulationSteps")
	case s.Options.LossScaleFactor != nil:
		return parameters.Rule{}, errServers(s.Name, " with LossScaleFactor")
	}
	rule, err := serverRule(o)
	if d := b.base().decay(weight); d != nil && err == nil {
		rule.WeightLoss = *d
	}
	return rule, err
}

func errServers(name, with string) error {
	return fmt.Errorf("optimizers: %s%s cannot update weights on parameter servers; they know SGD, Adagrad, Adam, AdamW, RMSprop and Ftrl, with clipping and weight decay", name, with)
}

func serverRule(o Optimizer) (parameters.Rule, error) {
	switch o := o.(type) {
	case *SGD:
		return parameters.Rule{Kind: parameters.SGD, Momentum: o.Momentum, Nesterov: o.Nesterov}, nil
	case *Adagrad:
		return parameters.Rule{Kind: parameters.Adagrad, Initial: or(o.InitialAccumulatorValue, 0.1), Epsilon: or(o.Epsilon, 1e-7)}, nil
	case *Adam:
		if o.AMSGrad {
			return parameters.Rule{}, errServers("Adam", " with AMSGrad")
		}
		return parameters.Rule{Kind: parameters.Adam, Beta1: or(o.Beta1, 0.9), Beta2: or(o.Beta2, 0.999), Epsilon: or(o.Epsilon, 1e-7)}, nil
	case *AdamW:
		if o.AMSGrad {
			return parameters.Rule{}, errServers("AdamW", " with AMSGrad")
		}
		return parameters.Rule{Kind: parameters.Adam, Beta1: or(o.Beta1, 0.9), Beta2: or(o.Beta2, 0.999), Epsilon: or(o.Epsilon, 1e-7)}, nil
	case *RMSprop:
		return parameters.Rule{Kind: parameters.RMSprop, Rho: or(o.Rho, 0.9), Momentum: o.Momentum, Epsilon: or(o.Epsilon, 1e-7), Centered: o.Centered}, nil
	case *Ftrl:
		return parameters.Rule{Kind: parameters.FTRL, Initial: or(o.InitialAccumulatorValue, 0.1), Power: or(o.LearningRatePower, -0.5), L1: o.L1RegularizationStrength,
			L2: o.L2RegularizationStrength, Shrinkage: o.L2ShrinkageRegularizationStrength, Beta: o.Beta}, nil
	}
	return parameters.Rule{}, errServers(fmt.Sprintf("%T", o), "")
}

// ServerGradients clips gradients before they are sent to parameter servers, as the optimizer does before an update.
func ServerGradients(o Optimizer, grads []*ops.Tensor) []*ops.Tensor {
	if b, ok := o.(based); ok {
		return b.base().clip(grads)
	}
	return grads
}

// ServerRate returns the learning rate of the update with the given number, counted from 0.
func ServerRate(o Optimizer, update int64) (float64, error) {
	if o == nil {
		return 0, errors.New("optimizers: ServerRate: the optimizer is nil")
	}
	if b, ok := o.(based); ok && b.base().schedule != nil {
		return b.base().schedule.At(update), nil
	}
	return o.Rate()
}

// SlotsOf returns the slots that an optimizer keeps for a weight, in the order of its rule; nil before Build.
func SlotsOf(o Optimizer, weight *distribute.Variable) distribute.Variables {
	b, ok := o.(based)
	if !ok {
		return nil
	}
	if i, known := b.base().index[weight]; known {
		return b.base().slots[i]
	}
	return nil
}
