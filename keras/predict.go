package keras

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Predict returns the model's output for each example, with the batches concatenated along axis 0. It may be called
// from many goroutines at once. Half-precision outputs are returned as float32. For models with several outputs use
// PredictAll.
//
// A model that draws random numbers in predictions (Monte-Carlo dropout with [layers.ApplyWith], a layer that samples)
// draws new numbers for each batch of each call. The numbers for its n-th batch depend only on its seed and n, not on
// training in between. So models of equal seeds agree if they receive equal calls in equal order, and a model that was
// just created, cloned or loaded begins with the first numbers. With several goroutines it is not defined whose batch
// is the n-th.
//
// Once a batch shape has been seen, examples in memory ([data.Arrays]) are predicted without heap allocations except
// those of the result itself; [Model.PredictOnBatchInto] avoids these too.
func (m *Model) Predict(ctx context.Context, ds data.Dataset, options ...PredictOption) (data.Array, error) {
	if p := m.direct(ctx, ds, options); p != nil {
		defer m.finish(p)
		if err := p.run(ctx); err != nil {
			return data.Array{}, p.failed(ctx, "Predict", err)
		}
		return p.single("Predict")
	}
	all, err := m.PredictAll(ctx, ds, options...)
	if err != nil {
		return data.Array{}, err
	}
	if len(all) != 1 {
		return data.Array{}, fmt.Errorf("keras: Predict: model %q has %d outputs; use PredictAll", m.Name(), len(all))
	}
	return all[0], nil
}

// PredictRows is Predict returning plain Go slices: one row for each example, with the other axes flattened in
// row-major order. For other types of numbers see [data.Rows].
func (m *Model) PredictRows(ctx context.Context, ds data.Dataset, options ...PredictOption) ([][]float32, error) {
	d, err := m.Predict(ctx, ds, options...)
	if err != nil {
		return nil, err
	}
	return data.Rows[float32](d)
}

// PredictAll is Predict for models with any number of outputs.
func (m *Model) PredictAll(ctx context.Context, ds data.Dataset, options ...PredictOption) ([]data.Array, error) {
	if p := m.direct(ctx, ds, options); p != nil {
		defer m.finish(p)
		if err := p.run(ctx); err != nil {
			return nil, p.failed(ctx, "Predict", err)
		}
		all, err := p.all()
		return all, prefixed("Predict", err)
	}
	c, err := newFitConfig("Predict", options, PredictOption.applyPredict)
	if err != nil {
		return nil, err
	}
	if ctx == nil {
		return nil, fmt.Errorf("keras: Predict: the context is nil; pass context.Background()")
	}
	src, err := m.newSource(ds, c, c.batchSize, c.steps, 0)
	if err != nil {
		return nil, err
	}
	defer src.close()
	all := append([]callbacks.Callback{}, c.callbacks...)
	if c.verbose > 0 {
		all = append(all, callbacks.NewProgbarLogger(c.verbose, c.output))
	}
	p := &predictor{prediction: m.newPrediction(), nan: c.nanCheck(), list: callbacks.NewList(all, m, callbacks.Params{Verbose: c.verbose, Epochs: 1, Steps: src.steps()})}
	defer m.finish(p.prediction)
	out, err := p.run(p.list.Context(ctx), src)
	if err != nil {
		return nil, p.failed(ctx, "Predict", err)
	}
	return out, nil
}

// predictor makes predictions for a dataset, with callbacks.
type predictor struct {
	*prediction
	list *callbacks.List
	nan  nanCheck
}

func (p *predictor) run(ctx context.Context, src source) ([]data.Array, error) {
	looksForNaN(src, true)
	if err := src.begin(ctx, 0); err != nil {
		return nil, err
	}
	err := p.list.Each(func(cb callbacks.Callback) error { return cb.OnPredictBegin() })
	if err == nil {
		err = p.batches(ctx, src)
	}
	if err != nil {
		p.list.Fail(err)
	}
	err = errors.Join(err, p.list.EachAlways(func(cb callbacks.Callback) error { return cb.OnPredictEnd() }))
	if err != nil {
		return nil, err
	}
	return p.all()
}

func (p *predictor) batches(ctx context.Context, src source) error {
	step := 0
	for limit := src.steps(); limit < 0 || step < limit; step++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		b, err := src.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if err := p.batch(ctx, src, b, step); err != nil {
			return fmt.Errorf("batch %d: %w", step, err)
		}
	}
	if step == 0 {
		return fmt.Errorf("the data are empty; expected at least one batch")
	}
	return nil
}

func (p *predictor) batch(ctx context.Context, src source, b *data.Batch, step int) error {
	if err := p.list.Each(func(cb callbacks.Callback) error { return cb.OnPredictBatchBegin(step) }); err != nil {
		return err
	}
	p.parts.from(src, b)
	if err := p.m.arrangeInputs(b, &p.parts); err != nil {
		return err
	}
	if err := p.nan.look(p.m, &p.parts, func() string { return fmt.Sprintf("Predict: batch %d", step) }, spoilsPrediction); err != nil {
		return err
	}
	if err := p.compute(ctx, 0, p.parts.rows()); err != nil {
		return err
	}
	return p.list.Each(func(cb callbacks.Callback) error { return cb.OnPredictBatchEnd(step) })
}

// predictFunction builds the model for the inputs and returns its forward function.
func (m *Model) predictFunction(p *parts) (*distribute.Function, error) {
	types, _, err := p.types(m.policy.Float())
	if err != nil {
		return nil, err
	}
	if err := m.build(types); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.predict == nil {
		m.predict = distribute.NewProcessFunction(m.strategy, "predict_step", func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
			outputs := m.outputs(m.context(r, false), in)
			for i, y := range outputs {
				if y.DType().IsHalf() {
					outputs[i] = ops.Cast(y, ir.Float32)
				}
			}
			return outputs
		})
	}
	return m.predict, nil
}
