package optimizers

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ApplyRule traces one step of optimizer o, of which b is the Base; see [Optimizer].Apply.
func (b *Base) ApplyRule(o Rule, r *distribute.Replica, gradients ops.Gradients) {
	r.Graph().InScope(o.Settings().Name, func() {
		weights, grads := b.begin(o, r, gradients)
		b.step(r, weights, b.unscale(r.SumGradients(grads)), nil)
	})
}

// unscale divides gradients by the loss scale factor.
func (b *Base) unscale(grads []*ops.Tensor) []*ops.Tensor {
	f := b.settings.Options.LossScaleFactor
	if f == nil {
		return grads
	}
	out := make([]*ops.Tensor, len(grads))
	for i, g := range grads {
		out[i] = ops.DivideScalar(g, *f)
	}
	return out
}

// begin builds the optimizer if that has not been done. It returns the weights that have gradients, and their
// gradients.
func (b *Base) begin(o Rule, r *distribute.Replica, gradients ops.Gradients) (distribute.Variables, []*ops.Tensor) {
	if all, ok := gradients.Of.(distribute.Variables); ok {
		if err := b.BuildRule(o, all); err != nil {
			ops.Fail(r.Graph(), err)
		}
	}
	return withGradients(r, gradients)
}

// withGradients returns the weights that have gradients, and their gradients in the type of the weights.
func withGradients(r *distribute.Replica, gradients ops.Gradients) (distribute.Variables, []*ops.Tensor) {
	all, ok := gradients.Of.(distribute.Variables)
	if !ok {
		ops.Failf(r.Graph(), "Apply needs the gradients of a distribute.Variables, received those of a %T; take them with "+
			"tape.Gradients(loss, model.TrainableVariables())", gradients.Of)
	}
	if len(all) != len(gradients.Values) {
		ops.Failf(r.Graph(), "received %d gradients of %d weights", len(gradients.Values), len(all))
	}
	var weights distribute.Variables
	var grads []*ops.Tensor
	for i, g := range gradients.Values {
		if g == nil {
			continue
		}
		if !g.Shape().Equal(all[i].Type().Shape) {
			ops.Failf(r.Graph(), "weight %s has shape %v and its gradient %v", all[i].Path(), all[i].Type().Shape, g.Shape())
		}
		weights, grads = append(weights, all[i]), append(grads, ops.Cast(g, all[i].Type().DType))
	}
	if len(grads) == 0 {
		ops.Failf(r.Graph(), "no weight has a gradient; the loss does not depend on any of the %d weights", len(all))
	}
	return weights, grads
}

// step updates weights and state from summed gradients. If gate (a bool scalar, nil for true) is false, everything
// stays as it is.
func (b *Base) step(r *distribute.Replica, weights distribute.Variables, grads []*ops.Tensor, gate *ops.Tensor) {
	o := b.settings.Options
	for _, w := range weights {
		r.Read(w) // weights come first in the trace, so that slots that begin as copies of them find them in place
	}
	changes := &changes{r: r}
	iteration := r.Read(b.iteration)
	updates := iteration // finished so far
	if n := o.GradientAccumulationSteps; n > 0 {
		updates = ops.FloorDivide(iteration, ops.Scalar(iteration, float64(n)))
		b.accumulate(r, changes, weights, grads, iteration, updates)
	} else {
		b.update(r, changes, weights, wholes(grads), iteration, updates)
	}
	if o.UseEMA {
		b.average(changes, updates)
	}
	changes.gatherAll()
	for _, w := range weights {
		if f := w.Spec().Constraint; f != nil {
			changes.set(w, f(changes.get(w)))
		}
	}
	changes.set(b.iteration, ops.AddScalar(iteration, 1))
	changes.commit(gate)
}

// accumulate adds up the gradients and updates the weights with their mean in every n-th step. The update is part of
// every step, but its results are used only when it is due.
func (b *Base) accumulate(r *distribute.Replica, c *changes, weights distribute.Variables, grads []*ops.Tensor, iteration, updates *ops.Tensor) {
	n := float64(b.settings.Options.GradientAccumulationSteps)
	position := ops.Mod(ops.AddScalar(iteration, 1), ops.Scalar(iteration, n))
	due := ops.CompareScalar(ir.Eq, position, 0)
	means := wholes(grads)
	for i, w := range weights {
		sum := b.accumulators[b.index[w]]
		pieces := r.Sharded(sum)
		g := grads[i]
		if pieces {
			g = means[i].ofReplica(r)
		}
		total := ops.Add(g, c.in(pieces, sum))
		means[i] = &change{shape: w.Type().Shape}
		if pieces {
			means[i].piece = ops.DivideScalar(total, n)
		} else {
			means[i].whole = ops.DivideScalar(total, n)
		}
		c.setIn(pieces, sum, ops.Where(due, ops.ZerosLike(total), total))
	}
	inner := &changes{r: r}
	b.update(r, inner, weights, means, iteration, updates)
	c.adopt(inner, due)
}

// wholes are tensors that all replicas hold.
func wholes(list []*ops.Tensor) []*change {
	out := make([]*change, len(list))
	for i, t := range list {
		out[i] = &change{whole: t, shape: t.Shape()}
	}
	return out
}

// update clips, decays and updates.
func (b *Base) update(r *distribute.Replica, c *changes, weights distribute.Variables, grads []*change, iteration, updates *ops.Tensor) {
	s := &Step{base: b, replica: r, updates: ops.AddScalar(updates, 1), rate: b.rateOf(r, iteration)}
	grads = b.clipped(r, grads)
	for _, w := range weights {
		if d := b.decay(w); d != nil {
			pieces := b.updatesPieces(r, w)
			value := c.in(pieces, w)
			c.setIn(pieces, w, ops.Subtract(value, ops.Multiply(ops.MultiplyScalar(value, *d), s.Rate(value))))
		}
	}
	if rule, ok := b.rule.(sharer); ok {
		shared := make([]*ops.Tensor, len(b.shared))
		for i, v := range b.shared {
			shared[i] = c.get(v)
		}
		s.shared = rule.advance(s, shared)
		for i, v := range b.shared {
			c.set(v, s.shared[i])
		}
	}
	for i, w := range weights {
		vars := b.slots[b.index[w]]
		pieces := b.updatesPieces(r, w)
		if !pieces {
			gather(r, grads[i:i+1])
		}
		slots := make([]*ops.Tensor, len(vars))
		for j, v := range vars {
			slots[j] = c.in(pieces, v)
		}
		g := grads[i].whole
		if pieces {
			g = grads[i].ofReplica(r)
		}
		value, slots := b.rule.Update(s, w, c.in(pieces, w), g, slots)
		if len(slots) != len(vars) {
			ops.Failf(r.Graph(), "the rule of %T returned %d slots for the %d of weight %s", b.rule, len(slots), len(vars), w.Path())
		}
		c.setIn(pieces, w, value)
		for j, v := range vars {
			c.setIn(pieces, v, slots[j])
		}
	}
}

// updatesPieces reports whether each replica updates only its piece of a weight. It does if the state is sharded and
// the rule works element by element.
func (b *Base) updatesPieces(r *distribute.Replica, w *distribute.Variable) bool {
	rule, ok := b.rule.(interface {
		Elementwise(weight *distribute.Variable) bool
	})
	if !ok || !rule.Elementwise(w) {
		return false
	}
	slots := b.slots[b.index[w]]
	for _, v := range slots {
		if !r.Sharded(v) || !v.Type().Shape.Equal(w.Type().Shape) {
			return false
		}
	}
	return len(slots) > 0
}

// clipped is clip for gradients that may be known in pieces.
func (b *Base) clipped(r *distribute.Replica, grads []*change) []*change {
	o := b.settings.Options
	if o.ClipNorm == nil && o.GlobalClipNorm == nil && o.ClipValue == nil {
		return grads
	}
	gather(r, grads)
	list := make([]*ops.Tensor, len(grads))
	for i, g := range grads {
		list[i] = g.whole
	}
	return wholes(b.clip(list))
}

// rateOf returns the learning rate of a step.
func (b *Base) rateOf(r *distribute.Replica, iteration *ops.Tensor) *ops.Tensor {
	if b.schedule == nil {
		return r.Read(b.learningRate)
	}
	if b.float() == ir.Float64 {
		iteration = ops.Cast(iteration, ir.Float64)
	}
	rate := b.schedule.Rate(iteration)
	if rate.Rank() != 0 {
		ops.Failf(r.Graph(), "schedule %T returned a rate of shape %v; expected a scalar", b.schedule, rate.Shape())
	}
	return rate
}

// clip limits gradients; see [Options].
func (b *Base) clip(grads []*ops.Tensor) []*ops.Tensor {
	o := b.settings.Options
	out := make([]*ops.Tensor, len(grads))
	set := func(c *float64) bool { return c != nil && *c > 0 }
	switch {
	case set(o.ClipNorm):
		for i, g := range grads {
			norm := ops.Sqrt(ops.Sum(ops.Square(g)))
			out[i] = ops.Divide(ops.MultiplyScalar(g, *o.ClipNorm), ops.MaximumScalar(norm, *o.ClipNorm))
		}
	case set(o.GlobalClipNorm):
		scale := globalScale(grads, *o.GlobalClipNorm, b.float())
		for i, g := range grads {
			out[i] = ops.Multiply(g, ops.Cast(scale, g.DType()))
		}
	case set(o.ClipValue):
		for i, g := range grads {
			out[i] = ops.Clip(g, -*o.ClipValue, *o.ClipValue)
		}
	default:
		return grads
	}
	return out
}

// globalScale returns c·min(1/‖G‖, 1/c), or NaN if the norm is not finite.
func globalScale(grads []*ops.Tensor, c float64, d ir.DType) *ops.Tensor {
	var squares *ops.Tensor
	for _, g := range grads {
		s := ops.Sum(ops.Square(ops.Cast(g, d)))
		if squares != nil {
			s = ops.Add(squares, s)
		}
		squares = s
	}
	norm := ops.Sqrt(squares)
	scale := ops.MultiplyScalar(ops.MinimumScalar(ops.Reciprocal(norm), 1/c), c)
	return ops.Add(scale, ops.Subtract(norm, norm))
}

// average updates the moving averages of all weights, and overwrites the weights with them when that is due.
func (b *Base) average(c *changes, updates *ops.Tensor) {
	o := b.settings.Options
	momentum := or(o.EMAMomentum, 0.99)
	first := ops.CompareScalar(ir.Eq, updates, 0)
	var overwrite *ops.Tensor
	if k := o.EMAOverwriteFrequency; k > 0 {
		position := ops.Mod(ops.AddScalar(updates, 1), ops.Scalar(updates, float64(k)))
		overwrite = ops.CompareScalar(ir.Eq, position, 0)
	}
	for i, w := range b.weights {
		average := b.averages[i]
		pieces := c.r.Sharded(average)
		value := c.in(pieces, w)
		mixed := ops.Add(ops.MultiplyScalar(c.in(pieces, average), momentum), ops.MultiplyScalar(value, 1-momentum))
		mixed = ops.Where(first, value, mixed)
		c.setIn(pieces, average, mixed)
		if overwrite != nil {
			c.setIn(pieces, w, ops.Where(overwrite, mixed, value))
		}
	}
}
