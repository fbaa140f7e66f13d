package data_test

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// The elements keep their order though the first ones take longest, and no more calls run at once than there are
// workers.
func TestParallelMapKeepsOrderAndBound(t *testing.T) {
	noLeak(t)
	for _, workers := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			var running, most atomic.Int32
			start := time.Now()
			p := data.Range(20).ParallelMap(workers, func(_ context.Context, b data.Batch) (data.Batch, error) {
				now := running.Add(1)
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				time.Sleep(time.Duration(20-number(b)) * time.Second)
				running.Add(-1)
				return b, nil
			})
			assert.Equal(t, upTo(20), numbersOf(t, p, 0))
			assert.Equal(t, int32(workers), most.Load())
			// 20 + 19 + ... + 1 seconds of work, shared by the workers; the last one may have to wait for another.
			assert.LessOrEqual(t, time.Since(start), time.Duration(210/workers+20)*time.Second)
		})
	}
}

// There are no more workers than elements, and numbers that no machine has the memory for are errors.
func TestAsManyWorkersAsElements(t *testing.T) {
	noLeak(t)
	before := runtime.NumGoroutine()
	var most atomic.Int32
	p := data.Range(3).ParallelMap(1<<20, func(_ context.Context, b data.Batch) (data.Batch, error) {
		most.Store(int32(runtime.NumGoroutine()))
		return b, nil
	})
	assert.Equal(t, upTo(3), numbersOf(t, p, 0))
	assert.Less(t, int(most.Load()), before+20)
	same := func(_ context.Context, b data.Batch) (data.Batch, error) { return b, nil }
	for name, ds := range map[string]interface{ Err() error }{
		"map":       data.Range(3).ParallelMap(1<<40, same),
		"prefetch":  data.Range(3).Prefetch(1 << 40),
		"loader":    data.Arrays([]float32{1, 2}, nil).Loader(1, false, 0, data.Buffers(1<<40)),
		"sequence":  data.FromSequence(fragile{}, 1<<40, 1),
		"its queue": data.FromSequence(fragile{}, 1, 1<<40),
	} {
		assert.ErrorContains(t, ds.Err(), "1048576", name)
	}
}

// The stages before Prefetch work while the consumer does.
func TestPrefetchOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(_ context.Context, b data.Batch) (data.Batch, error) {
			time.Sleep(time.Second)
			return b, nil
		}
		start := time.Now()
		for _, err := range data.Range(10).Map(slow).Prefetch(1).Batches(t.Context(), 0) {
			require.NoError(t, err)
			time.Sleep(time.Second)
		}
		assert.Equal(t, 11*time.Second, time.Since(start), "10 steps of a second, and one to fill the pipe")
	})
}

func TestPrefetchIsBounded(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		synctest.Test(t, func(t *testing.T) {
			c := &counter{n: 100}
			for range c.pipeline().Prefetch(n).Batches(t.Context(), 0) {
				synctest.Wait()
				assert.Equal(t, 1+n, c.pulled, "one in use, %d ahead", n)
				break
			}
			assert.Equal(t, 1, c.closed)
		})
	}
}

func TestParallelMapIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const workers = 3
		var calls atomic.Int32
		c := &counter{n: 100}
		p := c.pipeline().ParallelMap(workers, func(_ context.Context, b data.Batch) (data.Batch, error) {
			calls.Add(1)
			return b, nil
		})
		for range p.Batches(t.Context(), 0) {
			synctest.Wait()
			assert.LessOrEqual(t, c.pulled, workers+2)
			assert.LessOrEqual(t, calls.Load(), int32(workers+1))
			break
		}
	})
}

// A call that waits for its context ends with the pass: when the loop breaks, when another call fails, and when the
// consumer's context ends.
func TestParallelMapCancelsRunningCalls(t *testing.T) {
	noLeak(t)
	waits := func(ctx context.Context, b data.Batch) (data.Batch, error) {
		switch number(b) {
		case 0:
			return b, nil
		case 1:
			if ctx.Value(failOne{}) != nil {
				return data.Batch{}, errBroken
			}
		}
		<-ctx.Done()
		return data.Batch{}, ctx.Err()
	}
	for _, err := range data.Range(9).ParallelMap(3, waits).Batches(t.Context(), 0) {
		require.NoError(t, err)
		break
	}
	n, err := firstError(t, context.WithValue(t.Context(), failOne{}, true), data.Range(9).ParallelMap(3, waits))
	require.ErrorIs(t, err, errBroken)
	assert.Equal(t, 1, n)

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	n, err = firstError(t, ctx, data.Range(9).ParallelMap(3, waits))
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.LessOrEqual(t, n, 1)
}

type failOne struct{}

func TestParallelMapUsesAllCPUsByDefault(t *testing.T) {
	assert.Equal(t, []int64{0, 2, 4}, numbersOf(t, data.Range(3).ParallelMap(0, double), 0))
}

func ExamplePipeline_ParallelMap() {
	slowly := func(ctx context.Context, element data.Batch) (data.Batch, error) {
		return element, nil // decode an image, for example
	}
	for element, err := range data.Range(3).ParallelMap(2, slowly).Batches(context.Background(), 0) {
		fmt.Println(element.X.Single().Elements(), err)
	}
	// Output:
	// [0] <nil>
	// [1] <nil>
	// [2] <nil>
}

func BenchmarkPipeline(b *testing.B) {
	source := data.Arrays(dense(make([]float32, 4096*64), 4096, 64), make([]int64, 4096))
	p := source.Elements().Shuffle(1024, 1).Batch(32, false).Prefetch(2)
	for b.Loop() {
		for _, err := range p.Batches(b.Context(), 0) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/4096, "ns/element")
}
