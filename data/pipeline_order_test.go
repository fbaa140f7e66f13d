package data_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

func TestShuffleHasAnOrderForEachEpoch(t *testing.T) {
	p := data.Range(50).Shuffle(50, 3)
	first, second := numbersOf(t, p, 0), numbersOf(t, p, 1)
	assert.NotEqual(t, first, second)
	assert.NotEqual(t, first, upTo(50))
	assert.NotEqual(t, first, numbersOf(t, data.Range(50).Shuffle(50, 4), 0), "another seed")
	fixed := data.Range(50).Shuffle(50, 3, data.SameOrderEachEpoch())
	assert.Equal(t, numbersOf(t, fixed, 0), numbersOf(t, fixed, 1))
	assert.Equal(t, upTo(50), numbersOf(t, data.Range(50).Shuffle(1, 3), 0), "a buffer of 1 changes nothing")
}

// An element can come at most bufferSize-1 places early, since it waits for a free place in the buffer.
func TestShuffleIsBoundedByItsBuffer(t *testing.T) {
	const buffer = 8
	moved := false
	for place, n := range numbersOf(t, data.Range(200).Shuffle(buffer, 5), 0) {
		assert.LessOrEqual(t, n-int64(place), int64(buffer-1))
		moved = moved || n-int64(place) > buffer/2
	}
	assert.True(t, moved, "the buffer is not used")
}

// With a buffer for all, every order of three elements comes equally often: chi-squared with 5 degrees of freedom is
// below 20.5 except once in a thousand, and the sequence is fixed.
func TestShuffleIsUniform(t *testing.T) {
	p, counts := data.Range(3).Shuffle(3, 11), map[string]float64{}
	for epoch := range 1200 {
		counts[fmt.Sprint(numbersOf(t, p, epoch))]++
	}
	require.Len(t, counts, 6)
	chi := 0.0
	for _, c := range counts {
		chi += (c - 200) * (c - 200) / 200
	}
	assert.True(t, chi < 20.5, "chi-squared %.1f: %v", chi, counts)
}

func TestRepeatShufflesAnew(t *testing.T) {
	p := data.Range(20).Shuffle(20, 1).Repeat(2)
	all := numbersOf(t, p, 0)
	assert.NotEqual(t, all[:20], all[20:])
	next := numbersOf(t, p, 1)
	for _, part := range [][]int64{all[:20], all[20:], next[:20], next[20:]} {
		s := slices.Clone(part)
		slices.Sort(s)
		assert.Equal(t, upTo(20), s)
	}
	// Repeat(2) over two epochs is what the shuffle makes of four.
	assert.Equal(t, next[:20], numbersOf(t, data.Range(20).Shuffle(20, 1), 2))
	forever := data.Range(20).Shuffle(20, 1).Repeat(-1).Take(40)
	assert.Equal(t, all, numbersOf(t, forever, 0))
	assert.NotEqual(t, all, numbersOf(t, forever, 1))
}

func TestCacheReadsItsSourceOnce(t *testing.T) {
	c := &counter{n: 5}
	p := c.pipeline().Cache()
	for range p.Batches(t.Context(), 0) {
		break // an incomplete pass is not kept
	}
	assert.Equal(t, 1, c.pulled)
	assert.Equal(t, upTo(5), numbersOf(t, p, 0))
	assert.Equal(t, 6, c.pulled)
	for epoch := range 3 {
		assert.Equal(t, upTo(5), numbersOf(t, p, epoch))
	}
	assert.Equal(t, 6, c.pulled)

	failing := (&counter{n: 5, failAt: 3}).pipeline().Cache()
	for range 2 {
		n, err := firstError(t, t.Context(), failing)
		require.ErrorIs(t, err, errBroken, "an error is not cached")
		assert.Equal(t, 3, n)
	}
}

// What is kept is the pass that ends first, even if it began later.
func TestCacheKeepsOnePass(t *testing.T) {
	epochs := data.FromGenerator(func(_ context.Context, epoch int) iter.Seq2[data.Batch, error] {
		return func(yield func(data.Batch, error) bool) {
			yield(data.Batch{X: data.List(dense([]int64{int64(epoch)}))}, nil)
		}
	}).Cache()
	for element := range epochs.Batches(t.Context(), 1) {
		assert.Equal(t, int64(1), number(element))
		assert.Equal(t, []int64{2}, numbersOf(t, epochs, 2))
	}
	assert.Equal(t, []int64{2}, numbersOf(t, epochs, 3))
}

func TestBatchStacks(t *testing.T) {
	x := [][][]float32{{{1, 2}}, {{3, 4}}, {{5, 6}}}
	p := data.FromTensorSlices(map[string]any{"a": x, "b": []uint8{7, 8, 9}}, []int64{0, 1, 2}, data.SampleWeight([]float32{.1, .2, .3}))
	batches := batchesOf(t, p.Batch(2, false), 0)
	require.Len(t, batches, 2)
	b := batches[0]
	assert.Equal(t, "x (a float32[2 1 2], b uint8[2]), y int64[2], sample_weight float32[2]", b.String())
	assert.Equal(t, []float32{1, 2, 3, 4}, b.X.Get("a").Elements())
	assert.Equal(t, []uint8{7, 8}, b.X.Get("b").Elements())
	assert.Equal(t, []int64{0, 1}, b.Y.Single().Elements())
	assert.Equal(t, []int{1, 1, 2}, shapeOf(batches[1].X.Get("a")))
	assert.Equal(t, []float32{.3}, batches[1].SampleWeight.Single().Elements())

	twice := batchesOf(t, p.Batch(1, true).Batch(3, true), 0)
	assert.Equal(t, []int{3, 1, 1, 2}, shapeOf(twice[0].X.Get("a")), "batches of batches")
}

func TestBatchNeedsOneShape(t *testing.T) {
	differ := func(elements ...data.Batch) *data.Pipeline {
		return data.FromGenerator(func(context.Context, int) iter.Seq2[data.Batch, error] {
			return func(yield func(data.Batch, error) bool) {
				for _, e := range elements {
					if !yield(e, nil) {
						return
					}
				}
			}
		}).Batch(2, false)
	}
	one := data.Batch{X: data.List(dense([]float32{1, 2}, 2))}
	for want, other := range map[string]data.Batch{
		"x is float32[2], then float32[3]":     {X: data.List(dense([]float32{1, 2, 3}, 3))},
		"x is float32[2], then float64[2]":     {X: data.List(dense([]float64{1, 2}, 2))},
		"x is float32[2], then float32[2 1]":   {X: data.List(dense([]float32{1, 2}, 2, 1))},
		"x has 1 arrays, then 2":               {X: data.List(one.X.Single(), one.X.Single())},
		"y has 0 arrays, then 1":               {X: one.X, Y: one.X},
		"x is float32[2], then (a float32[2])": {X: data.Tensors{Names: []string{"a"}, Arrays: one.X.Arrays}},
	} {
		_, err := firstError(t, t.Context(), differ(one, one, one, other))
		require.ErrorContains(t, err, "data: Batch: element 3 does not fit element 2 of its batch: "+want)
	}
	n, err := firstError(t, t.Context(), differ(one, one, data.Batch{X: data.List(dense([]float32{1}, 1))}))
	require.NoError(t, err, "different batches may have different shapes")
	assert.Equal(t, 2, n)
}

func TestUnbatchNeedsRows(t *testing.T) {
	_, err := firstError(t, t.Context(), data.Range(2).Unbatch())
	require.ErrorContains(t, err, "data: Unbatch: element 0: x is a scalar")
}

func ExamplePipeline_Shuffle() {
	p := data.Range(5).Shuffle(5, 42)
	order := func(epoch int) (numbers []any) {
		for element := range p.Batches(context.Background(), epoch) {
			numbers = append(numbers, element.X.Single().Elements())
		}
		return numbers
	}
	first, again := fmt.Sprint(order(7)), fmt.Sprint(order(7))
	fmt.Println(len(order(7)), first == again)
	// Output: 5 true
}

func ExamplePipeline_Batch() {
	for batch := range data.Range(5).Batch(2, false).Batches(context.Background(), 0) {
		fmt.Println(batch.X.Single().Elements())
	}
	// Output:
	// [0 1]
	// [2 3]
	// [4]
}
