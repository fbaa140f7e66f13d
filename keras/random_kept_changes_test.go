package keras_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

// standardized is a Dense layer that multiplies by columns of mean 0 and length 1: predictions compute these from the
// kernel alone, and keep them.
type standardized struct {
	layers.Base

	Name  string
	Units int `keras:"units"`

	kernel *distribute.Variable
}

func init() { layers.Register[standardized]() }

func (l *standardized) Build(b *layers.Builder, in []ir.Shape) {
	l.kernel = b.AddWeight("kernel", ir.Shape{in[0][len(in[0])-1], l.Units}, layers.WeightOptions{})
}

func (l *standardized) Forward(c *layers.Context, in []*ops.Tensor) []*ops.Tensor {
	w := c.Weight(l.kernel)
	w = ops.Subtract(w, ops.KeepDims(ops.Mean(w, 0), w, 0))
	scale := ops.Rsqrt(ops.AddScalar(ops.Sum(ops.Square(w), 0), 1e-3))
	return []*ops.Tensor{ops.Matmul(in[0], ops.Multiply(w, ops.KeepDims(scale, w, 0)))}
}

// change makes one of the calls that change the weights of one of the models.
func (d *keptRun) change(ctx context.Context) error {
	k := d.r.IntN(len(d.models))
	calls := []struct {
		name string
		call func(ctx context.Context, k int) error
	}{
		{"train on a batch", d.trainOnBatch}, {"train on a batch", d.trainOnBatch}, {"fit", d.fit}, {"fit", d.fit},
		{"set weights", d.setWeights}, {"set weights", d.setWeights}, {"set a layer's weights", d.setLayerWeights},
		{"assign", d.assign}, {"assign", d.assign}, {"save", d.save}, {"load", d.load}, {"load", d.load},
		{"freeze", d.freeze}, {"averages", d.averages}, {"fail", d.fail}, {"LoRA", d.lora}, {"quantize", d.quantize},
	}
	c := calls[d.r.IntN(len(calls))]
	d.log = append(d.log, fmt.Sprint(c.name, " ", k))
	return c.call(ctx, k)
}

func (d *keptRun) note(what ...any) { d.log[len(d.log)-1] += " " + fmt.Sprint(what...) }

// source returns examples with labels for a model.
func (d *keptRun) source(k int) *data.ArraySource {
	shape := append([]int{keptRows}, d.models[k].Outputs()[0].Shape()[1:]...)
	return data.Arrays(d.x, keptNumbers(d.t, d.r, ir.Float32, shape))
}

func (d *keptRun) compile(k int, c keras.CompileConfig) error {
	d.compiled[k] = true
	c.Loss = "mse"
	return d.models[k].Compile(c)
}

// ready compiles the model if necessary.
func (d *keptRun) ready(k int) error {
	if d.compiled[k] {
		return nil
	}
	return d.compile(k, keras.CompileConfig{Optimizer: one(d.r, "sgd", "adam", "rmsprop", "lion")})
}

func (d *keptRun) trainOnBatch(ctx context.Context, k int) error {
	if err := d.ready(k); err != nil {
		return err
	}
	_, err := d.models[k].TrainOnBatch(ctx, d.source(k))
	return err
}

func (d *keptRun) fit(ctx context.Context, k int) error {
	if err := d.ready(k); err != nil {
		return err
	}
	options := []keras.FitOption{keras.Epochs(2), keras.BatchSize(1 + d.r.IntN(keptRows))}
	switch d.r.IntN(4) {
	case 0:
		options = append(options, keras.Callbacks(&callbacks.EarlyStopping{Monitor: "loss", Patience: 1, RestoreBestWeights: true}))
	case 1:
		options = append(options, keras.ValidationData(d.source(k)))
	}
	_, err := d.models[k].Fit(ctx, d.source(k), options...)
	return err
}

// shuffled returns an array with different elements: floats in another order and slightly larger, so that variances
// stay positive, and integers in another order.
func shuffled(r *rand.Rand, a kernels.Array) kernels.Array {
	a = a.Clone()
	if a.DType().IsFloat() {
		values := a.Float64s()
		r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		for i := range values {
			values[i] += 0.1 * r.Float64() * (1 + math.Abs(values[i]))
		}
		return kernels.Must(kernels.FromFloat64s(a.DType(), a.Shape(), values))
	}
	size := len(a.Data) / max(a.Len(), 1)
	r.Shuffle(a.Len(), func(i, j int) {
		for b := range size {
			a.Data[i*size+b], a.Data[j*size+b] = a.Data[j*size+b], a.Data[i*size+b]
		}
	})
	return a
}

func (d *keptRun) setWeights(_ context.Context, k int) error {
	weights, err := d.models[k].GetWeights()
	if err != nil {
		return err
	}
	only, all := d.r.IntN(len(weights)), d.r.IntN(2) == 0
	for i := range weights {
		if all || i == only {
			weights[i] = shuffled(d.r, weights[i])
		}
	}
	return d.models[k].SetWeights(weights)
}

// pick picks a random layer that has weights.
func (d *keptRun) pick(k int, suits func(l layers.Layer) bool) layers.Layer {
	var all []layers.Layer
	layers.Walk(d.models[k], func(l layers.Layer) {
		if _, model := l.(*keras.Model); !model && len(layers.Weights(l)) > 0 && suits(l) {
			all = append(all, l)
		}
	})
	if len(all) == 0 {
		return nil
	}
	l := all[d.r.IntN(len(all))]
	d.note(layers.ClassName(l), " ", layers.Name(l))
	return l
}

func anyLayer(layers.Layer) bool { return true }

func (d *keptRun) setLayerWeights(_ context.Context, k int) error {
	l := d.pick(k, anyLayer)
	if d.r.IntN(2) == 0 { // changes what is folded into a kernel that itself stays unchanged
		if norm := d.pick(k, func(l layers.Layer) bool { return layers.ClassName(l) == "BatchNormalization" }); norm != nil {
			l = norm
		}
	}
	weights, err := d.models[k].GetLayerWeights(l)
	if err != nil {
		return err
	}
	for i := range weights {
		weights[i] = shuffled(d.r, weights[i])
	}
	return d.models[k].SetLayerWeights(l, weights)
}

func (d *keptRun) assign(context.Context, int) error {
	vars := d.models[3].Weights()
	v := vars[d.r.IntN(len(vars))]
	d.note(v.Path())
	a, err := v.Value()
	if err != nil {
		return err
	}
	a = shuffled(d.r, a)
	switch how := d.r.IntN(4); {
	case how == 0:
		return v.Assign(a)
	case how == 1 && a.DType().IsFloat():
		return v.AssignAdd(a)
	case how == 2:
		all, err := v.Components()
		if err != nil {
			return err
		}
		for i := range all {
			all[i] = a
		}
		return v.SetComponents(all)
	}
	return v.SetValue(a)
}

func (d *keptRun) save(_ context.Context, k int) error {
	path := filepath.Join(d.t.TempDir(), one(d.r, "w.weights.h5", "w.npz", "w.safetensors"))
	d.files[path] = k
	return d.models[k].SaveWeights(path)
}

func (d *keptRun) load(ctx context.Context, k int) error {
	paths := slices.Sorted(maps.Keys(d.files))
	if len(paths) == 0 {
		return d.save(ctx, k)
	}
	path := paths[d.r.IntN(len(paths))]
	d.note("of model ", d.files[path], filepath.Ext(path))
	return d.models[d.files[path]].LoadWeights(path)
}

func (d *keptRun) freeze(ctx context.Context, k int) error {
	layers.SetTrainable(d.pick(k, anyLayer), d.r.IntN(2) == 0)
	d.compiled[k] = false
	return d.trainOnBatch(ctx, k)
}

// averages trains with averages of the weights, and swaps them in.
func (d *keptRun) averages(ctx context.Context, k int) error {
	o := &optimizers.Adam{LearningRate: 0.01}
	o.UseEMA, o.EMAMomentum = true, new(0.5)
	if err := d.compile(k, keras.CompileConfig{Optimizer: o}); err != nil {
		return err
	}
	if err := d.trainOnBatch(ctx, k); err != nil {
		return err
	}
	return d.models[k].SwapEMA()
}

// fail makes calls that change nothing.
func (d *keptRun) fail(ctx context.Context, k int) error {
	if err := d.ready(k); err != nil {
		return err
	}
	ended, end := context.WithCancel(ctx)
	end()
	if _, err := d.models[k].Fit(ended, d.source(k)); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("a context that has ended: %w", err)
	}
	weights, err := d.models[k].GetWeights()
	if err != nil {
		return err
	}
	last := len(weights) - 1
	weights[0], weights[last] = shuffled(d.r, weights[0]), kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{3, 1, 1}})
	if d.models[k].SetWeights(weights) == nil {
		return errors.New("weights of a wrong shape were taken")
	}
	return nil
}

// changes applies a change to the layers, and later to those of new models; what was compiled for the old layers no
// longer fits.
func (d *keptRun) changes(f func(models []*keras.Model) error) error {
	clear(d.compiled)
	clear(d.files)
	d.changed = append(d.changed, f)
	return f(d.models)
}

func (d *keptRun) lora(_ context.Context, k int) error {
	l := d.pick(k, func(l layers.Layer) bool {
		_, ok := l.(layers.LoraEnabler)
		return ok && !slices.ContainsFunc(layers.Weights(l), func(v *distribute.Variable) bool {
			return v.Type().DType.IsInteger() || strings.HasPrefix(v.Name(), "lora_")
		})
	})
	if l == nil {
		return nil
	}
	name := layers.Name(l)
	return d.changes(func(models []*keras.Model) (err error) {
		layers.Walk(models[k], func(l layers.Layer) {
			if layers.Name(l) == name && err == nil {
				if e, ok := l.(layers.LoraEnabler); ok {
					err = e.EnableLora(4, layers.LoraOptions{BInitializer: "ones"})
				}
			}
		})
		return err
	})
}

func (d *keptRun) quantize(_ context.Context, k int) error {
	mode := one(d.r, "int8", "int8", "int4", "float8")
	if d.policy == "mixed_float16" && mode == "int8" { // float16 cannot hold its sums
		mode = "int4"
	}
	l := d.pick(k, func(l layers.Layer) bool { // not inside SpectralNormalization, which normalizes the old weights
		return layers.CanQuantize(l, mode) && layers.QuantizedBy(l) == "" && layers.Name(l) != "dense"
	})
	if l == nil {
		return nil
	}
	d.note(mode)
	name := layers.Name(l)
	return d.changes(func(models []*keras.Model) error {
		return models[k].Quantize(mode, func(l layers.Layer) bool { return layers.Name(l) == name })
	})
}
