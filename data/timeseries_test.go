package data_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

func TestTimeseriesIsThatOfKeras(t *testing.T) {
	x := make([]float64, 20)
	for i := range x {
		x[i] = float64(i)
	}
	cases := kerasUtilities(t).Timeseries
	require.Len(t, cases, 11)
	for _, c := range cases {
		a := c.Arguments
		options := []data.TimeseriesOption{data.TimeRange(a.Start, a.End)}
		if a.Stride > 0 {
			options = append(options, data.SequenceStride(a.Stride))
		}
		if a.Rate > 0 {
			options = append(options, data.SamplingRate(a.Rate))
		}
		if a.BatchSize > 0 {
			options = append(options, data.TimeseriesBatchSize(a.BatchSize))
		}
		var targets any
		if c.Targets != nil {
			targets = c.Targets
		}
		p := data.TimeseriesDatasetFromArray(dense(x, 10, 2), targets, a.Length, options...)
		batches := batchesOf(t, p, 0)
		require.Len(t, batches, len(c.Batches))
		n, known := p.Cardinality()
		assert.True(t, known)
		assert.Equal(t, len(c.Batches), n)
		for i, want := range c.Batches {
			wantX, err := data.ToArray(want.X)
			require.NoError(t, err)
			assert.Equal(t, wantX.Elements(), batches[i].X.Single().Elements())
			assert.Equal(t, shapeOf(wantX), shapeOf(batches[i].X.Single()))
			if targets == nil {
				assert.Zero(t, batches[i].Y.Len())
			} else {
				assert.Equal(t, want.Y, batches[i].Y.Single().Elements())
			}
		}
	}
}

func TestTimeseriesShuffles(t *testing.T) {
	p := data.TimeseriesDatasetFromArray(upTo(30), upTo(30), 3, data.ShuffleWindows(4), data.TimeseriesBatchSize(0))
	order := func(epoch int) (starts []int64) {
		for _, b := range batchesOf(t, p, epoch) {
			starts = append(starts, b.Y.Single().Elements().([]int64)[0])
			assert.Equal(t, []int64{starts[len(starts)-1], starts[len(starts)-1] + 1, starts[len(starts)-1] + 2}, b.X.Single().Elements())
		}
		return starts
	}
	first := order(0)
	assert.Equal(t, first, order(0))
	assert.NotEqual(t, first, order(1))
	slices.Sort(first)
	assert.Equal(t, upTo(28), first)
}

func TestTimeseriesRejects(t *testing.T) {
	for want, p := range map[string]*data.Pipeline{
		"data is nil":                           data.TimeseriesDatasetFromArray(nil, nil, 1),
		"targets is a []string":                 data.TimeseriesDatasetFromArray(upTo(3), []string{"a"}, 1),
		"data is a scalar":                      data.TimeseriesDatasetFromArray(dense([]int{1}), nil, 1),
		"targets is a scalar":                   data.TimeseriesDatasetFromArray(upTo(3), dense([]int{1}), 1),
		"sequence length 0":                     data.TimeseriesDatasetFromArray(upTo(3), nil, 0),
		"a window of 4 steps at SamplingRate 1": data.TimeseriesDatasetFromArray(upTo(3), nil, 4),
		"a window of 3 steps at SamplingRate 2": data.TimeseriesDatasetFromArray(upTo(4), nil, 3, data.SamplingRate(2)),
		"SequenceStride 0":                      data.TimeseriesDatasetFromArray(upTo(3), nil, 1, data.SequenceStride(0)),
		"TimeseriesBatchSize -1":                data.TimeseriesDatasetFromArray(upTo(3), nil, 1, data.TimeseriesBatchSize(-1)),
		"TimeRange(2, 2) of 3":                  data.TimeseriesDatasetFromArray(upTo(3), nil, 1, data.TimeRange(2, 2)),
		"TimeRange(0, 4) of 3":                  data.TimeseriesDatasetFromArray(upTo(3), nil, 1, data.TimeRange(0, 4)),
		"targets has 2 time steps, none from":   data.TimeseriesDatasetFromArray(upTo(5), upTo(2), 1, data.TimeRange(2, 0)),
	} {
		require.ErrorContains(t, p.Err(), "data: TimeseriesDatasetFromArray: ", want)
		assert.ErrorContains(t, p.Err(), want)
	}
}

func ExampleTimeseriesDatasetFromArray() {
	temperature := []float32{10, 11, 12, 13, 14, 15}
	past, next := temperature[:5], temperature[2:]
	p := data.TimeseriesDatasetFromArray(past, next, 2, data.TimeseriesBatchSize(3))
	for batch, err := range p.Batches(context.Background(), 0) {
		fmt.Println(batch.X.Single().Elements(), batch.Y.Single().Elements(), err)
	}
	// Output:
	// [10 11 11 12 12 13] [12 13 14] <nil>
	// [13 14] [15] <nil>
}
