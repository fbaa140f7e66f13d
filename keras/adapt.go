package keras

import (
	"context"
	"fmt"
	"iter"
	"reflect"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// Adapt lets a preprocessing layer learn from data before a model is trained, like layer.adapt(data) in Keras.
// Normalization learns the mean and variance, Discretization its boundaries, and StringLookup, IntegerLookup and
// TextVectorization their vocabulary. Adapt reads the inputs of ds once: one array of numbers or text. Targets are
// ignored, and the layer's previous state is replaced.
//
//	words := &layers.TextVectorization{MaxTokens: 20000}
//	err := keras.Adapt(ctx, words, data.Arrays(texts, nil))
//
// Examples in memory (data.Arrays) are taken as one batch, which matters only to Discretization. A dataset is read
// batch by batch and need not fit into memory. In the lookups' mode "tf_idf", a batch with a single axis is one example
// if it comes from a dataset, as in Keras, but each entry of an array in memory is an example. If each word of a
// dataset is an example, give the examples an axis of their own. After an error, or if the context ends, the layer is
// unchanged.
func Adapt(ctx context.Context, l layers.Layer, ds data.Dataset) error {
	return config.PrefixedOnce("keras: Adapt: ", learn(ctx, l, ds), "keras: ", "layers: ", "Adapt: ")
}

func learn(ctx context.Context, l layers.Layer, ds data.Dataset) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("the context is nil; pass context.Background()")
	case layers.IsNil(l):
		return fmt.Errorf("the layer is nil")
	case isNilDataset(ds):
		return fmt.Errorf("the data are nil; pass data.Arrays(x, nil) or a data.Dataset")
	}
	if n, known := data.Cardinality(ds); known && n == data.Infinite {
		return fmt.Errorf("the dataset never ends; use Take to end it")
	}
	separate := func(shape []int) []int { return shape }
	if _, inMemory := ds.(*data.ArraySource); inMemory && isLookup(l) {
		separate = eachEntry
	}
	switch l := l.(type) {
	case layers.NumberAdapter:
		if s, inMemory := ds.(*data.ArraySource); inMemory && s.TextType() != "" {
			return fmt.Errorf("%s %q takes numbers, the data are a %s", layers.ClassName(l), layers.Name(l), s.TextType())
		}
		return l.AdaptBatches(inputsOf(ctx, ds, func(a data.Array) (kernels.Array, error) {
			a.Type.Shape = separate(a.Type.Shape)
			return a, a.Check()
		}))
	case layers.TextAdapter:
		return l.AdaptBatches(inputsOf(ctx, ds, func(a data.Array) (layers.HostArray, error) {
			text, err := textOf(a)
			text.Shape = separate(text.Shape)
			return text, err
		}))
	}
	return fmt.Errorf("%s %q learns nothing from data; only Normalization, Discretization, StringLookup, IntegerLookup and TextVectorization do",
		layers.ClassName(l), layers.Name(l))
}

// isLookup reports whether l counts the number of examples that a word occurs in.
func isLookup(l layers.Layer) bool {
	switch l.(type) {
	case *layers.IntegerLookup, *layers.StringLookup, *layers.TextVectorization:
		return true
	}
	return false
}

// eachEntry turns each entry of a vector into an example.
func eachEntry(shape []int) []int {
	if len(shape) != 1 {
		return shape
	}
	return []int{shape[0], 1}
}

func isNilDataset(ds data.Dataset) bool {
	v := reflect.ValueOf(ds)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// inputsOf yields the inputs of a dataset batch by batch, in the form that a layer takes.
func inputsOf[T layers.HostArray | kernels.Array](ctx context.Context, ds data.Dataset, form func(data.Array) (T, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		for b, err := range batchesOf(ctx, ds) {
			if err == nil && b.X.Len() != 1 {
				err = fmt.Errorf("the data have %d inputs, expected one; a layer adapts to one array", b.X.Len())
			}
			if err != nil {
				yield(none, err)
				return
			}
			x, err := form(b.X.Arrays[0])
			if !yield(x, err) || err != nil {
				return
			}
		}
	}
}

// batchesOf yields the batches of a dataset; data in memory are one batch.
func batchesOf(ctx context.Context, ds data.Dataset) iter.Seq2[data.Batch, error] {
	s, inMemory := ds.(*data.ArraySource)
	if !inMemory {
		return ds.Batches(ctx, 0)
	}
	return func(yield func(data.Batch, error) bool) {
		if err := s.Err(); err != nil {
			yield(data.Batch{}, err)
			return
		}
		yield(s.All(), ctx.Err())
	}
}

func textOf(d data.Array) (a layers.HostArray, err error) {
	if d.DType() != ir.Uint8 { // see data.Text
		return a, fmt.Errorf("takes text, received an array of %v of shape %v; give it a []string", d.DType(), layers.ShapeString(d.Shape()))
	}
	a.Strings, a.Shape, err = data.Strings(d)
	return a, err
}
