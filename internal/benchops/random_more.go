package main

import (
	"math/rand/v2"
	"slices"
)

// Random calls of what neither of the other lists has: transforms, images, matrices, and functions that are made of
// several.

var more = []drawn{
	{"rfft", "float32 float64", unaryArguments},
	{"fft", "float32 float64", complexArguments},
	{"fft2 ifft2", "float32 float64", complexMatrixArguments},
	{"erfc erfinv i0 sinc deg2rad squareplus", "float32 float64", unaryArguments},
	{"trunc signbit isposinf sparsemax", "float32 float64 bfloat16", unaryArguments},
	{"logaddexp2 fmin fmax nextafter heaviside fmod", "float32 float64", broadcastArguments},
	{"nanmin nanprod nanvar nanstd nanargmax", "float32 float64", oneAxisArguments},
	{"moments", "float32 float64 bfloat16", axisArguments},
	{"trapezoid", "float32 float64", unaryArguments},
	{"layer_normalization rms_normalization", "float32 float64 bfloat16", unaryArguments},
	{"glu", someFloats, gluArguments},
	{"max_pool average_pool", "float32 bfloat16", poolArguments},
	{"resize", "float32", resizeArguments},
	{"map_coordinates", "float32", coordinatesArguments},
	{"rgb_to_grayscale rgb_to_hsv hsv_to_rgb", "float32 float64", colorArguments},
	{"space_to_depth depth_to_space", allFloats, depthArguments},
	{"det inv", "float32 float64", squareArguments},
	{"slogdet logdet", "float32 float64", squareArguments},
	{"scatter", "float32 float64 int32 bfloat16", newScatterArguments},
	{"solve", "float32 float64", solveArguments},
	{"cdist", "float32 float64", distanceArguments},
	{"kron", noBools, kronArguments},
	{"isin", "float32 int32 int64", isinArguments},
	{"in_top_k", "float32", inTopArguments},
	{"multi_hot", "int32 int64", multiHotArguments},
	{"extract_sequences", "float32 float64 int32 bfloat16", sequenceArguments},
	{"hstack vstack dstack", allTypes, stackedArguments},
	{"unstack", allTypes, unstackArguments},
	{"diag", noBools, matrixArgument},
	{"histogram", "float32 float64", histogramArguments},
	{"sparse_categorical_crossentropy", "float32", classArguments},
	{"unravel_index", "int32 int64", unravelArguments},
}

func complexArguments(_ *rand.Rand, d string, s []int) []argument {
	return []argument{{Tensors: []tensor{drawnTensor(d, s), drawnTensor(d, s)}, List: true}}
}

func complexMatrixArguments(r *rand.Rand, d string, s []int) []argument {
	return complexArguments(r, d, matrixArguments(r, d, s)[0].Tensors[0].Shape)
}

func gluArguments(r *rand.Rand, d string, s []int) []argument {
	axis := r.IntN(len(s))
	s[axis] = max(s[axis]/2, 1) * 2
	return []argument{one(drawnTensor(d, s)), value(axis)}
}

// pictureShape is a batch of pictures of about as many elements as the shape, with so many channels.
func pictureShape(r *rand.Rand, s []int, channels int) []int {
	n := elements(s)
	height, width := pick(r, 4, 8, 12, 20, 32, 48), pick(r, 4, 8, 16, 24, 40)
	return []int{max(n/(height*width*channels), 1), height, width, channels}
}

func poolArguments(r *rand.Rand, d string, s []int) []argument {
	size := value(pick(r, 2, 3, 4))
	return []argument{one(drawnTensor(d, pictureShape(r, s, pick(r, 1, 3, 8, 17, 32)))), size, size} // Keras on JAX takes no strides of None
}

func resizeArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, pictureShape(r, s, pick(r, 1, 3, 16)))), value([]int{pick(r, 5, 8, 16, 33), pick(r, 5, 8, 16, 33)}),
		value(pick(r, "nearest", "bilinear", "bicubic"))}
}

func coordinatesArguments(r *rand.Rand, d string, s []int) []argument {
	p := pictureShape(r, s, 1)
	plane := []int{p[0] * p[1], p[2]}
	return []argument{one(drawnTensor(d, plane)), one(tensor{d, []int{2, plane[0] * plane[1]}, 0, float64(plane[1] - 1)}), value(r.IntN(2))}
}

func colorArguments(r *rand.Rand, d string, s []int) []argument {
	t := drawnTensor(d, pictureShape(r, s, 3))
	t.Low = 0
	return []argument{one(t)}
}

func depthArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, pictureShape(r, s, pick(r, 4, 8, 16)))), value(2)}
}

// squareShape is a batch of matrices.
func squareShape(r *rand.Rand, s []int) []int {
	n := elements(s)
	m := pick(r, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64, 100, 200)
	return []int{max(n/(m*m), 1), m, m}
}

func squareArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, squareShape(r, s)))}
}

// newScatterArguments put rows of values anywhere into zeros.
func newScatterArguments(r *rand.Rand, d string, s []int) []argument {
	rows := pick(r, 1, 10, 1000)
	return []argument{one(tensor{"int32", []int{s[0], 1}, 0, float64(rows)}), one(drawnTensor(d, s)), value(append([]int{rows}, s[1:]...))}
}

func solveArguments(r *rand.Rand, d string, s []int) []argument {
	a := squareShape(r, s)
	return []argument{one(drawnTensor(d, a)), one(drawnTensor(d, []int{a[0], a[1], pick(r, 1, 2, 5, a[1])}))}
}

func distanceArguments(r *rand.Rand, d string, s []int) []argument {
	n, width := pick(r, 10, 33, 100), pick(r, 2, 3, 16, 40)
	return []argument{one(drawnTensor(d, []int{n, width})), one(drawnTensor(d, []int{pick(r, 20, 64, 150), width}))}
}

func kronArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, []int{pick(r, 2, 5, 16), pick(r, 3, 10)})), one(drawnTensor(d, []int{pick(r, 3, 8, 17), pick(r, 2, 16, 33)}))}
}

func isinArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, s)), one(drawnTensor(d, []int{pick(r, 1, 4, 20, 100)}))}
}

func inTopArguments(r *rand.Rand, d string, s []int) []argument {
	m := matrixArguments(r, d, s)[0].Tensors[0].Shape
	classes := max(m[len(m)-1], 2)
	n := 1
	for _, size := range m[:len(m)-1] {
		n *= size
	}
	return []argument{one(tensor{"int32", []int{n}, 0, float64(classes)}), one(drawnTensor(d, []int{n, classes})), value(1 + r.IntN(min(classes, 5)))}
}

func multiHotArguments(r *rand.Rand, d string, s []int) []argument {
	classes := pick(r, 3, 10, 64)
	m := []int{pick(r, 8, 50, 200), pick(r, 1, 4, 10)}
	return []argument{one(tensor{d, m, 0, float64(classes)}), value(classes)}
}

func sequenceArguments(r *rand.Rand, d string, s []int) []argument {
	length := pick(r, 3, 8, 16, 25, 64)
	s[len(s)-1] = max(s[len(s)-1], length)
	return []argument{one(drawnTensor(d, s)), value(length), value(pick(r, 1, 2, length))}
}

func stackedArguments(r *rand.Rand, d string, s []int) []argument {
	return concatArguments(r, d, s)[:1]
}

func unstackArguments(r *rand.Rand, d string, s []int) []argument {
	axis := r.IntN(len(s))
	if s[axis] > 8 {
		axis = slices.Index(s, slices.Min(s))
	}
	return []argument{one(drawnTensor(d, s)), value(s[axis]), value(axis)}
}

// matrixArgument is one vector or matrix.
func matrixArgument(r *rand.Rand, d string, _ []int) []argument {
	return []argument{one(drawnTensor(d, pick(r, []int{150}, []int{180, 180}, []int{30, 400})))}
}

func histogramArguments(r *rand.Rand, d string, s []int) []argument {
	return []argument{one(drawnTensor(d, []int{elements(s)})), value(pick(r, 5, 10, 64)), value([]float64{-1, 1})}
}

func classArguments(r *rand.Rand, d string, s []int) []argument {
	list := inTopArguments(r, d, s)
	list[1].Tensors[0].Low, list[1].Tensors[0].High = 0.05, 1
	return list[:2]
}

func unravelArguments(r *rand.Rand, d string, s []int) []argument {
	n := elements(s)
	return []argument{one(tensor{d, []int{n}, 0, float64(n)}), value(s)}
}
