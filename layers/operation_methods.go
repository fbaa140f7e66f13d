package layers

// Add is x + y, where y is a tensor or a number.
func (t *KerasTensor) Add(y any) *KerasTensor { return Op("add", t, y) }

// Subtract is x - y, where y is a tensor or a number.
func (t *KerasTensor) Subtract(y any) *KerasTensor { return Op("subtract", t, y) }

// Multiply is x · y element by element, where y is a tensor or a number.
func (t *KerasTensor) Multiply(y any) *KerasTensor { return Op("multiply", t, y) }

// Divide is x / y, where y is a tensor or a number; integers become float32.
func (t *KerasTensor) Divide(y any) *KerasTensor { return Op("true_divide", t, y) }

// FloorDivide is the largest whole number not above x / y.
func (t *KerasTensor) FloorDivide(y any) *KerasTensor { return Op("floor_divide", t, y) }

// Mod is the remainder of FloorDivide; it has the sign of y.
func (t *KerasTensor) Mod(y any) *KerasTensor { return Op("mod", t, y) }

// Power is x to the power of y, where y is a tensor or a number.
func (t *KerasTensor) Power(y any) *KerasTensor { return Op("power", t, y) }

// Matmul is the matrix product x @ y.
func (t *KerasTensor) Matmul(y any) *KerasTensor { return Op("matmul", t, y) }

// Negative is -x.
func (t *KerasTensor) Negative() *KerasTensor { return Op("negative", t) }

// Abs is |x|.
func (t *KerasTensor) Abs() *KerasTensor { return Op("absolute", t) }

// Equal, NotEqual, Less, LessEqual, Greater and GreaterEqual compare with a tensor or a number; the result is bool.
func (t *KerasTensor) Equal(y any) *KerasTensor { return Op("equal", t, y) }

// NotEqual is x != y.
func (t *KerasTensor) NotEqual(y any) *KerasTensor { return Op("not_equal", t, y) }

// Less is x < y.
func (t *KerasTensor) Less(y any) *KerasTensor { return Op("less", t, y) }

// LessEqual is x <= y.
func (t *KerasTensor) LessEqual(y any) *KerasTensor { return Op("less_equal", t, y) }

// Greater is x > y.
func (t *KerasTensor) Greater(y any) *KerasTensor { return Op("greater", t, y) }

// GreaterEqual is x >= y.
func (t *KerasTensor) GreaterEqual(y any) *KerasTensor { return Op("greater_equal", t, y) }

// At is x[index...] of Python: for each axis an integer, which removes the axis, or a [Slice]; [Ellipsis] stands for
// the axes that are not mentioned, and nil for a new axis of length 1. The batch is axis 0:
//
//	last := sequence.At(layers.Slice{}, -1) // (batch, steps, features) to (batch, features)
func (t *KerasTensor) At(index ...any) *KerasTensor {
	if len(index) == 1 {
		return Op("get_item", t, index[0])
	}
	return Op("get_item", t, index)
}

// Reshape gives x another shape, which includes the batch; one axis may be -1.
func (t *KerasTensor) Reshape(shape ...int) *KerasTensor { return Op("reshape", t, shape) }

// Transpose puts the axes into another order; without axes it reverses them.
func (t *KerasTensor) Transpose(axes ...int) *KerasTensor {
	if len(axes) == 0 {
		return Op("transpose", t)
	}
	return Op("transpose", t, axes)
}

// Cast changes the element type: "float32", "int32", ...
func (t *KerasTensor) Cast(dtype string) *KerasTensor { return Op("cast", t, dtype) }
