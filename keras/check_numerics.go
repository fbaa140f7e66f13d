package keras

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// stepContext is the context for calling the model in a step of training or evaluation.
func (m *Model) stepContext(r *distribute.Replica, training bool) *layers.Context {
	c := m.context(r, training)
	if m.compiled != nil && m.compiled.frozen != nil {
		c.Frozen = func(l any) bool { return m.compiled.frozen[l] }
	}
	if m.compiled != nil && training {
		c.Remat = m.compiled.config.Remat
	}
	if m.compiled != nil && m.compiled.config.CheckNumerics {
		c.Inspect = func(result *ops.Tensor) *ops.Tensor {
			return m.compiled.checkNumbers(result, "the layer's result")
		}
	}
	return c
}

// checkNumbers checks that numbers are finite. Gradients of scaled losses may be infinite; the optimizer then skips the
// step.
func (c *compiled) checkNumbers(x *ops.Tensor, what string) *ops.Tensor {
	if !x.DType().IsFloat() {
		return x
	}
	if _, scaled := c.optimizer.(*optimizers.LossScaleOptimizer); scaled {
		return ops.CheckNumericsForward(x, what)
	}
	return ops.CheckNumerics(x, what)
}

// checkLoss checks the loss that a step reports, if checks were requested. The loss that it trains on is never
// computed, only its gradient.
func (c *compiled) checkLoss(r *distribute.Replica, loss *ops.Tensor) *ops.Tensor {
	if c.config.CheckNumerics {
		r.Graph().InScope("loss", func() { loss = c.checkNumbers(loss, "the loss") })
	}
	return loss
}

// checkGradients checks the gradients of a step, if checks were requested: those of variables, followed by those of
// rows of dynamic embeddings.
func (c *compiled) checkGradients(r *distribute.Replica, variables distribute.Variables, g ops.Gradients) ops.Gradients {
	_, scaled := c.optimizer.(*optimizers.LossScaleOptimizer)
	if !c.config.CheckNumerics || scaled {
		return g
	}
	for i, x := range g.Values {
		if x == nil || !x.DType().IsFloat() {
			continue
		}
		scope, what := "", "the gradient of the rows of a dynamic embedding"
		if i < len(variables) {
			scope, what = variables[i].Path(), "the weight's gradient"
		}
		r.Graph().InScope(scope, func() { g.Values[i] = ops.CheckNumerics(x, what) })
	}
	return g
}
