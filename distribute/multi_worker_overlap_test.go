package distribute

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// pairGroup connects two workers in one process: sums of int32, one call at a time.
type pairGroup struct {
	WorkerGroup // what the test does not use
	rank        int
	pair        *pair
	slow        func()
}

type pair struct {
	mu       sync.Mutex
	changed  sync.Cond
	brought  [2][]kernels.Array
	calls    [2]int
	combined int // calls
	err      error
}

func (g *pairGroup) Rank() int { return g.rank }
func (g *pairGroup) Size() int { return 2 }

func (g *pairGroup) AllReduce(_ context.Context, _ WorkerCall, kind ir.Kind, values []kernels.Array) error {
	g.slow()
	p := g.pair
	p.mu.Lock()
	defer p.mu.Unlock()
	p.brought[g.rank] = values
	p.calls[g.rank]++
	n := p.calls[g.rank]
	p.changed.Broadcast()
	for p.calls[1-g.rank] < n && p.err == nil { // the other cannot be further: its call n is not over
		p.changed.Wait()
	}
	if p.err != nil {
		return p.err
	}
	if g.rank == 0 {
		for i, a := range p.brought[0] {
			numbers.Combine(kind, ir.Int32, a.Data, a.Data, p.brought[1][i].Data)
			copy(p.brought[1][i].Data, a.Data)
		}
		p.combined = n
		p.changed.Broadcast()
	}
	for p.combined < n && p.err == nil {
		p.changed.Wait()
	}
	return p.err
}

func (p *pair) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = err
	p.changed.Broadcast()
}

// workerPair returns the ends of two workers.
func workerPair(t *testing.T, slow func()) (*pair, []*overlappedCommunicator) {
	t.Helper()
	p := &pair{}
	p.changed.L = &p.mu
	var ends []*overlappedCommunicator
	for rank := range 2 {
		link := &workerLink{group: &pairGroup{rank: rank, pair: p, slow: slow}}
		ends = append(ends, newOverlapped(&workerCommunicator{link: link, perWorker: 1, first: rank, total: 2}))
	}
	return p, ends
}

func int32Buffer(t testing.TB, n int, v byte) []kernels.Buffer {
	t.Helper()
	backend, err := kernels.Lookup("cpu")
	require.NoError(t, err)
	b, err := backend.NewBuffer(kernels.Device{Kind: "cpu"}, ir.Type{DType: ir.Int32, Shape: ir.Shape{n}})
	require.NoError(t, err)
	for i := range n {
		b.Bytes()[4*i] = v
	}
	return []kernels.Buffer{b}
}

func onBoth(ends []*overlappedCommunicator, f func(c *overlappedCommunicator) error) error {
	errs := make([]error, 2)
	var group sync.WaitGroup
	for i, c := range ends {
		group.Go(func() { errs[i] = f(c) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// long is more than the numbers of a short call.
const long = shortCall/4 + 1

// Starts return while the network is slow, more of them than fit, and waits find the sums in the order of the starts;
// calls that wait for their results come in between in order.
func TestWorkersOverlap(t *testing.T) {
	before := runtime.NumGoroutine()
	_, ends := workerPair(t, func() {
		if rand.IntN(10) == 0 {
			time.Sleep(200 * time.Microsecond)
		}
	})
	ctx := t.Context()
	require.NoError(t, onBoth(ends, func(c *overlappedCommunicator) error {
		for round := range 5 {
			var all [][]kernels.Buffer
			for k := range 100 {
				n := 5
				if (k+round)%7 == 0 {
					n = long
				}
				v := int32Buffer(t, n, byte(k+c.first))
				all = append(all, v)
				if err := c.StartAllReduce(ctx, ir.Sum, v); err != nil {
					return err
				}
				if k%30 == 7 {
					w := int32Buffer(t, 2, byte(round))
					if err := c.AllReduce(ctx, ir.Sum, w); err != nil {
						return err
					}
					if got := w[0].Bytes()[4]; got != byte(2*round) {
						return fmt.Errorf("a call in between: %d", got)
					}
				}
			}
			for k, v := range all {
				if err := c.WaitAllReduce(ctx); err != nil {
					return err
				}
				if got := v[0].Bytes()[16]; got != byte(2*k+1) {
					return fmt.Errorf("round %d: call %d gave %d", round, k, got)
				}
			}
		}
		return nil
	}))
	require.ErrorContains(t, ends[0].WaitAllReduce(ctx), "was not started")
	gone(t, before)
}

// gone waits until no more goroutines run than before.
func gone(t *testing.T, before int) {
	t.Helper()
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%d goroutines are left, %d before", runtime.NumGoroutine(), before)
}

func TestWorkersOverlapFailures(t *testing.T) {
	before := runtime.NumGoroutine()
	p, ends := workerPair(t, func() {})
	ctx := t.Context()
	broken := errors.New("a worker is lost")
	// The network fails: waits and further starts say so.
	require.NoError(t, ends[0].StartAllReduce(ctx, ir.Sum, int32Buffer(t, 3, 1)))
	require.NoError(t, ends[0].StartAllReduce(ctx, ir.Sum, int32Buffer(t, 3, 1)))
	time.AfterFunc(5*time.Millisecond, func() { p.fail(broken) })
	require.ErrorIs(t, ends[0].WaitAllReduce(ctx), broken)
	require.ErrorIs(t, ends[0].StartAllReduce(ctx, ir.Sum, int32Buffer(t, 3, 1)), broken)
	require.ErrorIs(t, ends[0].AllReduce(ctx, ir.Sum, int32Buffer(t, 3, 1)), broken)
	ends[0].Abort(broken)

	// A replica fails itself after a start: Abort waits for the call under way, which the other worker makes too.
	p.err, p.calls, p.combined = nil, [2]int{}, 0
	ends[0] = newOverlapped(ends[0].workerCommunicator)
	own := errors.New("bad label")
	v := int32Buffer(t, long, 1)
	require.NoError(t, ends[0].StartAllReduce(ctx, ir.Sum, v))
	for under := 0; under == 0; { // else Abort drops it
		p.mu.Lock()
		under = p.calls[0]
		p.mu.Unlock()
	}
	other := make(chan error)
	go func() {
		time.Sleep(5 * time.Millisecond)
		other <- ends[1].AllReduce(ctx, ir.Sum, int32Buffer(t, long, 4))
	}()
	ends[0].Abort(own)
	require.EqualValues(t, 5, v[0].Bytes()[0], "the memory is the replica's again")
	require.NoError(t, <-other)
	require.ErrorIs(t, ends[0].StartAllReduce(ctx, ir.Sum, v), own)
	// A short call that was started waits for the replica: Abort drops it, and none waits for it.
	ends[0] = newOverlapped(ends[0].workerCommunicator)
	require.NoError(t, ends[0].StartAllReduce(ctx, ir.Sum, int32Buffer(t, 3, 1)))
	ends[0].Abort(own)
	require.ErrorIs(t, ends[0].WaitAllReduce(ctx), own)
	ends[0] = newOverlapped(ends[0].workerCommunicator)
	require.NoError(t, onBoth(ends, func(c *overlappedCommunicator) error {
		return errors.Join(c.StartAllReduce(ctx, ir.Sum, int32Buffer(t, 3, 1)), c.WaitAllReduce(ctx))
	}))
	gone(t, before)
}

// Short calls need no goroutine, long ones take short ones before them along.
func TestShortCallsOfWorkers(t *testing.T) {
	_, ends := workerPair(t, func() {})
	ctx := t.Context()
	before := runtime.NumGoroutine()
	for _, n := range []int{3, 1, shortCall / 4} {
		require.NoError(t, ends[0].StartAllReduce(ctx, ir.Sum, int32Buffer(t, n, 1)))
	}
	require.Equal(t, before, runtime.NumGoroutine())
	require.NoError(t, ends[0].StartAllReduce(ctx, ir.Sum, int32Buffer(t, long, 1)))
	for _, n := range []int{3, 1, shortCall / 4, long} { // which this one makes on a goroutine, while it computes
		require.NoError(t, ends[1].AllReduce(ctx, ir.Sum, int32Buffer(t, n, 1)))
	}
	for range 4 {
		require.NoError(t, ends[0].WaitAllReduce(ctx))
	}
}

// A step allocates nothing.
func TestWorkersOverlapDoesNotAllocate(t *testing.T) {
	_, ends := workerPair(t, func() {})
	ctx := context.Background()
	values := [][]kernels.Buffer{int32Buffer(t, 100, 1), int32Buffer(t, 100, 1)}
	const rounds = 100
	step := func(c *overlappedCommunicator) error {
		for range 3 {
			if err := c.StartAllReduce(ctx, ir.Max, values[c.first]); err != nil {
				return err
			}
		}
		return errors.Join(c.WaitAllReduce(ctx), c.WaitAllReduce(ctx), c.WaitAllReduce(ctx))
	}
	done := make(chan error)
	go func() {
		var err error
		for range rounds + 1 {
			err = errors.Join(err, step(ends[1]))
		}
		done <- err
	}()
	require.Less(t, testing.AllocsPerRun(rounds, func() {
		if err := step(ends[0]); err != nil {
			t.Error(err)
		}
	}), 1.0)
	require.NoError(t, <-done)
}
