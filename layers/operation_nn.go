package layers

import (
	"math"
	"strings"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
	"github.com/gokeras/gokeras/layers/activations"
)

func init() {
	defineUnary("nn", map[string]func(*ops.Tensor) *ops.Tensor{
		"Relu": ops.Relu, "Relu6": ops.Relu6, "Sigmoid": ops.Sigmoid, "SparseSigmoid": ops.SparseSigmoid, "Softplus": ops.Softplus, "Softsign": ops.Softsign,
		"SparsePlus": ops.SparsePlus, "Silu": ops.Silu, "LogSigmoid": ops.LogSigmoid, "HardSigmoid": ops.HardSigmoid, "HardSilu": ops.HardSilu,
		"Selu": ops.Selu, "TanhShrink": ops.TanhShrink, "HardTanh": ops.HardTanh,
	})
	operationNames["swish"], operationNames["hard_swish"] = operationClasses["Silu"], operationClasses["HardSilu"]
	for _, row := range []struct {
		class, setting string
		f              func(x *ops.Tensor, v float64) *ops.Tensor
	}{
		{"SoftShrink", "threshold=0.5", ops.SoftShrink}, {"HardShrink", "threshold=0.5", ops.HardShrink}, {"Squareplus", "b=4", ops.Squareplus},
		{"LeakyRelu", "negative_slope=0.2", ops.LeakyRelu}, {"Elu", "alpha=1.0", ops.Elu}, {"Celu", "alpha=1.0", ops.Celu},
	} {
		name, _, _ := strings.Cut(row.setting, "=")
		define("nn", row.class, SnakeCase(row.class)+"(x, *"+row.setting+")", oneResult(func(a *operands) *ops.Tensor { return row.f(a.tensor("x"), a.number(name)) }))
	}
	define("nn", "Gelu", "gelu(x, *approximate=true)", oneResult(func(a *operands) *ops.Tensor { return ops.Gelu(a.tensor("x"), a.boolean("approximate")) }))
	define("nn", "Glu", "glu(x, *axis=-1)", oneResult(func(a *operands) *ops.Tensor { return ops.Glu(a.tensor("x"), a.integer("axis")) }))
	define("nn", "Threshold", "threshold(x, *threshold, *default_value)", oneResult(func(a *operands) *ops.Tensor {
		if x := a.tensor("x"); x.DType().IsFloat() {
			return ops.Threshold(x, a.number("threshold"), a.number("default_value"))
		}
		x, bound := a.exactPair("x", "threshold") // a fraction makes floats of integers
		y, value := a.pair("x", "default_value")
		return ops.Where(ops.Greater(x, bound), y, value)
	}))
	define("nn", "Softmax", "softmax(x, *axis=-1)", oneResult(softmaxBy(ops.Softmax)))
	define("nn", "LogSoftmax", "log_softmax(x, *axis=-1)", oneResult(softmaxBy(ops.LogSoftmax)))
	define("nn", "Sparsemax", "sparsemax(x, *axis=-1)", oneResult(func(a *operands) *ops.Tensor { return activations.Sparsemax(a.tensor("x"), a.integer("axis")) }))
	define("nn", "Normalize", "normalize(x, *axis=-1, *order=2, *epsilon=null)", oneResult(func(a *operands) *ops.Tensor {
		epsilon := objectives.Epsilon
		if a.given("epsilon") {
			epsilon = a.number("epsilon")
		}
		return ops.NormalizeAxes(a.tensor("x"), a.integers("axis"), a.number("order"), epsilon)
	}))
	define("nn", "BatchNorm", "batch_normalization(x, mean, variance, *axis, offset=null, scale=null, *epsilon=0.001)", oneResult(batchNormalization))
	define("nn", "LayerNorm", "layer_normalization(x, gamma=null, beta=null, *axis=-1, *epsilon=null, *rms_scaling=false)", oneResult(layerNormalization))
	define("nn", "RMSNorm", "rms_normalization(x, scale=null, *axis=-1, *epsilon=null)", oneResult(rmsNormalization))
	define("nn", "BinaryCrossentropy", "binary_crossentropy(target, output, *from_logits=false)", oneResult(binaryCrossentropy))
	define("nn", "CategoricalCrossentropy", "categorical_crossentropy(target, output, *from_logits=false, *axis=-1)", oneResult(categoricalCrossentropy))
	define("nn", "SparseCategoricalCrossentropy", "sparse_categorical_crossentropy(target, output, *from_logits=false, *axis=-1)", oneResult(func(a *operands) *ops.Tensor {
		return objectives.SparseCategoricalCrossentropy(a.tensor("target"), a.tensor("output"), a.boolean("from_logits"), nil, a.integer("axis"))
	}))
	define("nn", "DotProductAttention", "dot_product_attention(query, key, value, bias=null, mask=null, scale=null, *is_causal=false, *flash_attention=null, *attn_logits_soft_cap=null)", oneResult(dotProductAttention))
	define("nn", "PSNR", "psnr(x1, x2, *max_val)", oneResult(func(a *operands) *ops.Tensor {
		x, y := a.pair("x1", "x2")
		mse := ops.Mean(ops.Square(ops.Subtract(x, y)))
		return ops.Subtract(ops.MultiplyScalar(ops.Log10(ops.Scalar(mse, a.number("max_val"))), 20), ops.MultiplyScalar(ops.Log10(mse), 10))
	}))
}

// softmaxBy merges several axes into one.
func softmaxBy(f func(x *ops.Tensor, axis int) *ops.Tensor) func(a *operands) *ops.Tensor {
	return func(a *operands) *ops.Tensor {
		x := a.tensor("x")
		axes := a.axes("axis", x)
		if len(axes) == 1 {
			return f(x, axes[0])
		}
		axes = sortedAxes(x, axes)
		var order []int
		lead := []int{}
		for i, d := range x.Shape() {
			if !contains(axes, i) {
				order, lead = append(order, i), append(lead, d)
			}
		}
		order = append(order, axes...)
		t := ops.Transpose(x, order...)
		y := ops.Reshape(f(ops.Reshape(t, append(lead, -1)...), -1), t.Shape()...)
		return ops.Transpose(y, ints.Inverse(order)...)
	}
}

// epsilonOr returns the argument epsilon.
func (a *operands) epsilonOr(def float64) float64 {
	if !a.given("epsilon") {
		return def
	}
	return a.number("epsilon")
}

func batchNormalization(a *operands) *ops.Tensor {
	x, axis := floating(a.tensor("x")), a.integer("axis")
	spread := func(name string) *ops.Tensor { return along(ops.Cast(a.tensor(name), x.DType()), x, x.Axis(axis)) }
	scale := ops.Rsqrt(ops.AddScalar(spread("variance"), a.number("epsilon")))
	if a.given("scale") {
		scale = ops.Multiply(scale, spread("scale"))
	}
	y := ops.Multiply(ops.Subtract(x, spread("mean")), scale)
	if a.given("offset") {
		y = ops.Add(y, spread("offset"))
	}
	return y
}

// rowsOf returns the axes to normalize over and a function that aligns a parameter with them.
func rowsOf(a *operands, x *ops.Tensor) (axes []int, spread func(p *ops.Tensor) *ops.Tensor) {
	axes = sortedAxes(x, a.integers("axis"))
	return axes, func(p *ops.Tensor) *ops.Tensor {
		shape := ints.Repeat(1, x.Rank())
		for _, axis := range axes {
			shape[axis] = x.Dim(axis)
		}
		return ops.Reshape(ops.Cast(p, x.DType()), shape...)
	}
}

func layerNormalization(a *operands) *ops.Tensor {
	x := floating(a.tensor("x"))
	scaling := a.boolean("rms_scaling")
	axes, spread := rowsOf(a, x)
	wide, epsilon := atLeastFloat32(x), a.epsilonOr(objectives.Epsilon)
	weight := func(key string) *ops.Tensor {
		if w := a.optional(key); w != nil {
			return ops.Cast(spread(w), wide.DType())
		}
		return nil
	}
	gamma := weight("gamma")
	if !scaling && normalizesRows(wide, axes) {
		return ops.Cast(normalizeAxes(wide, gamma, weight("beta"), axes, epsilon), a.tensor("x").DType()) // of integers, too
	}
	mean, variance := ops.Moments(wide, axes...)
	mean, variance = ops.KeepDims(mean, x, axes...), ops.KeepDims(variance, x, axes...)
	centered := wide
	if !scaling {
		centered = ops.Subtract(wide, mean)
	}
	y := ops.Multiply(centered, ops.Rsqrt(ops.AddScalar(variance, epsilon)))
	if gamma != nil {
		y = ops.Multiply(y, gamma)
	}
	if !scaling {
		if beta := weight("beta"); beta != nil {
			y = ops.Add(y, beta)
		}
	}
	return ops.Cast(y, a.tensor("x").DType())
}

// The row lengths up to which the op for layer normalization was measured to be faster than other ops, in float32 and
// in float64. The op also computes the gradients of weights, which does not pay for a few long rows or for rows of one
// number.
const (
	longestNormalized       = 8192
	longestNormalizedDouble = 31
)

// normalizesRows reports whether to normalize x over sorted axes with the op for its last ones.
func normalizesRows(x *ops.Tensor, axes []int) bool {
	if len(axes) == 0 || axes[0]+len(axes) < x.Rank() {
		return false
	}
	size, longest := x.Shape()[axes[0]:].Size(), longestNormalized
	if x.DType() == ir.Float64 {
		longest = longestNormalizedDouble
	}
	return dim.Known(size) && size > 1 && size <= longest
}

func rmsNormalization(a *operands) *ops.Tensor {
	x := floating(a.tensor("x"))
	axes, spread := rowsOf(a, x)
	wide := atLeastFloat32(x)
	squares := ops.KeepDims(ops.Mean(ops.Square(wide), axes...), x, axes...)
	y := ops.Multiply(wide, ops.Rsqrt(ops.AddScalar(squares, a.epsilonOr(objectives.Epsilon))))
	if s := a.optional("scale"); s != nil {
		y = ops.Multiply(y, ops.Cast(spread(s), wide.DType()))
	}
	return ops.Cast(y, a.tensor("x").DType())
}

// binaryCrossentropy is -(t·ln p + (1-t)·ln(1-p)) element by element, with p clipped to [ε, 1-ε]; from logits x it is
// max(x, 0) - x·t + ln(1 + e^-|x|).
func binaryCrossentropy(a *operands) *ops.Tensor {
	p := floating(a.tensor("output"))
	t := likeFloat(a.tensor("target"), p)
	one := ops.Scalar(p, 1)
	if a.boolean("from_logits") {
		return ops.Add(ops.Subtract(ops.Relu(p), ops.Multiply(p, t)), ops.Log1p(ops.Exp(ops.Negative(ops.Abs(p)))))
	}
	p = ops.Clip(p, objectives.Epsilon, 1-objectives.Epsilon)
	hit, miss := ops.Multiply(t, ops.Log(p)), ops.Multiply(ops.Subtract(one, t), ops.Log(ops.Subtract(one, p)))
	return ops.Negative(ops.Add(hit, miss))
}

// categoricalCrossentropy is -Σ t·ln p along the axis. Unlike in a loss, labels of another float type are not cast to
// that of p.
func categoricalCrossentropy(a *operands) *ops.Tensor {
	t, p := a.tensor("target"), floating(a.tensor("output"))
	fromLogits, axis := a.boolean("from_logits"), a.integer("axis")
	if !t.DType().IsFloat() || t.DType() == p.DType() || !t.Shape().Equal(p.Shape()) {
		return objectives.CategoricalCrossentropy(t, p, fromLogits, 0, axis)
	}
	return ops.Negative(ops.Sum(ops.Multiply(t, objectives.LogProbabilities(p, fromLogits, axis)), axis))
}

// dotProductAttention takes (batch, length, heads, depth); the bias (batch, heads, queries, keys) is added to the
// logits.
func dotProductAttention(a *operands) *ops.Tensor {
	a.refuse("attn_logits_soft_cap", nil)
	q, k, v := floating(a.tensor("query")), a.tensor("key"), a.tensor("value")
	if q.Rank() != 4 || k.Rank() != 4 || v.Rank() != 4 {
		ops.Failf(a.graph, "dot_product_attention: needs query, key and value (batch, length, heads, depth), received %v, %v and %v", q.Shape(), k.Shape(), v.Shape())
	}
	if groups := k.Dim(2); groups != q.Dim(2) && groups != 0 && dim.Mod(q.Dim(2), groups) == 0 {
		k, v = ops.Repeat(k, dim.FloorDiv(q.Dim(2), groups), 2), ops.Repeat(v, dim.FloorDiv(q.Dim(2), groups), 2)
	}
	scale := 1 / math.Sqrt(lengthNumber(q, dim.Max(q.Dim(-1), 1)))
	if a.given("scale") {
		scale = a.number("scale")
	}
	mask := a.optional("mask")
	if mask != nil {
		mask = ops.Cast(mask, ir.Bool)
		for mask.Rank() < 4 {
			mask = ops.ExpandDims(mask, 0)
		}
	}
	visible := mask
	if a.boolean("is_causal") && (mask != nil || a.given("bias")) {
		visible = and(mask, ops.Tri(a.graph, ir.Bool, q.Dim(1), k.Dim(1), 0))
	}
	if !a.given("bias") {
		y := ops.Attention(q, k, v, mask, scale, a.boolean("is_causal"))
		if mask == nil {
			return y
		}
		return meanUnseen(y, ops.Cast(v, y.DType()), visible)
	}
	logits := ops.MultiplyScalar(ops.Einsum("bthd,bshd->bhts", q, k), scale)
	logits = ops.Add(logits, ops.Cast(a.tensor("bias"), logits.DType()))
	if visible != nil {
		logits = ops.Where(visible, logits, ops.Scalar(logits, -0.7*logits.DType().Largest()))
	}
	return ops.Einsum("bhts,bshd->bthd", ops.Softmax(logits, -1), v)
}
