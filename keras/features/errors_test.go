package features_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/features"
	"github.com/gokeras/gokeras/layers"
)

// TestAdaptNamesTheColumnOnce: an error that passes through four packages names its place once.
func TestAdaptNamesTheColumnOnce(t *testing.T) {
	s, err := features.New(map[string]features.Feature{"age": features.FloatNormalized(), "bin": features.FloatDiscretized(3)})
	require.NoError(t, err)
	ctx := context.Background()
	require.EqualError(t, s.Adapt(ctx, data.Arrays(map[string]any{"years": []float32{1}}, nil)),
		`features: Adapt: column "age": normalization: batch 0: the data have no column "age", they have [years]; give them as a dict of columns`)
	err = s.Adapt(ctx, data.Arrays(map[string]any{"age": []float32{1}, "bin": []float32{float32(math.NaN())}}, nil))
	require.EqualError(t, err, `features: Adapt: column "bin": discretization: element 0 of batch 0 is NaN, which has no rank; leave such examples out`)
	err = keras.Adapt(ctx, &layers.Normalization{Mean: []float64{1}, Variance: []float64{1}}, data.Arrays([]float32{1}, nil))
	require.EqualError(t, err, "keras: Adapt: normalization: mean and variance are fixed by the fields Mean and Variance; leave those out to adapt")
}
