package layers

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// maxHostElements limits the size of a host layer's result for one batch.
const maxHostElements = 1 << 30

// encodeHost is encodeCategories on the host: numbers of the given shape as rows of the given depth. Negative numbers
// are left out. The rows are integers, too.
func encodeHost(numbers []int64, shape []int, mode OutputMode, depth int) (HostArray, error) {
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
	if bytes := 8 * product(out); bytes >= memory.Noticed { //dim:known the shapes of data
		if err := memory.Check(fmt.Sprintf("OutputMode %q for an input of shape %v, rows of %d numbers,", mode, shape, depth), bytes); err != nil {
			return HostArray{}, err
		}
	}
	values := make([]int64, product(out)) //dim:known the shapes of data
	if mode == OneHotMode {
		for i, n := range numbers {
			if n >= 0 && n < int64(depth) {
				values[i*depth+int(n)] = 1
			}
		}
		return HostInts(values, out...), nil
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
	return HostInts(values, out...), nil
}

// encodedShape is the shape of what encodeHost returns; lengths may be Unknown.
func encodedShape(shape []int, mode OutputMode, depth int) []int {
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

// encodedType is the type that goes with encodedShape; rows are of the given type.
func encodedType(shape ir.Shape, mode OutputMode, depth int, rows ir.DType) (ir.Type, error) {
	if mode == IntMode {
		return ir.Type{DType: ir.Int64, Shape: shape.Clone()}, nil
	}
	if depth < 1 {
		return ir.Type{}, fmt.Errorf("OutputMode %q needs to know the vocabulary; set it, or call Adapt before the layer is used", mode)
	}
	return ir.Type{DType: rows, Shape: encodedShape(shape, mode, depth)}, nil
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d //dim:known the shapes of data
	}
	return n
}

// lookupRows returns the type of the rows of lookups, which hold integer counts unless they are weighted.
func lookupRows(mode OutputMode) ir.DType {
	if mode == TFIDFMode {
		return ir.Float32
	}
	return ir.Int64
}

// hashedType returns the result type of hashing layers: that of their policy, or else int64 for bins and float32 for
// rows.
func hashedType(policy string, mode OutputMode) ir.DType {
	d, err := ir.ParseDType(policy)
	switch {
	case err == nil && (d.IsInteger() || d.IsFloat() && mode != IntMode):
		return d
	case mode == IntMode:
		return ir.Int64
	}
	return ir.Float32
}

// hashedRows is encodedType for hashing layers.
func hashedRows(shape ir.Shape, mode OutputMode, depth int, policy string) (ir.Type, error) {
	if _, err := ops.ParseDTypePolicy(policy); err != nil {
		return ir.Type{}, err
	}
	t, err := encodedType(shape, mode, depth, ir.Float32)
	t.DType = hashedType(policy, mode)
	return t, err
}

// floats is the array with its integers as floats.
func (a HostArray) floats() HostArray {
	out := HostArray{Shape: a.Shape, Floats: make([]float64, len(a.Ints))}
	for i, n := range a.Ints {
		out.Floats[i] = float64(n)
	}
	return out
}

// hashed gives the bins of a hashing layer, or rows of the kind that hashedType says.
func hashed(bins []int64, shape []int, mode OutputMode, depth int, policy string) (HostArray, error) {
	y, err := encodeHost(bins, shape, mode, depth)
	if err == nil && hashedType(policy, mode).IsFloat() {
		y = y.floats()
	}
	return y, err
}

// weighed multiplies rows of counts by the weights of their columns.
func (a HostArray) weighed(weights []float64) HostArray {
	out := a.floats()
	for i, n := range out.Floats {
		out.Floats[i] = float64(float32(n) * float32(weights[i%len(weights)]))
	}
	return out
}

// single returns the only input of a host layer.
func single(inputs []HostArray) (HostArray, error) {
	if len(inputs) != 1 {
		return HostArray{}, fmt.Errorf("takes one input, received %d", len(inputs))
	}
	return inputs[0], inputs[0].check()
}
