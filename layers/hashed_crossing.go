package layers

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// HashedCrossing assigns combinations of values of two or more features to NumBins bins by a hash:
//
//	h = 0xDECAFCAFFE;  for each feature x: h = join(h, f(x));  y = h mod NumBins
//
// with f(x) = FarmHash Fingerprint64 for words and x itself for integers, and TensorFlow's FingerprintCat64 to join two
// hashes. OutputMode "int" gives bins; "one_hot" writes them as rows like [CategoryEncoding].
//
// The layer works on the host ([HostLayer]): in a model it must come right after inputs.
//
// Input shape: (batch) or (batch, 1), the same for all. Output shape: that of the inputs, int64; with "one_hot" (batch,
// NumBins), float32.
type HashedCrossing struct {
	Base

	Name  string `keras:"name"`
	DType string `keras:"dtype,plain"` // type of the result; "" is int64 for bins and float32 for rows

	NumBins    int        `keras:"num_bins"`                // required
	OutputMode OutputMode `keras:"output_mode,default=int"` // "int" or "one_hot"; "" is "int"
}

// crossKey is TensorFlow's default hash key of crossings.
const crossKey = 0xDECAFCAFFE

func (l *HashedCrossing) check(shapes [][]int) error {
	mode := outputMode(l.OutputMode, IntMode)
	switch {
	case l.NumBins < 1:
		return fmt.Errorf("NumBins must be at least 1, received %d", l.NumBins)
	case mode != IntMode && mode != OneHotMode:
		return fmt.Errorf("unknown OutputMode %q; use %q or %q", mode, IntMode, OneHotMode)
	case len(shapes) < 2:
		return fmt.Errorf("takes at least two inputs, received %d", len(shapes))
	}
	for _, s := range shapes {
		if !slices.Equal(s, shapes[0]) || len(s) > 2 || len(s) == 2 && s[1] != 1 {
			return fmt.Errorf("takes inputs of equal shapes (batch) or (batch, 1), received %v", shapes)
		}
	}
	return nil
}

// Transform crosses features.
func (l *HashedCrossing) Transform(inputs ...HostArray) (HostArray, error) {
	shapes := make([][]int, len(inputs))
	var err error
	for i, x := range inputs {
		shapes[i] = x.Shape
		if e := x.check(); e != nil {
			err = e
		} else if len(x.Floats) > 0 {
			err = fmt.Errorf("takes words and whole numbers, received floats")
		}
	}
	if err == nil {
		err = l.check(shapes)
	}
	if err != nil {
		return HostArray{}, fmt.Errorf("layers: %s: %w", Name(l), err)
	}
	out := make([]int64, product(shapes[0])) //dim:known text comes with the shapes of data
	for i := range out {
		h := uint64(crossKey)
		for _, x := range inputs {
			if len(x.Ints) > 0 {
				h = joinFingerprints(h, uint64(x.Ints[i]))
			} else {
				h = joinFingerprints(h, fingerprint64(x.Strings[i]))
			}
		}
		out[i] = int64(h % uint64(l.NumBins))
	}
	return hashed(out, shapes[0], outputMode(l.OutputMode, IntMode), l.NumBins, l.DType)
}

// HostType returns the type of the result.
func (l *HashedCrossing) HostType(inputs ...ir.Type) (ir.Type, error) {
	shapes := make([][]int, len(inputs))
	for i, x := range inputs {
		shapes[i] = x.Shape
		if x.DType.IsFloat() {
			return ir.Type{}, fmt.Errorf("takes words and whole numbers, received %v", x.DType)
		}
	}
	if err := l.check(shapes); err != nil {
		return ir.Type{}, err
	}
	return hashedRows(inputs[0].Shape, outputMode(l.OutputMode, IntMode), l.NumBins, l.DType)
}

// Forward fails, because the layer cannot be part of a program.
func (l *HashedCrossing) Forward(c *Context, _ []*ops.Tensor) []*ops.Tensor { return ForwardHost(c) }

// AmendConfig writes the type of the results, which Keras requires.
func (l *HashedCrossing) AmendConfig(keys map[string]any) error {
	keys["sparse"] = false
	if l.DType == "" && outputMode(l.OutputMode, IntMode) == IntMode {
		keys["dtype"] = "int64"
	}
	return nil
}

// IgnoredConfig adds the option for sparse results, which do not exist here.
func (l *HashedCrossing) IgnoredConfig() []string {
	return append(l.Base.IgnoredConfig(), "sparse", "trainable")
}

func init() { Register[HashedCrossing]() }
