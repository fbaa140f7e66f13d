package distribute

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/exec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// ParseReduceOp reads "SUM" and "MEAN", in any case.
func ParseReduceOp(name string) (ReduceOp, error) {
	switch op := ReduceOp(strings.ToLower(name)); op {
	case Sum, Mean:
		return op, nil
	}
	return None, fmt.Errorf("distribute: %q is not a reduce op; expected \"SUM\" or \"MEAN\"", name)
}

func (s *local) Reduce(op ReduceOp, value PerReplica, axes ...int) (kernels.Array, error) {
	return reduceValues(op, value, len(s.at.Devices), axes, nil)
}

// reduceValues is Reduce over the n replicas of this process, and over other processes if there is a group.
func reduceValues(op ReduceOp, value PerReplica, n int, axes []int, group WorkerGroup) (kernels.Array, error) {
	if op != Sum && op != Mean {
		return kernels.Array{}, fmt.Errorf("distribute: Reduce: cannot combine values by %q; use Sum or Mean", op)
	}
	if err := exec.CheckValue("Reduce", value, n); err != nil {
		return kernels.Array{}, err
	}
	for _, a := range value {
		if a.Type.DType == ir.Bool {
			return kernels.Array{}, fmt.Errorf("distribute: Reduce: values of type %v are not numeric; cast them first", a.Type)
		}
	}
	if len(value) == 1 && n > 1 {
		switch {
		case len(axes) > 0: // every replica has the value
			value = slices.Repeat(value, n)
		case op == Mean:
			return value[0], nil
		default:
			return kernels.Array{}, fmt.Errorf("distribute: Reduce: a value %v that is not distributed cannot be summed over %d replicas; pass what Run returns, or use Mean", value[0].Type, n)
		}
	}
	sums, counts := make([]partial, len(value)), 0.0
	for i, a := range value {
		var err error
		if sums[i], err = sumOver(a, axes); err != nil {
			return kernels.Array{}, fmt.Errorf("distribute: Reduce: replica %d: %w", i, err)
		}
		if !sums[i].shape.Equal(sums[0].shape) || a.Type.DType != value[0].Type.DType {
			return kernels.Array{}, fmt.Errorf("distribute: Reduce: replica 0 has %v, replica %d has %v; elementwise reduction needs one type", value[0].Type, i, a.Type)
		}
		counts += sums[i].count
	}
	total := sums[0].values
	for _, p := range sums[1:] {
		for j, x := range p.values {
			total[j] += x
		}
	}
	dtype := value[0].Type.DType
	if group != nil {
		total = append(total, counts)
		if err := exec.SumOverWorkers(group, fmt.Sprintf("reduce %v to %v", dtype, sums[0].shape), total); err != nil {
			return kernels.Array{}, fmt.Errorf("distribute: Reduce: %w", err)
		}
		total, counts = total[:len(total)-1], total[len(total)-1]
	}
	if op == Mean {
		for j := range total {
			total[j] /= counts
		}
		if !dtype.IsFloat() {
			dtype = ir.Float64
		}
	}
	return kernels.FromFloat64s(dtype, sums[0].shape, total)
}

// partial is one replica's contribution: sums and the number of elements in each.
type partial struct {
	shape  ir.Shape
	values []float64
	count  float64
}

// sumOver sums the elements of an array along axes; without axes it leaves the array as it is.
func sumOver(a kernels.Array, axes []int) (partial, error) {
	shape := a.Type.Shape
	out := partial{shape: shape.Clone(), values: a.Float64s(), count: 1}
	gone := make([]bool, len(shape))
	for _, axis := range axes {
		i := axis
		if i < 0 {
			i += len(shape)
		}
		if i < 0 || i >= len(shape) {
			return out, fmt.Errorf("axis %d is outside shape %v; expected %d to %d", axis, shape, -len(shape), len(shape)-1)
		}
		gone[i] = true
	}
	for i := len(shape) - 1; i >= 0; i-- {
		if gone[i] {
			out.values = foldAxis(out.values, shape[:i].Size(), shape[i], out.shape[i+1:].Size())
			out.count *= float64(shape[i])
			out.shape = out.shape.Without(i)
		}
	}
	return out, nil
}

// foldAxis sums (outer, n, inner) over n.
func foldAxis(x []float64, outer, n, inner int) []float64 {
	out := make([]float64, outer*inner)
	for o := range outer {
		for k := range n {
			for i := range inner {
				out[o*inner+i] += x[(o*n+k)*inner+i]
			}
		}
	}
	return out
}

func (s *local) Gather(value PerReplica, axis int) (kernels.Array, error) {
	return gatherValues(value, len(s.at.Devices), axis)
}

// gatherValues joins the values of the n replicas of this process.
func gatherValues(value PerReplica, n, axis int) (kernels.Array, error) {
	fail := func(format string, args ...any) (kernels.Array, error) {
		return kernels.Array{}, fmt.Errorf("distribute: Gather: "+format, args...)
	}
	if err := exec.CheckValue("Gather", value, n); err != nil {
		return kernels.Array{}, err
	}
	if len(value) == 1 && n > 1 {
		return fail("the value %v is not distributed; pass what Run returns", value[0].Type)
	}
	first := value[0].Type
	if len(first.Shape) == 0 {
		return fail("scalars have no axis to be joined along; give them one, or use Reduce")
	}
	if axis < 0 || axis >= len(first.Shape) {
		return fail("axis %d is outside shape %v; expected 0 to %d", axis, first.Shape, len(first.Shape)-1)
	}
	whole := ir.Type{DType: first.DType, Shape: first.Shape.Clone()}
	for i, a := range value[1:] {
		if err := exec.CheckJoins(first, a.Type, axis); err != nil {
			return fail("replica %d: %w", i+1, err)
		}
		whole.Shape[axis] += a.Type.Shape[axis]
	}
	out := kernels.Array{Type: whole, Data: make([]byte, 0, whole.Bytes())}
	inner := first.Shape[axis+1:].Size() * first.DType.Size()
	for o := range first.Shape[:axis].Size() {
		for _, a := range value {
			row := a.Type.Shape[axis] * inner
			out.Data = append(out.Data, a.Data[o*row:(o+1)*row]...)
		}
	}
	return out, nil
}
