package keras

import (
	"context"
	"fmt"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
)

// TrainOnBatch runs one training step on the examples of a and returns loss and metrics of this batch alone.
//
// Of the options only ClassWeight has a meaning here.
func (m *Model) TrainOnBatch(ctx context.Context, a *data.ArraySource, options ...FitOption) (map[string]float64, error) {
	c, err := newFitConfig("TrainOnBatch", options)
	if err != nil {
		return nil, err
	}
	return m.onBatch(ctx, "TrainOnBatch", a, true, c.classWeight)
}

// TestOnBatch returns loss and metrics of the examples of a, without training.
func (m *Model) TestOnBatch(ctx context.Context, a *data.ArraySource) (map[string]float64, error) {
	return m.onBatch(ctx, "TestOnBatch", a, false, nil)
}

// PredictOnBatch returns the model's output for the examples of a, computed as one batch. It reads the arrays of a in place, so that
// a call takes little more than the computation. It may be called from many goroutines at once.
func (m *Model) PredictOnBatch(ctx context.Context, a *data.ArraySource) (*tensor.Dense, error) {
	if a == nil || a.Err() != nil {
		return nil, fmt.Errorf("keras: PredictOnBatch: %w", sourceErr(a))
	}
	if ctx == nil || a.N() == 0 {
		return m.Predict(ctx, a) // which knows what is wrong
	}
	out, err := m.predictBatch(ctx, a)
	if err != nil {
		return nil, fmt.Errorf("keras: PredictOnBatch: %w", interrupted(ctx, err))
	}
	if len(out) != 1 {
		return nil, fmt.Errorf("keras: PredictOnBatch: model %q has %d outputs; use PredictAll", m.Name(), len(out))
	}
	return out[0], nil
}

func (m *Model) predictBatch(ctx context.Context, a *data.ArraySource) ([]*tensor.Dense, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := m.checkText(a); err != nil {
		return nil, err
	}
	b := a.All()
	p := &predictor{m: m, list: callbacks.NewList(nil, m, callbacks.Params{})}
	defer p.close()
	if err := p.batch(ctx, &b, 0); err != nil {
		return nil, err
	}
	return p.join()
}

func sourceErr(a *data.ArraySource) error {
	if a == nil {
		return fmt.Errorf("the data are nil; pass data.Arrays(x, y)")
	}
	return a.Err()
}

func (m *Model) onBatch(ctx context.Context, what string, a *data.ArraySource, train bool, classWeight map[int]float64) (map[string]float64, error) {
	if err := m.begin(ctx, what); err != nil {
		return nil, err
	}
	defer m.training.Unlock()
	logs, err := m.runBatch(ctx, a, train, classWeight)
	if err != nil {
		return nil, fmt.Errorf("keras: %s: %w", what, err)
	}
	scores := map[string]float64{}
	for _, name := range logs.Names() {
		scores[name], _ = logs.Get(name)
	}
	return scores, nil
}

func (m *Model) runBatch(ctx context.Context, a *data.ArraySource, train bool, classWeight map[int]float64) (*callbacks.Logs, error) {
	if err := sourceErr(a); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := m.checkText(a); err != nil {
		return nil, err
	}
	b := a.All()
	var p parts
	if err := m.arrange(&b, &p); err != nil {
		return nil, err
	}
	if err := m.ready(&p, classWeight); err != nil {
		return nil, err
	}
	fn := m.compiled.test
	if train {
		fn = m.compiled.train
		if err := m.prepareOptimizer(); err != nil {
			return nil, err
		}
	}
	if err := m.resetMetrics(); err != nil {
		return nil, err
	}
	feed := newFeeder(fn, m.policy.Float())
	defer feed.release()
	inst, err := feed.load(&p)
	if err != nil {
		return nil, err
	}
	run := m.inferOn
	if train {
		run = m.trainOn
	}
	if err := run(ctx, inst); err != nil {
		return nil, err
	}
	logs := newResultReader(m).logs("")
	return logs, logs.Err()
}
