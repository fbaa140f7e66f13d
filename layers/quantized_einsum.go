package layers

import (
	"slices"
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// einsumAxes holds the axes of an EinsumDense as letters, including those that the equation leaves open.
type einsumAxes struct {
	input, weight, output string
	kernel                ir.Shape // before it was packed
}

// axes names all axes for an input of the given rank.
func (e einsumDense) axes(kernel ir.Shape, rank int) einsumAxes {
	a := einsumAxes{input: e.input, weight: e.weight, output: e.output, kernel: kernel.Clone()}
	open := ""
	for letter := 'A'; len(open) < rank-len(e.input); letter++ {
		if !strings.ContainsRune(e.input+e.weight+e.output, letter) {
			open += string(letter)
		}
	}
	if e.trailing > 0 {
		a.input, a.output = a.input+open, a.output+open
	} else {
		a.input, a.output = open+a.input, open+a.output
	}
	return a
}

// reduced lists the axes of one operand that are summed over.
func (a einsumAxes) reduced(operand string) (axes []int) {
	for i, letter := range operand {
		if !strings.ContainsRune(a.output, letter) {
			axes = append(axes, i)
		}
	}
	return axes
}

// order lists the axes of one operand that are in the result, in the order of the result.
func (a einsumAxes) order(operand string) (axes []int) {
	for _, letter := range a.output {
		if i := strings.IndexRune(operand, letter); i >= 0 {
			axes = append(axes, i)
		}
	}
	return axes
}

// scaleShape returns the shape of the kernel's scale aligned with the result: 1 on axes that the kernel lacks.
func (a einsumAxes) scaleShape() ir.Shape {
	var s ir.Shape
	for _, letter := range a.output {
		if i := strings.IndexRune(a.weight, letter); i >= 0 {
			s = append(s, a.kernel[i])
		} else {
			s = append(s, 1)
		}
	}
	return s
}

// matrix describes the kernel as rows, which are summed over, and columns.
func (a einsumAxes) matrix() ir.Shape {
	rows := 1
	for _, i := range a.reduced(a.weight) {
		rows *= a.kernel[i] //dim:known weights have fixed axes
	}
	return ir.Shape{rows, a.kernel.Size() / max(rows, 1)} //dim:known
}

// besideResult aligns a scale of the input, with length 1 on the axes that are summed over, with the result.
func (a einsumAxes) besideResult(scale *ops.Tensor) *ops.Tensor {
	if axes := a.reduced(a.input); len(axes) > 0 {
		scale = ops.Squeeze(scale, axes...)
	}
	left := ""
	for _, letter := range a.input {
		if strings.ContainsRune(a.output, letter) {
			left += string(letter)
		}
	}
	if order := a.order(left); !slices.IsSorted(order) {
		scale = ops.Transpose(scale, order...)
	}
	for i, letter := range a.output {
		if !strings.ContainsRune(a.input, letter) {
			scale = ops.ExpandDims(scale, i)
		}
	}
	return scale
}

// kernelOrder returns for each axis of the kernel its position in the scale aligned with the result; -1 for axes that
// are summed over.
func (a einsumAxes) kernelOrder() (at []int) {
	for _, letter := range a.weight {
		at = append(at, strings.IndexRune(a.output, letter))
	}
	return at
}

// besideKernel converts the kernel's scale aligned with the result to one aligned with the kernel.
func (a einsumAxes) besideKernel(scale *ops.Tensor) *ops.Tensor {
	var kept []int // axes of the scale that the kernel has
	for i, letter := range a.output {
		if strings.ContainsRune(a.weight, letter) {
			kept = append(kept, i)
		}
	}
	shape := ir.Shape{}
	for _, i := range kept {
		shape = append(shape, scale.Dim(i))
	}
	scale = ops.Reshape(scale, shape...)
	var order []int
	for _, at := range a.kernelOrder() {
		if at >= 0 {
			order = append(order, slices.Index(kept, at))
		}
	}
	if !slices.IsSorted(order) {
		scale = ops.Transpose(scale, order...)
	}
	for i, at := range a.kernelOrder() {
		if at < 0 {
			scale = ops.ExpandDims(scale, i)
		}
	}
	return scale
}

// scaleIndex returns for each element of the kernel the index of its scale, which is aligned with the result.
//
//dim:known weights have fixed axes
func (a einsumAxes) scaleIndex() []int {
	strides, order := a.scaleShape().Strides(), a.kernelOrder()
	out := make([]int, a.kernel.Size())
	for i := range out {
		rest := i
		for axis := len(a.kernel) - 1; axis >= 0; axis-- {
			if order[axis] >= 0 {
				out[i] += rest % a.kernel[axis] * strides[order[axis]]
			}
			rest /= a.kernel[axis]
		}
	}
	return out
}

func (l *EinsumDense) buildQuantized(b *Builder) {
	if l.whole.calibrated() {
		m, err := l.axes.calibratedMatrix()
		if err != nil {
			ops.Fail(b.context.Graph(), err)
		}
		l.kernel = b.addCalibrated(&l.whole, m, "zero_point")
		return
	}
	m := l.axes.matrix()
	p := packing{name: "kernel", shape: l.axes.kernel, axis: len(l.axes.kernel) - 1, scale: l.axes.scaleShape()}
	if l.whole.mode == "int4" {
		p = packing{name: "kernel", shape: m, axis: 1, scale: ir.Shape{m[1]}, grouped: ir.Shape{groupsOf(m[0], l.whole.block), m[1]}, zero: ir.Int8, length: m[0]}
	}
	l.kernel = b.addMatrix(&l.whole, p)
}

// quantizedProduct computes the Einstein sum with a kernel of integers, plus LoRA's update.
func (l *EinsumDense) quantizedProduct(c *Context, x *ops.Tensor) *ops.Tensor {
	q, compute := &l.whole, c.ComputeDType()
	switch {
	case l.isSmall(c) && c.Training:
		return l.besideProduct(c, x, ops.Einsum(l.Equation, x, l.floats(c)))
	case l.isSmall(c):
		return ops.Einsum(l.Equation, x, l.lora.change(c, l.floats(c))) // which predictions keep
	case q.calibrated() && l.axes.isMatmul():
		return l.packedProduct(c, x)
	case q.calibrated():
		return ops.Einsum(l.Equation, x, l.floats(c))
	}
	if q.staysPacked() && l.axes.isMatmul() {
		return l.besideProduct(c, x, l.packedProduct(c, x))
	}
	w, scale := q.whole(c, l.kernel, 1), c.Weight(q.scale)
	if q.inputs == nil && q.mode == "int8" && l.axes.isMatmul() {
		return l.besideProduct(c, x, l.bytesProduct(x, w, scale))
	}
	floats := l.floats(c)
	var y *ops.Tensor
	if q.inputs == nil || q.grouped() {
		y = ops.Einsum(l.Equation, x, floats)
	} else {
		y = ops.CustomGradient(func(xs ...*ops.Tensor) ([]*ops.Tensor, func([]*ops.Tensor) []*ops.Tensor) {
			whole, by := q.inputs.Quantize(xs[0], l.axes.reduced(l.axes.input)...)
			by = l.axes.besideResult(by)
			var y *ops.Tensor
			if q.mode == "int4" {
				y = ops.Divide(ops.Einsum(l.Equation, ops.Cast(whole, compute), floats), by)
			} else {
				sums := ops.Einsum(l.Equation, ops.Cast(whole, ir.Int32), ops.Cast(w, ir.Int32))
				y = ops.Divide(ops.Cast(sums, compute), ops.Multiply(by, scale))
			}
			return []*ops.Tensor{y}, func(dys []*ops.Tensor) []*ops.Tensor {
				back := l.axes.output + "," + l.axes.weight + "->" + l.axes.input
				return []*ops.Tensor{ops.Einsum(back, dys[0], floats)}
			}
		}, x)[0]
	}
	return l.besideProduct(c, x, y)
}

// isSmall is that of [quantized].
func (l *EinsumDense) isSmall(c *Context) bool {
	q := &l.whole
	return l.axes.kernel.Size() <= fewNumbers && //dim:known a weight's
		c.ComputeDType() == ir.Float32 && q.scale.Type().DType == ir.Float32 && (q.calibrated() || q.grouped() || q.inputs == nil)
}

// floats returns the numbers that the kernel stands for, with its axes.
func (l *EinsumDense) floats(c *Context) *ops.Tensor {
	q, compute := &l.whole, c.ComputeDType()
	if q.calibrated() {
		return ops.Reshape(q.calibratedFloats(c, l.kernel), l.axes.kernel...)
	}
	w, scale := q.whole(c, l.kernel, 1), c.Weight(q.scale)
	switch {
	case q.grouped():
		w = q.floats(c, w, scale, c.Read(q.zero), 0)
	case q.mode == "int4":
		w = ops.Divide(ops.Cast(w, compute), scale)
	default:
		w = ops.Divide(ops.Cast(w, compute), l.axes.besideKernel(scale))
	}
	return ops.Cast(ops.Reshape(w, l.axes.kernel...), compute)
}

// isMatmul reports whether the rows of the kernel as a matrix are the last axes of the input, and its columns those of
// the result.
func (a einsumAxes) isMatmul() bool {
	rows := ""
	for _, i := range a.reduced(a.weight) {
		rows += a.weight[i : i+1]
	}
	columns, before := strings.TrimPrefix(a.weight, rows), strings.TrimSuffix(a.input, rows)
	return len(rows)+len(columns) == len(a.weight) && len(rows)+len(before) == len(a.input) && before+columns == a.output
}

// packedProduct computes the Einstein sum of an input with a packed kernel if it is a matrix product.
func (l *EinsumDense) packedProduct(c *Context, x *ops.Tensor) *ops.Tensor {
	summed := len(l.axes.reduced(l.axes.weight))
	kept := x.Rank() - summed
	before := x.Shape()[:kept]
	y := l.whole.largeProduct(c, ops.Reshape(x, append(slices.Clone(before), l.axes.matrix()[0])...), l.kernel)
	return ops.Reshape(y, append(slices.Clone(before), l.axes.kernel[summed:]...)...)
}

// bytesProduct is packedProduct with a kernel of eight bits.
func (l *EinsumDense) bytesProduct(x, w, scale *ops.Tensor) *ops.Tensor {
	m := l.axes.matrix()
	summed := len(l.axes.reduced(l.axes.weight))
	before := x.Shape()[:x.Rank()-summed]
	y := bytesProduct(ops.Reshape(x, append(slices.Clone(before), m[0])...), ops.Reshape(w, m...), ops.Reshape(scale, m[1]), x.DType())
	return ops.Reshape(y, append(slices.Clone(before), l.axes.kernel[summed:]...)...)
}

// besideProduct adds LoRA's update for x to y.
func (l *EinsumDense) besideProduct(c *Context, x, y *ops.Tensor) *ops.Tensor {
	if l.lora.a == nil {
		return y
	}
	a, b := c.Weight(l.lora.a), c.Weight(l.lora.b)
	var change *ops.Tensor
	if l.axes.endsInRank() {
		change = ops.MultiplyScalar(ops.Matmul(ops.Einsum(l.Equation, x, a), b), l.lora.scale)
	} else {
		change = ops.Einsum(l.Equation, x, l.lora.product(a, b))
	}
	return ops.Cast(ops.Add(y, change), c.ComputeDType())
}

// endsInRank reports whether the result, with LoRA's first matrix for the kernel, ends in an axis of the rank, so that
// two thin products suffice; the product of both LoRA matrices would be as large as the kernel.
func (a einsumAxes) endsInRank() bool {
	last := a.weight[len(a.weight)-1:]
	return strings.HasSuffix(a.output, last) && !strings.Contains(a.input, last)
}

// quantize is quantizeMatrix for a kernel with any axes.
//
//dim:known weights have fixed axes
func (l *EinsumDense) quantize(c quantizers.Config, kernel kernels.Array) ([]kernels.Array, error) {
	if c.Mode() == "int4" {
		return quantizeMatrix(c, reshaped(kernel, l.axes.matrix()...))
	}
	w, scale, err := weightQuantizer(c).QuantizeArray(kernel, l.axes.reduced(l.axes.weight)...)
	if err != nil {
		return nil, err
	}
	shape := l.axes.scaleShape()
	beside, given := make([]float64, shape.Size()), scale.Float64s()
	strides := scale.Type.Shape.Strides()
	for i, at := range l.axes.scaleIndex() {
		from, rest := 0, i
		for axis := len(l.axes.kernel) - 1; axis >= 0; axis-- {
			if scale.Type.Shape[axis] > 1 {
				from += rest % l.axes.kernel[axis] * strides[axis]
			}
			rest /= l.axes.kernel[axis]
		}
		beside[at] = given[from]
	}
	scale, err = kernels.FromFloat64s(scale.Type.DType, shape, beside)
	return []kernels.Array{w, scale}, err
}

// dequantize is the inverse of quantize.
func (l *EinsumDense) dequantize(parts []kernels.Array) (kernels.Array, error) {
	if l.whole.mode == "int4" {
		m, err := l.whole.dequantizeMatrix(parts)
		if err != nil {
			return m, err
		}
		return reshaped(m, l.axes.kernel...), nil
	}
	values, scales := parts[0].Float64s(), parts[1].Float64s()
	for i, at := range l.axes.scaleIndex() {
		values[i] /= scales[at]
	}
	return kernels.FromFloat64s(parts[1].Type.DType, l.axes.kernel, values)
}

// Quantize converts the kernel of a built layer to integers of eight or four bits; see [Dense.Quantize]. Scales are
// shared along the axes that are summed over. With int4 the kernel is a matrix of those axes and the others.
func (l *EinsumDense) Quantize(how any) error {
	if !l.built {
		return l.quantizeBase(how, nil, nil, nil, nil, nil, nil)
	}
	if isFloat8(how) {
		return l.quantizeFloat8(how, &l.eight, l.kernel, &l.DType, &l.QuantizationConfig, &l.lora)
	}
	return l.quantizeKernel(how, l.quantize)
}

// quantizeKernel is Quantize with a way to convert the kernel.
func (l *EinsumDense) quantizeKernel(how any, convert func(quantizers.Config, kernels.Array) ([]kernels.Array, error)) error {
	return l.quantizeWeight(how, &l.kernel, &l.whole, &l.DType, &l.QuantizationConfig, l.buildQuantized, convert)
}

// QuantizeCalibrated quantizes the kernel of a built layer with the mode gptq or awq; see [Dense.QuantizeCalibrated].
// The kernel has two or three axes. The first one or two are summed over, and they must be the last axes of the input
// in the same order, as in the projections of attention: "btd,dnh->btnh" with d not below n and h, and "btnh,nhd->btd"
// with d above them.
func (l *EinsumDense) QuantizeCalibrated(c quantizers.Calibrator, s quantizers.Statistics) error {
	if l.lora.a != nil {
		return l.quantizeError("%s does not go with LoRA; save the model, which merges the change, and load it without LoraRank", c.Mode())
	}
	if !l.built {
		return l.quantizeBase(&calibration{c}, nil, nil, nil, nil, nil, nil)
	}
	if err := l.axes.calibratedInput(); err != nil {
		return l.quantizeError("%w", err)
	}
	return l.quantizeKernel(&calibration{c}, func(_ quantizers.Config, kernel kernels.Array) ([]kernels.Array, error) {
		m, err := l.axes.calibratedMatrix()
		if err != nil {
			return nil, err
		}
		return calibrate(c, reshaped(kernel, m...), s)
	})
}
