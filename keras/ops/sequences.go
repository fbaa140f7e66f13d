package ops

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// manyParts is the number of neighbouring steps up to which windows are assembled from single steps, and added up step
// by step.
const manyParts = 32

// fewWindows is the number of windows up to which each one is sliced separately.
const fewWindows = 8

// ExtractSequences returns the windows of length elements, stride apart, of the last axis of x (..., n): (...,
// 1+(n-length)/stride, length).
func ExtractSequences(x *Tensor, length, stride int) *Tensor {
	if x.Rank() < 1 || length < 1 || stride < 1 {
		Failf(x.g, "extract sequences: needs at least one axis, and a length and a stride of at least 1, received shape %v, %d and %d", x.Shape(), length, stride)
	}
	n := x.Dim(-1)
	if dim.Less(n, length) {
		Failf(x.g, "extract sequences: the last axis of %v is shorter than a sequence of %d", x.Shape(), length)
	}
	count := dim.Add(dim.FloorDiv(dim.Sub(n, length), stride), 1)
	lead := x.Shape()[:x.Rank()-1]
	parts := (length + stride - 1) / stride
	if dim.Known(count) && count > 0 && count <= max(min(fewWindows, parts/2), 1) {
		var windows []*Tensor
		row := ExpandDims(x, -2)
		for i := range count { //dim:known
			windows = append(windows, SliceAxis(row, -1, i*stride, i*stride+length)) //dim:known
		}
		return Concatenate(-2, windows...)
	}
	steps := dim.Add(count, parts-1)
	x = Reshape(fitLast(x, dim.Mul(steps, stride)), append(lead.Clone(), steps, stride)...)
	return SliceAxis(stepWindows(x, count, parts), -1, 0, length)
}

// stepWindows makes windows of parts steps each from steps x (..., count+parts-1, stride): (..., count, parts·stride).
// Windows of more than manyParts steps are made of up to four shorter ones.
func stepWindows(x *Tensor, count, parts int) *Tensor {
	part := 1
	if parts > manyParts {
		part = (parts + 3) / 4
	}
	if part > 1 {
		x = stepWindows(x, dim.Add(count, parts-part), part)
	}
	var shifted []*Tensor
	for i := 0; i < parts; i += part {
		at := min(i, parts-part)
		y := SliceAxis(x, -2, at, dim.Add(at, count))
		if i > at { // the end of a window that begins earlier
			y = SliceAxis(y, -1, dim.Mul(i-at, dim.FloorDiv(x.Dim(-1), part)), x.Dim(-1))
		}
		shifted = append(shifted, y)
	}
	return Concatenate(-1, shifted...)
}

// windowPlaces holds the positions of the elements of windows, (count, length).
func windowPlaces(t Traced, count, length, stride int) *Tensor {
	return Add(MultiplyScalar(Iota(t, ir.Int32, 0, count, 1), float64(stride)), Iota(t, ir.Int32, 1, 1, length))
}

// overlapAdd adds up windows x (..., count, length), stride apart: (..., (count-1)·stride+length).
func overlapAdd(x *Tensor, stride int) *Tensor {
	count, length := x.Dim(-2), x.Dim(-1)
	Fixed(x, "overlapping windows", length)
	lead := x.Shape()[:x.Rank()-2].Clone()
	total := dim.Add(dim.Mul(dim.Sub(count, 1), stride), length)
	parts := (length + stride - 1) / stride //dim:known
	if parts > manyParts {                  //dim:known
		all := dim.Mul(count, length)
		places := Reshape(windowPlaces(x, count, length, stride), all, 1)
		rows := Transpose(Reshape(x, lead.Size(), all))
		y := Transpose(Scatter(places, rows, total, lead.Size()))
		return Reshape(y, append(lead, total)...)
	}
	x = Reshape(fitLast(x, dim.Mul(parts, stride)), append(lead.Clone(), count, parts, stride)...)
	var sum *Tensor
	for i := range parts { //dim:known
		part := Index(x, -2, i) // (..., count, stride)
		low, high := make([]int, part.Rank()), make([]int, part.Rank())
		low[len(low)-2], high[len(high)-2] = i, parts-1-i //dim:known
		sum = sumOf(sum, Pad(part, low, high, 0))
	}
	return fitLast(Reshape(sum, append(lead, dim.Mul(dim.Add(count, parts, -1), stride))...), total)
}

// STFTOptions say how [STFT] cuts a signal into frames and [ISTFT] reassembles it.
type STFTOptions struct {
	// SequenceLength is the length of the window, SequenceStride the distance between frames; both are at least 1.
	SequenceLength, SequenceStride int
	// FFTLength is the length of a frame, at least SequenceLength; the window lies in its middle, with zeros around.
	FFTLength int
	// Window is "hann", 1/2 - 1/2·cos(2πk/SequenceLength), or "hamming", 0.54 - 0.46·cos(...); "" is "hann". "none"
	// gives all FFTLength elements of a frame the same weight.
	Window string
	// WindowWeights is a custom window, (SequenceLength), that replaces Window.
	WindowWeights *Tensor
	// NotCentered makes frame t begin at element t·SequenceStride. Otherwise the middle of the frame is there, and the
	// signal is mirrored by FFTLength/2 at both ends.
	NotCentered bool
}

// weights returns the window of a frame.
func (o *STFTOptions) weights(what string, like *Tensor) *Tensor {
	g := like.g
	CheckTable(g, what, o.FFTLength)
	if o.SequenceLength < 1 || o.SequenceStride < 1 || o.FFTLength < o.SequenceLength {
		Failf(g, "%s: needs a sequence length and a stride of at least 1 and an fft length of at least the sequence length, received %d, %d and %d", what, o.SequenceLength, o.SequenceStride, o.FFTLength)
	}
	w := o.WindowWeights
	if w == nil {
		share := 0.5
		switch o.Window {
		case "", "hann":
		case "hamming":
			share = 0.54
		case "none":
			return Ones(like, like.DType(), o.FFTLength)
		default:
			Failf(g, "%s: unknown window %q; known: hann, hamming, none", what, o.Window)
		}
		values := make([]float64, o.SequenceLength)
		for k := range values {
			values[k] = share - (1-share)*math.Cos(2*math.Pi*float64(k)/float64(o.SequenceLength))
		}
		if o.SequenceLength == 1 {
			values[0] = 1
		}
		w = Constant(like, like.DType(), ir.Shape{o.SequenceLength}, values)
	}
	if !w.Shape().Equal(ir.Shape{o.SequenceLength}) {
		Failf(g, "%s: the window must have shape [%d], received %v", what, o.SequenceLength, w.Shape())
	}
	low := (o.FFTLength - o.SequenceLength) / 2
	return Pad(Cast(w, like.DType()), []int{low}, []int{o.FFTLength - o.SequenceLength - low}, 0)
}

// STFT returns the short-time Fourier transform of x (..., samples). Each frame of FFTLength samples is multiplied by
// the window and transformed; elements 0 to FFTLength/2 are returned, as real and imaginary part (..., frames,
// FFTLength/2+1). x is float32 or float64.
func STFT(x *Tensor, o STFTOptions) (re, im *Tensor) {
	if x.Rank() < 1 || x.DType() != ir.Float32 && x.DType() != ir.Float64 {
		Failf(x.g, "stft: needs a signal (..., samples) of float32 or float64, received %v", x.Type())
	}
	w := o.weights("stft", x)
	if half := o.FFTLength / 2; !o.NotCentered {
		if dim.Less(x.Dim(-1), half+1) {
			Failf(x.g, "stft: a signal of %d samples is too short to be mirrored by %d; take a shorter FFTLength or NotCentered", x.Dim(-1), half)
		}
		around := make([]int, x.Rank())
		around[len(around)-1] = half
		x = PadMode(x, around, around, "reflect")
	}
	return RFFT(Multiply(ExtractSequences(x, o.FFTLength, o.SequenceStride), w), o.FFTLength)
}

// ISTFT is the inverse of [STFT] with equal options, (..., samples): the inverse transforms of the frames are
// multiplied by the window once more, added up at their positions, and divided by the sum of the squared windows there,
// where that is above 1e-10. The mirrored ends are cut off. If length is above 0 it is the number of samples to return.
func ISTFT(re, im *Tensor, length int, o STFTOptions) *Tensor {
	x := partsOf("istft", re, im, 2)
	w := o.weights("istft", re)
	frames := Multiply(IRFFT(x.re, x.im, o.FFTLength), w)
	y := overlapAdd(frames, o.SequenceStride)
	norm := overlapAdd(BroadcastTo(Square(w), re.Dim(-2), o.FFTLength), o.SequenceStride)
	y = Divide(y, Where(CompareScalar(ir.Gt, norm, 1e-10), norm, OnesLike(norm)))
	if o.Window == "none" && o.WindowWeights == nil { // Keras scales without a window
		y = MultiplyScalar(y, float64(o.FFTLength)/float64(o.SequenceStride))
	}
	start, end := 0, y.Dim(-1)
	if !o.NotCentered {
		start = o.FFTLength / 2
		end = dim.Sub(end, start)
	}
	if length > 0 {
		end = dim.Min(dim.Add(start, length), y.Dim(-1))
	}
	if dim.Less(end, start) {
		Failf(re.g, "istft: %d frames of %d are too short for their ends to be cut off", re.Dim(-2), o.FFTLength)
	}
	return SliceAxis(y, -1, start, end)
}
