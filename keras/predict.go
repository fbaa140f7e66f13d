package keras

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Predict returns the model's output for each example, batches joined along axis 0. It may be called from many goroutines at
// once. Half precision outputs come back as float32. Models with several outputs have them all from PredictAll.
func (m *Model) Predict(ctx context.Context, ds data.Dataset, options ...FitOption) (*tensor.Dense, error) {
	all, err := m.PredictAll(ctx, ds, options...)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, fmt.Errorf("keras: Predict: model %q has %d outputs; use PredictAll", m.Name(), len(all))
	}
	return all[0], nil
}

// PredictAll is Predict for models with any number of outputs.
func (m *Model) PredictAll(ctx context.Context, ds data.Dataset, options ...FitOption) ([]*tensor.Dense, error) {
	c, err := newFitConfig("Predict", options)
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
	p := &predictor{m: m, list: callbacks.NewList(all, m, callbacks.Params{Verbose: c.verbose, Epochs: 1, Steps: src.steps()})}
	defer p.close()
	out, err := p.run(ctx, src)
	if err != nil {
		return nil, fmt.Errorf("keras: Predict: %w", interrupted(ctx, err))
	}
	return out, nil
}

type predictor struct {
	m      *Model
	list   *callbacks.List
	feed   *feeder
	parts  parts
	types  []ir.Type // of the outputs
	chunks [][]byte  // what was computed so far
	rows   int
}

func (p *predictor) close() {
	if p.feed != nil {
		p.feed.release()
	}
}

func (p *predictor) run(ctx context.Context, src source) ([]*tensor.Dense, error) {
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
	return p.join()
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
		if err := p.batch(ctx, b, step); err != nil {
			return fmt.Errorf("batch %d: %w", step, err)
		}
	}
	if step == 0 {
		return fmt.Errorf("the data are empty; expected at least one batch")
	}
	return nil
}

func (p *predictor) batch(ctx context.Context, b *data.Batch, step int) error {
	if err := p.list.Each(func(cb callbacks.Callback) error { return cb.OnPredictBatchBegin(step) }); err != nil {
		return err
	}
	if err := p.m.arrangeInputs(b, &p.parts); err != nil {
		return err
	}
	if p.feed == nil {
		f, err := p.m.predictFunction(&p.parts)
		if err != nil {
			return err
		}
		p.feed = newFeeder(f, p.m.policy.Float())
	}
	inst, err := p.feed.load(&p.parts)
	if err != nil {
		return err
	}
	if err := p.m.inferOn(ctx, inst); err != nil {
		return err
	}
	if err := p.collect(inst); err != nil {
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
			outputs := m.outputs(r, false, in)
			for i, y := range outputs {
				if d := y.DType(); d == ir.Float16 || d == ir.BFloat16 {
					outputs[i] = ops.Cast(y, ir.Float32)
				}
			}
			return outputs
		})
	}
	return m.predict, nil
}

// collect appends the replicas' results in order.
func (p *predictor) collect(inst *distribute.Instance) error {
	n := len(p.m.outputTypes)
	if p.types == nil {
		p.chunks = make([][]byte, n)
		for i := range n {
			p.types = append(p.types, inst.Output(0, i).Type())
		}
	}
	for replica, rows := range p.feed.sizes {
		for i := range n {
			b := inst.Output(replica, i)
			if !b.Type().Shape[1:].Equal(p.types[i].Shape[1:]) {
				return fmt.Errorf("output %d has shape %v in one batch and %v in another; they cannot be joined", i, p.types[i].Shape, b.Type().Shape)
			}
			from := len(p.chunks[i])
			p.chunks[i] = append(p.chunks[i], make([]byte, b.Type().Bytes())...)
			if err := b.Read(p.chunks[i][from:]); err != nil {
				return err
			}
		}
		p.rows += rows
	}
	return nil
}

func (p *predictor) join() ([]*tensor.Dense, error) {
	out := make([]*tensor.Dense, len(p.types))
	for i, t := range p.types {
		row := t.Shape[1:].Size() * t.DType.Size()
		n := p.rows
		if row > 0 {
			n = len(p.chunks[i]) / row
		}
		a := kernels.Array{Type: ir.Type{DType: t.DType, Shape: append(ir.Shape{n}, t.Shape[1:]...)}, Data: p.chunks[i]}
		var err error
		if out[i], err = toDense(a); err != nil {
			return nil, err
		}
	}
	return out, nil
}
