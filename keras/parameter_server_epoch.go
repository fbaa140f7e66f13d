package keras

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"sort"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/optimizers"
)

// serverStep is what the coordinator tells a worker about a step.
type serverStep struct {
	Rate   float64
	Number int64 // of the update; random numbers depend on it
	Since  int64 // number of earlier steps of this call
	Batch  int   // synchronous training: number of the batch since Fit began; -1: the worker's next batch
	Part   int
	Round  uint64 // of synchronous training; 0: none
}

// epoch runs the steps of an epoch on the workers, and collects their metrics and the trained weights.
func (f *serverFit) epoch(ctx context.Context, epoch int) error {
	t := f.t
	f.sums = make([][]float64, len(f.metrics))
	f.watched = t.list.WantsBatches()
	first := t.skipped
	t.skipped = 0
	replicas, backups := f.job.Rounds()
	for step := first; step < t.c.steps; step++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		var err error
		if f.watched {
			err = t.list.Each(func(cb callbacks.Callback) error { return cb.OnTrainBatchBegin(step) })
		}
		switch {
		case err != nil:
		case replicas > 0:
			err = f.trainRound(ctx, epoch, step, replicas, backups)
		default:
			err = f.trainStep(ctx, step)
		}
		if err != nil {
			return err
		}
		t.trained++
		if t.stopping() {
			break
		}
	}
	if err := f.collect(ctx, 0); err != nil {
		return err
	}
	if err := f.fetch(ctx, false); err != nil {
		return err
	}
	return f.publish()
}

// publish sets this process's metrics to what the workers have measured.
func (f *serverFit) publish() error {
	for i, v := range f.metrics {
		if f.sums[i] == nil {
			continue
		}
		a, err := kernels.FromFloat64s(v.Type().DType, v.Type().Shape, f.sums[i])
		if err == nil {
			err = v.SetValue(a)
		}
		if err != nil {
			return err
		}
	}
	f.t.m.measured.Add(1)
	return nil
}

// pendingStep is a step that runs on a worker.
type pendingStep struct {
	parameters.Pending
	step int // of the epoch
}

// batchEnd calls the hooks for the end of a batch, when the coordinator learns of it. Later batches have begun by then.
func (f *serverFit) batchEnd(step int) error {
	if !f.watched {
		return nil
	}
	if err := f.publish(); err != nil {
		return err
	}
	logs := f.t.results.batchLogs()
	return f.t.list.Each(func(cb callbacks.Callback) error { return cb.OnTrainBatchEnd(step, logs) })
}

// ahead is the maximum number of closures that wait or run: enough for all workers, but not a queue for a whole epoch.
func (f *serverFit) ahead() int { return 8 * f.job.Workers() }

// trainStep schedules one step, for any worker and that worker's next batch.
func (f *serverFit) trainStep(ctx context.Context, step int) error {
	rate, err := optimizers.ServerRate(f.optimizer(), f.steps)
	if err != nil {
		return err
	}
	p, err := f.schedule(ctx, serverStep{Rate: rate, Number: f.steps, Since: f.steps - f.begun, Batch: -1})
	if err != nil {
		return err
	}
	f.pending = append(f.pending, pendingStep{p, step})
	f.steps++
	return f.collect(ctx, f.ahead())
}

// trainRound runs a round of synchronous training.
func (f *serverFit) trainRound(ctx context.Context, epoch, step, replicas, backups int) error {
	rate, err := optimizers.ServerRate(f.optimizer(), f.steps)
	if err != nil {
		return err
	}
	all := replicas + backups
	round := f.job.Round()
	ends := make(chan partEnd, all)
	for part := range all {
		batch := (epoch*f.t.c.steps+step)*all + part
		p, err := f.schedule(ctx, serverStep{Rate: rate, Number: int64(batch), Batch: batch, Part: part, Round: round})
		if err != nil {
			return err
		}
		go func() {
			value, err := p.Fetch(ctx)
			ends <- partEnd{part, value, err}
		}()
	}
	f.steps++
	var first []partEnd // the slowest may continue, but their results come too late
	for len(first) < replicas {
		end := <-ends // Fetch ends with ctx
		if end.err != nil {
			return f.failure(ctx, end.err)
		}
		first = append(first, end)
	}
	sort.Slice(first, func(i, j int) bool { return first[i].part < first[j].part })
	var parts []int
	for _, end := range first {
		parts = append(parts, end.part)
		if err := f.measure(end.value); err != nil {
			return err
		}
	}
	if err := f.job.Settle(ctx, parts); err != nil {
		return err
	}
	return f.batchEnd(step)
}

// partEnd says how the computation of a part of a round ended.
type partEnd struct {
	part  int
	value []byte
	err   error
}

func (f *serverFit) schedule(ctx context.Context, s serverStep) (parameters.Pending, error) {
	argument, err := encoded(s)
	if err != nil {
		return nil, err
	}
	return f.job.Schedule(ctx, f.name("step"), argument, -1)
}

// collect takes the results of closures until at most open of them are pending.
func (f *serverFit) collect(ctx context.Context, open int) error {
	for len(f.pending) > open {
		value, err := f.pending[0].Fetch(ctx)
		if err != nil {
			return f.failure(ctx, err)
		}
		step := f.pending[0].step
		f.pending = f.pending[1:]
		if err := f.measure(value); err != nil {
			return err
		}
		if err := f.batchEnd(step); err != nil {
			return err
		}
	}
	return nil
}

// failure returns why a closure failed.
func (f *serverFit) failure(ctx context.Context, err error) error {
	if errors.Is(err, parameters.ErrCancelled) || ctx.Err() == nil {
		f.pending = nil
		if first := f.job.Join(ctx); first != nil {
			return first // that of the closure that failed
		}
	}
	return err
}

// measure adds the metrics of a step.
func (f *serverFit) measure(value []byte) error {
	var got [][]float64
	if err := gob.NewDecoder(bytes.NewReader(value)).Decode(&got); err != nil {
		return fmt.Errorf("keras: Fit: the result of a step: %w", err)
	}
	if len(got) != len(f.metrics) {
		return fmt.Errorf("keras: Fit: a worker measures %d numbers where the coordinator has %d; run the same program everywhere", len(got), len(f.metrics))
	}
	for i, numbers := range got {
		if len(numbers) != f.metrics[i].Size() {
			return fmt.Errorf("keras: Fit: a worker's metric %s has %d numbers, the coordinator's %d; run the same program everywhere", f.metrics[i].Path(), len(numbers), f.metrics[i].Size())
		}
		if f.sums[i] == nil {
			f.sums[i] = make([]float64, len(numbers))
		}
		for j, x := range numbers {
			f.sums[i][j] += x
		}
	}
	return nil
}
