package ir

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// SamePadding returns the zeros before and after an axis that make the result ceil(in/stride) long; the extra one goes
// to the end, as in Keras.
func SamePadding(in, window, stride, dilation int) (low, high int) {
	span := (window-1)*dilation + 1
	total := max(span-stride, 0) // for a length that the stride divides
	if dim.Mod(in, stride) != 0 {
		covered := dim.Mul(dim.Sub(dim.CeilDiv(in, stride), 1), stride)
		total = dim.Max(dim.Sub(dim.Add(covered, span), in), 0)
	}
	low = dim.FloorDiv(total, 2)
	return low, dim.Sub(total, low)
}

// windowOut is the number of window positions along a padded axis.
func windowOut(in, window, stride, dilation int) int {
	span := dim.Add(dim.Mul(dim.Sub(window, 1), dilation), 1)
	return dim.Max(dim.Add(dim.FloorDiv(dim.Sub(in, span), stride), 1), 0)
}

func windowShape(spatial, window, strides, dilation, low, high []int) (Shape, error) {
	n := len(spatial)
	if len(window) != n || len(strides) != n || len(low) != n || len(high) != n || dilation != nil && len(dilation) != n {
		return nil, fmt.Errorf("window %v, strides %v, dilation %v, padding %v and %v must have one entry for each of the %d spatial axes", window, strides, dilation, low, high, n)
	}
	if taps := MulLengths(window...); taps > MaxTable {
		return nil, fmt.Errorf("window %v has %d cells; at most %d", window, taps, MaxTable)
	}
	out := make(Shape, n)
	for i := range out {
		d := 1
		if dilation != nil {
			d = dilation[i]
		}
		if window[i] < 1 || strides[i] < 1 || d < 1 || dim.Known(low[i]) && low[i] < 0 || dim.Known(high[i]) && high[i] < 0 {
			return nil, fmt.Errorf("window %v, strides %v and dilation %v must be positive, padding %v and %v not negative", window, strides, dilation, low, high)
		}
		out[i] = windowOut(dim.Add(spatial[i], low[i], high[i]), window[i], strides[i], d)
	}
	return out, nil
}

// ConvShape returns the shape of a convolution of x (batch, spatial..., in) with kernel (window..., in/groups, out).
func ConvShape(x, kernel Shape, a ConvAttrs) (Shape, error) {
	n := len(x) - 2
	if n < 1 || len(kernel) != n+2 {
		return nil, fmt.Errorf("x %v must be (batch, spatial..., channels) and kernel %v (window..., in, out) of the same rank", x, kernel)
	}
	groups, in, out := a.Groups, kernel[n], kernel[n+1]
	if groups < 1 || !dim.MayEqual(x[n+1], dim.Mul(in, groups)) || !dim.MayEqual(dim.Mod(out, groups), 0) {
		return nil, fmt.Errorf("%s input channels and kernel %v do not fit %d groups", dim.String(x[n+1]), kernel, groups)
	}
	spatial, err := windowShape(x[1:n+1], kernel[:n], a.Strides, a.Dilation, a.PadLow, a.PadHigh)
	if err != nil {
		return nil, err
	}
	return slices.Concat(Shape{x[0]}, spatial, Shape{out}), nil
}

func inferConv(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(ConvAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	return convTypes(in, in[0].Shape, in[1].Shape, a, nil)
}

// convTypes checks a convolution of shapes x and kernel and returns the type of result; with want set, the convolution
// must have shape want[0] and the result is of shape want[1].
func convTypes(in []Type, x, kernel Shape, a ConvAttrs, want []Shape) ([]Type, error) {
	if in[0].DType != in[1].DType || !in[0].DType.IsFloat() {
		return nil, fmt.Errorf("operands must be floats of one type, received %v and %v", in[0].DType, in[1].DType)
	}
	out, err := ConvShape(x, kernel, a)
	if err != nil {
		return nil, err
	}
	if want == nil {
		return []Type{{in[0].DType, out}}, nil
	}
	if !dim.ShapesMayEqual(out, want[0]) {
		return nil, fmt.Errorf("a convolution of %v with %v has shape %v, the gradient received is %v", x, kernel, out, want[0])
	}
	return []Type{{in[0].DType, want[1]}}, nil
}

func inferConvInputGrad(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(ConvGradAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	return convTypes(in, a.Shape, in[1].Shape, a.Conv, []Shape{in[0].Shape, a.Shape})
}

func inferConvKernelGrad(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(ConvGradAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	return convTypes(in, in[0].Shape, a.Shape, a.Conv, []Shape{in[1].Shape, a.Shape})
}

func poolShape(x Shape, a PoolAttrs) (Shape, error) {
	n := len(x) - 2
	if n < 1 {
		return nil, fmt.Errorf("x %v must be (batch, spatial..., channels)", x)
	}
	spatial, err := windowShape(x[1:n+1], a.Window, a.Strides, nil, a.PadLow, a.PadHigh)
	if err != nil {
		return nil, err
	}
	for i, w := range a.Window {
		if x[i+1] == 0 && spatial[i] != 0 || dim.Known(a.PadLow[i]) && a.PadLow[i] >= w || dim.Known(a.PadHigh[i]) && a.PadHigh[i] >= w {
			return nil, fmt.Errorf("padding %v and %v of x %v must be smaller than the window %v, or a window would hold nothing", a.PadLow, a.PadHigh, x, a.Window)
		}
	}
	return slices.Concat(Shape{x[0]}, spatial, Shape{x[n+1]}), nil
}

func inferPool(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(PoolAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if !in[0].DType.IsFloat() {
		return nil, fmt.Errorf("needs floats, received %v", in[0].DType)
	}
	out, err := poolShape(in[0].Shape, a)
	return []Type{{in[0].DType, out}}, err
}

func inferMaxPoolGrad(in []Type, attrs Attrs) ([]Type, error) {
	y, err := inferPool(in[:1], attrs)
	if err != nil {
		return nil, err
	}
	if !in[1].Fits(y[0]) || !in[2].Fits(y[0]) {
		return nil, fmt.Errorf("y and dy must be %v, received %v and %v", y[0], in[1], in[2])
	}
	return []Type{in[0]}, nil
}

func inferAvgPoolGrad(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(PoolGradAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	x := Type{in[0].DType, a.Shape}
	y, err := inferPool([]Type{x}, a.Pool)
	if err != nil {
		return nil, err
	}
	if !in[0].Fits(y[0]) {
		return nil, fmt.Errorf("dy must be %v, received %v", y[0], in[0])
	}
	return []Type{x}, nil
}

func checkOperands(in []Type, want ...Type) error {
	for i, t := range want {
		if !in[i].Fits(t) {
			return fmt.Errorf("operand %d must be %v, received %v", i, t, in[i])
		}
	}
	return nil
}

func normOperand(in []Type, attrs Attrs) (lead, last Type, err error) {
	if a, ok := attrs.(NormAttrs); !ok {
		return lead, last, wrongAttrs(attrs, a)
	}
	x := in[0]
	if !x.DType.IsFloat() || len(x.Shape) == 0 {
		return lead, last, fmt.Errorf("x must be floats of rank 1 or more, received %v", x)
	}
	n := len(x.Shape) - 1
	return Type{x.DType, x.Shape[:n]}, Type{x.DType, x.Shape[n:]}, nil
}

func inferBatchNorm(in []Type, attrs Attrs) ([]Type, error) {
	_, c, err := normOperand(in, attrs)
	if err != nil {
		return nil, err
	}
	return []Type{in[0], c, c}, checkOperands(in, in[0], c, c)
}

func inferBatchNormGrad(in []Type, attrs Attrs) ([]Type, error) {
	_, c, err := normOperand(in, attrs)
	if err != nil {
		return nil, err
	}
	return []Type{in[0], c, c}, checkOperands(in, in[0], c, c, c, in[0])
}

func inferLayerNorm(in []Type, attrs Attrs) ([]Type, error) {
	lead, c, err := normOperand(in, attrs)
	if err != nil {
		return nil, err
	}
	return []Type{in[0], lead, lead}, checkOperands(in, in[0], c, c)
}

func inferLayerNormGrad(in []Type, attrs Attrs) ([]Type, error) {
	lead, c, err := normOperand(in, attrs)
	if err != nil {
		return nil, err
	}
	return []Type{in[0], c, c}, checkOperands(in, in[0], c, lead, lead, in[0])
}

// groupOperand checks x, and returns the types of the means and of the channels' numbers.
func groupOperand(in []Type, attrs Attrs) (mean, channels Type, err error) {
	a, ok := attrs.(GroupNormAttrs)
	if !ok {
		return mean, channels, wrongAttrs(attrs, a)
	}
	x := in[0]
	if !x.DType.IsFloat() || len(x.Shape) < 2 {
		return mean, channels, fmt.Errorf("x must be floats (batch, ..., channels), received %v", x)
	}
	c := x.Shape[len(x.Shape)-1]
	if a.Groups < 1 || !dim.MayEqual(dim.Mod(c, a.Groups), 0) {
		return mean, channels, fmt.Errorf("the %s channels of x must be divisible by the groups, received %d", dim.String(c), a.Groups)
	}
	return Type{x.DType, Shape{x.Shape[0], a.Groups}}, Type{x.DType, Shape{c}}, nil
}

func inferGroupNorm(in []Type, attrs Attrs) ([]Type, error) {
	mean, c, err := groupOperand(in, attrs)
	if err != nil {
		return nil, err
	}
	return []Type{in[0], mean, mean}, checkOperands(in, in[0], c, c)
}

func inferGroupNormGrad(in []Type, attrs Attrs) ([]Type, error) {
	mean, c, err := groupOperand(in, attrs)
	if err != nil {
		return nil, err
	}
	return []Type{in[0], c, c}, checkOperands(in, in[0], c, mean, mean, in[0])
}

func inferSparseXent(in []Type, attrs Attrs) ([]Type, error) {
	if attrs != nil {
		return nil, fmt.Errorf("takes no attributes, received %T", attrs)
	}
	s := in[0].Shape
	if !in[0].DType.IsFloat() || len(s) == 0 || !in[1].DType.IsInteger() || !dim.ShapesMayEqual(in[1].Shape, s[:len(s)-1]) {
		return nil, fmt.Errorf("logits must be floats (..., classes) and labels integers (...), received %v and %v", in[0], in[1])
	}
	t := Type{in[0].DType, in[1].Shape}
	return []Type{t, t}, nil
}

func inferSparseXentGrad(in []Type, attrs Attrs) ([]Type, error) {
	t, err := inferSparseXent(in[:2], attrs)
	if err != nil {
		return nil, err
	}
	return []Type{in[0]}, checkOperands(in[2:], t[0], t[0])
}

func inferDropout(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(DropoutAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if !in[0].DType.IsFloat() || !(a.Rate >= 0 && a.Rate < 1) {
		return nil, fmt.Errorf("needs floats and a rate in [0, 1), received %v and %v", in[0], a.Rate)
	}
	return []Type{in[0]}, checkRngState(in[1])
}

func inferAttention(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(AttentionAttrs)
	if !ok {
		return nil, wrongAttrs(attrs, a)
	}
	if a.Masked != (len(in) == 4) {
		return nil, fmt.Errorf("masked is %v, but there are %d operands", a.Masked, len(in))
	}
	q, k, v := in[0].Shape, in[1].Shape, in[2].Shape
	d := in[0].DType
	if !d.IsFloat() || in[1].DType != d || in[2].DType != d || len(q) != 4 || len(k) != 4 || len(v) != 4 ||
		!dim.ShapesMayEqual(Shape{k[0], v[0], k[2], v[2], k[3], v[1]}, Shape{q[0], q[0], q[2], q[2], q[3], k[1]}) {
		return nil, fmt.Errorf("q, k, v must be floats (B, T, H, D), (B, S, H, D), (B, S, H, V), received %v, %v, %v", in[0], in[1], in[2])
	}
	scores := Shape{q[0], q[2], q[1], k[1]}
	if a.Masked {
		out, err := BroadcastShapes(in[3].Shape, scores)
		if err != nil || in[3].DType != Bool || len(in[3].Shape) != 4 || !dim.ShapesMayEqual(out, scores) {
			return nil, fmt.Errorf("mask must be bool and broadcast to %v, received %v", scores, in[3])
		}
	}
	return []Type{{d, Shape{q[0], q[1], q[2], v[3]}}, {d, scores[:3]}}, nil
}

func inferAttentionGrad(in []Type, attrs Attrs) ([]Type, error) {
	forward := slices.Concat(in[:3], in[6:])
	t, err := inferAttention(forward, attrs)
	if err != nil {
		return nil, err
	}
	return in[:3], checkOperands(in[3:], t[0], t[1], t[0])
}

func inferEmbedding(in []Type, attrs Attrs) ([]Type, error) {
	if attrs != nil {
		return nil, fmt.Errorf("takes no attributes, received %T", attrs)
	}
	if len(in[0].Shape) != 2 || !in[1].DType.IsInteger() {
		return nil, fmt.Errorf("table must be (rows, width) and indices integers, received %v and %v", in[0], in[1])
	}
	return []Type{{in[0].DType, gatherShape(in[0].Shape, in[1].Shape, 0)}}, nil
}

func inferEmbeddingGrad(in []Type, attrs Attrs) ([]Type, error) {
	t, err := inferEmbedding(in[:2], attrs)
	if err != nil {
		return nil, err
	}
	if err := checkReduction(Sum, in[0].DType); err != nil {
		return nil, err
	}
	return []Type{in[0]}, checkOperands(in[2:], t[0])
}
