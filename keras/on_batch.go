package keras

import (
	"context"
	"fmt"
	"os"

	"github.com/gokeras/gokeras/data"
)

// TrainOnBatch runs one training step on the examples of a, and returns the loss and metrics of this batch alone. The
// options are ClassWeight, RefuseNaN and ProgressOutput.
func (m *Model) TrainOnBatch(ctx context.Context, a *data.ArraySource, options ...TrainOnBatchOption) (map[string]float64, error) {
	var c *fitConfig // nil: not needed
	if len(options) > 0 {
		var err error
		if c, err = newFitConfig("TrainOnBatch", options, TrainOnBatchOption.applyTrainOnBatch); err != nil {
			return nil, err
		}
	}
	return m.onBatch(ctx, "TrainOnBatch", c, a, true)
}

// TestOnBatch returns the loss and metrics of the examples of a, without training. The options are RefuseNaN and
// ProgressOutput.
func (m *Model) TestOnBatch(ctx context.Context, a *data.ArraySource, options ...TestOnBatchOption) (map[string]float64, error) {
	var c *fitConfig // nil: not needed
	if len(options) > 0 {
		var err error
		if c, err = newFitConfig("TestOnBatch", options, TestOnBatchOption.applyTestOnBatch); err != nil {
			return nil, err
		}
	}
	return m.onBatch(ctx, "TestOnBatch", c, a, false)
}

// PredictOnBatch returns the model's output for the examples of a, computed as one batch. It reads the arrays of a in
// place, so a call takes little more time than the computation. Many goroutines may call it at once.
func (m *Model) PredictOnBatch(ctx context.Context, a *data.ArraySource) (data.Array, error) {
	if a == nil || a.Err() != nil {
		return data.Array{}, prefixed("PredictOnBatch", sourceErr(a))
	}
	if ctx == nil {
		return m.Predict(ctx, a) // which reports what is wrong
	}
	p := m.newPrediction()
	defer m.finish(p)
	if err := p.onBatch(ctx, a); err != nil {
		return data.Array{}, p.failed(ctx, "PredictOnBatch", err)
	}
	return p.single("PredictOnBatch")
}

// PredictOnBatchInto is [Model.PredictOnBatch], but writes the outputs into arrays supplied by the caller, one for each
// output of the model in order. Each must have the output's element type (float32 for half precision) and its shape,
// with the examples of a on axis 0, and be dense and row-major. The arrays that PredictOnBatch returns can be passed in
// repeatedly. After the first call for a shape of examples, calls allocate nothing on the heap if the arrays of a are
// row-major and the model does not begin with a layer that runs on the host (text).
//
// To predict new values without allocations, keep a and write the values into the arrays from which it was created.
// Calls from several goroutines need separate arrays. After an error the arrays may hold old values, new values, or
// both.
func (m *Model) PredictOnBatchInto(ctx context.Context, a *data.ArraySource, into ...data.Array) error {
	if a == nil || a.Err() != nil {
		return prefixed("PredictOnBatchInto", sourceErr(a))
	}
	if ctx == nil {
		return fmt.Errorf("keras: PredictOnBatchInto: the context is nil; pass context.Background()")
	}
	p := m.newPrediction()
	defer m.finish(p)
	if err := p.takeResults(into); err != nil {
		return p.failed(ctx, "PredictOnBatchInto", err)
	}
	if err := p.onBatch(ctx, a); err != nil {
		return p.failed(ctx, "PredictOnBatchInto", err)
	}
	return nil
}

func sourceErr(a *data.ArraySource) error {
	if a == nil {
		return fmt.Errorf("the data are nil; pass data.Arrays(x, y)")
	}
	return a.Err()
}

func (m *Model) onBatch(ctx context.Context, what string, c *fitConfig, a *data.ArraySource, train bool) (map[string]float64, error) {
	if err := m.begin(ctx, what); err != nil {
		return nil, err
	}
	defer m.training.Unlock()
	r := m.takeBatchRun(train)
	if c == nil {
		r.plain = fitConfig{what: what, epochs: 1, validationEvery: 1, output: os.Stdout}
		c = &r.plain
	}
	scores, err := m.runBatch(ctx, r, c, a, train)
	if err != nil {
		r.close()
		return nil, prefixed(what, err)
	}
	m.putBatchRun(r, train)
	return scores, nil
}

// partsOf prepares the model for the examples of a, and checks them.
func (m *Model) partsOf(ctx context.Context, r *batchRun, c *fitConfig, a *data.ArraySource, train bool) (*parts, error) {
	if err := sourceErr(a); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := m.checkText(a); err != nil {
		return nil, err
	}
	if a.N() == 0 {
		return nil, fmt.Errorf("the arrays hold no examples; expected at least one")
	}
	r.batch = a.All()
	p := &r.parts
	if err := m.arrange(&r.batch, p); err != nil {
		return nil, err
	}
	if !m.fitsLast(r, c.classWeight, train) {
		if err := m.ready(p, c.classWeight, train, !train); err != nil {
			return nil, err
		}
		r.metrics = m.compiled.allMetrics()
	}
	if err := m.lookAtOne(p, c, train); err != nil {
		return nil, err
	}
	if train {
		if err := m.prepareTraining(); err != nil {
			return nil, err
		}
		if err := m.prepareTables(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (m *Model) runBatch(ctx context.Context, r *batchRun, c *fitConfig, a *data.ArraySource, train bool) (map[string]float64, error) {
	p, err := m.partsOf(ctx, r, c, a, train)
	if err != nil {
		return nil, err
	}
	if err := m.resetAll(r.metrics); err != nil {
		return nil, err
	}
	inst, err := r.load(m, train)
	if err != nil {
		return nil, err
	}
	if train {
		err = m.trainOn(ctx, inst, 1)
	} else {
		err = m.testOn(ctx, inst)
	}
	if err != nil {
		return nil, err
	}
	if train {
		if err := m.trainRows(inst, p, r.binder); err != nil {
			return nil, err
		}
	}
	return r.results.scores()
}

// lookAtOne checks a batch for labels and numbers that could only spoil the result. It reports NaN once.
func (m *Model) lookAtOne(p *parts, c *fitConfig, train bool) error {
	if err := m.checkLabels(p); err != nil {
		return err
	}
	then := spoilsScores
	if train {
		then = spoilsTraining
	}
	check := c.nanCheck()
	check.told, check.toldCut = m.toldNaN, m.toldCut
	err := check.look(m, p, func() string { return c.what }, then)
	m.toldNaN, m.toldCut = check.told, check.toldCut
	return err
}
