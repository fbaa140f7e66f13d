package keras

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ErrWorkerStopped is what Fit returns on the workers of a MultiWorkerMirrored strategy when the context of another
// worker has ended: all stop after the same step.
var ErrWorkerStopped = fmt.Errorf("the context of another worker has ended, so all workers stop after the same step: %w", callbacks.ErrStopped)

// stopGrace is how long a worker continues after its context has ended, so that all can stop after the same step.
const stopGrace = 5 * time.Second

// together is what a trainer needs besides under a strategy over several processes: after each step the workers agree
// whether to continue.
type together struct {
	group  distribute.WorkerGroup
	outer  context.Context      // the context of Fit
	flags  [3]byte              // stop training; a context has ended; workers are waiting to join
	sent   [3 + 2*sumBytes]byte // flags and checksums
	values []kernels.Array      // sent, as an array

	compares bool    // compare what the callbacks left at the end of an epoch
	part     [4]byte // one part of a checksum

	riding rider     // nil: the group cannot reduce flags together with sums
	rides  [4]byte   // flags reduced together with a sum of the step, and whether a worker asks to agree after the step
	own    error     // error of the outer context when the flags were sent
	ridden bool      // they have been reduced
	began  time.Time // the last step that sent them along
}

// rider is a group that reduces the workers' flags together with the next sum of a program, so that agreeing on them
// takes no call of its own. Whether it did is the same on all workers.
type rider interface {
	Attach(flags []byte)
	Attached() bool
}

// join makes a trainer one of several, and returns the context for its steps: the given one, but it ends a little
// later.
func (t *trainer) join(ctx context.Context, g distribute.WorkerGroup) (context.Context, func()) {
	w := &together{group: g, outer: ctx}
	w.riding, _ = g.(rider)
	t.workers = w
	w.values = []kernels.Array{{Type: ir.Type{DType: ir.Uint8, Shape: ir.Shape{len(w.sent)}}, Data: w.sent[:]}}
	if s, ok := t.m.strategy.(*distribute.MultiWorkerMirroredStrategy); ok && (s.Recovers() || t.backsUp() && s.Recover()) {
		t.recovery = t.now.recoveryOf(t, s)
	}
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

// backsUp reports whether there is a BackupAndRestore callback, which requires that training survives the loss of a
// worker.
func (t *trainer) backsUp() bool {
	return slices.ContainsFunc(t.c.callbacks, func(c callbacks.Callback) bool {
		_, ok := c.(*callbacks.BackupAndRestore)
		return ok
	})
}

// describe returns what must be equal on all workers for a Fit.
func (t *trainer) describe() string {
	text := fmt.Sprintf("batch size %d, %d steps, %d epochs", t.c.batchSize, t.source.steps(), t.c.epochs)
	if _, inMemory := t.source.(*loaderSource); inMemory {
		text += ", " + t.c.order()
	}
	return text
}

// describe returns what must be equal on all workers for a model.
func (m *Model) describe(vars distribute.Variables) string {
	return fmt.Sprintf("%q with %d weights and optimizer variables, seed %d", m.Name(), len(vars), m.seed)
}

// synchronize makes all workers begin with the chief's weights, optimizer state and position, which may come from a
// backup that only the chief has. It also checks that they are about to do the same.
func (t *trainer) synchronize(ctx context.Context) error {
	if t.servers != nil {
		return t.servers.place(ctx)
	}
	if t.workers == nil {
		return nil
	}
	if t.recovery == nil {
		return t.begin(ctx)
	}
	return t.recovery.enter(ctx)
}

// begin takes over the state of the chief.
func (t *trainer) begin(ctx context.Context) error {
	g, m := t.workers.group, t.m
	_, vars, err := m.backupVariables()
	if err != nil {
		return err
	}
	what := ""
	if t.recovery != nil {
		what = ", which outlives lost workers"
	}
	call := distribute.WorkerCall{Name: fmt.Sprintf("Fit of %s, %s%s", m.describe(vars), t.describe(), what)}
	if err := g.Agree(ctx, call); err != nil {
		return err
	}
	if err := m.takeVariables(ctx, vars, 0); err != nil {
		return err
	}
	if t.now.resume == nil {
		t.now.resume = &progress{Epoch: t.c.initialEpoch}
	}
	if err := t.takeProgress(ctx); err != nil {
		return err
	}
	return t.takeCallbacks(ctx)
}

// takeCallbacks restores the callbacks of all workers from the state that the chief's callbacks loaded from a backup.
func (t *trainer) takeCallbacks(ctx context.Context) error {
	g := t.workers.group
	var data []byte
	if g.Rank() == 0 && len(t.now.remembered) > 0 {
		var b bytes.Buffer
		if err := gob.NewEncoder(&b).Encode(t.now.remembered); err != nil {
			return err
		}
		data = b.Bytes()
	}
	data, err := broadcastBytes(ctx, g, 0, data)
	if err != nil || len(data) == 0 {
		return err
	}
	var states []callbackState
	if err := gob.NewDecoder(bytes.NewReader(data)).Decode(&states); err != nil {
		return fmt.Errorf("what the callbacks of the chief remember cannot be read: %w", err)
	}
	return setCallbackStates(t.all, states)
}

// takeVariables copies the values of variables from one worker to all.
func (m *Model) takeVariables(ctx context.Context, vars distribute.Variables, root int) error {
	mirrored, values, err := distribute.ReceiveVariables(ctx, m.strategy, vars, root)
	if err != nil {
		return fmt.Errorf("taking over the variables of worker %d: %w", root, err)
	}
	if distribute.WorkersOf(m.strategy).Rank() == root {
		return nil
	}
	return m.writeAll(mirrored, values)
}

// takeProgress copies the chief's position, and the metrics of a partial epoch, to all workers.
func (t *trainer) takeProgress(ctx context.Context) error {
	m, p := t.m, t.now.resume
	numbers := []int64{int64(m.steps), int64(p.Epoch), int64(p.Done), int64(p.PassEpoch), int64(p.PassDone), 0, 0}
	if p.HasPass {
		numbers[5] = 1
	}
	if p.Measured {
		numbers[6] = int64(t.now.measures.replicas)
	}
	a := kernels.NewArray(ir.Type{DType: ir.Int64, Shape: ir.Shape{len(numbers)}})
	for i, n := range numbers {
		binary.LittleEndian.PutUint64(a.Data[8*i:], uint64(n))
	}
	g := t.workers.group
	if err := g.Broadcast(ctx, distribute.WorkerCall{Name: "place of the chief in the run"}, 0, []kernels.Array{a}); err != nil {
		return err
	}
	for i := range numbers {
		numbers[i] = int64(binary.LittleEndian.Uint64(a.Data[8*i:]))
	}
	n := func(i int) int { return int(numbers[i]) }
	m.steps = uint32(numbers[0])
	t.now.resume = &progress{Epoch: n(1), Done: n(2), PassEpoch: n(3), PassDone: n(4), HasPass: n(5) != 0, Measured: n(6) != 0}
	if n(6) == 0 {
		return nil
	}
	data := make([]byte, n(6)*bytesOf(m.metricVariables()))
	if g.Rank() == 0 {
		copy(data, t.now.measures.data)
	}
	t.now.measures = measures{n(6), data}
	return g.Broadcast(ctx, distribute.WorkerCall{Name: "metrics of the chief"}, 0, []kernels.Array{bytesArray(data)})
}

// boundary lets the workers agree after a step or epoch: if one stops, all stop. Waiting workers are admitted.
func (t *trainer) boundary(ctx context.Context) error {
	if t.recovery != nil {
		return t.recovery.boundary(ctx)
	}
	return t.agreeToGoOn(ctx)
}

// epochBoundary is boundary at the end of an epoch. The workers also check that their callbacks left them with equal
// learning rates, which each applies to its gradients itself, and equal weights.
func (t *trainer) epochBoundary(ctx context.Context) error {
	t.workers.compares, t.workers.ridden = true, false
	return t.boundary(ctx)
}

// attach sends this worker's flags along with the next step. All agree after the step instead if the step is not one of
// Fit, or in two cases that cannot wait for the next batch: a callback may ask to stop when it is told of the batch,
// and the end of a context must not wait for steps so long that stopGrace has room for few.
func (t *trainer) attach() {
	w := t.workers
	if w == nil || w.riding == nil || t.recovery != nil || t.m.compiled.config.StepsPerExecution != 1 {
		return
	}
	w.own = t.ownFlags()
	copy(w.rides[:], w.flags[:])
	w.rides[3] = 0
	last := w.began
	w.began = time.Now()
	if t.list.WantsBatches() || w.began.Sub(last) > stopGrace/4 {
		w.rides[3] = 1
	}
	w.riding.Attach(w.rides[:])
}

// detach notes whether the step has reduced the flags.
func (t *trainer) detach() {
	if w := t.workers; w != nil && w.riding != nil {
		w.ridden = w.riding.Attached() && w.rides[3] == 0
	}
}

// ownFlags sets the flags of this worker, and returns the error of its context.
func (t *trainer) ownFlags() error {
	w := t.workers
	w.flags = [3]byte{}
	if t.now.stopped.Load() {
		w.flags[0] = 1
	}
	own := w.outer.Err()
	if own != nil {
		w.flags[1] = 1
	}
	return own
}

// agreeToGoOn reduces the flags of all workers, if the step has not done so.
func (t *trainer) agreeToGoOn(ctx context.Context) error {
	w := t.workers
	if w.ridden {
		w.ridden = false
		copy(w.flags[:], w.rides[:])
		return t.goOnAs(w.own)
	}
	return t.joinFlags(ctx)
}

// joinFlags reduces the flags in a call of their own, and at the end of an epoch the checksums.
func (t *trainer) joinFlags(ctx context.Context) error {
	w := t.workers
	own := t.ownFlags()
	if t.recovery != nil && t.recovery.group.Pending() {
		w.flags[2] = 1
	}
	sums := w.sent[copy(w.sent[:], w.flags[:]):]
	clear(sums)
	if w.compares {
		sum, err := t.sum()
		if err != nil {
			return err
		}
		putSum(sums, sum)
	}
	if err := w.group.AllReduce(ctx, distribute.WorkerCall{Name: "end of step"}, ir.Max, w.values); err != nil {
		return err
	}
	copy(w.flags[:], w.sent[:])
	w.compares = false
	if !oneSum(sums) {
		if err := t.unlike(ctx); err != nil {
			return err
		}
	}
	return t.goOnAs(own)
}

// goOnAs acts on the combined flags. own is the error of this worker's context.
func (t *trainer) goOnAs(own error) error {
	w := t.workers
	switch {
	case own != nil:
		return own
	case w.flags[1] != 0:
		return ErrWorkerStopped
	case w.flags[0] != 0:
		t.now.stopped.Store(true)
	}
	return nil
}

// failTogether tells the other workers about an error that only this one has, so that none waits for it.
func (m *Model) failTogether(err error) {
	if !errors.Is(err, ErrWorkerStopped) {
		distribute.FailTogether(m.strategy, err)
	}
}

// WritesFiles reports whether this process writes checkpoints and backups: of several workers only the chief does. A
// worker that joined later writes none in a Fit that was already over.
func (m *Model) WritesFiles() bool {
	return m.strategy.Extended().ShouldCheckpoint() && !m.late()
}

// JoinsRunningJob reports whether this process has joined workers that were already training, and has not caught up
// with their Fit yet. Callbacks call it when a run begins, to append to existing files.
func (m *Model) JoinsRunningJob() bool {
	s, ok := m.strategy.(*distribute.MultiWorkerMirroredStrategy)
	return ok && s.Joining() || m.late()
}

// late reports whether the other workers are in a later Fit than this one.
func (m *Model) late() bool {
	r := m.lastRun().recovery
	return r != nil && r.machine.Late()
}
