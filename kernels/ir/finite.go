package ir

import "fmt"

// CheckFiniteAttrs describe a CheckFinite.
type CheckFiniteAttrs struct {
	// What describes the operand ("the result", "the gradient of the kernel"), for the error.
	What string
	// Gradient extends the check to the gradient that flows back through the node.
	Gradient bool
}

func (CheckFiniteAttrs) attrs() {}

// Failure is the error of a CheckFinite: scope is the path of the layer, element the row-major number of the first
// element of the shape that is not finite.
func (a CheckFiniteAttrs) Failure(scope string, shape Shape, element int) *NotFiniteError {
	e := &NotFiniteError{Scope: scope, What: a.What, Shape: shape, Element: make([]int, len(shape))}
	for i := len(shape) - 1; i >= 0; i-- {
		e.Element[i], element = element%shape[i], element/shape[i] //dim:known programs that run
	}
	return e
}

// NotFiniteError reports a NaN or an infinity that a CheckFinite found while a program ran.
type NotFiniteError struct {
	Scope   string // the path of the layer
	What    string // what was checked
	Shape   Shape
	Element []int // position of the first one, along each axis
}

// Error says which layer it was, and what to do.
func (e *NotFiniteError) Error() string {
	scope, what, where := e.Scope, e.What, ""
	if scope == "" {
		scope = "(no layer)"
	}
	if what == "" {
		what = "a value"
	}
	if len(e.Shape) > 0 {
		where = fmt.Sprintf(" (element %v of shape %v)", e.Element, e.Shape)
	}
	return fmt.Sprintf("%s: %s is NaN or infinite%s; lower the learning rate, clip gradients, or look for such numbers in the data", scope, what, where)
}

func inferCheckFinite(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(CheckFiniteAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	return inferFloat(in, nil)
}
