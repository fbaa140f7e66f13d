package layers

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Context is the information that a layer receives when it is called; see [distribute.Context].
type Context = distribute.Context

// Layer maps tensors to tensors and may own variables. Every type that embeds [Base] and has Forward is a layer. Inside
// a trace it is called with [Invoke]:
//
//	y := layers.Invoke(l.hidden, c, x)
type Layer interface {
	// Forward is the computation itself, without the bookkeeping of a call: inputs already have the layer's compute
	// type, and its variables exist.
	Forward(c *Context, inputs []*ops.Tensor) []*ops.Tensor

	base() *Base
}

// WeightBuilder is implemented by layers that own variables. Build is called once, with the shapes of the first inputs;
// axis 0 is the batch, and the shape of a weight must not depend on it.
type WeightBuilder interface {
	Build(b *Builder, inputs []ir.Shape)
}

// MaskSupporter is implemented by layers through which a mask of the first input passes unchanged.
type MaskSupporter interface{ SupportsMasking() bool }

// MaskComputer is implemented by layers that make or change masks: it returns the mask of each result (nil for none).
type MaskComputer interface {
	ComputeMask(c *Context, inputs, outputs []*ops.Tensor) []*ops.Tensor
}

// Container is implemented by models: they pass their inputs to their members unchanged, without casting them.
type Container interface{ Layers() []Layer }

// Base is the part that all layers share: name, variables, sub-layers, and whether they are trained. The zero value is
// ready.
type Base struct {
	self      Layer
	parent    *Base
	name      string // given by the user, or made when the model is
	named     bool   // by itself, for want of another name: a model that it becomes part of may number it
	sequence  uint64 // order of first use
	built     bool
	revision  uint64 // counts what changed a built layer; see Revision
	frozen    bool
	field     *bool // Frozen of the layer, nil where it has none
	policy    string
	resolved  ops.DTypePolicy // policy with that of the model for "", as it was when the layer was built
	within    string          // the Sequential model then; see Context.Within
	bounds    error           // of a field with a size that nothing can have, or of a method that nothing calls
	weights   distribute.Variables
	sublayers []Layer
	made      []Layer    // of them, those that Build put into exported fields
	shapes    []ir.Shape // inputs at build time
	results   []ir.Type  // of the last trace that worked out shapes, with Unknown for open axes
	shapesIn  *ops.Graph // that trace
	activity  func(*ops.Tensor) *ops.Tensor
}

func (b *Base) base() *Base { return b }

var sequences atomic.Uint64

var errNilLayer = errors.New("layers: a layer is nil; make it first, as in &layers.Dense{Units: 10}")

// attach makes the layer known to its Base on first use and reads the configuration that all layers share.
func attach(l Layer) *Base {
	if IsNil(l) {
		ops.Fail(nil, errNilLayer)
	}
	b := l.base()
	if b.self != nil {
		return b
	}
	b.self, b.sequence = l, sequences.Add(1)
	b.readCommonFields()
	b.findSublayers()
	if b.bounds = config.CheckBounds(l); b.bounds == nil {
		b.bounds = wrongMethod(l)
	}
	return b
}

// Name returns the name of a layer: the one given in its Name field, or the one that its model made ("dense_1"). Before
// either, it is the name made from its type alone.
func Name(l Layer) string {
	b := attach(l)
	if b.name == "" {
		return SnakeCase(ClassName(l))
	}
	return b.name
}

// SetName names a layer that has no name yet.
func SetName(l Layer, name string) {
	if b := attach(l); b.name == "" {
		b.name = name
	}
}

// SetDefaultName gives an unnamed layer a name for as long as it stands alone. A model that it becomes part of may add
// a number.
func SetDefaultName(l Layer, name string) {
	if b := attach(l); b.name == "" {
		b.name, b.named = name, true
	}
}

// Path returns the layer's name, preceded by those of the layers that contain it.
func (b *Base) Path() string {
	if b.self == nil {
		return ""
	}
	if b.parent != nil {
		if p := b.parent.Path(); p != "" {
			return p + "/" + Name(b.self)
		}
	}
	return Name(b.self)
}

// Built reports whether the layer has its variables.
func (b *Base) Built() bool { return b.built }

// Sublayers returns the layers that l is directly made of, in field order.
func Sublayers(l Layer) []Layer { return attach(l).sublayers }

// SetSublayers replaces the list of layers that l is made of, for containers whose fields do not show all members.
func SetSublayers(l Layer, members []Layer) { attach(l).sublayers = members }

// Weights returns the variables of a layer and of its sub-layers: for each layer first the trained ones, then the
// others. A layer or variable that occurs twice counts once.
func Weights(l Layer) distribute.Variables {
	return collect(l, func(*Base, *distribute.Variable) bool { return true })
}

// TrainableWeights returns the variables that training changes. As in Keras, a frozen layer has none, even if a layer
// inside it was thawed; a model around it still trains the thawed one.
func TrainableWeights(l Layer) distribute.Variables {
	if attach(l).isFrozen() {
		return nil
	}
	return collect(l, func(b *Base, v *distribute.Variable) bool { return !b.frozen && v.Trainable() })
}

// NonTrainableWeights returns the variables that training leaves alone (statistics, and weights of frozen layers): all
// that are not among TrainableWeights.
func NonTrainableWeights(l Layer) distribute.Variables {
	if attach(l).isFrozen() {
		return Weights(l)
	}
	return collect(l, func(b *Base, v *distribute.Variable) bool { return b.frozen || !v.Trainable() })
}

func collect(l Layer, keep func(*Base, *distribute.Variable) bool) distribute.Variables {
	var out distribute.Variables
	seen, met := map[*Base]bool{}, map[*distribute.Variable]bool{}
	var walk func(l Layer)
	walk = func(l Layer) {
		b := attach(l)
		if seen[b] {
			return
		}
		seen[b] = true
		b.isFrozen()
		for _, frozen := range []bool{false, true} {
			for _, v := range b.weights {
				if v.Spec().Frozen != frozen || met[v] {
					continue
				}
				met[v] = true
				owner, ok := v.Spec().Owner.(*Base) // another layer for a variable that b shares with it
				if !ok {
					owner = b
				}
				if keep(owner, v) {
					out = append(out, v)
				}
			}
		}
		for _, s := range b.sublayers {
			walk(s)
		}
	}
	walk(l)
	return out
}

// Walk calls f for l and all layers inside it, outer ones first, each once.
func Walk(l Layer, f func(l Layer)) {
	if f == nil {
		ops.Failf(nil, "Walk: the function is nil")
	}
	seen := map[*Base]bool{}
	var walk func(l Layer)
	walk = func(l Layer) {
		b := attach(l)
		if !seen[b] {
			seen[b] = true
			f(l)
			for _, s := range b.sublayers {
				walk(s)
			}
		}
	}
	walk(l)
}

// Invoke calls a layer inside a trace and returns its first result, as l(x) does in Keras; see [InvokeAll].
func Invoke(l Layer, c *Context, inputs ...*ops.Tensor) *ops.Tensor {
	return InvokeAll(l, c, inputs...)[0]
}

// InvokeAll calls a layer and returns all of its results. It gives names and errors the layer's path, casts float
// inputs to the layer's compute type, builds the variables on first use, and carries masks.
func InvokeAll(l Layer, c *Context, inputs ...*ops.Tensor) []*ops.Tensor {
	return invoke(l, c, inputs, how{})
}

// how says what is special about a call that has more than its inputs.
type how struct {
	compute func(in []*ops.Tensor) []*ops.Tensor // nil is the layer's Forward
	masks   []*ops.Tensor                        // inputs with the masks that count for the results; nil: those of the inputs
	inside  bool                                 // computed in the type of the layer that calls; see callInside
}

// castInputs returns the inputs of a call, with floats cast to the layer's compute type.
func castInputs(l Layer, inputs []*ops.Tensor, compute ir.DType) []*ops.Tensor {
	cast := slices.Clone(inputs)
	_, isContainer := l.(Container)
	_, asIs := l.(interface{ keepsInputType() })
	if isContainer || asIs || slices.Contains(inputs, nil) {
		return cast
	}
	for i, x := range inputs {
		if x.DType().IsFloat() && !isCompanion(l, inputs, i) {
			cast[i] = ops.Cast(x, compute)
		}
	}
	return cast
}

// invoke is InvokeAll with what is special about this call.
func invoke(l Layer, c *Context, inputs []*ops.Tensor, h how) []*ops.Tensor {
	compute := h.compute
	if IsNil(l) {
		ops.Fail(nil, errNilLayer)
	}
	needContext(c, Name(l))
	if c.Depth() == maxDepth {
		ops.Failf(c.Graph(), "layers are nested more than %d deep; does a layer or model contain itself?", maxDepth)
	}
	b := attach(l)
	forgetLosses(l, c)
	added := len(c.Losses())
	policy := b.dtypePolicy(c)
	if h.inside {
		policy.Compute = c.ComputeDType()
	}
	cast := castInputs(l, inputs, policy.Compute) // before the layer computes: it rounds nothing itself
	c.EnterLayer(Name(l), policy.Compute)
	if b.bounds != nil {
		ops.Fail(c.Graph(), b.bounds)
	}
	if len(inputs) == 0 {
		ops.Failf(c.Graph(), "called without inputs; expected at least one tensor")
	}
	if i := slices.Index(inputs, nil); i >= 0 {
		ops.Failf(c.Graph(), "input %d is nil; expected a tensor", i)
	}
	b.build(c, cast, policy)
	if compute == nil {
		compute = guardedForward(l, c)
	}
	before := make([]*ops.Tensor, len(cast))
	for i, x := range cast {
		before[i] = x.Mask()
	}
	outputs := segment(l, c, compute, cast)
	if o, ok := l.(*Operation); ok && len(outputs) == 0 {
		ops.Failf(c.Graph(), "%s gives no results for a tensor of shape %v; in a model an operation must give at least one", o.kind.name, inputs[0].Shape())
	}
	if len(outputs) == 0 || slices.Contains(outputs, nil) {
		ops.Failf(c.Graph(), "Forward returned %d tensors, nil among them or none; expected at least one", len(outputs))
	}
	outputs = c.LayerOutputs(b.Path(), outputs)
	if _, container := l.(Container); c.Inspect != nil && !container {
		outputs = slices.Clone(outputs)
		for i, y := range outputs {
			outputs[i] = c.Inspect(y)
		}
	}
	if c.Probing && b.shapesIn != c.Graph() { // the first call of a shared layer stands for all
		b.results, b.shapesIn = openTypes(outputTypes(outputs)), c.Graph()
	}
	if b.activity != nil {
		for _, y := range outputs {
			b.addActivityLoss(c, y)
		}
	}
	c.NoteLosses(added, b)
	cast = withMasks(cast, before, h.masks)
	setMasks(l, c, cast, outputs)
	c.LeaveLayer()
	if c.Watch != nil {
		c.Watch(l, cast, outputs)
	}
	return outputs
}

// forgetLosses drops what an earlier call of a layer, or of a layer inside of it, has added to the loss, unless this
// call is part of another layer's: as in Keras, if a step calls a model several times, only the losses of the last call
// count.
func forgetLosses(l Layer, c *Context) {
	if c.Depth() > 0 || len(c.Losses()) == 0 {
		return
	}
	inside := map[any]bool{}
	Walk(l, func(s Layer) { inside[attach(s)] = true })
	c.ForgetLosses(func(by any) bool { return inside[by] })
}

// segment calls the function that computes the results of l. Gradients recompute them if the step asks for that.
func segment(l Layer, c *Context, compute func(in []*ops.Tensor) []*ops.Tensor, in []*ops.Tensor) []*ops.Tensor {
	s := ops.BeginSegment(in[0])
	outputs := compute(in)
	if _, container := l.(Container); c.Remat.Recomputes(Name(l), container, outputs) {
		s.Remat()
	}
	return outputs
}

// needContext fails if there is no step in which the layer or the function could be called.
func needContext(c *Context, what string) {
	if c == nil || c.Replica == nil {
		ops.Failf(nil, "layers: %s is called without the context of a step; a model calls its layers, Apply and Invoke call one alone", what)
	}
}

// maxDepth limits how deep layers may be nested, so that a layer that contains itself is an error and not a stack
// overflow.
const maxDepth = 200

// IsNil reports whether l is nil or a nil pointer.
func IsNil(l Layer) bool {
	if l == nil {
		return true
	}
	v := reflect.ValueOf(l)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

func outputTypes(ts []*ops.Tensor) []ir.Type {
	types := make([]ir.Type, len(ts))
	for i, t := range ts {
		types[i] = t.Type()
	}
	return types
}

// OutputTypes returns the types of a layer's results as they were when its model was built, with Unknown for open axes;
// nil before that.
func OutputTypes(l Layer) []ir.Type {
	return attach(l).results
}

// addActivityLoss adds the penalty of an activity regularizer, which Keras divides by the batch size.
func (b *Base) addActivityLoss(c *Context, y *ops.Tensor) {
	penalty := b.activity(objectives.AlignedRows(c, ops.Cast(y, c.Policy.Float()), "the activity regularizer of results with several rows for each example"))
	n := y.Dim(0)
	if dim.Known(n) { // where it is open, there will be examples
		n = dim.Max(n, 1)
	}
	c.AddLossOfRows(ops.DivideByLength(penalty, n))
}

func (b *Base) dtypePolicy(c *Context) ops.DTypePolicy {
	p, err := c.Policy, error(nil)
	if b.policy != "" {
		p, err = ops.ParseDTypePolicy(b.policy)
	}
	if err == nil && p.Map != nil {
		p, err = p.At(c.Policy, b.policyPaths(c.Within)...)
	}
	if err != nil {
		ops.Fail(c.Graph(), fmt.Errorf("%s: %w", b.Path(), err))
	}
	return p
}

// policyPaths returns the names of a layer in maps of policies: Keras's path, which begins with the name of a
// Sequential model, and the path here.
func (b *Base) policyPaths(within string) []string {
	path := b.Path()
	if within == "" {
		within = b.within // of a layer that is called alone after its model was built
	}
	if within == "" {
		return []string{path}
	}
	return []string{within + "/" + path, path}
}

func (b *Base) build(c *Context, inputs []*ops.Tensor, policy ops.DTypePolicy) {
	if b.built {
		return
	}
	shapes := make([]ir.Shape, len(inputs))
	for i, x := range inputs {
		shapes[i] = x.Shape()
	}
	if w, ok := b.self.(WeightBuilder); ok {
		b.weights = nil // of an attempt that failed
		builder := &Builder{base: b, context: c, policy: policy}
		guard(b.self, c, "Build", func() { w.Build(builder, shapes) })
		builder.findMade()
	}
	b.built, b.shapes, b.resolved, b.within = true, shapes, policy, c.Within
}

// builtLayers returns the layers inside l that have been built.
func builtLayers(l Layer) map[*Base]bool {
	built := map[*Base]bool{}
	Walk(l, func(l Layer) {
		if b := l.base(); b.built {
			built[b] = true
		}
	})
	return built
}

// unbuild undoes a failed build: all layers inside l except the given ones return to the state before their first call.
func unbuild(l Layer, keep map[*Base]bool) {
	Walk(l, func(l Layer) {
		if b := l.base(); !keep[b] {
			b.reset()
		}
	})
}

//go:noinline
func (b *Base) reset() {
	b.built, b.weights, b.shapes, b.results, b.shapesIn = false, nil, nil, nil, nil
}

// Reset removes a layer's variables, so that the next call builds new ones. The values are lost.
func Reset(l Layer) {
	Walk(l, func(l Layer) { l.base().reset() })
}
