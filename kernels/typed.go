package kernels

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Typed is implemented by backends that do not have all element types of package ir, as happens to those that know a
// list of types when one is added. Their NewBuffer and Compile refuse the others, with what [CheckType] and
// [CheckTypes] return.
type Typed interface {
	Backend
	// HasType reports whether the devices can hold values of the type and compute with them.
	HasType(d ir.DType) bool
}

// CheckType returns an error that wraps [errors.ErrUnsupported] where a backend of the given kind has no such type.
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
