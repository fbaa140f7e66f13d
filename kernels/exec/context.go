package exec

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Context is what a layer gets to know when it is called: the trace, whether it is training, and the default dtype
// policy.
type Context struct {
	*Replica
	// Training tells dropout to drop and batch normalization to use the statistics of the batch.
	Training bool
	// Policy applies to layers that have none of their own.
	Policy ops.DTypePolicy
	// Within is the name of the outermost Sequential model while it is called; "" in other models. Keras's paths of its
	// layers begin with it.
	Within string
	// Watch, if it is set, is called after each call of a layer, with the layer, its inputs in the type in which it
	// computes, and its results: inner layers before those that they are part of.
	Watch func(layer any, inputs, results []*ops.Tensor)

	// Inspect, if it is set, is given each result of a layer that is no model, and what it returns takes the result's
	// place.
	Inspect func(result *ops.Tensor) *ops.Tensor
	// Remat, if it is set, says which layers are computed again for the gradient, in place of keeping their values.
	Remat *ops.RematScope

	// Frozen, if it is set, says which layers are not trained in this trace, in place of what they say of themselves.
	Frozen func(layer any) bool

	// Staged is the model that is called with what its layers on the host have made of its inputs, within another
	// model; nil for none.
	Staged any

	compute []ir.DType
}

// Training returns the context for calling a model in a training step.
func (r *Replica) Training() *Context { return r.context(true) }

// Inference returns the context for calling a model for evaluation or prediction.
func (r *Replica) Inference() *Context { return r.context(false) }

func (r *Replica) context(training bool) *Context {
	p, _ := ops.ParseDTypePolicy("")
	return &Context{Replica: r, Training: training, Policy: p}
}

// ComputeDType returns the type in which the layer being called computes.
func (c *Context) ComputeDType() ir.DType {
	if n := len(c.compute); n > 0 {
		return c.compute[n-1]
	}
	return c.Policy.Compute
}

// Depth is the number of layers that are being called, one inside the other.
func (c *Context) Depth() int { return len(c.compute) }

// EnterLayer begins the call of a layer of the given name and compute type; LeaveLayer ends it.
func (c *Context) EnterLayer(name string, compute ir.DType) {
	c.Graph().Enter(name)
	c.compute = append(c.compute, compute)
}

// LeaveLayer ends what EnterLayer began.
func (c *Context) LeaveLayer() {
	c.Graph().Leave()
	c.compute = c.compute[:len(c.compute)-1]
}

// LayerOutputs gives the results of a layer, of the given path, the layouts that the strategy has for them.
func (c *Context) LayerOutputs(path string, results []*ops.Tensor) []*ops.Tensor {
	at := placementOf(c.strategy)
	if at == nil || at.LayerOutput == nil {
		return results
	}
	out := make([]*ops.Tensor, len(results))
	for i, y := range results {
		out[i] = at.LayerOutput(path, y)
	}
	return out
}

// Weight reads a variable in the type in which the layer computes (floats only; others are read as they are).
func (c *Context) Weight(v *Variable) *ops.Tensor {
	x := c.Read(v)
	if x.DType().IsFloat() {
		return ops.Cast(x, c.ComputeDType())
	}
	return x
}

// AddLoss adds a scalar to the loss of the step, as Keras's add_loss does. Each replica's scalar counts for its part of
// the batch: it is weighted by local over global batch size, so that the sum over replicas is the mean. If rows of the
// batch are no examples, see [Replica.Rows], that is not possible, and an error.
func (c *Context) AddLoss(loss *ops.Tensor) {
	objectives.NoFilling(c, c, "what a layer adds to the loss")
	c.AddLossOfRows(loss)
}

// AddLossOfRows is AddLoss of a scalar in which rows that are no examples count as zeros.
func (c *Context) AddLossOfRows(loss *ops.Tensor) {
	if loss.Rank() != 0 {
		loss = ops.Sum(loss)
	}
	c.losses = append(c.losses, addedLoss{value: loss})
}

// addedLoss is what a layer added to the loss of the step.
type addedLoss struct {
	value *ops.Tensor
	by    []any // the layer, and those that it was called in
}

// Losses returns what AddLoss collected in this trace.
func (r *Replica) Losses() []*ops.Tensor {
	out := make([]*ops.Tensor, len(r.losses))
	for i, one := range r.losses {
		out[i] = one.value
	}
	return out
}

// NoteLosses says that all losses but the first ones were added in the call of a layer, by itself or by one inside.
func (r *Replica) NoteLosses(first int, layer any) {
	for i := first; i < len(r.losses); i++ {
		r.losses[i].by = append(r.losses[i].by, layer)
	}
}

// ForgetLosses drops what was added to the loss in calls of some layers.
func (r *Replica) ForgetLosses(of func(layer any) bool) {
	r.losses = slices.DeleteFunc(r.losses, func(one addedLoss) bool { return slices.ContainsFunc(one.by, of) })
}
