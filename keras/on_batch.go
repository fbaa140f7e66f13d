package keras

import (
	"context"
	"fmt"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
)

// TrainOnBatch runs one training step on the examples of a and returns loss and metrics of this batch alone.
func (m *Model) TrainOnBatch(ctx context.Context, a *data.ArraySource) (map[string]float64, error) {
	return m.onBatch(ctx, "TrainOnBatch", a, true)
}

// TestOnBatch returns loss and metrics of the examples of a, without training.
func (m *Model) TestOnBatch(ctx context.Context, a *data.ArraySource) (map[string]float64, error) {
	return m.onBatch(ctx, "TestOnBatch", a, false)
}

// PredictOnBatch returns the model's output for the examples of a, computed as one batch.
func (m *Model) PredictOnBatch(ctx context.Context, a *data.ArraySource) (*tensor.Dense, error) {
	if a == nil || a.Err() != nil {
		return nil, fmt.Errorf("keras: PredictOnBatch: %w", sourceErr(a))
	}
	return m.Predict(ctx, a, BatchSize(a.N()))
}

func sourceErr(a *data.ArraySource) error {
	if a == nil {
		return fmt.Errorf("the data are nil; pass data.Arrays(x, y)")
	}
	return a.Err()
}

func (m *Model) onBatch(ctx context.Context, what string, a *data.ArraySource, train bool) (map[string]float64, error) {
	if m.compiled == nil {
		return nil, m.errNotCompiled(what)
	}
	if !m.training.TryLock() {
		return nil, fmt.Errorf("keras: %s: model %q is training in another goroutine; wait for it to end", what, m.Name())
	}
	defer m.training.Unlock()
	logs, err := m.runBatch(ctx, a, train)
	if err != nil {
		return nil, fmt.Errorf("keras: %s: %w", what, err)
	}
	scores := map[string]float64{}
	for _, name := range logs.Names() {
		scores[name], _ = logs.Get(name)
	}
	return scores, nil
}

func (m *Model) runBatch(ctx context.Context, a *data.ArraySource, train bool) (*callbacks.Logs, error) {
	if err := sourceErr(a); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	b := a.All()
	var p parts
	if err := m.arrange(&b, &p); err != nil {
		return nil, err
	}
	if err := m.ready(&p, nil); err != nil {
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
	if err := inst.Run(ctx, m.seed, m.steps); err != nil {
		return nil, err
	}
	if train {
		m.steps++
	}
	logs := newResultReader(m).logs("")
	return logs, logs.Err()
}
