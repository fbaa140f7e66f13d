package data_test

import (
	"io"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// A consumer may hold several batches; none changes before it is given back.
func TestPassHoldsBatches(t *testing.T) { eachWay(t, testPassHoldsBatches) }

func testPassHoldsBatches(t *testing.T, way data.LoaderOption) {
	noLeak(t)
	l := pairs(20).Loader(4, false, 0, way, data.Buffers(3))
	p := l.Start(t.Context(), 0)
	defer p.Close()
	var held []*data.Batch
	for range 3 {
		batch, err := p.Next()
		require.NoError(t, err)
		held = append(held, batch)
	}
	_, err := p.Next()
	require.ErrorContains(t, err, "all 3 batches of the pass are in use")
	for i, batch := range held {
		assert.Equal(t, upTo(20)[4*i:4*i+4], orderOf(t, *batch))
	}
	p.Done(held[1])
	p.Done(held[1])        // given back already
	p.Done(&data.Batch{})  // not of this pass
	batch, err := p.Next() // takes the place of held[1]
	require.NoError(t, err)
	assert.Equal(t, upTo(20)[12:16], orderOf(t, *batch))
	_, err = p.Next()
	require.ErrorContains(t, err, "in use")
	assert.Equal(t, upTo(20)[8:12], orderOf(t, *held[2]))

	p.Done(held[0])
	p.Done(batch)
	p.Done(held[2])
	batch, err = p.Next()
	require.NoError(t, err)
	assert.Equal(t, upTo(20)[16:], orderOf(t, *batch))
	for range 2 {
		_, err = p.Next()
		require.ErrorIs(t, err, io.EOF)
	}
	p.Close()
	p.Close()
	p.Done(batch)
	_, err = p.Next()
	require.ErrorContains(t, err, "closed")

	_, order := passOf(t, l, 0) // the buffers that were held at Close are free again
	assert.Equal(t, upTo(20), order)
}

// A batch that was held when its pass was closed must not be taken for one of the next pass.
func TestDoneOfAnEarlierPassIsIgnored(t *testing.T) { eachWay(t, testDoneOfAnEarlierPassIsIgnored) }

func testDoneOfAnEarlierPassIsIgnored(t *testing.T, way data.LoaderOption) {
	l := pairs(20).Loader(4, false, 0, way)
	first := l.Start(t.Context(), 0)
	var old *data.Batch
	for range 2 {
		batch, err := first.Next()
		require.NoError(t, err)
		old = batch
	}
	first.Close()
	second := l.Start(t.Context(), 0)
	defer second.Close()
	_, err := second.Next()
	require.NoError(t, err)
	second.Done(old)
	_, err = second.Next()
	require.NoError(t, err)
	_, err = second.Next()
	require.ErrorContains(t, err, "in use")
}

// Place is told of each batch before it is filled, and the rows go where it lets the arrays lie.
func TestPlace(t *testing.T) { eachWay(t, testPlace) }

func testPlace(t *testing.T, way data.LoaderOption) {
	x := []float32{1, 2, 3, 4, 5, 6, 7}
	var place []byte // of the batch that is being filled
	var empty, placed int
	loader := data.Arrays(x, nil).Loader(2, true, 3, way, data.Place(func(b *data.Batch) {
		if place = nil; len(b.X.Arrays) == 0 {
			empty++
			return
		}
		placed++
		place = make([]byte, len(b.X.Arrays[0].Data))
		b.X.Arrays[0].Data = place
	}), data.Prepare(func(b *data.Batch) {
		if place != nil && &place[0] != &b.X.Arrays[0].Data[0] {
			panic("the rows went elsewhere")
		}
	}))
	plain := data.Arrays(x, nil).Loader(2, true, 3, way)
	for epoch := range 3 {
		var got, want []float32
		for b, err := range loader.Batches(t.Context(), epoch) {
			require.NoError(t, err)
			got = append(got, data.Values[float32](b.X.Single())...)
		}
		for b, err := range plain.Batches(t.Context(), epoch) {
			require.NoError(t, err)
			want = append(want, data.Values[float32](b.X.Single())...)
		}
		require.Equal(t, want, got)
	}
	require.Equal(t, 12, empty+placed)
	require.LessOrEqual(t, empty, 4, "two buffers, each for whole batches and a shorter one")
	places := 0
	pass := data.Arrays(x, nil).Loader(1, false, 0, way, data.Place(func(*data.Batch) {
		places++
		panic("no place")
	})).Start(t.Context(), 0)
	defer pass.Close()
	for range 2 {
		require.Panics(t, func() { _, _ = pass.Next() })
	}
	require.Equal(t, 1, places, "nothing is filled after a panic")
}

// Prepare sees each batch once, filled, before the consumer does; its panic comes to the consumer.
func TestPrepare(t *testing.T) { eachWay(t, testPrepare) }

func testPrepare(t *testing.T, way data.LoaderOption) {
	var mu sync.Mutex
	var seen [][]float32
	loader := data.Arrays([]float32{1, 2, 3, 4, 5}, nil).Loader(2, true, 3, way, data.Prepare(func(b *data.Batch) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, slices.Clone(data.Values[float32](b.X.Single())))
	}))
	step := 0
	for b, err := range loader.Batches(t.Context(), 0) {
		require.NoError(t, err)
		mu.Lock()
		require.Equal(t, seen[step], data.Values[float32](b.X.Single()))
		step++
		mu.Unlock()
	}
	require.Len(t, seen, 3)
	loader = data.Arrays([]float32{1, 2, 3}, nil).Loader(1, false, 0, way, data.Prepare(func(b *data.Batch) {
		if data.Values[float32](b.X.Single())[0] == 2 {
			panic("two")
		}
	}))
	pass := loader.Start(t.Context(), 0)
	defer pass.Close()
	_, err := pass.Next()
	require.NoError(t, err)
	for range 2 { // it stays so
		var died *data.PanicError
		require.True(t, func() (is bool) {
			defer func() { died, is = recover().(*data.PanicError) }()
			_, _ = pass.Next()
			return false
		}())
		require.Equal(t, "two", died.Value)
	}
}

// Small batches are not filled before somebody asks for them: no goroutine is worth its while.
func TestSmallBatchesAreFilledByNext(t *testing.T) {
	for _, c := range []struct {
		examples int // of 8 bytes
		direct   bool
	}{{1, true}, {2048, true}, {2049, false}} {
		before, filled := runtime.NumGoroutine(), make(chan int, 3)
		loader := data.Arrays(make([]float32, 5000), make([]float32, 5000)).Loader(c.examples, true, 1, data.Prepare(func(b *data.Batch) { filled <- b.Size() }))
		pass := loader.Start(t.Context(), 0)
		if c.direct {
			require.LessOrEqual(t, runtime.NumGoroutine(), before)
			_, err := pass.Next()
			require.NoError(t, err)
			require.Len(t, filled, 1)
		} else {
			require.Equal(t, c.examples, <-filled)
		}
		pass.Close()
	}
}
