package layers

import "github.com/gokeras/gokeras/keras/boundingboxes"

// Fields that take one of a fixed set of words in Keras have their own types. Their values are Keras's words, in files
// too. A field can also be set to the word itself, as in Padding: "same". An unknown word is an error when the layer is
// used.

// Padding says how the input is padded for windows. The zero value is Valid.
type Padding string

const (
	Valid  Padding = "valid"  // no padding: windows lie inside the input
	Same   Padding = "same"   // zeros so that the result has length ceil(length / stride); an extra one goes to the end
	Causal Padding = "causal" // Conv1D only: zeros before the input, so that no step sees a later one
)

// DataFormat is the order of the axes of images and sequences. The zero value is ChannelsLast.
type DataFormat string

const (
	ChannelsLast  DataFormat = "channels_last"  // (batch, spatial..., channels)
	ChannelsFirst DataFormat = "channels_first" // (batch, channels, spatial...)
)

// Interpolation says how values between pixels are computed. The zero value is each layer's default. Each layer
// supports some of the values.
type Interpolation string

const (
	Nearest  Interpolation = "nearest"
	Bilinear Interpolation = "bilinear"
	Bicubic  Interpolation = "bicubic"
	Lanczos3 Interpolation = "lanczos3"
	Lanczos5 Interpolation = "lanczos5"
)

// FillMode says how the outside of an image is filled. The zero value is each layer's default. Each layer supports some
// of the values.
type FillMode string

const (
	FillReflect  FillMode = "reflect"  // the image mirrored at its edge, which is repeated: d c b a | a b c d | d c b a
	FillMirror   FillMode = "mirror"   // mirrored, without the edge: d c b | a b c d | c b a
	FillWrap     FillMode = "wrap"     // the image again: a b c d | a b c d | a b c d
	FillNearest  FillMode = "nearest"  // the edge: a a a a | a b c d | d d d d
	FillConstant FillMode = "constant" // FillValue
)

// BoundingBoxFormat is the format of the bounding boxes of objects in images. The zero value means that images must not
// have boxes.
type BoundingBoxFormat = boundingboxes.Format

// MergeMode says how Bidirectional joins the results of its two directions. The zero value is MergeConcat.
type MergeMode string

const (
	MergeConcat   MergeMode = "concat" // side by side along the last axis
	MergeSum      MergeMode = "sum"
	MergeMultiply MergeMode = "mul"
	MergeAverage  MergeMode = "ave"
	MergeNone     MergeMode = "none" // both results apart; null in files
)
