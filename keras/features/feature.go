package features

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/layers"
)

// How the space returns a feature: as a float, as the number of its category, or as a one-hot vector.
const (
	FloatMode  = "float"
	IntMode    = "int"
	OneHotMode = "one_hot"
)

// Feature says what a column contains and how it is encoded. The functions of this package create the kinds of
// keras.utils.FeatureSpace; a custom Feature can use any preprocessing layer.
type Feature struct {
	// DType is the type of the column: "float32", "int32", "string" ...
	DType string
	// Preprocessor is the layer that is applied to the column; nil leaves it unchanged.
	Preprocessor layers.Layer
	// OutputMode is FloatMode, IntMode or OneHotMode. OneHotMode needs a StringLookup, IntegerLookup, Discretization,
	// Hashing or HashedCrossing, whose number of categories is known.
	OutputMode string
}

// As returns the feature with another output mode, IntMode or OneHotMode.
func (f Feature) As(mode string) Feature {
	f.OutputMode = mode
	return f
}

// Float is a column of floats that stay unchanged.
func Float() Feature { return Feature{DType: "float32", OutputMode: FloatMode} }

// FloatNormalized is a column of floats that are shifted and scaled to mean 0 and variance 1, which Adapt learns
// (layers.Normalization).
func FloatNormalized() Feature {
	return Feature{DType: "float32", Preprocessor: &layers.Normalization{Axis: []int{-1}}, OutputMode: FloatMode}
}

// FloatRescaled is a column of floats x that become scale·x + offset.
func FloatRescaled(scale, offset float64) Feature {
	return Feature{DType: "float32", Preprocessor: &layers.Rescaling{Scale: []float64{scale}, Offset: []float64{offset}}, OutputMode: FloatMode}
}

// FloatDiscretized is a column of floats that are sorted into bins with equal shares of the data. Adapt learns the
// bins' boundaries.
func FloatDiscretized(bins int) Feature {
	return Feature{DType: "float32", Preprocessor: &layers.Discretization{NumBins: bins}, OutputMode: OneHotMode}
}

// FloatDiscretizedAt is FloatDiscretized with given boundaries, in increasing order.
func FloatDiscretizedAt(borders ...float64) Feature {
	return Feature{DType: "float32", Preprocessor: &layers.Discretization{BinBoundaries: borders}, OutputMode: OneHotMode}
}

// IntegerCategorical is a column of integers that are categories, which Adapt collects. Unseen integers are category 0.
// Pass your own [layers.IntegerLookup] for more settings.
func IntegerCategorical() Feature {
	return Feature{DType: "int32", Preprocessor: &layers.IntegerLookup{}, OutputMode: OneHotMode}
}

// StringCategorical is a column of words that are categories, which Adapt collects. Unseen words are category 0. Pass
// your own [layers.StringLookup] for more settings.
func StringCategorical() Feature {
	return Feature{DType: "string", Preprocessor: &layers.StringLookup{}, OutputMode: OneHotMode}
}

// IntegerHashed is a column of integers that are sorted into bins by a hash.
func IntegerHashed(bins int) Feature {
	return Feature{DType: "int32", Preprocessor: &layers.Hashing{NumBins: bins}, OutputMode: OneHotMode}
}

// StringHashed is a column of words that are sorted into bins by a hash.
func StringHashed(bins int) Feature {
	return Feature{DType: "string", Preprocessor: &layers.Hashing{NumBins: bins}, OutputMode: OneHotMode}
}

func (f Feature) check(name string) error {
	switch {
	case f.OutputMode != FloatMode && f.OutputMode != IntMode && f.OutputMode != OneHotMode:
		return fmt.Errorf("feature %q has the output mode %q; use %q, %q or %q", name, f.OutputMode, FloatMode, IntMode, OneHotMode)
	case f.DType == "":
		return fmt.Errorf("feature %q has no DType; set it to the type of the column, such as \"float32\" or \"string\"", name)
	}
	if _, err := layers.ParseInputDType(f.DType); err != nil {
		return fmt.Errorf("feature %q: %w", name, err)
	}
	return nil
}

// depth returns the number of categories of a preprocessor, or 0 if it is unknown.
func depth(l layers.Layer) int {
	switch l := l.(type) {
	case *layers.StringLookup:
		return l.VocabularySize()
	case *layers.IntegerLookup:
		return l.VocabularySize()
	case *layers.Discretization:
		if l.BinBoundaries != nil {
			return len(l.BinBoundaries) + 1
		}
		return l.NumBins
	case *layers.Hashing:
		return l.NumBins
	case *layers.HashedCrossing:
		return l.NumBins
	}
	return 0
}

// counts reports whether a layer returns an entry for each word, which Keras declares as float.
func counts(l layers.Layer) bool {
	mode := layers.IntMode
	switch l := l.(type) {
	case *layers.TextVectorization:
		mode = l.OutputMode
	case *layers.StringLookup:
		mode = l.OutputMode
	case *layers.IntegerLookup:
		mode = l.OutputMode
	}
	return mode != "" && mode != layers.IntMode
}

// unlearned reports whether a layer cannot work before Adapt. A Normalization can: its mean is 0 and its variance 1.
func unlearned(l layers.Layer) bool {
	switch l := l.(type) {
	case *layers.TextVectorization:
		return l.VocabularySize() == 0
	case *layers.Discretization:
		return l.BinBoundaries == nil
	case *layers.StringLookup, *layers.IntegerLookup:
		return depth(l) == 0
	}
	return false
}

// learns reports whether the layer needs Adapt.
func learns(l layers.Layer) bool {
	switch l := l.(type) {
	case *layers.Normalization:
		return l.Mean == nil
	case *layers.Discretization:
		return l.BinBoundaries == nil
	case *layers.StringLookup:
		return l.Vocabulary == nil
	case *layers.IntegerLookup:
		return l.Vocabulary == nil
	case *layers.TextVectorization:
		return l.Vocabulary == nil
	}
	return false
}

// Cross is a feature combined from several: their joint value is sorted into Bins by a hash.
type Cross struct {
	Features   []string
	Bins       int
	OutputMode string // OneHotMode or IntMode; "" is OneHotMode
}

// Name returns the name of the cross among the results: the names of its features, joined by "_X_".
func (c Cross) Name() string { return strings.Join(c.Features, "_X_") }

func (c Cross) mode() string {
	if c.OutputMode == "" {
		return OneHotMode
	}
	return c.OutputMode
}
