package keras

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// Calibration is what the modes gptq and awq need besides their configuration: examples, and the order in which layers
// are quantized.
type Calibration struct {
	// Tokens is a text as token ids. Examples of the configuration's SequenceLength are taken from it at even
	// distances; a short text is repeated.
	Tokens []int32
	// Data gives the examples if there are no Tokens: the inputs of the model, or of the first layer of Before or
	// Blocks. Targets are ignored.
	Data data.Dataset
	// Before are the layers before the first block, such as embeddings, each applied to the result of the previous one.
	// They are not quantized.
	Before []layers.Layer
	// Blocks are layers, or models, each applied to the result of the previous one. A block is calibrated with the
	// results of the quantized blocks before it. Layers outside all blocks are not quantized. nil means each layer of a
	// Sequential model, or one block for any other model.
	Blocks []layers.Layer
}

// QuantizeWith quantizes Dense and EinsumDense layers in the model to the mode gptq or awq. how is a
// *quantizers.GPTQConfig or *quantizers.AWQConfig; filters that return false exclude layers. The rules of
// [Model.Quantize] for training, compiled models and errors apply, except that blocks quantized before an error stay
// quantized.
//
// Behaviour of keras.Model.quantize, whose configurations hold data and structure; examples are taken from Tokens as by
// its strategy "strided" from the beginning.
func (m *Model) QuantizeWith(ctx context.Context, how quantizers.Calibrator, c Calibration, filters ...func(l layers.Layer) bool) error {
	return prefixed("QuantizeWith", m.quantizeWith(ctx, how, c, filters))
}

func (m *Model) quantizeWith(ctx context.Context, how quantizers.Calibrator, c Calibration, filters []func(l layers.Layer) bool) error {
	if _, err := quantizers.Resolve(how); err != nil {
		return err
	}
	if ctx == nil {
		return fmt.Errorf("the context is nil; pass context.Background()")
	}
	if !m.isBuilt() {
		return fmt.Errorf("model %q has no weights yet; build it first, with InputShape, Build or Fit", m.Name())
	}
	if !m.training.TryLock() {
		return fmt.Errorf("model %q is training or evaluating; wait for it to end", m.Name())
	}
	defer m.training.Unlock()
	before, blocks := c.Before, c.Blocks
	switch {
	case blocks == nil && len(before) > 0:
		return fmt.Errorf("layers are given in Before, and no Blocks; name the layers that come after them")
	case blocks == nil && isSequential(m):
		blocks = m.Layers()
	case blocks == nil:
		blocks = []layers.Layer{m}
	}
	chosen, err := m.calibratedLayers(how, blocks, filters)
	if err != nil {
		return err
	}
	examples, err := c.examples(ctx, how)
	if err != nil {
		return err
	}
	for _, l := range before {
		if examples, err = applied(ctx, l, examples); err != nil {
			return err
		}
	}
	for i, block := range blocks {
		if of := chosen[i]; len(of) > 0 {
			if err := m.calibrateBlock(ctx, how, block, of, examples); err != nil {
				return err
			}
		}
		if i < len(blocks)-1 {
			if examples, err = applied(ctx, block, examples); err != nil {
				return err
			}
		}
	}
	return nil
}

func isSequential(m *Model) bool {
	_, ok := m.topology.(*sequential)
	return ok
}

// calibratedLayers lists the layers to quantize for each block.
func (m *Model) calibratedLayers(how quantizers.Calibrator, blocks []layers.Layer, filters []func(l layers.Layer) bool) ([][]layers.Calibrated, error) {
	chosen, seen, some := make([][]layers.Calibrated, len(blocks)), map[layers.Layer]bool{}, false
	for i, block := range blocks {
		if layers.IsNil(block) {
			return nil, fmt.Errorf("block %d is nil", i)
		}
		layers.Walk(block, func(l layers.Layer) {
			q, ok := l.(layers.Calibrated)
			for _, f := range filters {
				ok = ok && (f == nil || f(l))
			}
			if ok && !seen[l] && layers.CanQuantize(l, how.Mode()) {
				seen[l], some = true, true
				chosen[i] = append(chosen[i], q)
			}
		})
		for _, l := range chosen[i] {
			if policy := layers.QuantizedBy(l); policy != "" {
				return nil, fmt.Errorf("layer %q is quantized already (%s); quantize a model once, or leave the layer out with a filter", layers.Name(l), policy)
			}
			if _, err := l.CalibratedFeatures(); err != nil {
				return nil, err
			}
		}
	}
	if !some {
		return nil, fmt.Errorf("model %q has no layer that can be quantized to %s, or the filters leave none; Dense and EinsumDense can", m.Name(), how.Mode())
	}
	return chosen, nil
}

// examples returns the examples to calibrate with.
func (c Calibration) examples(ctx context.Context, how quantizers.Calibrator) (*data.ArraySource, error) {
	samples, length := how.Examples()
	switch {
	case len(c.Tokens) > 0 && c.Data != nil:
		return nil, fmt.Errorf("both Tokens and Data are given; leave one out")
	case len(c.Tokens) > 0:
		return windows(c.Tokens, samples, length)
	case c.Data == nil:
		return nil, fmt.Errorf("there is nothing to calibrate with; set Data or Tokens of keras.Calibration")
	}
	return firstExamples(ctx, c.Data, samples)
}

// windows cuts examples out of a text.
func windows(tokens []int32, samples, length int) (*data.ArraySource, error) {
	size := ir.MulLengths(samples, length)
	if size > math.MaxInt32 {
		return nil, fmt.Errorf("%d examples of %d tokens are too many; lower Samples or SequenceLength", samples, length)
	}
	for n := len(tokens); len(tokens) < size; {
		tokens = append(slices.Clip(tokens), tokens[:min(n, size-len(tokens))]...)
	}
	last := len(tokens) - length
	stride := max(1, (last+1)/samples)
	out := make([]int32, 0, size)
	for i := range samples {
		start := i * stride % (last + 1)
		out = append(out, tokens[start:start+length]...)
	}
	return data.Arrays(data.Must(data.ArrayOf(out, samples, length)), nil), nil
}

// firstExamples collects examples of a dataset.
func firstExamples(ctx context.Context, ds data.Dataset, n int) (*data.ArraySource, error) {
	if a, ok := ds.(*data.ArraySource); ok {
		if err := a.Err(); err != nil {
			return nil, err
		}
		if a.N() == 0 {
			return nil, fmt.Errorf("there is nothing to calibrate with: the data have no examples")
		}
		return data.Arrays(a.Slice(0, min(n, a.N())).All().X, nil), nil
	}
	var parts []data.Tensors
	left := n
	for b, err := range ds.Batches(ctx, 0) {
		if err != nil {
			return nil, err
		}
		source := data.Arrays(b.X, nil)
		if err := source.Err(); err != nil {
			return nil, err
		}
		parts = append(parts, source.Slice(0, min(left, source.N())).All().X.Clone())
		if left -= source.N(); left <= 0 {
			break
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("there is nothing to calibrate with: the data have no examples")
	}
	all := data.Tensors{Names: parts[0].Names, Arrays: make([]data.Array, len(parts[0].Arrays))}
	for i := range all.Arrays {
		var one []data.Array
		for _, p := range parts {
			if len(p.Arrays) != len(all.Arrays) {
				return nil, fmt.Errorf("batches of the data have %d inputs and %d", len(all.Arrays), len(p.Arrays))
			}
			one = append(one, p.Arrays[i])
		}
		joined, err := joined(one)
		if err != nil {
			return nil, err
		}
		all.Arrays[i] = joined
	}
	return data.Arrays(all, nil), nil
}

// joined concatenates arrays along axis 0.
func joined(parts []data.Array) (data.Array, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	first := parts[0]
	all := data.Array{Type: ir.Type{DType: first.DType(), Shape: first.Type.Shape.Clone()}}
	all.Type.Shape[0] = 0
	for _, p := range parts {
		if p.DType() != first.DType() || !p.Type.Shape[1:].Equal(first.Type.Shape[1:]) {
			return data.Array{}, fmt.Errorf("examples of several shapes, such as %v and %v, cannot be calibrated with; pad them", first.Type, p.Type)
		}
		all.Type.Shape[0] += p.Type.Shape[0]
		all.Data = append(all.Data, p.Data...)
	}
	return all, nil
}

// around returns a model that applies a layer to examples of this form.
func around(l layers.Layer, examples *data.ArraySource) (*Model, error) {
	var inputs []*layers.KerasTensor
	if m, ok := l.(*Model); ok && len(m.Inputs()) > 0 {
		for _, in := range m.Inputs() {
			inputs = append(inputs, Input(Shape(in.Shape()[1:]...), DType(inputType(in)), FixedBatch(1)))
		}
	} else {
		x := examples.All().X
		for _, a := range x.Arrays {
			dtype := "float32"
			switch a.DType() {
			case ir.Int32, ir.Int64, ir.Float64:
				dtype = a.DType().String()
			}
			inputs = append(inputs, Input(Shape(a.Shape()[1:]...), DType(dtype), FixedBatch(1)))
		}
	}
	return NewFunctional(Inputs(inputs...), Outputs(layers.ApplyAll(l, inputs...)...))
}

func inputType(in *layers.KerasTensor) string { return in.DType().String() }

// applied returns the results of a layer for all examples.
func applied(ctx context.Context, l layers.Layer, examples *data.ArraySource) (*data.ArraySource, error) {
	m, err := around(l, examples)
	if err != nil {
		return nil, err
	}
	var parts []data.Array
	for i := range examples.N() {
		y, err := m.PredictOnBatch(ctx, examples.Slice(i, i+1))
		if err != nil {
			return nil, fmt.Errorf("layer %q: %w", layers.Name(l), err)
		}
		parts = append(parts, y)
	}
	y, err := joined(parts)
	if err != nil {
		return nil, err
	}
	return data.Arrays(y, nil), nil
}

// calibrateBlock quantizes the layers of one block by the inputs that they receive for the examples.
func (m *Model) calibrateBlock(ctx context.Context, how quantizers.Calibrator, block layers.Layer, of []layers.Calibrated, examples *data.ArraySource) error {
	o := &observer{Block: block, of: of}
	o.products, o.magnitudes = how.Needs()
	watched, err := around(o, examples)
	if err != nil {
		return err
	}
	seen := make([]quantizers.Statistics, len(of))
	for i := range examples.N() {
		ys, err := watched.PredictAll(ctx, examples.Slice(i, i+1), BatchSize(1))
		if err != nil {
			return err
		}
		for k := range of {
			if err := add(&seen[k], ys[2*k], ys[2*k+1], o.products); err != nil {
				return fmt.Errorf("layer %q: %w", layers.Name(of[k]), err)
			}
		}
	}
	m.values.Lock()
	defer m.values.Unlock()
	for k, l := range of {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.QuantizeCalibrated(how, seen[k]); err != nil {
			return err
		}
	}
	return nil
}

// add adds the statistics of one example.
func add(s *quantizers.Statistics, rows, values data.Array, products bool) error {
	n, ok := rows.Elements().([]float32)
	v, also := values.Elements().([]float32)
	if !ok || !also {
		return fmt.Errorf("statistics are of type %v", values.DType())
	}
	s.Rows += int(n[0])
	into := &s.Magnitudes
	if products {
		into = &s.Products
	}
	if *into == nil {
		*into = make([]float64, len(v))
	}
	for i, x := range v {
		if products {
			(*into)[i] += float64(x)
		} else {
			(*into)[i] = max((*into)[i], float64(x))
		}
	}
	return nil
}

// observer computes a block, but in place of its results returns statistics of the inputs of some of its layers: for
// each layer the number of rows, and either sums of products (1, features, features) or the largest magnitudes (1,
// features).
type observer struct {
	layers.Base

	Block                layers.Layer
	of                   []layers.Calibrated
	products, magnitudes bool
}

// Forward computes the block.
func (o *observer) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	seen, outer := make([][]*ops.Tensor, len(o.of)), c.Watch
	c.Watch = func(l any, inputs, results []*ops.Tensor) {
		if outer != nil {
			outer(l, inputs, results)
		}
		for i, w := range o.of {
			if any(w) == l {
				seen[i] = append(seen[i], inputs[0])
			}
		}
	}
	layers.InvokeAll(o.Block, c, in...)
	c.Watch = outer
	var out []*ops.Tensor
	for i, l := range o.of {
		features, err := l.CalibratedFeatures()
		if err != nil {
			ops.Fail(c.Graph(), err)
		}
		if len(seen[i]) == 0 {
			ops.Failf(c.Graph(), "layer %q is not called by block %q with these examples; leave it out with a filter", layers.Name(l), layers.Name(o.Block))
		}
		var rows, sum *ops.Tensor
		for _, x := range seen[i] {
			if x.Graph() != c.Graph() {
				ops.Failf(c.Graph(), "layer %q is called in a loop, as of a recurrent layer, where its inputs cannot be observed; leave it out with a filter", layers.Name(l))
			}
			r, s := o.statistics(x, features)
			if sum == nil {
				rows, sum = r, s
			} else if rows = ops.Add(rows, r); o.products {
				sum = ops.Add(sum, s)
			} else {
				sum = ops.Maximum(sum, s)
			}
		}
		out = append(out, rows, sum)
	}
	return out
}

// statistics returns the statistics of x.
func (o *observer) statistics(x *ops.Tensor, features int) (rows, sum *ops.Tensor) {
	x = ops.Cast(ops.Reshape(x, -1, features), ir.Float32)
	rows = ops.Reshape(ops.Sum(ops.OnesLike(ops.Slice(x, []int{0, 0}, []int{x.Dim(0), 1}))), 1)
	if o.products {
		return rows, ops.ExpandDims(ops.Matmul(ops.Transpose(x), x), 0)
	}
	return rows, ops.ExpandDims(ops.Max(ops.Abs(x), 0), 0)
}
