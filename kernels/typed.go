package kernels

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Typed is implemented by backends that do not support all element types of package ir, for example because a type was
// added later. Their NewBuffer and Compile refuse the others, with the errors of [CheckType] and [CheckTypes].
type Typed interface {
	Backend
	// HasType reports whether the devices can store the type and compute with it.
	HasType(d ir.DType) bool
}

// CheckType returns an error that wraps [errors.ErrUnsupported] if a backend of the given kind does not have the type.
func CheckType(kind string, d ir.DType, has func(ir.DType) bool) error {
	if has(d) {
		return nil
	}
	return fmt.Errorf("devices of kind %q have no %v: %w; convert to another type", kind, d, errors.ErrUnsupported)
}

// CheckTypes is CheckType for all values of a program and of those inside it.
func CheckTypes(kind string, p *ir.Program, has func(ir.DType) bool) error {
	for v := range p.NumValues() {
		if err := CheckType(kind, p.Type(ir.Value(v)).DType, has); err != nil {
			return err
		}
	}
	for i := range p.Nodes {
		for _, sub := range ir.SubPrograms(p.Nodes[i].Attrs) {
			if err := CheckTypes(kind, sub, has); err != nil {
				return fmt.Errorf("%v (scope %q): %w", p.Nodes[i].Op, p.Nodes[i].Scope, err)
			}
		}
	}
	return nil
}
