package parameters_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/parameters"
)

// TestDistinct: whatever the ids, sorted and each once, and the places lead back.
func TestDistinct(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, span := range []int64{1, 3, 64, 65, 1000, 1 << 20, 1 << 50, math.MaxInt64} {
		for _, n := range []int{0, 1, 2, 100, 5000} {
			var ids []int64
			for range n {
				ids = append(ids, r.Int64N(span)-span/2)
			}
			distinct, places := parameters.Distinct(ids)
			want := slices.Clone(ids)
			slices.Sort(want)
			require.Equal(t, slices.Compact(want), distinct, "%d of %d", n, span)
			for i, p := range places {
				require.Equal(t, ids[i], distinct[p])
			}
		}
	}
	distinct, places := parameters.Distinct([]int64{math.MaxInt64, math.MinInt64, 0, math.MaxInt64})
	require.Equal(t, []int64{math.MinInt64, 0, math.MaxInt64}, distinct)
	require.Equal(t, []int32{2, 0, 1, 2}, places)
}

// TestSumRows: sums in memory that holds something else; rows that do not come are zero.
func TestSumRows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	memory := make([]float32, 70*40)
	for range 200 {
		width, distinct, n := r.IntN(40), r.IntN(140), r.IntN(300)
		for i := range memory {
			memory[i] = float32(math.NaN())
		}
		if distinct == 0 {
			n = 0
		}
		places, values := make([]int32, n), make([]float32, n*width)
		want := make([]float32, distinct*width)
		for i := range places {
			places[i] = int32(r.IntN(distinct))
			for k := range width {
				values[i*width+k] = float32(r.NormFloat64())
				want[int(places[i])*width+k] += values[i*width+k]
			}
		}
		require.Equal(t, want, parameters.SumRowsTo(memory, distinct, places, width, values), "%d rows of %d, %d ids", distinct, width, n)
	}
}

// TestDistinction: memory that is used again holds nothing of the ids before, whatever their range.
func TestDistinction(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var d parameters.Distinction
	for range 300 {
		var ids []int64
		first, span := r.Int64N(1<<40)-1<<39, 1+r.Int64N(1<<(1+r.IntN(20)))
		for range r.IntN(300) {
			ids = append(ids, first+r.Int64N(span))
		}
		d.Of(ids)
		want := slices.Clone(ids)
		slices.Sort(want)
		require.ElementsMatch(t, slices.Compact(want), d.IDs)
		for i, p := range d.Places {
			require.Equal(t, ids[i], d.IDs[p])
		}
	}
}

// noteJob keeps what SetNote got.
type noteJob struct {
	parameters.Job
	key, value string
	left       time.Duration
	err        error
}

func (j *noteJob) SetNote(ctx context.Context, key string, value []byte) error {
	deadline, _ := ctx.Deadline()
	j.key, j.value, j.left, j.err = key, string(value), time.Until(deadline), ctx.Err()
	return nil
}

// TestSetLastNote: the last note is written after the context has ended, too, with less patience.
func TestSetLastNote(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var j noteJob
	require.NoError(t, parameters.SetLastNote(ctx, &j, "end", []byte("over")))
	require.Equal(t, [2]string{"end", "over"}, [2]string{j.key, j.value})
	require.NoError(t, j.err)
	require.Greater(t, j.left, 2*time.Second)
	cancel()
	require.NoError(t, parameters.SetLastNote(ctx, &j, "end", nil))
	require.NoError(t, j.err)
	require.LessOrEqual(t, j.left, 2*time.Second)
}

func ExampleDistinct() {
	distinct, places := parameters.Distinct([]int64{7, 3, 7, 9})
	fmt.Println(distinct, places)
	fmt.Println(parameters.SumRows(len(distinct), places, 1, []float32{1, 10, 2, 100}))
	// Output:
	// [3 7 9] [1 0 1 2]
	// [10 3 100]
}

// TestUntil: a closure ends with its own context or with that of the call, and another worker does it then; what is
// wrong in itself stays so.
func TestUntil(t *testing.T) {
	wrong := errors.New("wrong")
	waits := parameters.Function(func(ctx context.Context, c *parameters.Closure) (parameters.Outcome, error) {
		<-ctx.Done()
		return parameters.Outcome{}, ctx.Err()
	})
	call, cancel := context.WithCancel(t.Context())
	closure, end := context.WithCancel(t.Context())
	end()
	_, err := waits.Until(call)(closure, nil)
	require.ErrorIs(t, err, context.Canceled)
	fails := parameters.Function(func(ctx context.Context, c *parameters.Closure) (parameters.Outcome, error) {
		return parameters.Outcome{Value: []byte{7}}, wrong
	})
	o, err := fails.Until(call)(t.Context(), nil)
	require.Equal(t, wrong, err)
	require.Equal(t, []byte{7}, o.Value)
	cancel()
	_, err = waits.Until(call)(t.Context(), nil)
	require.ErrorIs(t, err, parameters.ErrElsewhere)
	_, err = parameters.Function(func(context.Context, *parameters.Closure) (parameters.Outcome, error) {
		return parameters.Outcome{}, nil
	}).Until(call)(t.Context(), nil)
	require.NoError(t, err, "it had ended before")
}
