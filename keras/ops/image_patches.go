package ops

import (
	"math"
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// batched adds a batch axis to images without one, and returns a function that removes it again.
func batched(what string, x *Tensor, spatial int) (*Tensor, func(*Tensor) *Tensor) {
	switch x.Rank() {
	case spatial + 2:
		return x, func(y *Tensor) *Tensor { return y }
	case spatial + 1:
		return ExpandDims(x, 0), func(y *Tensor) *Tensor { return Squeeze(y, 0) }
	}
	Failf(x.g, "%s: needs images with %d axes and channels, with or without a batch, received shape %v", what, spatial, x.Shape())
	return nil, nil
}

// ExtractPatches returns the windows of images (batch, spatial..., channels), with or without the batch: (batch,
// positions..., window·channels). The elements of a window are in row-major order, channels last. The options are those
// of [Conv].
func ExtractPatches(x *Tensor, window []int, o ConvOptions) *Tensor {
	x, unbatched := batched("extract patches", x, len(window))
	all := 1
	for _, n := range window {
		if n < 1 {
			Failf(x.g, "extract patches: the window must be positive, received %v", window)
		}
		all *= n //dim:known windows are constants
	}
	Fixed(x, "extract patches", x.Dim(-1))
	o.Groups = 1
	if y := tilePatches(x, window, o); y != nil {
		return unbatched(y)
	}
	all *= x.Dim(-1) //dim:known
	kernel := append(slices.Clone(window), x.Dim(-1), all)
	return unbatched(Conv(x, Reshape(Identity(x, x.DType(), all), kernel...), o))
}

// tilePatches returns the patches if they lie side by side, so that elements only have to be moved; otherwise nil.
func tilePatches(x *Tensor, window []int, o ConvOptions) *Tensor {
	a := o.attrs(len(window))
	var split, perm, inner, out []int
	low := make([]int, x.Rank())
	limit := x.Shape().Clone()
	split, out = append(split, x.Dim(0)), append(out, x.Dim(0))
	for i, n := range window {
		if a.Strides[i] != n || n > 1 && a.Dilation[i] != 1 || a.PadLow[i] != 0 || a.PadHigh[i] != 0 {
			return nil
		}
		count := dim.FloorDiv(x.Dim(1+i), n)
		limit[1+i] = dim.Mul(count, n)
		split, out = append(split, count, n), append(out, count)
		perm, inner = append(perm, 1+2*i), append(inner, 2+2*i)
	}
	channels := x.Dim(-1)
	split = append(split, channels)
	x = Transpose(Reshape(Slice(x, low, limit), split...), ints.Concat([]int{0}, perm, inner, []int{len(split) - 1})...)
	return Reshape(x, append(out, ir.Shape(window).Size()*channels)...) //dim:known
}

// FoldOptions say how [Unfold] and [Fold] traverse images: the height and width of the window, the distance between its
// elements and between its positions (nil is 1), and the zeros around the image (nil is none).
type FoldOptions struct{ Window, Dilation, Padding, Strides []int }

// positions returns the number of windows along height and width of an image, and the options in full.
func (o *FoldOptions) positions(what string, g *Graph, size []int) (n []int, full FoldOptions) {
	pair := func(name string, v []int, def, least int) []int {
		if v == nil {
			v = []int{def, def}
		}
		if len(v) != 2 || v[0] < least || v[1] < least {
			Failf(g, "%s: %s must be two numbers of at least %d, received %v", what, name, least, v)
		}
		return v
	}
	full = FoldOptions{pair("Window", o.Window, 0, 1), pair("Dilation", o.Dilation, 1, 1), pair("Padding", o.Padding, 0, 0), pair("Strides", o.Strides, 1, 1)}
	for i := range 2 {
		room := dim.Sub(dim.Add(size[i], 2*full.Padding[i]), full.Dilation[i]*(full.Window[i]-1)+1)
		if dim.Less(room, 0) {
			Failf(g, "%s: a window of %v with dilation %v does not fit into an image of %v with padding %v", what, full.Window, full.Dilation, size, full.Padding)
		}
		n = append(n, dim.Add(dim.FloorDiv(room, full.Strides[i]), 1))
	}
	return n, full
}

// Unfold returns the windows of images (batch, channels, height, width) as columns: (batch, channels·window,
// positions).
func Unfold(x *Tensor, o FoldOptions) *Tensor {
	if x.Rank() != 4 {
		Failf(x.g, "unfold: needs images (batch, channels, height, width), received shape %v", x.Shape())
	}
	n, full := o.positions("unfold", x.g, x.Shape()[2:])
	patches := ExtractPatches(Transpose(x, 0, 2, 3, 1), full.Window, full.conv())
	batch, channels, window := x.Dim(0), x.Dim(1), full.Window[0]*full.Window[1]
	patches = Transpose(Reshape(patches, batch, dim.Mul(n...), window, channels), 0, 3, 2, 1)
	return Reshape(patches, batch, dim.Mul(channels, window), dim.Mul(n...))
}

func (o *FoldOptions) conv() ConvOptions {
	return ConvOptions{Strides: o.Strides, Dilation: o.Dilation, PadLow: o.Padding, PadHigh: o.Padding}
}

// Fold sums windows (batch, channels·window, positions) into images (batch, channels, height, width). It is the
// gradient of [Unfold], used forwards.
func Fold(x *Tensor, height, width int, o FoldOptions) *Tensor {
	if x.Rank() != 3 {
		Failf(x.g, "fold: needs windows (batch, channels·window, positions), received shape %v", x.Shape())
	}
	n, full := o.positions("fold", x.g, []int{height, width})
	window := full.Window[0] * full.Window[1]
	if !dim.MayEqual(dim.Mod(x.Dim(1), window), 0) || !dim.MayEqual(x.Dim(2), dim.Mul(n...)) {
		Failf(x.g, "fold: windows of %v on an image of %d by %d need shape (batch, channels·%d, %d), received %v", full.Window, height, width, window, dim.Mul(n...), x.Shape())
	}
	batch, channels := x.Dim(0), dim.FloorDiv(x.Dim(1), window)
	patches := Reshape(Transpose(Reshape(x, batch, channels, window, dim.Mul(n...)), 0, 3, 2, 1), batch, n[0], n[1], dim.Mul(window, channels))
	kernel := Reshape(Identity(x, x.DType(), dim.Mul(window, channels)), full.Window[0], full.Window[1], channels, dim.Mul(window, channels))
	return Transpose(ConvTranspose(patches, kernel, ir.Shape{batch, height, width, channels}, full.conv()), 0, 3, 1, 2)
}

// PadImages adds zeros around images (..., height, width, channels).
func PadImages(x *Tensor, top, left, bottom, right int) *Tensor {
	if x.Rank() < 3 || min(top, left, bottom, right) < 0 {
		Failf(x.g, "pad images: needs images (..., height, width, channels) and paddings of at least 0, received shape %v and %d, %d, %d, %d", x.Shape(), top, left, bottom, right)
	}
	low, high := make([]int, x.Rank()), make([]int, x.Rank())
	h, w := x.Rank()-3, x.Rank()-2
	low[h], low[w], high[h], high[w] = top, left, bottom, right
	return Pad(x, low, high, 0)
}

// CropImages crops images (..., height, width, channels) to height by width pixels, starting at row top and column
// left.
func CropImages(x *Tensor, top, left, height, width int) *Tensor {
	if x.Rank() < 3 || min(top, left, height, width) < 0 || dim.Less(x.Dim(-3), top+height) || dim.Less(x.Dim(-2), left+width) {
		Failf(x.g, "crop images: %d by %d from row %d and column %d do not lie within images %v", height, width, top, left, x.Shape())
	}
	return SliceAxis(SliceAxis(x, -3, top, top+height), -2, left, left+width)
}

// eachChannel convolves every channel of images (batch, height, width, channels) with the same kernel. Outside is zero.
func eachChannel(x *Tensor, kernel *Tensor) *Tensor {
	h, w, channels := kernel.Dim(0), kernel.Dim(1), x.Dim(-1)
	if channels == 0 {
		return x
	}
	wide := BroadcastTo(Reshape(kernel, h, w, 1, 1), h, w, channels, 1)
	//dim:known the kernel is given
	return DepthwiseConv(x, wide, ConvOptions{PadLow: []int{(h - 1) / 2, (w - 1) / 2}, PadHigh: []int{h / 2, w / 2}})
}

// SobelEdges returns the slopes of images (batch, height, width, channels) downwards and to the right, along a new last
// axis, by Sobel's kernel [-1 0 1; -2 0 2; -1 0 1] and its transpose. Outside is zero, as in Keras on JAX; on
// TensorFlow it is the mirrored image.
func SobelEdges(x *Tensor) *Tensor {
	if x.Rank() != 4 || !x.DType().IsFloat() {
		Failf(x.g, "sobel edges: needs images of floats (batch, height, width, channels), received %v %v", x.DType(), x.Shape())
	}
	right := Constant(x, x.DType(), []int{3, 3}, []float64{-1, 0, 1, -2, 0, 2, -1, 0, 1})
	return Stack(-1, eachChannel(x, Transpose(right, 1, 0)), eachChannel(x, right))
}

// GaussianBlur blurs images (batch, height, width, channels), with or without the batch: a weighted mean with weights
// exp(-d²/2σ²) along height and width. Outside is zero. As in Keras, sigma[0] and size[0] belong to the width, and
// size[1] is the height of the window.
func GaussianBlur(x *Tensor, size [2]int, sigma [2]float64) *Tensor {
	if !x.DType().IsFloat() || min(size[0], size[1]) < 1 || !(sigma[0] > 0 && sigma[1] > 0) {
		Failf(x.g, "gaussian blur: needs images of floats, a window of at least 1 and a sigma above 0, received %v, %v and %v", x.DType(), size, sigma)
	}
	CheckTable(x, "gaussian blur", size[0], size[1])
	x, unbatched := batched("gaussian blur", x, 2)
	weights := func(i int) *Tensor {
		w, sum := make([]float64, size[i]), 0.0
		for j := range w {
			d := (float64(j) - float64(size[i]-1)/2) / sigma[i]
			w[j] = math.Exp(-0.5 * d * d)
			sum += w[j]
		}
		for j := range w {
			w[j] /= sum
		}
		return Constant(x, x.DType(), []int{size[i]}, w)
	}
	return unbatched(eachChannel(x, Outer(weights(1), weights(0))))
}
