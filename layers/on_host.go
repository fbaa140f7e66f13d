package layers

import (
	"fmt"
	"slices"
	"sort"

	"github.com/gokeras/gokeras/kernels/ir"
)

// HostCapable is implemented by layers of the program that can also work on the host. A model lets them do so if a
// [HostLayer] follows them: IntegerLookup and Discretization before HashedCrossing.
type HostCapable interface {
	Layer
	// OnHost returns the layer that computes the same on the host, or nil if the settings do not allow it.
	OnHost() HostLayer
}

// onHost is a layer of the program that works on the host.
type onHost struct {
	Layer
	transform func(x HostArray) (HostArray, error)
	dtype     ir.DType
}

// Transform computes the layer.
func (l *onHost) Transform(inputs ...HostArray) (HostArray, error) {
	x, err := single(inputs)
	if err == nil && x.Strings != nil {
		err = fmt.Errorf("takes numbers, received text")
	}
	if err == nil {
		x, err = l.transform(x)
	}
	if err != nil {
		return HostArray{}, fmt.Errorf("layers: %s: %w", Name(l.Layer), err)
	}
	return x, nil
}

// HostType returns the type of the result.
func (l *onHost) HostType(inputs ...ir.Type) (ir.Type, error) {
	if len(inputs) != 1 {
		return ir.Type{}, fmt.Errorf("takes one input, received %d", len(inputs))
	}
	return ir.Type{DType: l.dtype, Shape: inputs[0].Shape.Clone()}, nil
}

// OnHost returns the lookup on the host; nil for modes other than "int", and with Invert.
func (l *IntegerLookup) OnHost() HostLayer {
	if outputMode(l.OutputMode, IntMode) != IntMode || l.Invert {
		return nil
	}
	return &onHost{Layer: l, dtype: ir.Int64, transform: func(x HostArray) (HostArray, error) {
		k, t, err := l.ready()
		if err == nil && t == nil {
			err = errNoVocabulary
		}
		if err != nil {
			return HostArray{}, err
		}
		numbers := slices.Clone(x.Ints)
		if x.Floats != nil {
			numbers = make([]int64, len(x.Floats))
			for i, v := range x.Floats {
				numbers[i] = int64(v)
			}
		}
		for i, n := range numbers {
			numbers[i] = k.place(t, n)
		}
		return HostInts(numbers, slices.Clone(x.Shape)...), nil
	}}
}

// place returns the position of a number, as lookUpNumbers does.
func (k *lookup[T]) place(t *table[int64], n int64) int64 {
	if mask, ok := any(k.mask).(*int64); ok && mask != nil && *mask == n {
		return 0
	}
	if at, ok := t.index[n]; ok {
		return at
	}
	if k.oov == 0 {
		return -1
	}
	buckets := int64(k.oov)
	return int64(k.firstBucket()) + (n%buckets+buckets)%buckets
}

// OnHost returns the layer on the host; nil for modes other than "int".
func (l *Discretization) OnHost() HostLayer {
	if outputMode(l.OutputMode, IntMode) != IntMode {
		return nil
	}
	return &onHost{Layer: l, dtype: ir.Int32, transform: func(x HostArray) (HostArray, error) {
		if l.BinBoundaries == nil {
			return HostArray{}, fmt.Errorf("has no boundaries yet; call Adapt with data before the model runs, or set BinBoundaries")
		}
		bins := make([]int64, max(len(x.Ints), len(x.Floats)))
		for i := range bins {
			var v float32 // as in the program
			if x.Floats != nil {
				v = float32(x.Floats[i])
			} else {
				v = float32(x.Ints[i])
			}
			bins[i] = int64(sort.Search(len(l.BinBoundaries), func(j int) bool { return v < float32(l.BinBoundaries[j]) }))
		}
		return HostInts(bins, slices.Clone(x.Shape)...), nil
	}}
}
