package layers

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// maxHostElements bounds the size of what a host layer makes of one batch.
const maxHostElements = 1 << 30

// encodeHost is encodeCategories on the host: numbers of the given shape as rows of the given depth. Negative numbers are left out.
func encodeHost(numbers []int64, shape []int, mode string, depth int) (HostArray, error) {
	if mode == IntMode {
		return HostInts(numbers, slices.Clone(shape)...), nil
	}
	if depth < 1 {
		return HostArray{}, fmt.Errorf("OutputMode %q needs to know the vocabulary; set it, or call Adapt first", mode)
	}
	if len(shape) == 0 {
		shape = []int{1}
	}
	out := encodedShape(shape, mode, depth)
	if n := float64(product(out[:len(out)-1])) * float64(depth); n > maxHostElements { //dim:known the shapes of data
		return HostArray{}, fmt.Errorf("OutputMode %q makes rows of %d numbers, %.3g in all for an input of shape %v; at most %d fit into one batch", mode, depth, n, shape, maxHostElements)
	}
	values := make([]float64, product(out)) //dim:known the shapes of data
	if mode == OneHotMode {
		for i, n := range numbers {
			if n >= 0 && n < int64(depth) {
				values[i*depth+int(n)] = 1
			}
		}
		return HostArray{Shape: out, Floats: values}, nil
	}
	axis := min(len(shape)-1, 1)
	inner := product(shape[axis+1:])
	for i, n := range numbers {
		if n < 0 || n >= int64(depth) {
			continue
		}
		at := ((i/(inner*shape[axis]))*inner+i%inner)*depth + int(n) //dim:known the shapes of data
		if values[at]++; mode == MultiHotMode {
			values[at] = 1
		}
	}
	return HostArray{Shape: out, Floats: values}, nil
}

// encodedShape is the shape of what encodeHost returns; lengths may be Unknown.
func encodedShape(shape []int, mode string, depth int) []int {
	out := slices.Clone(shape)
	if len(out) == 0 {
		out = []int{1}
	}
	switch n := len(out); {
	case mode == IntMode:
		return slices.Clone(shape)
	case mode == OneHotMode && n > 1 && out[n-1] == 1:
		out = out[:n-1]
	case mode == OneHotMode:
	default:
		axis := min(n-1, 1)
		out = slices.Delete(out, axis, axis+1)
	}
	return append(out, depth)
}

// encodedType is the type that goes with encodedShape.
func encodedType(shape ir.Shape, mode string, depth int) (ir.Type, error) {
	if mode == IntMode {
		return ir.Type{DType: ir.Int64, Shape: shape.Clone()}, nil
	}
	if depth < 1 {
		return ir.Type{}, fmt.Errorf("OutputMode %q needs to know the vocabulary; set it, or call Adapt before the layer is used", mode)
	}
	return ir.Type{DType: ir.Float32, Shape: encodedShape(shape, mode, depth)}, nil
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d //dim:known the shapes of data
	}
	return n
}

// weigh multiplies the rows of counts by the weights of their columns.
func (a HostArray) weigh(weights []float64) {
	for i := range a.Floats {
		a.Floats[i] = float64(float32(a.Floats[i]) * float32(weights[i%len(weights)]))
	}
}

// single returns the one input of a host layer.
func single(inputs []HostArray) (HostArray, error) {
	if len(inputs) != 1 {
		return HostArray{}, fmt.Errorf("takes one input, received %d", len(inputs))
	}
	return inputs[0], inputs[0].check()
}
