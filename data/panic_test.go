package data_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

var errOfBug = errors.New("a bug")

// fragile panics in place of its third element.
type fragile struct{}

func (fragile) Len() int { return 5 }

func (fragile) At(_ context.Context, i int) (data.Batch, error) {
	if i == 2 {
		panic(errOfBug)
	}
	return example(i), nil
}

func example(i int) data.Batch {
	for b, err := range data.FromTensorSlices([]int64{int64(i)}, nil).Batch(1, false).Batches(context.Background(), 0) {
		if err == nil {
			return b
		}
	}
	return data.Batch{}
}

// A panic in a goroutine of a pass would end the process, whatever the caller does; it has to reach the caller's
// goroutine, after the elements before it, and leave no goroutine behind.
func TestPanicsReachTheConsumer(t *testing.T) {
	broken := func() *data.Pipeline {
		return data.FromGenerator(func(context.Context, int) iter.Seq2[data.Batch, error] {
			return func(yield func(data.Batch, error) bool) {
				_ = yield(example(0), nil) && yield(example(1), nil)
				panic(errOfBug)
			}
		})
	}
	third := func(_ context.Context, b data.Batch) (data.Batch, error) {
		if b.X.Single().At() == 2 {
			panic(errOfBug)
		}
		return b, nil
	}
	for name, p := range map[string]*data.Pipeline{
		"prefetch":             broken().Prefetch(3),
		"prefetch twice":       broken().Prefetch(1).Prefetch(1),
		"before parallel map":  broken().ParallelMap(2, func(_ context.Context, b data.Batch) (data.Batch, error) { return b, nil }),
		"in parallel map":      data.FromTensorSlices([]int64{0, 1, 2, 3, 4}, nil).ParallelMap(2, third),
		"map before prefetch":  data.FromTensorSlices([]int64{0, 1, 2, 3, 4}, nil).Map(third).Prefetch(2),
		"sequence, one worker": data.FromSequence(fragile{}, 1, 2),
		"sequence":             data.FromSequence(fragile{}, 3, 4),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // fails when a goroutine stays
				seen := 0
				err := func() (err error) {
					defer func() { err, _ = recover().(error) }()
					for _, err := range p.Batches(t.Context(), 0) {
						require.NoError(t, err)
						seen++
					}
					return nil
				}()
				require.ErrorIs(t, err, errOfBug)
				var panicked *data.PanicError
				require.ErrorAs(t, err, &panicked)
				require.Contains(t, string(panicked.Stack), "panic_test.go")
				require.Equal(t, 2, seen)
			})
		})
	}
}

func ExamplePanicError() {
	double := func(context.Context, data.Batch) (data.Batch, error) { panic("a mistake of mine") }
	func() {
		defer func() {
			if e, ok := recover().(*data.PanicError); ok {
				fmt.Println("recovered:", e.Value)
			}
		}()
		for range data.Range(3).ParallelMap(2, double).Batches(context.Background(), 0) {
			fmt.Println("not reached")
		}
	}()
	// Output: recovered: a mistake of mine
}
