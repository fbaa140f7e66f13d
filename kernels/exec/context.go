package exec

import (
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Context is what a layer knows when it is called: the trace, whether it is training, and the default dtype policy.
type Context struct {
	*Replica
	// Training tells dropout to drop and batch normalization to use the statistics of the batch.
	Training bool
	// Policy applies to layers that have none of their own.
	Policy ops.DTypePolicy
	// Within is the name of the outermost Sequential model while it is called, or "" in other models. In Keras, the
	// paths of its layers begin with it.
	Within string
	// Watch, if set, is called after each call of a layer, with the layer, its inputs in the type in which it computes,
	// and its results. Inner layers come before the layers that contain them.
	Watch func(layer any, inputs, results []*ops.Tensor)

	// Inspect, if set, is given each result of a layer that is not a model. Its return value replaces the result.
	Inspect func(result *ops.Tensor) *ops.Tensor
	// Remat, if set, says which layers are recomputed for the gradient, instead of keeping their values.
	Remat *ops.RematScope

	// Frozen, if set, says which layers are not trained in this trace; it overrides the layers' own settings.
	Frozen func(layer any) bool

	// Staged is the model inside another model that is called with inputs already processed by its layers on the host,
	// or nil.
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

// LeaveLayer ends the call that EnterLayer began.
func (c *Context) LeaveLayer() {
	c.Graph().Leave()
	c.compute = c.compute[:len(c.compute)-1]
}

// LayerOutputs gives the results of a layer, of the given path, the strategy's layouts for them.
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

// Weight reads a variable in the type in which the layer computes. Only floats are converted.
func (c *Context) Weight(v *Variable) *ops.Tensor {
	x := c.Read(v)
	if x.DType().IsFloat() {
		return ops.Cast(x, c.ComputeDType())
	}
	return x
}

// AddLoss adds a scalar to the loss of the step, as Keras's add_loss does. Each replica's scalar counts for its part of
// the batch: it is weighted by local over global batch size, so that the sum over replicas is the mean. If some rows of
// the batch are padding, see [Replica.Rows], that is impossible, and an error.
func (c *Context) AddLoss(loss *ops.Tensor) {
	objectives.NoFilling(c, c, "what a layer adds to the loss")
	c.AddLossOfRows(loss)
}

// AddLossOfRows is AddLoss for a scalar in which padding rows count as zeros.
func (c *Context) AddLossOfRows(loss *ops.Tensor) {
	if loss.Rank() != 0 {
		loss = ops.Sum(loss)
	}
	c.losses = append(c.losses, addedLoss{value: loss})
}

// addedLoss is what a layer added to the loss of the step.
type addedLoss struct {
	value *ops.Tensor
	by    []any // the layer, and those that called it
}

// Losses returns what AddLoss collected in this trace.
func (r *Replica) Losses() []*ops.Tensor {
	out := make([]*ops.Tensor, len(r.losses))
	for i, one := range r.losses {
		out[i] = one.value
	}
	return out
}

// NoteLosses records that all losses from number first on were added in the call of a layer, by itself or by a layer
// inside.
func (r *Replica) NoteLosses(first int, layer any) {
	for i := first; i < len(r.losses); i++ {
		r.losses[i].by = append(r.losses[i].by, layer)
	}
}

// ForgetLosses drops the losses that were added in calls of some layers.
func (r *Replica) ForgetLosses(of func(layer any) bool) {
	r.losses = slices.DeleteFunc(r.losses, func(one addedLoss) bool { return slices.ContainsFunc(one.by, of) })
}
