package estimator

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// This file is what a session does under a strategy over several processes (distribute/multiworker). All begin at the
// chief's state, so ModelDir need not be a shared folder.

// workers returns the group of processes, or nil if this process runs alone.
func (s *Session) workers() distribute.WorkerGroup { return distribute.WorkersOf(s.strategy) }

// leads reports whether this process reads checkpoints.
func (s *Session) leads() bool {
	g := s.workers()
	return g == nil || g.Rank() == 0
}

// agree makes all workers begin at the chief's step, and checks that they are to make the same number of steps.
func (s *Session) agree(ctx context.Context, o *options) error {
	g := s.workers()
	if g == nil {
		return nil
	}
	a := kernels.NewArray(ir.Type{DType: ir.Int64, Shape: ir.Shape{1}})
	binary.LittleEndian.PutUint64(a.Data, uint64(s.step))
	call := distribute.WorkerCall{Name: fmt.Sprintf("begin of the estimator's %s %s, seed %d", s.mode, o.extent(), s.estimator.config.TFRandomSeed)}
	if err := g.Broadcast(ctx, call, 0, []kernels.Array{a}); err != nil {
		return err
	}
	s.step = int64(binary.LittleEndian.Uint64(a.Data))
	return nil
}

// agreeOnEnd determines a common last step. Workers count their steps from where each of them began; a worker that
// replaced a lost one began later, and ends where the others do.
func (s *Session) agreeOnEnd(ctx context.Context, o *options) error {
	g := s.workers()
	if g == nil || o.steps == nil {
		return nil
	}
	a := kernels.NewArray(ir.Type{DType: ir.Int64, Shape: ir.Shape{1}})
	binary.LittleEndian.PutUint64(a.Data, uint64(*o.maxSteps))
	err := g.AllReduce(ctx, distribute.WorkerCall{Name: "end of the estimator's training"}, ir.Min, []kernels.Array{a})
	o.maxSteps = new(int(binary.LittleEndian.Uint64(a.Data)))
	return err
}

// agreeOnResults checks that hooks see the same results on all workers. Different programs have been detected by now.
func (s *Session) agreeOnResults(ctx context.Context) error {
	if g := s.workers(); g != nil {
		return g.Agree(ctx, distribute.WorkerCall{Name: fmt.Sprintf("results of the estimator's %s: %q", s.mode, s.outputs)})
	}
	return nil
}

// meanOverReplicas returns the scalars that hooks see, equal on all workers. So all stop if one has a NaN loss, before
// the chief saves the resulting weights. In training all replicas have examples.
func meanOverReplicas(r *distribute.Replica, scalars []*ops.Tensor) []*ops.Tensor {
	all := r.AllReduce(ir.Mean, ops.Stack(0, scalars...))[0]
	out := make([]*ops.Tensor, len(scalars))
	for i := range out {
		out[i] = ops.Reshape(ops.Slice(all, []int{i}, []int{i + 1}))
	}
	return out
}

// share copies the chief's values to all workers.
func (s *Session) share(ctx context.Context, variables distribute.Variables) error {
	g := s.workers()
	if g == nil {
		return nil
	}
	mirrored, values, err := distribute.ReceiveVariables(ctx, s.strategy, variables, 0)
	if err != nil || g.Rank() == 0 {
		return err
	}
	for i, v := range mirrored {
		if err := v.SetValue(values[i]); err != nil {
			return err
		}
	}
	return nil
}

// anyWorker reports whether the data of any worker have ended, and whether any worker knows of others waiting to join.
func (s *Session) anyWorker(ctx context.Context, over bool) (anyOver, anyWaits bool, err error) {
	g := s.workers()
	if g == nil {
		return over, false, nil
	}
	a := kernels.NewArray(ir.Type{DType: ir.Uint8, Shape: ir.Shape{2}})
	if over {
		a.Data[0] = 1
	}
	if elastic := s.estimator.elastic(); elastic != nil && elastic.Elastic().Pending() {
		a.Data[1] = 1
	}
	err = g.AllReduce(ctx, distribute.WorkerCall{Name: "end of the estimator's data"}, ir.Max, []kernels.Array{a})
	return a.Data[0] != 0, a.Data[1] != 0, err
}

// errPending ends a session so that waiting workers are admitted.
var errPending = errors.New("workers are waiting to join")

// elastic returns the strategy of Train if it survives the loss of workers, or nil.
func (e *Estimator) elastic() *distribute.MultiWorkerMirroredStrategy {
	s, ok := e.config.TrainDistribute.(*distribute.MultiWorkerMirroredStrategy)
	if !ok || !s.Recovers() || s.Elastic() == nil {
		return nil
	}
	return s
}

// formAnew forms the next group after a session ended because workers were lost or because some wait to be admitted. It
// reports whether there is one.
func (e *Estimator) formAnew(ctx context.Context, cause error, o *options) (bool, error) {
	s := e.elastic()
	for cause != nil && s != nil && (errors.Is(cause, errPending) || s.Elastic().Lost(cause)) {
		err := s.Rejoin(ctx)
		if err == nil {
			return true, nil
		}
		if errors.Is(err, distribute.ErrLeft) && e.reached(o) {
			return false, nil // the others finished with the step in which this worker was cut off
		}
		if !s.Elastic().Lost(err) {
			return false, fmt.Errorf("estimator: Train: %w", errors.Join(err, cause))
		}
		cause = err
	}
	return false, cause
}

// reached reports whether the latest checkpoint is that of the last step.
func (e *Estimator) reached(o *options) bool {
	checkpoint, err := e.LatestCheckpoint()
	if err != nil || checkpoint == "" || o.maxSteps == nil {
		return false
	}
	step, err := readStep(checkpoint)
	return err == nil && step >= int64(*o.maxSteps)
}

// sums adds numbers over the workers.
func (s *Session) sums(ctx context.Context, numbers ...float64) ([]float64, error) {
	g := s.workers()
	if g == nil {
		return numbers, nil
	}
	a := kernels.NewArray(ir.Type{DType: ir.Float64, Shape: ir.Shape{len(numbers)}})
	for i, x := range numbers {
		binary.LittleEndian.PutUint64(a.Data[8*i:], math.Float64bits(x))
	}
	err := g.AllReduce(ctx, distribute.WorkerCall{Name: "losses of the estimator's evaluation"}, ir.Sum, []kernels.Array{a})
	return a.Float64s(), err
}
