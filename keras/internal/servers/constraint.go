// Package servers describes models and estimators to parameter servers: it has what both need for that.
package servers

import (
	"fmt"
	"reflect"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/layers/constraints"
)

// Constraint describes a weight's constraint to servers: those of layers/constraints are applied row by row if
// possible, others by the program traced from them.
func Constraint(v *distribute.Variable) (c parameters.Constraint, err error) {
	spec := v.Spec()
	if spec.Constraint == nil {
		return c, nil
	}
	axes := []int{0}
	along := func(given []int) {
		if given != nil {
			axes = given
		}
	}
	value := func(p *float64, def float64) float64 {
		if p != nil {
			return *p
		}
		return def
	}
	of := spec.ConstraintOf
	if p := reflect.ValueOf(of); p.Kind() == reflect.Pointer && !p.IsNil() {
		of = p.Elem().Interface()
	}
	switch of := of.(type) {
	case constraints.NonNeg:
		return parameters.Constraint{Kind: parameters.NonNeg}, nil
	case constraints.MaxNorm:
		along(of.Axis)
		c = parameters.Constraint{Kind: parameters.MaxNorm, Max: value(of.MaxValue, 2)}
	case constraints.UnitNorm:
		along(of.Axis)
		c = parameters.Constraint{Kind: parameters.UnitNorm}
	case constraints.MinMaxNorm:
		along(of.Axis)
		c = parameters.Constraint{Kind: parameters.MinMaxNorm, Min: of.MinValue, Max: value(of.MaxValue, 1), Rate: value(of.Rate, 1)}
	default:
		if c, err = parameters.ComputedConstraint(v.Type().Shape, spec.Constraint); err != nil {
			err = fmt.Errorf("weight %s: the constraint of type %T: %w", v.Path(), spec.ConstraintOf, err)
		}
		return c, err
	}
	rank := len(v.Type().Shape)
	for _, axis := range axes {
		at := axis
		if at < 0 {
			at += rank
		}
		if at < 0 || at >= rank || rank > 64 {
			return c, fmt.Errorf("weight %s of shape %v has a constraint along axis %d", v.Path(), v.Type().Shape, axis)
		}
		c.Axes |= 1 << at
	}
	return c, nil
}
