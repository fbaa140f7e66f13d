package exec

import (
	"bytes"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// errNoAggregation says that the copies of a sync-on-read variable have no common value.
func (v *Variable) errNoAggregation(what string) error {
	return fmt.Errorf("distribute: variable %s cannot be %s across replicas: it is synchronized on read but has the aggregation None, so its %d copies have no common value; give it Sum, Mean or OnlyFirstReplica",
		v.Path(), what, len(v.copies))
}

// Assign replaces the value in cross-replica context: all copies of a mirrored variable get it. A variable that is
// synchronized on read gets a share of it on each replica with the aggregation Sum, and all of it otherwise; with None
// it is an error. It must not run during a step.
func (v *Variable) Assign(value kernels.Array) error { return v.assign("assigned", value, 0) }

// AssignAdd adds the same to all copies, in cross-replica context. It is an error for a variable that is synchronized
// on read with the aggregation Sum or None.
func (v *Variable) AssignAdd(delta kernels.Array) error { return v.assign("added to", delta, 1) }

// AssignSub is AssignAdd with the sign of delta changed.
func (v *Variable) AssignSub(delta kernels.Array) error {
	return v.assign("subtracted from", delta, -1)
}

func (v *Variable) assign(what string, value kernels.Array, sign float64) error {
	if !value.Type.Shape.Equal(v.spec.Shape) {
		return fmt.Errorf("distribute: variable %s has shape %v and cannot be %s with a value of shape %v", v.Path(), v.spec.Shape, what, value.Type.Shape)
	}
	if err := CheckArray(value); err != nil {
		return fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.materialize(); err != nil {
		return err
	}
	if v.spec.Synchronization == OnRead && len(v.copies) > 1 {
		switch {
		case v.spec.Aggregation == None:
			return v.errNoAggregation(what)
		case v.spec.Aggregation == Sum && sign != 0:
			return fmt.Errorf("distribute: variable %s cannot be %s across replicas: its value is the sum of its %d copies; assign it, or change it in replica context", v.Path(), what, len(v.copies))
		}
	}
	if sign == 0 {
		a, err := kernels.FromFloat64s(v.spec.DType, v.spec.Shape, value.Float64s())
		if value.Type.DType == v.spec.DType {
			a, err = value, nil
		}
		if err != nil {
			return err
		}
		return v.write(a)
	}
	if v.strategy.Placement().shards(v) {
		whole, err := v.readPieces()
		if err != nil {
			return err
		}
		if whole, err = plus(whole, value, sign); err != nil {
			return fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
		}
		return v.write(whole)
	}
	for _, c := range v.copies {
		old := kernels.NewArray(v.Type())
		if err := c.Read(old.Data); err != nil {
			return err
		}
		a, err := plus(old, value, sign)
		if err != nil {
			return fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
		}
		if err := c.Write(a.Data); err != nil {
			return err
		}
	}
	return nil
}

// plus returns a + sign·b in the type of a.
func plus(a, b kernels.Array, sign float64) (kernels.Array, error) {
	values := a.Float64s()
	for i := range values {
		values[i] += sign * b.Element(i)
	}
	return kernels.FromFloat64s(a.Type.DType, a.Type.Shape, values)
}

// Components returns the copies of this process, in replica order, or one if a single copy serves all replicas. Those
// of a sharded variable are its pieces, of rank 1.
func (v *Variable) Components() (PerReplica, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.materialize(); err != nil {
		return nil, err
	}
	out := make(PerReplica, len(v.copies))
	for i, c := range v.copies {
		out[i] = kernels.NewArray(c.Type())
		if err := c.Read(out[i].Data); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// SetComponents writes the copies of this process one by one.
func (v *Variable) SetComponents(values PerReplica) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if err := v.materialize(); err != nil {
		return err
	}
	if len(values) != len(v.copies) {
		return fmt.Errorf("distribute: variable %s has %d copies, received %d values", v.Path(), len(v.copies), len(values))
	}
	for i, a := range values {
		if t := v.copies[i].Type(); !a.Type.Equal(t) || CheckArray(a) != nil {
			return fmt.Errorf("distribute: variable %s is of type %v, received a value of type %v with %d bytes for copy %d", v.Path(), t, a.Type, len(a.Data), i)
		}
	}
	v.whole.Store(nil)
	for i, a := range values {
		if err := v.copies[i].Write(a.Data); err != nil {
			return err
		}
	}
	return nil
}

// Assigned reports whether a program traced in this process assigns the variable.
func (v *Variable) Assigned() bool { return v.assigned.Load() }

// ValueOn reads the copy on the given device, or the first copy if there is none.
func (v *Variable) ValueOn(device string) (kernels.Array, error) {
	d, err := kernels.ParseDevice(device)
	if err != nil {
		return kernels.Array{}, fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
	}
	all, err := v.Components()
	if err != nil {
		return kernels.Array{}, err
	}
	for i, c := range v.copies {
		if c.Device() == d {
			return all[i], nil
		}
	}
	return all[0], nil
}

// Clone returns an independent variable of the same kind, with equal copies, under the same strategy.
func (v *Variable) Clone() (*Variable, error) {
	values, err := v.Components()
	if err != nil {
		return nil, err
	}
	c := NewVariable(v.spec, v.fallback)
	if err := c.Place(v.Strategy(), v.seed); err != nil {
		return nil, err
	}
	return c, c.SetComponents(values)
}

// CheckMirrored reports the first mirrored variable whose copies differ, because replicas wrote different values
// without an aggregation. It is for debugging; training does not check.
func (vs Variables) CheckMirrored() error {
	for _, v := range vs {
		if v.spec.Synchronization == OnRead || v.Sharded() {
			continue
		}
		copies, err := v.Components()
		if err != nil {
			return err
		}
		for i, c := range copies[1:] {
			if !bytes.Equal(c.Data, copies[0].Data) {
				return fmt.Errorf("distribute: the copies of variable %s (made at %s) on replicas 0 and %d differ: replicas assigned different values; give it an aggregation, or assign what all replicas share", v.Path(), v.site, i+1)
			}
		}
	}
	return nil
}
