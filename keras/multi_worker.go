package keras

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ErrWorkerStopped is what Fit returns on the workers of a MultiWorkerMirrored strategy when the context of another worker has ended: all stop
// after the same step.
var ErrWorkerStopped = errors.New("the context of another worker has ended, so all workers stop after the same step")

// stopGrace is how long a worker whose context has ended goes on, so that all can stop after the same step.
const stopGrace = 5 * time.Second

// together is what a trainer under a strategy over several processes needs beside: the workers agree after each step whether to go on.
type together struct {
	group  distribute.WorkerGroup // nil: one process
	outer  context.Context        // Fit's
	flags  [2]byte                // stop training; a context has ended
	values []kernels.Array
}

// join makes a trainer one of several, and returns the context for its steps: the given one, which ends a little later here.
func (t *trainer) join(ctx context.Context) (context.Context, func()) {
	g := distribute.WorkersOf(t.m.strategy)
	if g == nil {
		return ctx, func() {}
	}
	w := &t.workers
	w.group, w.outer = g, ctx
	w.values = []kernels.Array{{Type: ir.Type{DType: ir.Uint8, Shape: ir.Shape{len(w.flags)}}, Data: w.flags[:]}}
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-late.Done():
		case <-time.After(stopGrace):
			cancel(context.Cause(ctx))
		}
	})
	return late, func() {
		stop()
		cancel(nil)
	}
}

// synchronize makes all workers begin with the chief's weights, optimizer state and place in the run, which may come from a backup that
// only the chief has, and makes sure that they are about to do the same.
func (t *trainer) synchronize(ctx context.Context) error {
	g := t.workers.group
	if g == nil {
		return nil
	}
	m := t.m
	_, vars, err := m.backupVariables()
	if err != nil {
		return err
	}
	call := distribute.WorkerCall{Name: fmt.Sprintf("Fit of %q with %d weights and optimizer variables, seed %d, batch size %d, %d steps, %d epochs",
		m.Name(), len(vars), m.seed, t.c.batchSize, t.source.steps(), t.c.epochs)}
	if err := g.Agree(ctx, call); err != nil {
		return err
	}
	if err := distribute.BroadcastVariables(ctx, m.strategy, vars); err != nil {
		return err
	}
	place := []int64{int64(m.steps), int64(t.c.initialEpoch), int64(m.resumeBatch)}
	if m.resume != nil {
		place[1] = int64(*m.resume)
	}
	a := kernels.NewArray(ir.Type{DType: ir.Int64, Shape: ir.Shape{len(place)}})
	for i, n := range place {
		binary.LittleEndian.PutUint64(a.Data[8*i:], uint64(n))
	}
	if err := g.Broadcast(ctx, distribute.WorkerCall{Name: "place of the chief in the run"}, 0, []kernels.Array{a}); err != nil {
		return err
	}
	for i := range place {
		place[i] = int64(binary.LittleEndian.Uint64(a.Data[8*i:]))
	}
	epoch := int(place[1])
	m.steps, m.resume, m.resumeBatch = uint32(place[0]), &epoch, int(place[2])
	return nil
}

// boundary lets the workers agree after a step or epoch: where one stops, all do.
func (t *trainer) boundary(ctx context.Context) error {
	w := &t.workers
	if w.group == nil {
		return nil
	}
	w.flags = [2]byte{}
	if t.m.stopped.Load() {
		w.flags[0] = 1
	}
	own := w.outer.Err()
	if own != nil {
		w.flags[1] = 1
	}
	if err := w.group.AllReduce(ctx, distribute.WorkerCall{Name: "end of step"}, ir.Max, w.values); err != nil {
		return err
	}
	switch {
	case own != nil:
		return own
	case w.flags[1] != 0:
		return ErrWorkerStopped
	case w.flags[0] != 0:
		t.m.stopped.Store(true)
	}
	return nil
}

// failTogether tells the other workers of an error that only this one has, so that none waits for it.
func (m *Model) failTogether(err error) {
	if !errors.Is(err, ErrWorkerStopped) {
		distribute.FailTogether(m.strategy, err)
	}
}

// WritesFiles reports whether this process writes checkpoints and backups: with several workers only the chief does.
func (m *Model) WritesFiles() bool { return m.strategy.Extended().ShouldCheckpoint() }
