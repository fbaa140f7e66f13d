package data_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// eachWay runs a test with batches that Next fills and with those of a goroutine.
func eachWay(t *testing.T, test func(t *testing.T, way data.LoaderOption)) {
	t.Run("by Next", func(t *testing.T) { test(t, nil) })
	t.Run("by a goroutine", func(t *testing.T) { test(t, data.ByGoroutine()) })
}

// pairs is a source whose y and weight follow from x, so that a test sees rows that were mixed up.
func pairs(n int) *data.ArraySource {
	x, y := make([]int64, 2*n), make([]float32, n)
	for i := range n {
		x[2*i], x[2*i+1], y[i] = int64(i), int64(-i), float32(i)/2
	}
	return data.Arrays(dense(x, n, 2), y, data.SampleWeight(upTo(n)))
}

// orderOf returns the numbers of the examples in a batch of pairs.
func orderOf(t *testing.T, batch data.Batch) []int64 {
	t.Helper()
	order := []int64{}
	x, y, w := batch.X.Single().Elements().([]int64), batch.Y.Single().Elements().([]float32), batch.SampleWeight.Single().Elements().([]int64)
	for i := range y {
		require.Equal(t, []int64{w[i], -w[i]}, x[2*i:2*i+2])
		require.Equal(t, float32(w[i])/2, y[i])
		order = append(order, w[i])
	}
	return order
}

// passOf returns the sizes of the batches of a pass and the order of the examples.
func passOf(t *testing.T, l *data.Loader, epoch int) (sizes []int, order []int64) {
	t.Helper()
	for batch, err := range l.Batches(t.Context(), epoch) {
		require.NoError(t, err)
		require.Equal(t, batch.Size(), batch.Y.Single().Shape()[0])
		sizes, order = append(sizes, batch.Size()), append(order, orderOf(t, batch)...)
	}
	return sizes, order
}

func TestLoaderInOrder(t *testing.T) { eachWay(t, testLoaderInOrder) }

func testLoaderInOrder(t *testing.T, way data.LoaderOption) {
	noLeak(t)
	for _, c := range []struct {
		n, size int
		options []data.LoaderOption
		want    []int
	}{
		{10, 4, nil, []int{4, 4, 2}},
		{8, 4, nil, []int{4, 4}},
		{3, 4, nil, []int{3}},
		{10, 1, nil, []int{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{10, 4, []data.LoaderOption{data.DropRemainder()}, []int{4, 4}},
		{10, 3, []data.LoaderOption{data.Buffers(5)}, []int{3, 3, 3, 1}},
	} {
		l := pairs(c.n).Loader(c.size, false, 0, append(c.options, way)...)
		require.NoError(t, l.Err())
		for epoch := range 2 { // the second pass takes over the buffers of the first
			sizes, order := passOf(t, l, epoch)
			assert.Equal(t, c.want, sizes)
			assert.Equal(t, upTo(len(order)), order)
		}
		n, known := l.Cardinality()
		assert.True(t, known)
		assert.Equal(t, len(c.want), n)
	}
}

func TestLoaderShuffles(t *testing.T) { eachWay(t, testLoaderShuffles) }

func testLoaderShuffles(t *testing.T, way data.LoaderOption) {
	noLeak(t)
	l := pairs(100).Loader(32, true, 7, way)
	sizes, first := passOf(t, l, 0)
	assert.Equal(t, []int{32, 32, 32, 4}, sizes)
	_, second := passOf(t, l, 1)
	_, again := passOf(t, l, 0)
	_, other := passOf(t, pairs(100).Loader(32, true, 8, way), 0)
	_, otherSize := passOf(t, pairs(100).Loader(9, true, 7, way), 0)
	assert.Equal(t, first, again, "the same epoch has the same order")
	assert.Equal(t, first, otherSize, "the order does not depend on the batch size")
	assert.NotEqual(t, first, second)
	assert.NotEqual(t, first, other)
	for _, order := range [][]int64{first, second, other} {
		assert.NotEqual(t, upTo(100), order)
		slices.Sort(order)
		assert.Equal(t, upTo(100), order, "every example comes once")
	}
}

func TestLoaderShufflesInsideBatches(t *testing.T) { eachWay(t, testLoaderShufflesInsideBatches) }

func testLoaderShufflesInsideBatches(t *testing.T, way data.LoaderOption) {
	l := pairs(50).Loader(20, true, 1, way, data.ShuffleInsideBatches())
	_, order := passOf(t, l, 0)
	assert.NotEqual(t, upTo(50), order)
	for lo := 0; lo < 50; lo += 20 {
		part := slices.Clone(order[lo:min(lo+20, 50)])
		slices.Sort(part)
		assert.Equal(t, upTo(50)[lo:min(lo+20, 50)], part)
	}
}

func TestLoaderRejects(t *testing.T) {
	for want, l := range map[string]*data.Loader{
		"batch size 0":               pairs(4).Loader(0, false, 0),
		"1 buffers":                  pairs(4).Loader(2, false, 0, data.Buffers(1)),
		"4 examples make no whole":   pairs(4).Loader(5, false, 0, data.DropRemainder()),
		"y has 2; every array needs": data.Arrays(upTo(1), upTo(2)).Loader(1, false, 0),
	} {
		require.ErrorContains(t, l.Err(), want)
		n, err := firstError(t, t.Context(), l)
		assert.Zero(t, n)
		require.ErrorIs(t, err, l.Err())
		p := l.Start(t.Context(), 0)
		_, err = p.Next()
		require.ErrorIs(t, err, l.Err())
		p.Close()
	}
}

func TestLoaderPassesMayOverlap(t *testing.T) { eachWay(t, testLoaderPassesMayOverlap) }

func testLoaderPassesMayOverlap(t *testing.T, way data.LoaderOption) {
	noLeak(t)
	l := pairs(20).Loader(3, true, 3, way)
	_, alone := passOf(t, l, 0)
	outer := []int64{}
	for batch, err := range l.Batches(t.Context(), 0) {
		require.NoError(t, err)
		_, inner := passOf(t, l, 0)
		require.Equal(t, alone, inner)
		outer = append(outer, orderOf(t, batch)...)
	}
	assert.Equal(t, alone, outer)
}

func TestLoaderEndsWithItsLoop(t *testing.T) { eachWay(t, testLoaderEndsWithItsLoop) }

func testLoaderEndsWithItsLoop(t *testing.T, way data.LoaderOption) {
	noLeak(t)
	l := pairs(100).Loader(5, true, 0, way)
	for range 3 {
		for _, err := range l.Batches(t.Context(), 0) {
			require.NoError(t, err)
			break
		}
	}
	_, order := passOf(t, l, 0)
	assert.Len(t, order, 100)

	require.Panics(t, func() { // a panic in the loop body ends the pass too
		for range l.Batches(t.Context(), 0) {
			panic("body")
		}
	})
}

func TestLoaderStopsWhenItsContextEnds(t *testing.T) { eachWay(t, testLoaderStopsWhenItsContextEnds) }

func testLoaderStopsWhenItsContextEnds(t *testing.T, way data.LoaderOption) {
	noLeak(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := pairs(100).Loader(1, false, 0, way)
	n := 0
	var failure error
	for _, err := range l.Batches(ctx, 0) {
		require.NoError(t, failure)
		if failure = err; err == nil {
			n++
		}
		if n == 3 {
			cancel()
		}
	}
	require.ErrorIs(t, failure, context.Canceled)
	assert.Equal(t, 3, n)
	n, err := firstError(t, ctx, l)
	require.ErrorIs(t, err, context.Canceled)
	assert.Zero(t, n)
}

// Passes one after another use the same arrays: two of full size and at most two for the shorter last batch.
func TestLoaderReusesItsArrays(t *testing.T) { eachWay(t, testLoaderReusesItsArrays) }

func testLoaderReusesItsArrays(t *testing.T, way data.LoaderOption) {
	l := pairs(10).Loader(4, true, 0, way)
	arrays := map[*byte]bool{}
	for epoch := range 5 {
		for batch, err := range l.Batches(t.Context(), epoch) {
			require.NoError(t, err)
			arrays[&batch.X.Single().Data[0]] = true
		}
	}
	assert.LessOrEqual(t, len(arrays), 4)
}

func TestLoaderStepDoesNotAllocate(t *testing.T) { eachWay(t, testLoaderStepDoesNotAllocate) }

func testLoaderStepDoesNotAllocate(t *testing.T, way data.LoaderOption) {
	l := pairs(1<<14).Loader(8, true, 0, way)
	p := l.Start(t.Context(), 0)
	defer p.Close()
	step := func() {
		batch, err := p.Next()
		if err != nil {
			t.Fatal(err)
		}
		p.Done(batch)
	}
	for range 10 {
		step()
	}
	assert.Zero(t, testing.AllocsPerRun(1000, step))
}

func ExampleArraySource_Loader() {
	x := [][]float32{{0}, {1}, {2}, {3}, {4}}
	loader := data.Arrays(x, nil).Loader(2, false, 0)
	for batch, err := range loader.Batches(context.Background(), 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch.X.Single().Elements())
	}
	// Output:
	// [0 1]
	// [2 3]
	// [4]
}

func ExampleLoader_Start() {
	loader := data.Arrays([]float32{0, 1, 2}, nil).Loader(2, false, 0)
	pass := loader.Start(context.Background(), 0)
	defer pass.Close()
	for {
		batch, err := pass.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(batch.X.Single().Elements())
		pass.Done(batch) // its memory may be filled again
	}
	// Output:
	// [0 1]
	// [2]
}

func BenchmarkLoader(b *testing.B) {
	source := data.Arrays(dense(make([]uint8, 60000*784), 60000, 28, 28), make([]uint8, 60000))
	l := source.Loader(64, true, 1)
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range l.Batches(b.Context(), 0) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// StartAt continues where a pass was, in the same order.
func TestLoaderStartAt(t *testing.T) { eachWay(t, testLoaderStartAt) }

func testLoaderStartAt(t *testing.T, way data.LoaderOption) {
	x := make([]float32, 23)
	for i := range x {
		x[i] = float32(i)
	}
	l := data.Arrays(x, x).Loader(4, true, 9, way)
	read := func(p *data.Pass) (all [][]float32) {
		defer p.Close()
		for {
			b, err := p.Next()
			if err == io.EOF {
				return all
			}
			require.NoError(t, err)
			all = append(all, slices.Clone(b.X.Arrays[0].Float32s()))
			p.Done(b)
		}
	}
	want := read(l.Start(t.Context(), 3))
	require.Len(t, want, 6)
	for first := range 7 {
		require.Equal(t, want[first:], append([][]float32{}, read(l.StartAt(t.Context(), 3, first))...), "from batch %d", first)
	}
	for _, epoch := range []int{3, 0, 3, 3, 4} { // the memory of another pass is used again
		other := data.Arrays(x, x).Loader(4, true, 9, way)
		require.Equal(t, read(other.Start(t.Context(), epoch)), read(l.Start(t.Context(), epoch)), "pass %d", epoch)
	}
}

// BenchmarkLoaderStartAt begins a pass over many examples again at another batch, as synchronous training on parameter
// servers does.
func BenchmarkLoaderStartAt(b *testing.B) {
	x := make([]float32, 200_000)
	l := data.Arrays(x, x).Loader(64, true, 9)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		p := l.StartAt(b.Context(), 0, n%3000)
		batch, err := p.Next()
		require.NoError(b, err)
		p.Done(batch)
		p.Close()
		n += 3
	}
}
