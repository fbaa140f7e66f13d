package layers

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// LoraOptions are the options of EnableLora besides the rank. The zero value is Keras's default.
type LoraOptions struct {
	Alpha        float64 // the change counts Alpha/rank; 0 is the rank, so that it counts once
	AInitializer any     // of A; nil is "he_uniform"
	BInitializer any     // of B; nil is "zeros", so that the layer's results do not change at first
}

// LoraEnabler is implemented by the layers that have LoRA: Dense, EinsumDense, Embedding, ReversibleEmbedding, Conv1D,
// Conv2D and Conv3D.
type LoraEnabler interface {
	Layer
	EnableLora(rank int, options ...LoraOptions) error
}

// lora is a low-rank update of one weight, w + alpha/rank·a·b. If a is nil there is none.
type lora struct {
	a, b  *distribute.Variable
	scale float64
}

// loraTarget is the weight that is changed.
type loraTarget struct {
	name                    string // "kernel" or "embeddings"
	weight                  *distribute.Variable
	shape                   ir.Shape // of the weight before it was packed; nil: that of weight
	regularizer, constraint any
}

// change returns w plus the update, in the layer's compute type.
func (r *lora) change(c *Context, w *ops.Tensor) *ops.Tensor {
	if r.a == nil {
		return w
	}
	return ops.Cast(ops.Add(w, r.product(c.Weight(r.a), c.Weight(r.b))), c.ComputeDType())
}

// product returns alpha/rank·a·b.
func (r *lora) product(a, b *ops.Tensor) *ops.Tensor {
	return ops.MultiplyScalar(ops.Matmul(a, b), r.scale)
}

// addLora creates the matrices of a layer that is being built if rank is not 0.
func (b *Builder) addLora(into *lora, t loraTarget, rank int, o LoraOptions) {
	*into = lora{}
	if rank == 0 && o.Alpha == 0 {
		return
	}
	if rank < 1 {
		b.Fail("LoraRank must be positive, received %d; leave LoraRank and LoraAlpha out for a layer without LoRA", rank)
	}
	if b.policy.Quantization.Bits > 0 {
		b.Fail("the policy %q does not go with LoRA; leave LoraRank out, or use int8 or int4", b.policy.Name)
	}
	if t.constraint != nil {
		b.Fail("LoRA does not go with a constraint: the change of the %s is not held to it; leave the constraint out", t.name)
	}
	if o.Alpha == 0 {
		o.Alpha = float64(rank)
	}
	shape := t.shape
	if shape == nil {
		shape = t.weight.Type().Shape
	}
	last := len(shape) - 1
	into.scale = o.Alpha / float64(rank)
	into.a = b.AddWeight("lora_"+t.name+"_a", append(shape[:last].Clone(), rank), WeightOptions{
		Initializer: orDefault(o.AInitializer, "he_uniform"), DType: ir.Float32, Regularizer: t.regularizer})
	into.b = b.AddWeight("lora_"+t.name+"_b", ir.Shape{rank, shape[last]}, WeightOptions{
		Initializer: orDefault(o.BInitializer, "zeros"), DType: ir.Float32, Regularizer: t.regularizer})
	t.weight.SetTrainable(false)
}

// enableLora is EnableLora for a layer with the given weight. rankField and alphaField point to its configuration.
func (b *Base) enableLora(into *lora, target func() loraTarget, rankField *int, alphaField *float64, rank int, options []LoraOptions) error {
	fail := func(format string, args ...any) error {
		name := "a layer"
		if b.self != nil {
			name = fmt.Sprintf("layer %q (%s)", Name(b.self), ClassName(b.self))
		}
		return fmt.Errorf("layers: EnableLora: %s: %w", name, fmt.Errorf(format, args...))
	}
	switch {
	case !b.built:
		return fail("it is not built yet, so that its weights have no shape; call EnableLora on a layer of a model that is built, or set LoraRank before")
	case into.a != nil:
		return fail("LoRA is enabled already, with rank %d; that can be done once for each layer", *rankField)
	case b.resolved.Quantization.Mode == "float8":
		return fail("the layer computes in float8, which does not go with LoRA")
	case b.resolved.Quantization.Bits > 0:
		return fail("the layer is quantized (%s), which does not go with LoRA; use int8 or int4", b.resolved.Name)
	case rank < 1:
		return fail("the rank must be positive, received %d", rank)
	case len(options) > 1:
		return fail("it takes one LoraOptions at most, received %d", len(options))
	}
	var o LoraOptions
	if len(options) == 1 {
		o = options[0]
	}
	t := target()
	err := b.extend(func(builder *Builder) { builder.addLora(into, t, rank, o) }, t.weight)
	if err != nil {
		*into = lora{}
		return fail("%w", err)
	}
	*rankField, *alphaField = rank, into.scale*float64(rank)
	return nil
}

// extend adds variables to a built layer, on the devices of the given one. After an error the layer has the same
// variables as before.
func (b *Base) extend(f func(*Builder), like *distribute.Variable) (err error) {
	before := len(b.weights)
	defer func() {
		if err != nil {
			b.weights = b.weights[:before]
		}
	}()
	defer ops.Catch(&err)
	r := distribute.NewReplica("extend", 1, 1, 1)
	c := r.Inference()
	f(&Builder{base: b, context: c, policy: b.resolved})
	for _, v := range b.weights {
		if err := v.PlaceLike(like); err != nil {
			return err
		}
	}
	b.changed()
	return nil
}

// inFiles describes the weights of a layer in files. As in Keras, the update is merged into the weight, and both
// matrices of a loaded layer are zeros.
func (r *lora) inFiles(b *Base, weight *distribute.Variable) *weightsInFiles {
	if r.a == nil {
		return nil
	}
	w := &weightsInFiles{merged: distribute.Variables{r.a, r.b}, loaded: r.clear}
	for _, v := range OwnWeights(b.self) {
		if v != r.a && v != r.b {
			w.variables = append(w.variables, v)
		}
	}
	w.values = func() (map[*distribute.Variable]kernels.Array, error) {
		value, err := weight.Value()
		if err != nil {
			return nil, err
		}
		sum, err := r.added(value.Float64s())
		if err != nil {
			return nil, err
		}
		merged, err := kernels.FromFloat64s(b.computeType(), weight.Type().Shape, sum)
		return map[*distribute.Variable]kernels.Array{weight: merged}, err
	}
	return w
}

// added returns a weight plus the update.
//
//dim:known weights have fixed axes
func (r *lora) added(w []float64) ([]float64, error) {
	a, err := r.a.Value()
	if err != nil {
		return nil, err
	}
	b, err := r.b.Value()
	if err != nil {
		return nil, err
	}
	rank, columns := b.Type.Shape[0], b.Type.Shape[1]
	left, right := a.Float64s(), b.Float64s()
	out := make([]float64, len(w))
	row := make([]float64, columns)
	for i := range len(w) / max(columns, 1) {
		clear(row)
		for k := range rank {
			x := left[i*rank+k]
			for j := range row {
				row[j] += x * right[k*columns+j]
			}
		}
		for j, d := range row {
			out[i*columns+j] = w[i*columns+j] + r.scale*d
		}
	}
	return out, nil
}

// clear sets both matrices to zeros, because the loaded weight already contains the update.
func (r *lora) clear() error {
	for _, v := range []*distribute.Variable{r.a, r.b} {
		if v == nil {
			continue
		}
		if err := v.SetValue(kernels.NewArray(v.Type())); err != nil {
			return err
		}
	}
	return nil
}

// computeType returns the type in which a layer computes, according to its own policy or that of the model around it.
func (b *Base) computeType() ir.DType { return b.resolved.Compute }
