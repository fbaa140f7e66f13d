package ir

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func inferConstant(_ []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(ConstantAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	t := a.Literal.Type
	if err := t.check(); err != nil {
		return nil, err
	}
	want := t.Bytes()
	if a.Literal.Splat {
		want = t.DType.Size()
	}
	if len(a.Literal.Data) != want {
		return nil, fmt.Errorf("literal of type %v needs %s bytes, received %d", t, dim.String(want), len(a.Literal.Data))
	}
	return []Type{t}, nil
}

func inferIota(_ []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(IotaAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if !a.Type.DType.IsInteger() && !a.Type.DType.IsFloat() {
		return nil, fmt.Errorf("iota needs a number type, received %v", a.Type.DType)
	}
	return []Type{a.Type}, checkAxis(a.Axis, a.Type.Shape)
}

func inferRngBits(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(RngAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if err := checkRngState(in[0]); err != nil {
		return nil, err
	}
	return []Type{{Uint32, a.Shape}}, nil
}

func checkRngState(t Type) error {
	if !t.Equal(Type{Uint32, Shape{4}}) {
		return fmt.Errorf("the random state must be uint32[4] (seed low, seed high, step, replica), received %v", t)
	}
	return nil
}

// sameTypes checks that all operands have one type.
func sameTypes(in []Type) error {
	for i, t := range in[1:] {
		if !t.Fits(in[0]) {
			return fmt.Errorf("operands must have one type, but operand 0 is %v and operand %d is %v", in[0], i+1, t)
		}
	}
	return nil
}

func inferSame(in []Type, attrs Attrs) ([]Type, error) {
	if attrs != nil {
		return nil, fmt.Errorf("takes no attributes, received %T", attrs)
	}
	return []Type{in[0]}, sameTypes(in)
}

func inferDTypes(in []Type, attrs Attrs, ok bool, what string) ([]Type, error) {
	if !ok {
		return nil, fmt.Errorf("needs %s, received %v", what, in[0].DType)
	}
	return inferSame(in, attrs)
}

func inferNumeric(in []Type, attrs Attrs) ([]Type, error) {
	return inferDTypes(in, attrs, in[0].DType.IsFloat() || in[0].DType.IsInteger(), "numbers")
}

func inferFloat(in []Type, attrs Attrs) ([]Type, error) {
	return inferDTypes(in, attrs, in[0].DType.IsFloat(), "floats")
}

// inferLastAxis is the rule of ops that work along the last axis of floats.
func inferLastAxis(in []Type, attrs Attrs) ([]Type, error) {
	if len(in[0].Shape) == 0 {
		return nil, fmt.Errorf("works along the last axis, but %v has none", in[0])
	}
	return inferFloat(in, attrs)
}

func inferInteger(in []Type, attrs Attrs) ([]Type, error) {
	return inferDTypes(in, attrs, in[0].DType.IsInteger(), "integers")
}

func inferBitwise(in []Type, attrs Attrs) ([]Type, error) {
	return inferDTypes(in, attrs, in[0].DType.IsInteger() || in[0].DType == Bool, "bool or integers")
}

func inferIsFinite(in []Type, attrs Attrs) ([]Type, error) {
	if _, err := inferFloat(in, attrs); err != nil {
		return nil, err
	}
	return []Type{{Bool, in[0].Shape}}, nil
}

func inferConvert(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(ConvertAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if !a.DType.Valid() {
		return nil, fmt.Errorf("cannot convert to %v", a.DType)
	}
	return []Type{{a.DType, in[0].Shape}}, nil
}

func inferCompare(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(CompareAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	switch a.Direction {
	case Eq, Ne, Lt, Le, Gt, Ge:
	default:
		return nil, fmt.Errorf("unknown direction %q", a.Direction)
	}
	return []Type{{Bool, in[0].Shape}}, sameTypes(in)
}

func inferSelect(in []Type, attrs Attrs) ([]Type, error) {
	if want := (Type{Bool, in[1].Shape}); !in[0].Fits(want) {
		return nil, fmt.Errorf("predicate must be %v, received %v", want, in[0])
	}
	return inferSame(in[1:], attrs)
}

func wrongAttrs(got, want Attrs) error {
	return fmt.Errorf("needs attributes of type %T, received %T", want, got)
}

func checkAxis(axis int, s Shape) error {
	if axis < 0 || axis >= len(s) {
		return fmt.Errorf("axis %d is outside shape %v of rank %d", axis, s, len(s))
	}
	return nil
}

// checkAxes requires axes to be inside the shape and strictly increasing.
func checkAxes(axes []int, s Shape) error {
	for i, a := range axes {
		if err := checkAxis(a, s); err != nil {
			return err
		}
		if i > 0 && a <= axes[i-1] {
			return fmt.Errorf("axes %v must be strictly increasing", axes)
		}
	}
	return nil
}
