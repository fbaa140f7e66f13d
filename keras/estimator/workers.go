package estimator

import (
	"context"
	"encoding/binary"
	"math"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// This file is what a session does under a strategy over several processes (distribute/multiworker). All begin where the chief does: ModelDir need not
// be a folder that they share.

// workers connects the processes; nil where it is this one alone.
func (s *Session) workers() distribute.WorkerGroup { return distribute.WorkersOf(s.strategy) }

// leads reports whether this process reads checkpoints.
func (s *Session) leads() bool {
	g := s.workers()
	return g == nil || g.Rank() == 0
}

// agree makes all workers begin at the chief's step.
func (s *Session) agree(ctx context.Context) error {
	g := s.workers()
	if g == nil {
		return nil
	}
	a := kernels.NewArray(ir.Type{DType: ir.Int64, Shape: ir.Shape{1}})
	binary.LittleEndian.PutUint64(a.Data, uint64(s.step))
	if err := g.Broadcast(ctx, distribute.WorkerCall{Name: "step at which the estimator begins to " + string(s.mode)}, 0, []kernels.Array{a}); err != nil {
		return err
	}
	s.step = int64(binary.LittleEndian.Uint64(a.Data))
	return nil
}

// share gives all workers the chief's values.
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

// anyWorker reports whether something is so on any worker.
func (s *Session) anyWorker(ctx context.Context, so bool) (bool, error) {
	g := s.workers()
	if g == nil {
		return so, nil
	}
	a := kernels.NewArray(ir.Type{DType: ir.Uint8, Shape: ir.Shape{1}})
	if so {
		a.Data[0] = 1
	}
	err := g.AllReduce(ctx, distribute.WorkerCall{Name: "end of the estimator's data"}, ir.Max, []kernels.Array{a})
	return a.Data[0] != 0, err
}

// sums adds up numbers over the workers.
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
