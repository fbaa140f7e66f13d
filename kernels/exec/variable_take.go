package exec

import "github.com/gokeras/gokeras/kernels"

// TakeValue is [Variable.SetValue] for a value that the caller gives away: where the variable has no memory yet, the
// value is kept without a copy until it has. Loading a large model reads it into memory once that way.
func (v *Variable) TakeValue(a kernels.Array) error {
	if !a.Type.Shape.Equal(v.spec.Shape) || a.Type.DType != v.spec.DType {
		return v.SetValue(a)
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
