package exec

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
)

// TakeValue is [Variable.SetValue] for a value that the caller gives away: where the variable has no memory yet, the
// value is kept without a copy until it has. Loading a large model reads it into memory once that way.
func (v *Variable) TakeValue(a kernels.Array) error {
	if !a.Type.Shape.Equal(v.spec.Shape) || a.Type.DType != v.spec.DType {
		return v.SetValue(a)
	}
	if err := v.check(a); err != nil {
		return err
	}
	v.mu.Lock()
	if v.copies == nil {
		v.pending = &a
		v.mu.Unlock()
		return nil
	}
	v.mu.Unlock()
	return v.SetValue(a)
}

// check refuses values that the variable cannot be given.
func (v *Variable) check(a kernels.Array) error {
	if v.spec.Check == nil {
		return nil
	}
	if err := v.spec.Check(a); err != nil {
		return fmt.Errorf("distribute: variable %s: %w", v.Path(), err)
	}
	return nil
}
