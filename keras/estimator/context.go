package estimator

import (
	"fmt"
	"sort"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/optimizers"
)

// Params are hyperparameters that an [Estimator] passes to its [ModelFn].
type Params map[string]any

// ModelFn describes a model: tf.estimator's model_fn. It is traced once in each session for each shape of the batches,
// and builds the graph of one replica's step. labels is the first array of targets, nil in PREDICT; c.Labels has all of
// them.
type ModelFn func(c *Context, features Features, labels *ops.Tensor, mode ModeKey, params Params) (EstimatorSpec, error)

// Context is what a [ModelFn] receives besides its data: the trace, and what is kept from one trace to the next.
type Context struct {
	*distribute.Replica
	// Labels are all arrays of targets.
	Labels Features
	// Config is the Estimator's configuration.
	Config RunConfig

	session  *Session
	mode     ModeKey
	minimize int    // number of calls of Minimize
	scope    string // first part of the names of a column's variables
	fetches  map[string]*ops.Tensor
}

// Once returns what build made when it was first called with this key in the session. Use it for models that a
// [ModelFn] creates, because the function is traced again for each shape of the batches and on replicas whose batches
// differ:
//
//	model, err := estimator.Once(c, "model", func() (*keras.Model, error) {
//		return keras.NewSequential(stack, distribute.Scope(c.Strategy()), keras.InputShape(28, 28, 1), keras.Seed(c.Seed()))
//	})
//
// Using a key with two types is an error.
func Once[T any](c *Context, key string, build func() (T, error)) (T, error) {
	var none T
	if v, ok := c.session.kept[key]; ok {
		t, ok := v.(T)
		if !ok {
			return none, fmt.Errorf("estimator: Once: the key %q holds a %T and is asked for a %T; use another key", key, v, none)
		}
		return t, nil
	}
	t, err := build()
	if err != nil {
		return none, err
	}
	c.session.kept[key] = t
	return t, nil
}

// Strategy returns the strategy of the session.
func (c *Context) Strategy() distribute.Strategy { return c.session.strategy }

// Seed returns RunConfig.TFRandomSeed.
func (c *Context) Seed() uint64 { return c.Config.TFRandomSeed }

// Layers returns the context for calling layers and models in the mode of the trace: training in TRAIN, otherwise
// inference.
func (c *Context) Layers() *distribute.Context {
	if c.mode == TRAIN {
		return c.Training()
	}
	return c.Inference()
}

// GetVariable returns the variable named spec.Name, which is its whole path, and creates it if the session has none
// yet: tf.compat.v1.get_variable. Asking for another type under the same name fails.
func (c *Context) GetVariable(spec distribute.VariableSpec) *distribute.Variable {
	v, err := Once(c, "variable "+spec.Name, func() (*distribute.Variable, error) {
		v := distribute.NewVariable(spec)
		return v, v.Place(c.session.strategy, c.Seed())
	})
	if err != nil {
		ops.Fail(c.Graph(), err)
	}
	if t := v.Type(); t.DType != spec.DType || !t.Shape.Equal(spec.Shape) {
		ops.Failf(c.Graph(), "variable %s exists with type %v and is asked for with %v %v; use another name", spec.Name, t, spec.DType, spec.Shape)
	}
	return v
}

// GlobalStep returns the number of training steps finished before this one, an int64 scalar.
func (c *Context) GlobalStep() *ops.Tensor { return c.Read(c.session.globalStep) }

// TrainableVariables returns the variables that the trace has read so far and that are not frozen.
func (c *Context) TrainableVariables() distribute.Variables {
	var out distribute.Variables
	for _, v := range c.Variables() {
		if !v.Spec().Frozen && v.Type().DType.IsFloat() {
			out = append(out, v)
		}
	}
	return out
}

// Fetch makes a scalar of the trace available to hooks: the mean over the replicas is in RunValues.Values under the
// given name.
func (c *Context) Fetch(name string, t *ops.Tensor) {
	if t.Shape().Size() != 1 {
		ops.Failf(c.Graph(), "Fetch %q: the tensor has shape %v; expected a scalar", name, t.Shape())
	}
	c.fetches[name] = t
}

// Minimize updates variables (nil: TrainableVariables) to reduce the loss:
//
//	w ← optimizer(w, Σ over replicas of ∂(loss/N)/∂w)      N replicas
//
// where loss is the loss of one replica's batch. The optimizer serves as a configuration, and may be created inside or
// outside of the ModelFn: for each call of Minimize, counted in order, a session makes its own optimizer from the first
// one passed. Two optimizers of one kind need different Names.
func (c *Context) Minimize(optimizer optimizers.Optimizer, loss *ops.Tensor, variables ...*distribute.Variable) *TrainOp {
	return c.minimizeShare(optimizer, ops.DivideScalar(loss, float64(c.NumReplicasInSync())), variables)
}

// minimizeShare minimizes the sum of the replicas' losses.
func (c *Context) minimizeShare(optimizer optimizers.Optimizer, loss *ops.Tensor, variables distribute.Variables) *TrainOp {
	if c.mode != TRAIN {
		ops.Failf(c.Graph(), "Minimize was called in mode %q; call it only in TRAIN", c.mode)
	}
	if optimizer == nil {
		ops.Failf(c.Graph(), "Minimize: the optimizer is nil")
	}
	if len(variables) == 0 {
		variables = c.TrainableVariables()
	}
	if len(variables) == 0 {
		ops.Failf(c.Graph(), "No variables to optimize: the trace has read no variable that can be trained")
	}
	key := fmt.Sprint("optimizer ", c.minimize)
	c.minimize++
	kept, err := Once(c, key, func() (optimizers.Optimizer, error) { return fresh(optimizer), nil })
	if err == nil {
		err = kept.Build(variables)
	}
	if err != nil {
		ops.Fail(c.Graph(), err)
	}
	if t := c.session.servers; t != nil {
		t.take(c, kept, loss, variables)
		return &TrainOp{applied: true}
	}
	kept.Apply(c.Replica, ops.NewTape(c).Gradients(kept.ScaleLoss(c.Replica, loss), variables))
	return &TrainOp{applied: true}
}

// fetched lists the fetches, sorted by name.
func (c *Context) fetched() (names []string, tensors []*ops.Tensor) {
	for name := range c.fetches {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		tensors = append(tensors, c.fetches[name])
	}
	return names, tensors
}
