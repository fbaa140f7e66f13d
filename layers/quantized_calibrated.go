package layers

import (
	"fmt"
	"math"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// Calibrated is implemented by the layers that have the modes gptq and awq: Dense and EinsumDense.
type Calibrated interface {
	Quantizable
	// QuantizeCalibrated quantizes a built layer, using statistics of its inputs as rows of length CalibratedFeatures.
	QuantizeCalibrated(c quantizers.Calibrator, s quantizers.Statistics) error
	// CalibratedFeatures is the number of features in each row that the layer's inputs are cut into: those that are
	// summed over. It fails if the layer is not built, or if the modes cannot quantize its kernel.
	CalibratedFeatures() (int, error)
}

// calibratedLayer is implemented by layers that can have weights of these modes.
type calibratedLayer interface{ hasCalibration() }

// calibration tells quantizeBase that there are statistics.
type calibration struct{ config quantizers.Calibrator }

// calibrated reports whether the mode is gptq or awq.
func (q *quantized) calibrated() bool { return q.bits > 0 }

// inputsOf returns the number of rows of a matrix before packing.
func (q *quantized) inputsOf(matrix *distribute.Variable) int {
	if q.calibrated() {
		return matrix.Type().Shape[1]
	}
	return matrix.Type().Shape[0]
}

// addCalibrated makes the variables of a matrix (inputs, outputs) of the modes gptq and awq and returns the matrix
// itself, which has a row for each output, or for two outputs with four bits.
//
//dim:known weights have fixed axes
func (b *Builder) addCalibrated(q *quantized, m ir.Shape, zero string) *distribute.Variable {
	inputs, outputs := m[0], m[1]
	q.columns = outputs
	rows, groups := outputs, 1
	if q.bits == 4 {
		rows = (outputs + 1) / 2
	}
	if q.block > 0 {
		groups = groupsOf(inputs, q.block)
	}
	frozen := func(name string, shape ...int) *distribute.Variable {
		return b.AddWeight(name, shape, WeightOptions{Initializer: "zeros", DType: ir.Uint8, Frozen: true})
	}
	matrix := frozen("kernel", rows, inputs)
	q.scale = b.AddWeight("kernel_scale", ir.Shape{outputs, groups}, WeightOptions{Initializer: "ones", Frozen: true})
	q.zero = frozen(zero, outputs, groups)
	if q.mode == "awq" {
		q.saliency = b.AddWeight("awq_scales", ir.Shape{inputs}, WeightOptions{Initializer: "ones", Frozen: true})
	}
	blocks := blockIndex(q.rowsOfBlock(inputs))
	index := WeightOptions{Initializer: blocks, DType: ir.Float32, Frozen: true, check: blocks.checkSizes}
	if q.inOrder {
		index.check = blocks.check
	}
	q.index = b.AddWeight("g_idx", ir.Shape{inputs}, index)
	return matrix
}

// rowsOfBlock returns how many inputs of a matrix share a scale and zero.
func (q *quantized) rowsOfBlock(inputs int) int {
	if q.block > 0 {
		return q.block
	}
	return max(inputs, 1) //dim:known weights have lengths
}

// check refuses groups that are not neighbouring inputs. Fractions, which occur in files of Keras, are rounded down.
func (block blockIndex) check(a kernels.Array) error {
	for i, group := range a.Float64s() {
		if want := i / int(block); math.Trunc(group) != float64(want) {
			return fmt.Errorf("input %d is of group %v, expected %d: groups are %d neighbouring inputs each; for weights that were quantized in another order set ActivationOrder of the layer's GPTQConfig", i, group, want, block)
		}
	}
	return nil
}

// checkSizes refuses groups of the wrong sizes, in any order.
func (block blockIndex) checkSizes(a kernels.Array) error {
	groups := a.Float64s()
	counts := make([]int, groupsOf(len(groups), int(block)))
	for i, group := range groups {
		if !(group >= 0 && group < float64(len(counts))) {
			return fmt.Errorf("input %d is of group %v; expected groups from 0 to %d", i, group, len(counts)-1)
		}
		counts[int(group)]++
	}
	for group, n := range counts {
		if want := min(int(block), len(groups)-group*int(block)); n != want {
			return fmt.Errorf("group %d has %d inputs; expected %d: groups have %d inputs each, and the last what is left", group, n, want, block)
		}
	}
	return nil
}

// calibratedFloats returns the dequantized matrix (inputs, outputs) in the layer's compute type.
func (q *quantized) calibratedFloats(c *Context, matrix *distribute.Variable) *ops.Tensor {
	whole := c.Read(matrix)
	if q.bits == 4 {
		whole = quantizers.UnpackInt4Tensor(whole, q.columns, 0)
	}
	// Bytes are transposed and whole rows of scales and zeros are gathered, so that floats are made in the order in
	// which the product reads them.
	w := q.floats(c, ops.Transpose(whole), ops.Transpose(c.Weight(q.scale)), ops.Transpose(c.Read(q.zero)), 0)
	if q.saliency != nil {
		w = ops.Divide(w, ops.ExpandDims(c.Weight(q.saliency), -1))
	}
	return ops.Cast(w, c.ComputeDType())
}

// calibratedProduct multiplies x (..., inputs) by the matrix as it is stored. If groups are not neighbouring inputs,
// the inputs are first put in the order of their groups. The saliency by which awq divides the inputs of the matrix
// divides x instead.
func (q *quantized) calibratedProduct(c *Context, x *ops.Tensor, matrix *distribute.Variable) *ops.Tensor {
	scale, block := c.Weight(q.scale), q.rowsOfBlock(q.inputsOf(matrix))
	if q.saliency != nil {
		x = ops.Divide(ops.Cast(x, scale.DType()), c.Weight(q.saliency))
	}
	integers := c.Read(matrix)
	if !q.inOrder {
		order := ops.Argsort(c.Read(q.index), 0)
		x, integers = ops.Take(x, order, -1), ops.Take(integers, order, 1)
	}
	if q.bits != 4 {
		return ops.Cast(ops.BytesMatmul(x, integers, scale, c.Read(q.zero), q.bits, block), c.ComputeDType())
	}
	return ops.Cast(ops.PackedColumnsMatmul(x, integers, scale, c.Read(q.zero), q.columns, block), c.ComputeDType())
}

// calibratedInFiles describes the weights in files.
func (q *quantized) calibratedInFiles(matrix, bias *distribute.Variable) *weightsInFiles {
	w := &weightsInFiles{}
	for _, v := range []*distribute.Variable{bias, matrix, q.scale, q.zero, q.saliency, q.index} {
		if v != nil {
			w.variables = append(w.variables, v)
		}
	}
	return w
}

// calibrate quantizes a matrix (inputs, outputs) and returns the values of the variables.
func calibrate(c quantizers.Calibrator, m kernels.Array, s quantizers.Statistics) ([]kernels.Array, error) {
	var out quantizers.Calibrated
	var err error
	bits := 4
	switch c := c.(type) {
	case *quantizers.GPTQConfig:
		out, err = c.Quantize(m, s)
		if c.WeightBits != 0 {
			bits = c.WeightBits
		}
	case *quantizers.AWQConfig:
		out, err = c.Quantize(m, s)
	default:
		err = fmt.Errorf("received a %T; expected a *quantizers.GPTQConfig or a *quantizers.AWQConfig", c)
	}
	if err == nil && bits == 4 {
		out.Values, err = quantizers.PackInt4(out.Values, 0)
	}
	if err != nil {
		return nil, err
	}
	parts := []kernels.Array{out.Values, out.Scale, out.Zero}
	if out.Saliency.Data != nil {
		parts = append(parts, out.Saliency)
	}
	return append(parts, out.Group), nil
}

// CalibratedFeatures is the number of features of the input.
func (l *Dense) CalibratedFeatures() (int, error) {
	if !l.built {
		return 0, l.quantizeError("it is not built yet")
	}
	return l.whole.inputsOf(l.kernel), nil
}

// CalibratedFeatures is the product of the axes of the kernel that are summed over.
func (l *EinsumDense) CalibratedFeatures() (int, error) {
	if !l.built {
		return 0, l.quantizeError("it is not built yet")
	}
	m, err := l.axes.calibratedMatrix()
	if err == nil {
		err = l.axes.calibratedInput()
	}
	if err != nil {
		return 0, l.quantizeError("%w", err)
	}
	return m[0], nil
}

// calibratedMatrix splits the kernel's axes into inputs and outputs as Keras does: with three axes, the longest one
// decides, because it is that of the model.
//
//dim:known weights have fixed axes
func (a einsumAxes) calibratedMatrix() (ir.Shape, error) {
	k := a.kernel
	switch {
	case len(k) == 2:
		return ir.Shape{k[0], k[1]}, nil
	case len(k) == 3 && k[0] >= k[1] && k[0] >= k[2]:
		return ir.Shape{k[0], k[1] * k[2]}, nil
	case len(k) == 3:
		return ir.Shape{k[0] * k[1], k[2]}, nil
	}
	return nil, fmt.Errorf("the modes gptq and awq quantize kernels of two or three axes, received %v; leave the layer out with a filter", k)
}

// calibratedInput checks that rows of the input match the inputs of the matrix.
func (a einsumAxes) calibratedInput() error {
	m, err := a.calibratedMatrix()
	if err != nil {
		return err
	}
	summed := ""
	for _, i := range a.reduced(a.weight) {
		summed += a.weight[i : i+1]
	}
	if !strings.HasPrefix(a.weight, summed) || !strings.HasSuffix(a.input, summed) || a.matrix()[0] != m[0] {
		return fmt.Errorf("its equation %s,%s->%s with the kernel %v cannot be calibrated: the modes gptq and awq take the longest axis of a kernel of three for that of the model, sum over the first axes, and these must be the last of the input; leave the layer out with a filter", a.input, a.weight, a.output, a.kernel)
	}
	return nil
}
