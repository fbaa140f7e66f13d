package keras

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// sequenceModel takes sequences of any length.
func sequenceModel(t *testing.T) *Model {
	m, err := NewSequential([]layers.Layer{
		&layers.GRU{Units: 3, ReturnSequences: true}, &layers.GlobalAveragePooling1D{}, &layers.Dense{Units: 2},
	}, InputShape(-1, 2))
	require.NoError(t, err)
	return m
}

// sequence returns n sequences of a length.
func sequence(n, length int) *data.ArraySource {
	x := make([]float32, n*length*2)
	for i := range x {
		x[i] = float32(i*(length+3)%17)/8 - 1
	}
	return data.Arrays(data.Must(data.ArrayOf(x, n, length, 2)), nil)
}

// Sequences of many lengths are predicted without compiling or allocating again, and without keeping what a length
// needs to run apart from the others.
func TestPredictionsOfManyLengths(t *testing.T) {
	m := sequenceModel(t)
	const lengths = 60
	into := newResults(t, []data.Array{data.Must(data.ArrayOf(make([]float32, 2), 1, 2))})
	want := make([][]float32, lengths)
	for i := range want {
		y, err := m.PredictOnBatch(t.Context(), sequence(1, 1+i))
		require.NoError(t, err)
		want[i] = y.Elements().([]float32)
	}
	made := m.predict
	pool := &m.predictions.binders
	require.Len(t, pool.held, 1)
	require.Equal(t, lengths-1, pool.count)
	var sources []*data.ArraySource
	for i := range want {
		sources = append(sources, sequence(1, 1+i))
	}
	for i, x := range sources {
		require.NoError(t, m.PredictOnBatchInto(context.Background(), x, into...))
		require.Equal(t, want[i], into[0].Elements(), "length %d", 1+i)
	}
	round := func() {
		for _, x := range sources {
			require.NoError(t, m.PredictOnBatchInto(context.Background(), x, into...))
		}
	}
	// Other goroutines of the process, which are counted too, allocate now and then.
	require.Eventually(t, func() bool { return testing.AllocsPerRun(1, round) == 0 }, time.Minute, time.Millisecond)
	require.Same(t, made, m.predict)
	require.Len(t, pool.held, 1)
	require.Equal(t, lengths-1, pool.count)
}

// Goroutines with batches of many lengths and sizes get what they would get alone.
func TestManyLengthsAtTheSameTime(t *testing.T) {
	m := sequenceModel(t)
	want := map[[2]int][]float32{}
	for n := 1; n <= 9; n += 4 {
		for length := 1; length <= 20; length++ {
			y, err := m.PredictOnBatch(t.Context(), sequence(n, length))
			require.NoError(t, err)
			want[[2]int{n, length}] = y.Elements().([]float32)
		}
	}
	var group sync.WaitGroup
	for g := range 8 {
		group.Go(func() {
			for i := range 60 {
				n, length := 1+4*((g+i)%3), 1+(g*7+i*3)%20
				y, err := m.PredictOnBatch(t.Context(), sequence(n, length))
				if !assert.NoError(t, err) || !assert.InDeltaSlice(t, want[[2]int{n, length}], y.Elements(), 1e-6) {
					return
				}
			}
		})
	}
	group.Wait()
	require.LessOrEqual(t, len(m.predictions.binders.held), m.turnLimit())
}

// A pool finds what it keeps, gives up an arbitrary binder when it is full, and counts right.
func TestBinderPool(t *testing.T) {
	var s binderPool
	batch := func(length int) *parts {
		return &parts{x: []data.Array{data.Must(data.ArrayOf(make([]float32, length), 1, length))}}
	}
	for length := range mostParked + 10 {
		f := &binder{rows: 1, columns: []column{{host: ir.Float32, shape: []int{1 + length}, row: 4 * (1 + length)}}}
		f.key = f.shapeKey()
		require.Equal(t, shapeKey(batch(1+length), 1), f.key)
		s.park(f)
	}
	require.Equal(t, mostParked, s.count)
	found := 0
	for length := range mostParked + 10 {
		if f, unused := s.take(nil, batch(1+length), 1, 1, false); f != nil {
			found++
			require.Nil(t, unused)
			require.Equal(t, []int{1 + length}, f.columns[0].shape)
		}
	}
	require.Equal(t, mostParked, found)
	require.Zero(t, s.count)

	// Shapes whose keys are equal by chance have binders of their own.
	for _, length := range []int{3, 5, 7} {
		s.park(&binder{rows: 1, columns: []column{{host: ir.Float32, shape: []int{length}, row: 4 * length}}, key: shapeKey(batch(5), 1)})
	}
	f, _ := s.take(nil, batch(5), 1, 1, false)
	require.Equal(t, []int{5}, f.columns[0].shape)
}
