package ops

import (
	goreflect "reflect"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Add is Add(t, y), where y is a tensor or a number, as in t + y of Python. The other methods are the functions of
// their names and take the same operands. A number beside a tensor is what [NumberBeside] makes of it; in a quotient
// and in comparisons, what [ExactNumberBeside] does. The result of arithmetic with a number has the mask of t.
//
// Symbolic tensors, layers.KerasTensor, have methods of the same names, which also follow Keras where it treats bools
// and integers of 8 bits as Python does: a sum of two bools is "or" there.
//
// There are no methods for the other order. Write t.Negative().Add(1) for 1 - t, and NumberBeside(t, 2).Divide(t) for
// 2 / t.
func (t *Tensor) Add(y any) *Tensor { return t.arithmetic(Add, NumberBeside, y) }

// Subtract is t - y, where y is a tensor or a number.
func (t *Tensor) Subtract(y any) *Tensor { return t.arithmetic(Subtract, NumberBeside, y) }

// Multiply is t · y element by element, where y is a tensor or a number.
func (t *Tensor) Multiply(y any) *Tensor { return t.arithmetic(Multiply, NumberBeside, y) }

// Divide is t / y, where y is a tensor or a number; integers become float32.
func (t *Tensor) Divide(y any) *Tensor { return t.arithmetic(Divide, ExactNumberBeside, y) }

// FloorDivide is the largest whole number not above t / y.
func (t *Tensor) FloorDivide(y any) *Tensor { return t.arithmetic(FloorDivide, NumberBeside, y) }

// Mod is the remainder of FloorDivide; it has the sign of y.
func (t *Tensor) Mod(y any) *Tensor { return t.arithmetic(Mod, NumberBeside, y) }

// Power is t to the power of y, where y is a tensor or a number.
func (t *Tensor) Power(y any) *Tensor { return t.arithmetic(Power, NumberBeside, y) }

// Matmul is the matrix product t @ y.
func (t *Tensor) Matmul(y *Tensor) *Tensor { return Matmul(t, y) }

// Negative is -t.
func (t *Tensor) Negative() *Tensor { return Negative(t) }

// Abs is |t|.
func (t *Tensor) Abs() *Tensor { return Abs(t) }

// Equal, NotEqual, Less, LessEqual, Greater and GreaterEqual compare with a tensor or a number; the result is bool.
func (t *Tensor) Equal(y any) *Tensor { return Equal(t, t.operand(ExactNumberBeside, y)) }

// NotEqual is t != y.
func (t *Tensor) NotEqual(y any) *Tensor { return NotEqual(t, t.operand(ExactNumberBeside, y)) }

// Less is t < y.
func (t *Tensor) Less(y any) *Tensor { return Less(t, t.operand(ExactNumberBeside, y)) }

// LessEqual is t <= y.
func (t *Tensor) LessEqual(y any) *Tensor { return LessEqual(t, t.operand(ExactNumberBeside, y)) }

// Greater is t > y.
func (t *Tensor) Greater(y any) *Tensor { return Greater(t, t.operand(ExactNumberBeside, y)) }

// GreaterEqual is t >= y.
func (t *Tensor) GreaterEqual(y any) *Tensor { return GreaterEqual(t, t.operand(ExactNumberBeside, y)) }

// Reshape gives t another shape; one axis may be -1.
func (t *Tensor) Reshape(shape ...int) *Tensor { return Reshape(t, shape...) }

// Transpose puts the axes into another order; without axes it reverses them.
func (t *Tensor) Transpose(axes ...int) *Tensor { return Transpose(t, axes...) }

// Cast changes the element type, by its name as in Python: "float32", "int32", ... The function Cast takes an
// [ir.DType].
func (t *Tensor) Cast(dtype string) *Tensor {
	d, err := ir.ParseDType(dtype)
	if err != nil {
		Fail(t.Graph(), err)
	}
	return Cast(t, d)
}

// operand is y beside t.
func (t *Tensor) operand(number func(*Tensor, any) *Tensor, y any) *Tensor {
	if other, ok := y.(*Tensor); ok {
		graphOf(t, other)
		return other
	}
	return number(t, y)
}

func (t *Tensor) arithmetic(f func(a, b *Tensor) *Tensor, number func(*Tensor, any) *Tensor, y any) *Tensor {
	out := f(t, t.operand(number, y))
	if _, ok := y.(*Tensor); !ok {
		out = out.WithMask(t.mask)
	}
	return out
}

// NumberBeside returns a Go number or bool as a scalar that meets x, as in Python: of the element type of x, unless it
// is a fraction and x has none (float32), or whole and x of bools (int32). A whole number beyond the limits of an
// integer type wraps around, as in Keras: -1 is 255 where it meets uint8.
func NumberBeside(x *Tensor, number any) *Tensor {
	d := x.DType()
	switch v := goNumber(x, number).(type) {
	case int64:
		if d == ir.Bool {
			d = ir.Int32
		}
		if d.IsInteger() {
			return wholeNumber(x, d, v)
		}
		return Full(x, d, float64(v))
	case float64:
		if !d.IsFloat() {
			d = ir.Float32
		}
		return Full(x, d, v)
	case bool:
		if v {
			return Full(x, d, 1)
		}
	}
	return Full(x, d, 0)
}

// ExactNumberBeside is NumberBeside for functions that compute in floats and for comparisons: there a whole number
// beyond the limits of the type of x keeps its value, in a type that has it.
func ExactNumberBeside(x *Tensor, number any) *Tensor {
	v, ok := goNumber(x, number).(int64)
	if !ok || !x.DType().IsInteger() || x.DType().Holds(v) {
		return NumberBeside(x, number)
	}
	if ir.Int32.Holds(v) {
		return Full(x, ir.Int32, float64(v))
	}
	return wholeNumber(x, ir.Int64, v)
}

// goNumber brings a number to int64, float64 or bool.
func goNumber(x *Tensor, number any) any {
	switch r := goreflect.ValueOf(number); {
	case r.CanInt():
		return r.Int()
	case r.CanUint() && int64(r.Uint()) >= 0:
		return int64(r.Uint())
	case r.CanFloat():
		return r.Float()
	case r.Kind() == goreflect.Bool:
		return r.Bool()
	}
	Failf(x.Graph(), "received a %T as an operand; expected a *ops.Tensor or a number (ops.Constant makes a tensor of several numbers)", number)
	return nil
}

// wholeNumber is a constant of an integer type, all of whose bits count.
func wholeNumber(x *Tensor, d ir.DType, v int64) *Tensor {
	if v = d.Wrap(v); v >= -1<<53 && v <= 1<<53 && (v >= 0 || d.IsSigned()) {
		return Full(x, d, float64(v))
	}
	high, low := Full(x, d, float64(v>>32&(1<<32-1))), Full(x, d, float64(v&(1<<32-1)))
	return BitwiseOr(LeftShift(high, Full(x, d, 32)), low)
}
