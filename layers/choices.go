package layers

import "github.com/gokeras/gokeras/keras/boundingboxes"

// Fields of which Keras takes one of a closed set have types of their own. Their values are Keras's words, in files
// too; a field also takes the word itself, as in Padding: "same", and another word is an error when the layer is used.

// Padding is what surrounds the input of windows. The zero value is Valid.
type Padding string

const (
	Valid  Padding = "valid"  // no padding: windows lie inside the input
	Same   Padding = "same"   // zeros so that the result has length ceil(length / stride); an odd one goes to the end
	Causal Padding = "causal" // Conv1D only: zeros before the input, so that no step sees a later one
)

// DataFormat is the order of the axes of images and sequences. The zero value is ChannelsLast.
type DataFormat string

const (
	ChannelsLast  DataFormat = "channels_last"  // (batch, spatial..., channels)
	ChannelsFirst DataFormat = "channels_first" // (batch, channels, spatial...)
)

// Interpolation is how values between pixels are computed. The zero value is the default of each layer, which supports
// some of them.
type Interpolation string

const (
	Nearest  Interpolation = "nearest"
	Bilinear Interpolation = "bilinear"
	Bicubic  Interpolation = "bicubic"
	Lanczos3 Interpolation = "lanczos3"
	Lanczos5 Interpolation = "lanczos5"
)

// FillMode is how the outside of an image is filled. The zero value is the default of each layer, which supports some
// of them.
type FillMode string

const (
	FillReflect  FillMode = "reflect"  // the image mirrored at its edge, which is repeated: d c b a | a b c d | d c b a
	FillMirror   FillMode = "mirror"   // mirrored, without the edge: d c b | a b c d | c b a
	FillWrap     FillMode = "wrap"     // the image again: a b c d | a b c d | a b c d
	FillNearest  FillMode = "nearest"  // the edge: a a a a | a b c d | d d d d
	FillConstant FillMode = "constant" // FillValue
)

// BoundingBoxFormat is how the boxes of objects in images are written. The zero value means that images must not have
// boxes.
type BoundingBoxFormat = boundingboxes.Format

// MergeMode is how Bidirectional joins the results of its two directions. The zero value is MergeConcat.
type MergeMode string

const (
	MergeConcat   MergeMode = "concat" // side by side along the last axis
	MergeSum      MergeMode = "sum"
	MergeMultiply MergeMode = "mul"
	MergeAverage  MergeMode = "ave"
	MergeNone     MergeMode = "none" // both results apart; null in files
)
