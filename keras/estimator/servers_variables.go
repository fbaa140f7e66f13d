package estimator

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/optimizers"
)

// The variables of a session on the servers: created there, read back for checkpoints.

func (t *serverTraining) all() []*serverVariable { return slices.Concat(t.trained, t.moved) }

// place creates the variables on the servers, or finds those of an earlier coordinator or call, whose training has
// advanced.
func (t *serverTraining) place(ctx context.Context) error {
	for _, v := range t.all() {
		var created bool
		var err error
		v.remote, created, err = t.job.Create(ctx, parameters.Spec{Name: t.name + v.local.Path(), Shape: v.local.Type().Shape, Rule: v.rule, Constraint: v.constraint, Value: func() ([]float32, error) { return floatsOf(v.local) }})
		if err == nil && created && v.rule.Kind != parameters.NoRule && t.s.step > 0 {
			slots := map[string][]float32{}
			for i, slot := range optimizers.SlotsOf(t.optimizers[v.optimizer], v.local) {
				if slots[v.rule.SlotNames()[i]], err = floatsOf(slot); err != nil {
					return err
				}
			}
			err = t.job.SetSlots(ctx, v.remote, slots, uint64(t.s.step))
		}
		if err != nil {
			return fmt.Errorf("estimator: Train: %w", err)
		}
	}
	return t.count(ctx)
}

// count reads the number of updates. Every step updates every variable, so the smallest one is asked.
func (t *serverTraining) count(ctx context.Context) error {
	least := slices.MinFunc(t.trained, func(a, b *serverVariable) int { return a.local.Size() - b.local.Size() })
	_, n, err := t.job.Slots(ctx, least.remote)
	t.done = int64(n)
	t.s.step = t.done
	return err
}

// pull reads the values that a checkpoint stores from the servers.
func (t *serverTraining) pull(ctx context.Context) error {
	for _, v := range t.all() {
		r := &parameters.Read{Variable: v.remote}
		if err := t.job.Pull(ctx, r); err != nil {
			return err
		}
		if err := setFloats(v.local, r.Values); err != nil {
			return err
		}
		if v.rule.Kind == parameters.NoRule {
			continue
		}
		slots, _, err := t.job.Slots(ctx, v.remote)
		if err != nil {
			return err
		}
		for i, slot := range optimizers.SlotsOf(t.optimizers[v.optimizer], v.local) {
			if err := setFloats(slot, slots[v.rule.SlotNames()[i]]); err != nil {
				return err
			}
		}
	}
	counters := distribute.Variables{t.s.globalStep}
	for _, o := range t.optimizers {
		if c, ok := o.(interface{ Iterations() *distribute.Variable }); ok && c.Iterations() != nil {
			counters = append(counters, c.Iterations())
		}
	}
	for _, v := range counters {
		a, err := kernels.FromFloat64s(v.Type().DType, v.Type().Shape, []float64{float64(t.done)})
		if err == nil {
			err = v.SetValue(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// floats returns the elements of a float32 array.
func floats(a kernels.Array) []float32 {
	out := make([]float32, len(a.Data)/4)
	for i := range out {
		out[i] = math.Float32frombits(binary.LittleEndian.Uint32(a.Data[4*i:]))
	}
	return out
}

func floatsOf(v *distribute.Variable) ([]float32, error) {
	a, err := v.Value()
	return floats(a), err
}

func setFloats(v *distribute.Variable, values []float32) error {
	a := kernels.NewArray(v.Type())
	for i, x := range values {
		binary.LittleEndian.PutUint32(a.Data[4*i:], math.Float32bits(x))
	}
	return v.SetValue(a)
}
