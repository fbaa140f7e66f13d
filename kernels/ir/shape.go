package ir

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// Shape is the length of each axis, outermost first. A nil or empty shape is a scalar. Shapes are treated as immutable.
// Lengths are constants, or expressions over sizes that are known later, see package [dim].
type Shape []int

// Size is the number of elements, the product of the axis lengths; 1 for a scalar, 0 when any axis is empty.
//
//go:noinline
func (s Shape) Size() int {
	return dim.Mul(s...)
}

// Rank is the number of axes.
func (s Shape) Rank() int { return len(s) }

// Equal reports whether both shapes have the same axes.
func (s Shape) Equal(t Shape) bool { return slices.Equal(s, t) }

// Clone returns a copy that can be changed.
//
//go:noinline
func (s Shape) Clone() Shape { return slices.Clone(s) }

// Strides returns the row-major strides in elements.
func (s Shape) Strides() []int {
	strides := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		strides[i] = n
		n = dim.Mul(n, s[i])
	}
	return strides
}

// Without returns the shape with the given axes taken out.
//
//go:noinline
func (s Shape) Without(axes ...int) Shape {
	out := make(Shape, 0, len(s))
	for i, d := range s {
		if !slices.Contains(axes, i) {
			out = append(out, d)
		}
	}
	return out
}

// WithOnes returns the shape with the given axes set to length 1 (the keepdims form of Without).
func (s Shape) WithOnes(axes ...int) Shape {
	out := s.Clone()
	for _, a := range axes {
		out[a] = 1
	}
	return out
}

// String prints the shape as [2 3]; a scalar prints as []. An open axis (-1 in the shapes of symbolic tensors) prints
// as None, as in Keras, and a length computed from one as an expression: [None 2*time+1].
func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		if parts[i] = dim.String(d); d == -1 || dim.Name(d) != "" {
			parts[i] = "None"
		}
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// BroadcastShapes returns the shape that both operands expand to by NumPy's rule: axes are aligned at the end, and an
// axis of length 1 repeats. An open axis is assumed to fit.
func BroadcastShapes(a, b Shape) (Shape, error) {
	out := make(Shape, max(len(a), len(b)))
	for i := range out {
		da, db := 1, 1
		if j := len(a) - len(out) + i; j >= 0 {
			da = a[j]
		}
		if j := len(b) - len(out) + i; j >= 0 {
			db = b[j]
		}
		switch {
		case da == db, db == 1:
			out[i] = da
		case da == 1:
			out[i] = db
		case !dim.Known(da) && !dim.Known(db): // equal, or one of them 1: specializing the program will tell
			out[i] = dim.Max(da, db)
		case !dim.Known(da):
			out[i] = db
		case !dim.Known(db):
			out[i] = da
		default:
			return nil, fmt.Errorf("shapes %v and %v do not broadcast: axis %d has lengths %d and %d, which must be equal or 1", a, b, i, da, db)
		}
	}
	return out, nil
}

// Type is the element type and shape of a value.
type Type struct {
	DType DType
	Shape Shape
}

// Fits reports whether both types are the same, or may be once the open axes have lengths.
func (t Type) Fits(u Type) bool { return t.DType == u.DType && dim.ShapesMayEqual(t.Shape, u.Shape) }

// Equal reports whether both types are the same.
func (t Type) Equal(u Type) bool { return t.DType == u.DType && t.Shape.Equal(u.Shape) }

// check returns an error for a type that no value can have.
func (t Type) check() error {
	if !t.DType.Valid() || slices.ContainsFunc(t.Shape, func(d int) bool { return d < 0 && dim.Known(d) }) {
		return fmt.Errorf("type %v needs an element type and axis lengths of 0 or more", t)
	}
	for i, d := range t.Shape {
		if err := dim.Check(d); err != nil {
			return fmt.Errorf("axis %d: %w", i, err)
		}
	}
	size := 1
	for _, d := range t.Shape {
		if !dim.Known(d) {
			continue // at least 1 for some sizes
		}
		if size = MulLengths(size, max(d, 1)); size > MaxElements { //dim:known checked above
			return fmt.Errorf("type %v has more elements than can be counted; check the sizes that a layer was given and the shape of its input", t)
		}
	}
	return nil
}

// Bytes is the memory that a dense value of this type takes.
func (t Type) Bytes() int { return dim.Mul(t.Shape.Size(), t.DType.Size()) }

// String prints the type as float32[2 3].
func (t Type) String() string { return t.DType.String() + t.Shape.String() }
