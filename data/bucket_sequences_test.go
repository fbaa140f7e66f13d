package data_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// sentences are sequences of the given lengths whose numbers say which one they belong to.
func sentences(lengths ...int) ([][]int, []int32) {
	all, labels := make([][]int, len(lengths)), make([]int32, len(lengths))
	for i, n := range lengths {
		labels[i] = int32(i)
		for range n {
			all[i] = append(all[i], 100+i)
		}
	}
	return all, labels
}

func bucketsOf(t *testing.T, p *data.Pipeline) []data.Batch {
	t.Helper()
	var out []data.Batch
	for b, err := range p.Batches(context.Background(), 0) {
		require.NoError(t, err)
		out = append(out, b)
	}
	return out
}

// Every example comes once, whole, in a batch of the first boundary that holds it, or of a longer one at the end; only
// the last batch is smaller.
func TestBucketBySequenceLength(t *testing.T) {
	x, y := sentences(3, 9, 4, 1, 16, 5, 8, 2, 12, 4, 7, 3, 11, 6, 2, 16, 1)
	boundaries := []int{4, 8, 16}
	for _, size := range []int{1, 2, 3, 4, 100} {
		seen, short := map[int32]bool{}, 0
		batches := bucketsOf(t, data.FromRagged(x, y).BucketBySequenceLength(boundaries, size))
		for k, b := range batches {
			shape := b.X.Single().Shape()
			require.Contains(t, boundaries, shape[1])
			if require.LessOrEqual(t, shape[0], size); shape[0] < size {
				short++
				require.Equal(t, len(batches)-1, k)
			}
			values := b.X.Single().Elements().([]int32)
			for row, label := range b.Y.Single().Elements().([]int32) {
				require.False(t, seen[label])
				seen[label] = true
				for step, v := range values[row*shape[1] : (row+1)*shape[1]] {
					want := int32(0)
					if step < len(x[label]) {
						want = 100 + label
					}
					require.Equal(t, want, v, "size %d, example %d, step %d", size, label, step)
				}
			}
		}
		require.Len(t, seen, len(x))
		require.LessOrEqual(t, short, 1)
	}
}

func TestBucketsPadWhatTheyAreTold(t *testing.T) {
	x, _ := sentences(2, 3)
	steps := data.FromRagged(x, nil).Zip(data.FromRagged([][]float32{{1, 2}, {3, 4, 5}}, nil).Map(func(_ context.Context, e data.Batch) (data.Batch, error) {
		return data.Batch{Y: e.X, SampleWeight: e.X}, nil
	}))
	b := bucketsOf(t, steps.BucketBySequenceLength([]int{4}, 2, data.PadTargets(), data.Padding(data.Pre), data.PadValue(-1)))[0]
	require.Equal(t, []int32{-1, -1, 100, 100, -1, 101, 101, 101}, b.X.Single().Elements())
	require.Equal(t, []float32{0, 0, 1, 2, 0, 3, 4, 5}, b.Y.Single().Elements())
	require.Equal(t, []float32{0, 0, 1, 2, 0, 3, 4, 5}, b.SampleWeight.Single().Elements())

	two := data.FromRagged(x, nil).Zip(data.FromTensorSlices([][]float32{{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}}, nil))
	b = bucketsOf(t, two.BucketBySequenceLength([]int{3}, 2, data.PadInputs(0)))[0]
	require.Equal(t, []int{2, 3}, []int(b.X.Arrays[0].Shape()))
	require.Equal(t, []int{2, 5}, []int(b.X.Arrays[1].Shape()))

	long, _ := sentences(6)
	cut := data.FromRagged([][]int{{1, 2, 3, 4, 5}}, nil)
	require.Equal(t, []int32{3, 4, 5}, bucketsOf(t, cut.BucketBySequenceLength([]int{3}, 1, data.Truncating(data.Pre)))[0].X.Single().Elements())
	require.Equal(t, []int32{1, 2, 3}, bucketsOf(t, cut.BucketBySequenceLength([]int{3}, 1, data.Truncating(data.Post)))[0].X.Single().Elements())
	for _, err := range data.FromRagged(long, nil).BucketBySequenceLength([]int{2, 4}, 1).Batches(context.Background(), 0) {
		require.ErrorContains(t, err, "element 0: it has 6 steps, and the last boundary is 4")
	}
}

func TestBucketsRejectTheirArguments(t *testing.T) {
	x, _ := sentences(2, 3)
	p := data.FromRagged(x, nil)
	for want, bad := range map[string]*data.Pipeline{
		"batch size 0":          p.BucketBySequenceLength([]int{4}, 0),
		"ascending":             p.BucketBySequenceLength([]int{4, 4}, 1),
		"expected lengths":      p.BucketBySequenceLength(nil, 1),
		"MaxLen":                p.BucketBySequenceLength([]int{4}, 1, data.MaxLen(3)),
		`padding "left"`:        p.BucketBySequenceLength([]int{4}, 1, data.Padding("left")),
		"sequence 1 is empty":   data.FromRagged([][]int{{1}, {}}, nil),
		"there are no sequence": data.FromRagged[int](nil, nil),
	} {
		require.ErrorContains(t, bad.Err(), want)
	}
	for _, err := range data.Range(3).BucketBySequenceLength([]int{4}, 1).Batches(context.Background(), 0) {
		require.ErrorContains(t, err, "expected sequences")
	}
	_, err := data.PadSequences(x, data.PadTargets())
	require.ErrorContains(t, err, "BucketBySequenceLength")
}

func ExamplePipeline_BucketBySequenceLength() {
	sentences := [][]int{{5, 8, 2}, {7, 1, 4, 9, 3, 6}, {2}, {9, 9, 1, 5, 4}}
	labels := []int32{0, 1, 0, 1}
	buckets := data.FromRagged(sentences, labels).BucketBySequenceLength([]int{4, 8}, 2)
	for batch, err := range buckets.Batches(context.Background(), 0) {
		if err != nil {
			panic(err)
		}
		fmt.Println(batch.X.Single().Shape(), batch.X.Single().Elements(), batch.Y.Single().Elements())
	}
	// Output:
	// [2 4] [5 8 2 0 2 0 0 0] [0 0]
	// [2 8] [7 1 4 9 3 6 0 0 9 9 1 5 4 0 0 0] [1 1]
}
