package layers

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/quantizers"
)

// Quantizable is implemented by the layers that can be quantized: Dense, EinsumDense, Embedding and
// ReversibleEmbedding.
type Quantizable interface {
	Layer
	// Quantize converts the weights of a built layer to integers. how is a mode ("int8", "int4") or a configuration of
	// package quantizers. A model that was already compiled must be compiled again.
	Quantize(how any) error
}

// quantized says whether a layer's weights are integers; in the zero value they are not.
type quantized struct {
	mode               string               // "", "int8", "int4", "gptq", "awq"
	bits               int                  // of gptq and awq
	block              int                  // how many inputs share scale and zero; -1: all, and int4 has no zero
	inputs             quantizers.Quantizer // of the activations; nil: they stay floats
	scale, zero, index *distribute.Variable
	saliency           *distribute.Variable // of awq
	columns            int                  // of the matrix before it was packed
	inOrder            bool                 // of gptq and awq: groups are neighbouring inputs
}

// packing is a matrix of integers that is multiplied or looked up.
type packing struct {
	name    string // of its variable; those beside it are name_scale, name_zero and g_idx
	shape   ir.Shape
	axis    int      // that bytes hold two numbers of, and along which groups lie where byRow
	scale   ir.Shape // without groups
	grouped ir.Shape // with them
	zero    ir.DType // type of the zeros
	length  int      // of the index of groups

	unindexed bool // no index of its own: that of the other matrix
}

// quantization reads the policy and configuration of a layer that is being built. activations is the default quantizer
// of activations.
func (b *Builder) quantization(c quantizers.Config, activations map[string]quantizers.Quantizer) quantized {
	how := b.policy.Quantization
	q := quantized{mode: how.Mode, bits: how.Bits, block: how.Block, inOrder: how.Mode == "awq"}
	switch how.Mode {
	case "":
		return quantized{}
	case "int8", "int4":
	case "gptq", "awq":
		if _, ok := b.base.self.(calibratedLayer); !ok {
			b.Fail("the policy %q asks for the mode %q, which this layer does not have; expected int8 or int4", b.policy.Name, how.Mode)
		}
	case "float8":
		if _, ok := b.base.self.(float8Layer); ok {
			return quantized{}
		}
		fallthrough
	default:
		b.Fail("the policy %q asks for the mode %q, which this layer does not have; expected int8 or int4", b.policy.Name, how.Mode)
	}
	if c != nil && c.Mode() != how.Mode {
		b.Fail("QuantizationConfig is one of %s, and the policy %q one of %s; leave one out", c.Mode(), b.policy.Name, how.Mode)
	}
	if k, ok := c.(*quantizers.GPTQConfig); ok {
		q.inOrder = !k.ActivationOrder
	}
	if c == nil {
		q.inputs = activations[how.Mode]
	} else {
		if err := c.Check(); err != nil {
			ops.Fail(b.context.Graph(), err)
		}
		q.inputs = c.Activations()
		if four, ok := c.(*quantizers.Int4QuantizationConfig); ok {
			q.block = four.Block()
		}
		if k, ok := c.(quantizers.Calibrator); ok {
			if mode, _, _ := strings.Cut(b.policy.Name, "_from_"); k.DTypePolicy() != mode {
				b.Fail("QuantizationConfig says %s, and the policy %q another thing; leave one out", k.DTypePolicy(), b.policy.Name)
			}
		}
	}
	return q
}

// float8Layer is implemented by the layers that have the mode float8.
type float8Layer interface{ hasFloat8() }

// grouped reports whether groups of inputs have their own scales and zeros.
func (q *quantized) grouped() bool { return q.mode == "int4" && q.block > 0 }

// blockIndex initializes the group numbers of inputs.
type blockIndex int

// Initialize writes floor(i / block).
//
//dim:known weights have fixed axes
func (block blockIndex) Initialize(into kernels.Array, _ uint64) error {
	values := make([]float64, into.Type.Shape.Size())
	for i := range values {
		values[i] = float64(i / int(block))
	}
	return into.SetFloat64s(0, values)
}

// addMatrix makes the variables of a matrix of integers and returns the matrix itself.
//
//dim:known weights have fixed axes
func (b *Builder) addMatrix(q *quantized, p packing) *distribute.Variable {
	q.columns = p.shape[p.axis]
	if q.mode == "int4" {
		p.shape = p.shape.Clone()
		p.shape[p.axis] = (p.shape[p.axis] + 1) / 2 //dim:known weights have fixed axes
	}
	matrix := b.AddWeight(p.name, p.shape, WeightOptions{Initializer: "zeros", DType: ir.Int8, Frozen: true})
	if q.grouped() {
		p.scale = p.grouped
	}
	q.scale = b.AddWeight(p.name+"_scale", p.scale, WeightOptions{Initializer: "ones", Frozen: true})
	if q.grouped() {
		q.zero = b.AddWeight(p.name+"_zero", p.scale, WeightOptions{Initializer: "zeros", DType: p.zero, Frozen: true})
		if !p.unindexed {
			q.index = b.AddWeight("g_idx", ir.Shape{p.length}, WeightOptions{Initializer: blockIndex(q.block), DType: ir.Float32, Frozen: true})
		}
	}
	return matrix
}

// whole returns a matrix as int8, unpacked.
func (q *quantized) whole(c *Context, matrix *distribute.Variable, axis int) *ops.Tensor {
	if q.mode == "int4" {
		return quantizers.UnpackInt4Tensor(c.Read(matrix), q.columns, axis)
	}
	return c.Read(matrix)
}

// floats dequantizes integers in groups along an axis.
func (q *quantized) floats(c *Context, whole, scale, zero *ops.Tensor, axis int) *ops.Tensor {
	index := ops.Cast(c.Read(q.index), ir.Int32)
	zeros := ops.Cast(ops.Take(zero, index, axis), scale.DType())
	return ops.Multiply(ops.Subtract(ops.Cast(whole, scale.DType()), zeros), ops.Take(scale, index, axis))
}

// beside adds LoRA's update for x to y, the product of x and a matrix of integers.
func (r *lora) beside(c *Context, x, y *ops.Tensor) *ops.Tensor {
	if r.a == nil {
		return y
	}
	change := ops.MultiplyScalar(ops.Matmul(ops.Matmul(x, c.Weight(r.a)), c.Weight(r.b)), r.scale)
	return ops.Cast(ops.Add(y, change), c.ComputeDType())
}

// quantizeBase is the part of Quantize that all layers share: it checks, and replaces the old variables by those that
// build makes, with values from convert. convert only works on values.
func (b *Base) quantizeBase(how any, old []*distribute.Variable, dtype *string, setting *quantizers.Config,
	build func(*Builder), convert func(quantizers.Config) ([]kernels.Array, error), built func() []*distribute.Variable) error {
	fail := b.quantizeError
	given, calibrated := how.(*calibration)
	if calibrated {
		how = given.config
	}
	c, err := quantizers.Resolve(how)
	_, calibrates := c.(quantizers.Calibrator)
	switch {
	case err != nil:
		return fail("%w", err)
	case calibrates && !calibrated:
		return fail("the mode %s takes what calibration saw of the layer's inputs; call QuantizeWith of the model, or QuantizeCalibrated of the layer", c.Mode())
	case !b.built:
		return fail("it is not built yet, so that there are no weights to quantize; call Quantize on a layer of a model that is built")
	case reflect.TypeOf(b.self).Elem().PkgPath() != reflect.TypeFor[Base]().PkgPath():
		return fail("a type that embeds another layer computes something else, maybe, and cannot be quantized")
	case b.resolved.Quantization.Mode != "":
		return fail("it is quantized already (%s)", b.resolved.Name)
	}
	name := c.Mode()
	switch c := c.(type) {
	case *quantizers.Int4QuantizationConfig:
		name = fmt.Sprintf("int4/%d", c.Block())
	case quantizers.Calibrator:
		name = c.DTypePolicy()
	}
	policy, err := ops.ParseDTypePolicy(name + "_from_" + b.resolved.Name)
	if err != nil {
		return fail("%w", err)
	}
	var values []kernels.Array
	if convert != nil {
		if values, err = convert(c); err != nil {
			return fail("%w", err)
		}
	}
	before, was, configured := b.resolved, slices.Clone(b.weights), *setting
	b.resolved, *setting = policy, c
	b.weights = slices.DeleteFunc(slices.Clone(b.weights), func(v *distribute.Variable) bool { return slices.Contains(old, v) })
	err = b.extend(build, old[0])
	for i, v := range built() {
		if err == nil && i < len(values) {
			err = v.SetValue(values[i])
		}
	}
	if err != nil {
		b.resolved, b.weights, *setting = before, was, configured
		return fail("%w", err)
	}
	b.policy = b.quantizedPolicy(policy.Name)
	*dtype = b.policy
	if b.quantizeMember(policy.Name, c) {
		*setting = nil
	}
	return nil
}

// quantizedPolicy returns the layer's new policy: its name, or the policy map with another entry.
func (b *Base) quantizedPolicy(name string) string {
	m, err := ops.ParseDTypePolicyMap(b.policy)
	if m == nil || err != nil {
		return name
	}
	if set(m, b.policyPaths(b.within), name) != nil {
		return name
	}
	return m.String()
}

// quantizeError is an error in a call of Quantize.
func (b *Base) quantizeError(format string, args ...any) error {
	name := "a layer"
	if b.self != nil {
		name = fmt.Sprintf("layer %q (%s)", Name(b.self), ClassName(b.self))
	}
	return fmt.Errorf("layers: Quantize: %s: %w", name, fmt.Errorf(format, args...))
}

// quantizeMatrix quantizes a matrix (rows, columns) with one scale for each column, or for each group of rows in each
// column, and packs columns.
func quantizeMatrix(c quantizers.Config, m kernels.Array) ([]kernels.Array, error) {
	return quantizePacked(c, m, 1)
}

// quantizePacked is quantizeMatrix that packs along the given axis.
func quantizePacked(c quantizers.Config, m kernels.Array, axis int) ([]kernels.Array, error) {
	if four, ok := c.(*quantizers.Int4QuantizationConfig); ok && four.Block() > 0 {
		g, err := quantizers.QuantizeGrouped(m, four.Block())
		if err != nil {
			return nil, err
		}
		packed, err := quantizers.PackInt4(g.Values, axis)
		return []kernels.Array{packed, g.Scale, g.Zero}, err
	}
	w, scale, err := weightQuantizer(c).QuantizeArray(m, 0)
	if err != nil {
		return nil, err
	}
	if c.Mode() == "int4" {
		if w, err = quantizers.PackInt4(w, axis); err != nil {
			return nil, err
		}
	}
	return []kernels.Array{w, reshaped(scale, scale.Type.Shape[1])}, nil
}

// weightQuantizer returns the quantizer of a configuration, or that of its mode.
func weightQuantizer(c quantizers.Config) quantizers.Quantizer {
	if q := c.Weights(); q != nil {
		return q
	}
	if c.Mode() == "int4" {
		return &quantizers.AbsMaxQuantizer{ValueRange: []int{-8, 7}}
	}
	return &quantizers.AbsMaxQuantizer{}
}

// dequantizeMatrix is the inverse of quantizeMatrix, with columns numbers in each row.
func (q *quantized) dequantizeMatrix(parts []kernels.Array) (kernels.Array, error) {
	w, scale := parts[0], parts[1]
	if q.mode == "int4" {
		var err error
		if w, err = quantizers.UnpackInt4(w, q.columns, 1); err != nil {
			return w, err
		}
	}
	if q.grouped() {
		return quantizers.Grouped{Values: w, Scale: scale, Zero: parts[2]}.Dequantize(q.block)
	}
	values, scales := w.Float64s(), scale.Float64s()
	for i := range values {
		values[i] /= scales[i%len(scales)]
	}
	return kernels.FromFloat64s(scale.Type.DType, w.Type.Shape, values)
}

// requantized returns the configuration for quantizing a changed matrix again.
func (q *quantized) requantized() quantizers.Config {
	if q.mode == "int4" {
		block := q.block
		if block < 1 {
			block = -1
		}
		return &quantizers.Int4QuantizationConfig{BlockSize: block}
	}
	return &quantizers.Int8QuantizationConfig{}
}

// variables returns the variables of one matrix.
func (q *quantized) variables(matrix *distribute.Variable) []*distribute.Variable {
	out := []*distribute.Variable{matrix, q.scale}
	for _, v := range []*distribute.Variable{q.zero, q.saliency} {
		if v != nil {
			out = append(out, v)
		}
	}
	if q.calibrated() {
		out = append(out, q.index)
	}
	return out
}

// values reads variables.
func values(vs []*distribute.Variable) (out []kernels.Array, err error) {
	for _, v := range vs {
		a, err := v.Value()
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// inFiles describes the weights in files: the matrix, the bias, and the other variables of the matrix. A LoRA update is
// merged: the matrix is dequantized, updated and quantized again, with dequantize and quantize of the layer.
func (q *quantized) inFiles(b *Base, r *lora, matrix, bias *distribute.Variable, dequantize func([]kernels.Array) (kernels.Array, error),
	quantize func(quantizers.Config, kernels.Array) ([]kernels.Array, error)) *weightsInFiles {
	if q.calibrated() {
		return q.calibratedInFiles(matrix, bias)
	}
	w := &weightsInFiles{variables: distribute.Variables{matrix}, loaded: r.clear}
	for _, v := range []*distribute.Variable{bias, q.scale, q.zero, q.index} {
		if v != nil {
			w.variables = append(w.variables, v)
		}
	}
	for _, v := range OwnWeights(b.self) {
		if v != r.a && v != r.b && !slices.Contains(w.variables, v) {
			w.variables = append(w.variables, v)
		}
	}
	if r.a == nil {
		return w
	}
	w.merged = distribute.Variables{r.a, r.b}
	w.values = func() (map[*distribute.Variable]kernels.Array, error) {
		own := q.variables(matrix)
		parts, err := values(own)
		if err != nil {
			return nil, err
		}
		m, err := dequantize(parts)
		if err != nil {
			return nil, err
		}
		sum, err := r.added(m.Float64s())
		if err != nil {
			return nil, err
		}
		if m, err = kernels.FromFloat64s(m.Type.DType, m.Type.Shape, sum); err != nil {
			return nil, err
		}
		if parts, err = quantize(q.requantized(), m); err != nil {
			return nil, err
		}
		out := map[*distribute.Variable]kernels.Array{}
		for i, v := range own {
			out[v] = parts[i]
		}
		return out, nil
	}
	return w
}

// reshaped returns an array with another shape.
func reshaped(a kernels.Array, shape ...int) kernels.Array {
	return kernels.Array{Type: ir.Type{DType: a.Type.DType, Shape: shape}, Data: a.Data}
}

// transposedArray exchanges the axes of a matrix.
//
//dim:known weights have fixed axes
func transposedArray(a kernels.Array) kernels.Array {
	rows, columns, size := a.Type.Shape[0], a.Type.Shape[1], a.Type.DType.Size()
	out := kernels.NewArray(ir.Type{DType: a.Type.DType, Shape: ir.Shape{columns, rows}})
	for i := range rows {
		for j := range columns {
			copy(out.Data[(j*rows+i)*size:][:size], a.Data[(i*columns+j)*size:])
		}
	}
	return out
}

// groupsOf returns the number of groups of block elements among n.
//
//dim:known weights have fixed axes
func groupsOf(n, block int) int { return int(math.Ceil(float64(n) / float64(max(block, 1)))) }

// QuantizedBy returns the policy of a layer whose weights are kept in integers, as in "int8_from_float32"; "" for
// others.
func QuantizedBy(l Layer) string {
	if p := attach(l).resolved; p.Quantization.Mode != "" {
		return p.Name
	}
	return ""
}

// CanQuantize reports whether the layer's type supports the mode.
func CanQuantize(l Layer, mode string) bool {
	switch l.(type) {
	case *Dense, *EinsumDense:
		return true
	case *Embedding, *ReversibleEmbedding:
		return mode == "int8" || mode == "int4"
	}
	return false
}
