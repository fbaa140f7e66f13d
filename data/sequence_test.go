package data_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// tens is a sequence whose batch i holds the numbers 10i and 10i+1.
type tens struct {
	n      int
	failAt int // batch that fails; 0: none
	batch  func(i int) data.Batch
	mu     sync.Mutex
	asked  []int
	events []string
}

func (s *tens) Len() int { return s.n }

func (s *tens) At(_ context.Context, i int) (data.Batch, error) {
	s.mu.Lock()
	s.asked = append(s.asked, i)
	s.mu.Unlock()
	if s.failAt > 0 && i == s.failAt {
		return data.Batch{}, errBroken
	}
	if s.batch != nil {
		return s.batch(i), nil
	}
	return data.Batch{X: data.List(dense([]int64{int64(10 * i), int64(10*i + 1)}, 2))}, nil
}

func (s *tens) OnEpochBegin(epoch int) { s.events = append(s.events, fmt.Sprint("begin ", epoch)) }
func (s *tens) OnEpochEnd(epoch int)   { s.events = append(s.events, fmt.Sprint("end ", epoch)) }

func firsts(t *testing.T, ds data.Dataset, epoch int) (first []int64) {
	t.Helper()
	for _, b := range batchesOf(t, ds, epoch) {
		first = append(first, b.X.Single().Elements().([]int64)[0])
	}
	return first
}

func TestSequenceKeepsItsOrder(t *testing.T) {
	noLeak(t)
	for _, workers := range []int{0, 1, 4} {
		for _, queue := range []int{0, 1, 3} {
			s := &tens{n: 6}
			ds := data.FromSequence(s, workers, queue)
			assert.Equal(t, []int64{0, 10, 20, 30, 40, 50}, firsts(t, ds, 3))
			assert.Equal(t, []string{"begin 3", "end 3"}, s.events)
			n, known := ds.Cardinality()
			assert.True(t, known)
			assert.Equal(t, 6, n)
		}
	}
}

func TestSequenceShufflesItsBatches(t *testing.T) {
	ds := data.FromSequence(&tens{n: 20}, 2, 2, data.ShuffleSequence(1))
	first, second := firsts(t, ds, 0), firsts(t, ds, 1)
	assert.NotEqual(t, first, second)
	assert.Equal(t, first, firsts(t, ds, 0))
	assert.False(t, slices.IsSorted(first))
	slices.Sort(first)
	assert.Equal(t, firsts(t, data.FromSequence(&tens{n: 20}, 1, 1), 0), first)
}

func TestSequenceStopsEarly(t *testing.T) {
	noLeak(t)
	s := &tens{n: 100}
	for _, err := range data.FromSequence(s, 2, 3).Batches(t.Context(), 0) {
		require.NoError(t, err)
		break
	}
	assert.LessOrEqual(t, len(s.asked), 3+2)
	assert.Equal(t, []string{"begin 0"}, s.events, "an epoch that is broken off does not end")

	n, err := firstError(t, t.Context(), data.FromSequence(&tens{n: 9, failAt: 2}, 3, 3))
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, 2, n)
	assert.EqualError(t, err, "data: FromSequence: batch 2: broken source")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = firstError(t, ctx, data.FromSequence(&tens{n: 9}, 3, 3))
	require.ErrorIs(t, err, context.Canceled)
}

func TestSequenceRejects(t *testing.T) {
	bad := func(b data.Batch) data.Dataset {
		return data.FromSequence(&tens{n: 1, batch: func(int) data.Batch { return b }}, 1, 1)
	}
	for want, ds := range map[string]data.Dataset{
		"the sequence is nil":               data.FromSequence(nil, 1, 1),
		"-1 workers":                        data.FromSequence(&tens{n: 1}, -1, 1),
		"a queue of -2":                     data.FromSequence(&tens{n: 1}, 1, -2),
		"Len is 0":                          data.FromSequence(&tens{}, 1, 1),
		"batch 0: the element holds no":     bad(data.Batch{}),
		"batch 0: x is a scalar":            bad(data.Batch{X: data.List(dense([]int64{1}))}),
		"x has 1 samples but y has 2":       bad(data.Batch{X: data.List(dense([]int64{1}, 1)), Y: data.List(dense([]int64{1, 2}, 2))}),
		"batch 0: x has 1 names for 0 arra": bad(data.Batch{X: data.Tensors{Names: []string{"a"}}}),
	} {
		_, err := firstError(t, t.Context(), ds)
		require.ErrorContains(t, err, "data: FromSequence: ")
		assert.ErrorContains(t, err, want)
	}
}

// squares computes its batches when they are asked for.
type squares struct{}

func (squares) Len() int { return 3 }

func (squares) At(_ context.Context, i int) (data.Batch, error) {
	x := data.Must(data.ArrayOf([]float32{float32(i)}, 1))
	y := data.Must(data.ArrayOf([]float32{float32(i * i)}, 1))
	return data.Batch{X: data.List(x), Y: data.List(y)}, nil
}

func ExampleFromSequence() {
	for batch, err := range data.FromSequence(squares{}, 2, 4).Batches(context.Background(), 0) {
		fmt.Println(batch.X.Single().Elements(), batch.Y.Single().Elements(), err)
	}
	// Output:
	// [0] [0] <nil>
	// [1] [1] <nil>
	// [2] [4] <nil>
}
