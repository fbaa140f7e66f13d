package pool

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// taskFunc is a Task for tests; a closure is allocated, which product code avoids.
type taskFunc func(worker, lo, hi int)

func (f taskFunc) Run(worker, lo, hi int) { f(worker, lo, hi) }

func newPool(t testing.TB, workers int) *Pool {
	p := New(workers)
	t.Cleanup(p.Close)
	return p
}

func TestEveryIndexOnceWithFixedChunks(t *testing.T) {
	pools := []*Pool{nil, newPool(t, 0), newPool(t, 1), newPool(t, 2), newPool(t, 5), Shared()}
	for _, p := range pools {
		for _, n := range []int{-1, 0, 1, 2, 7, 64, 1000} {
			for _, grain := range []int{-3, 0, 1, 3, 64, 999, 1000, 5000} {
				counts := make([]atomic.Int32, max(n, 0))
				step := max(grain, 1)
				p.Parallel(n, grain, taskFunc(func(worker, lo, hi int) {
					if worker < 0 || worker >= p.Size() {
						t.Errorf("worker %d outside [0, %d)", worker, p.Size())
					}
					if lo%step != 0 || hi != min(lo+step, n) {
						t.Errorf("n %d grain %d: chunk [%d, %d)", n, grain, lo, hi)
					}
					for i := lo; i < hi; i++ {
						counts[i].Add(1)
					}
				}))
				for i := range counts {
					require.EqualValues(t, 1, counts[i].Load(), "n %d grain %d index %d", n, grain, i)
				}
			}
		}
	}
}

// TestWorkersHelp fails if the caller computes all chunks itself: each chunk waits until another one is started.
func TestWorkersHelp(t *testing.T) {
	p := newPool(t, 3)
	for range 20 {
		var barrier sync.WaitGroup
		barrier.Add(3)
		seen := make([]atomic.Bool, 3)
		p.Parallel(3, 1, taskFunc(func(worker, _, _ int) {
			barrier.Done()
			barrier.Wait()
			assert.False(t, seen[worker].Swap(true), "two goroutines of one region have number %d", worker)
		}))
	}
}

func TestWakesParkedWorkers(t *testing.T) {
	p := newPool(t, 4)
	for range 3 {
		var barrier sync.WaitGroup
		barrier.Add(4)
		p.Parallel(4, 1, taskFunc(func(int, int, int) { barrier.Done(); barrier.Wait() }))
		asleep := func() bool {
			n := 0
			for _, w := range p.workers {
				if w.asleep.Load() {
					n++
				}
			}
			return n == 3
		}
		require.Eventually(t, asleep, 10*time.Second, time.Millisecond, "idle workers must stop spinning")
		require.EqualValues(t, 3, p.parked.Load())
	}
}

func TestConcurrentCallers(t *testing.T) {
	p := newPool(t, 3)
	var callers sync.WaitGroup
	for c := range 2 * maxRegions {
		callers.Go(func() {
			sums := make([]int64, p.Size()*16)
			for round := range 100 {
				clear(sums)
				n := 1 + (c*37+round*13)%200
				p.Parallel(n, 3, taskFunc(func(worker, lo, hi int) {
					for i := lo; i < hi; i++ {
						sums[worker*16] += int64(i) // unsynchronised on purpose: worker numbers are exclusive
					}
				}))
				var total int64
				for _, s := range sums {
					total += s
				}
				if want := int64(n*(n-1)) / 2; total != want {
					t.Errorf("caller %d: sum %d, want %d", c, total, want)
				}
			}
		})
	}
	callers.Wait()
}

func TestNested(t *testing.T) {
	p := newPool(t, 3)
	var total atomic.Int64
	p.Parallel(10, 1, taskFunc(func(_, lo, _ int) {
		p.Parallel(10, 2, taskFunc(func(_, lo2, hi2 int) { total.Add(int64(lo*100 + hi2 - lo2)) }))
	}))
	require.EqualValues(t, 45*100*5+10*10, total.Load())
}

// TestResultIndependentOfWorkers sums floats per chunk and then in chunk order.
func TestResultIndependentOfWorkers(t *testing.T) {
	const n, grain = 10007, 100
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Sin(float64(i)) * math.Exp(float64(i%50))
	}
	var want float64
	for workers := 1; workers <= 6; workers++ {
		partial := make([]float64, n/grain+1)
		newPool(t, workers).Parallel(n, grain, taskFunc(func(_, lo, hi int) {
			for _, v := range x[lo:hi] {
				partial[lo/grain] += v
			}
		}))
		var sum float64
		for _, v := range partial {
			sum += v
		}
		if workers == 1 {
			want = sum
		}
		require.Equal(t, math.Float64bits(want), math.Float64bits(sum), "%d workers", workers)
	}
}

func TestPanicReachesCaller(t *testing.T) {
	cause := errors.New("broken kernel")
	for _, workers := range []int{1, 4} {
		p := newPool(t, workers)
		for bad := range 8 {
			err := capture(func() {
				p.Parallel(8, 1, taskFunc(func(_, lo, _ int) {
					if lo == bad {
						panic(cause)
					}
				}))
			})
			require.ErrorIs(t, err, cause)
			assert.Contains(t, err.Error(), "broken kernel")
			assert.Contains(t, err.Error(), "pool_test.go", "the stack shows the task")
		}
		ran := 0
		p.Parallel(1, 1, taskFunc(func(int, int, int) { ran++ }))
		require.Equal(t, 1, ran, "the pool works after a panic")
	}
}

// TestPanicOfWorkerWaits checks that the caller does not return while another chunk still runs.
func TestPanicOfWorkerWaits(t *testing.T) {
	p := newPool(t, 2)
	var running, finished atomic.Int32
	err := capture(func() {
		p.Parallel(2, 1, taskFunc(func(_, lo, _ int) {
			running.Add(1)
			for running.Load() < 2 {
				runtime.Gosched()
			}
			if lo == 0 {
				panic("first")
			}
			time.Sleep(5 * time.Millisecond)
			finished.Add(1)
		}))
	})
	require.EqualValues(t, 1, finished.Load())
	require.ErrorContains(t, err, "first")
}

func TestPanicInNestedRegionIsWrappedOnce(t *testing.T) {
	p := newPool(t, 2)
	err := capture(func() {
		p.Parallel(4, 1, taskFunc(func(int, int, int) {
			p.Parallel(4, 1, taskFunc(func(int, int, int) { panic("inner") }))
		}))
	})
	var e *PanicError
	require.ErrorAs(t, err, &e)
	require.Equal(t, "inner", e.Value)
	require.NoError(t, e.Unwrap())
}

// TestGoexit covers a test that fails inside a task: there is no deadlock, and the pool keeps its workers.
func TestGoexit(t *testing.T) {
	p := newPool(t, 2)
	for range 10 {
		var exits atomic.Int32
		done := make(chan error, 1)
		go func() {
			ended := false
			defer func() {
				if r := recover(); r != nil {
					done <- r.(error)
				} else if !ended {
					done <- nil // this goroutine was ended by its own chunk
				}
			}()
			p.Parallel(100, 1, taskFunc(func(int, int, int) { exits.Add(1); runtime.Goexit() }))
			ended = true
		}()
		select {
		case err := <-done:
			if err != nil {
				require.ErrorIs(t, err, errGoexit)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("deadlock")
		}
		require.Positive(t, exits.Load())
	}
	TestWorkersHelp(t)
}

func TestCloseEndsGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	p := New(6)
	p.Parallel(100, 1, taskFunc(func(int, int, int) {}))
	p.Close()
	p.Close()
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "%d goroutines, %d before", runtime.NumGoroutine(), before)
	}
	ran := 0
	p.Parallel(10, 1, taskFunc(func(int, int, int) { ran++ }))
	require.Equal(t, 10, ran, "a closed pool runs serially")
}

func TestSharedFollowsGOMAXPROCS(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := Shared()
	var foreign atomic.Int32
	task := taskFunc(func(worker, _, _ int) {
		if worker != 0 {
			foreign.Add(1)
		}
		time.Sleep(10 * time.Microsecond)
	})
	p.Parallel(50, 1, task)
	require.Zero(t, foreign.Load(), "GOMAXPROCS is 1")
	if p.Size() < 2 {
		return
	}
	runtime.GOMAXPROCS(2)
	require.Eventually(t, func() bool { p.Parallel(50, 1, task); return foreign.Load() > 0 }, 10*time.Second, time.Millisecond)
}

// addTask is written as product code writes tasks: a recycled struct.
type addTask struct{ dst, x []float32 }

func (a *addTask) Run(_, lo, hi int) {
	for i, v := range a.x[lo:hi] {
		a.dst[lo+i] += v
	}
}

func TestNoAllocation(t *testing.T) {
	var recycler Recycler[addTask]
	dst, x := make([]float32, 4096), make([]float32, 4096)
	for _, p := range []*Pool{nil, newPool(t, 3), Shared()} {
		region := func() {
			task := recycler.Get()
			task.dst, task.x = dst, x
			p.Parallel(len(dst), 256, task)
			*task = addTask{}
			recycler.Put(task)
		}
		region()
		assert.Zero(t, testing.AllocsPerRun(200, region))
	}
}

func TestRecycler(t *testing.T) {
	var r Recycler[int]
	a := r.Get()
	b := r.Get()
	require.NotSame(t, a, b)
	*a = 7
	r.Put(a)
	require.Same(t, a, r.Get())
	require.NotSame(t, a, r.Get())
}

func capture(f func()) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = r.(error)
		}
	}()
	f()
	return nil
}

// spinTask burns a fixed amount of arithmetic per index.
type spinTask struct{ sink [64]float64 }

func (s *spinTask) Run(worker, lo, hi int) {
	x := 1.0
	for range (hi - lo) * 100 {
		x = x*1.0000001 + 1e-9
	}
	s.sink[worker*8%64] += x
}

// BenchmarkRegion reports the time of regions of different serial lengths; 1 index is about 0.3 us.
func BenchmarkRegion(b *testing.B) {
	for _, indices := range []int{4, 32, 128, 1024} {
		for _, parallel := range []bool{false, true} {
			b.Run(fmt.Sprintf("indices=%d/parallel=%t", indices, parallel), func(b *testing.B) {
				b.ReportAllocs()
				var p *Pool
				if parallel {
					p = Shared()
				}
				task := &spinTask{}
				for b.Loop() {
					p.Parallel(indices, max(indices/4, 1), task)
				}
			})
		}
	}
}

type emptyTask struct{}

func (emptyTask) Run(int, int, int) {}

// BenchmarkEmptyRegion is the cost of fork and join.
func BenchmarkEmptyRegion(b *testing.B) {
	b.ReportAllocs()
	p := Shared()
	for b.Loop() {
		p.Parallel(4, 1, emptyTask{})
	}
}
