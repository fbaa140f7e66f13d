package data

import (
	"fmt"

	"gorgonia.org/tensor"
)

// Rows returns the examples of an array as plain Go: one row for each position of axis 0, with the rest of the example row-major. Numbers are
// converted as Go converts them; bools are 0 and 1. The rows are a copy and share one piece of memory.
//
//	predictions, err := model.Predict(ctx, data.Arrays(x, nil))
//	rows, err := data.Rows[float64](predictions)
func Rows[T Number](d *tensor.Dense) ([][]T, error) {
	if d == nil {
		return nil, fmt.Errorf("data: Rows: the array is nil")
	}
	d, err := ToDense(d)
	if err != nil {
		return nil, fmt.Errorf("data: Rows: %w", err)
	}
	shape := d.Shape()
	n := 1
	if len(shape) > 0 {
		n = shape[0]
	}
	if isEmpty(d) {
		return make([][]T, n), nil
	}
	all, err := elements[T](d)
	if err != nil {
		return nil, err
	}
	width := len(all) / n
	rows := make([][]T, n)
	for i := range rows {
		rows[i] = all[i*width : (i+1)*width : (i+1)*width]
	}
	return rows, nil
}

func elements[T Number](d *tensor.Dense) ([]T, error) {
	switch values := d.Data().(type) {
	case []float32:
		return numbers[T](values), nil
	case []float64:
		return numbers[T](values), nil
	case []int:
		return numbers[T](values), nil
	case []int8:
		return numbers[T](values), nil
	case []int16:
		return numbers[T](values), nil
	case []int32:
		return numbers[T](values), nil
	case []int64:
		return numbers[T](values), nil
	case []uint8:
		return numbers[T](values), nil
	case []uint16:
		return numbers[T](values), nil
	case []uint32:
		return numbers[T](values), nil
	case []uint64:
		return numbers[T](values), nil
	case []bool:
		out := make([]T, len(values))
		for i, v := range values {
			if v {
				out[i] = 1
			}
		}
		return out, nil
	case float32: // a scalar
		return []T{T(values)}, nil
	case float64:
		return []T{T(values)}, nil
	}
	return nil, fmt.Errorf("data: Rows: an array of %s holds no numbers", d.Dtype())
}

func numbers[T, S Number](values []S) []T {
	out := make([]T, len(values))
	for i, v := range values {
		out[i] = T(v)
	}
	return out
}
