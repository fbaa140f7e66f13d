package tpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
)

// table is where the hosts of a test meet.
type table struct {
	mu      sync.Mutex
	blocks  [][]byte
	came    int
	met     chan struct{}
	lost    chan struct{} // closed when a host is gone
	results [][]byte
}

type seat struct {
	distribute.WorkerGroup
	t    *table
	rank int
}

var errGone = errors.New("lost worker:1")

func newTable(n int) (t *table, seats []*seat) {
	t = &table{blocks: make([][]byte, n), met: make(chan struct{}), lost: make(chan struct{})}
	for i := range n {
		seats = append(seats, &seat{t: t, rank: i})
	}
	return t, seats
}

func (s *seat) Rank() int { return s.rank }
func (s *seat) Size() int { return len(s.t.blocks) }

func (s *seat) AllGather(ctx context.Context, _ distribute.WorkerCall, data []byte) ([][]byte, error) {
	t := s.t
	t.mu.Lock()
	t.blocks[s.rank] = data
	t.came++
	met := t.met
	if t.came == len(t.blocks) {
		t.results = append([][]byte(nil), t.blocks...)
		t.came, t.met = 0, make(chan struct{})
		close(met)
	}
	t.mu.Unlock()
	select {
	case <-met:
		return t.results, nil
	case <-t.lost:
		return nil, errGone
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serveAll lets all hosts connect, each by its own code, and returns what became of each.
func serveAll(ctx context.Context, seats []*seat, host func(rank int, k *keys) error) (behind [][]int, errs []error) {
	behind, errs = make([][]int, len(seats)), make([]error, len(seats))
	var all sync.WaitGroup
	for i, s := range seats {
		k, connected := newKeys(), make(chan struct{})
		var failed error
		go func() {
			defer close(connected)
			failed = host(i, k)
		}()
		all.Go(func() { behind[i], errs[i] = k.serve(ctx, s, connected, &failed) })
	}
	all.Wait()
	return behind, errs
}

// Hosts that put random keys find those of all others, before and after these were put, with any bytes as values.
func TestKeysTravel(t *testing.T) {
	for trial := range 20 {
		rng := rand.New(rand.NewPCG(uint64(trial), 3))
		n, each := 1+rng.IntN(5), 1+rng.IntN(4)
		values := map[string][]byte{}
		for host := range n {
			for i := range each {
				value := make([]byte, rng.IntN(300))
				for j := range value {
					value[j] = byte(rng.Uint32())
				}
				values[fmt.Sprint(host, "/", i)] = value
			}
		}
		pauses := rng.Perm(n)
		_, seats := newTable(n)
		_, errs := serveAll(t.Context(), seats, func(rank int, k *keys) error {
			time.Sleep(time.Duration(pauses[rank]) * time.Millisecond)
			for i := range each {
				if err := k.Put(fmt.Sprint(rank, "/", i), values[fmt.Sprint(rank, "/", i)]); err != nil {
					return err
				}
			}
			for key, want := range values {
				got, err := k.Get(key, 10*time.Second)
				if err != nil || !bytes.Equal(got, want) {
					return fmt.Errorf("key %s: %d bytes, %w", key, len(got), err)
				}
			}
			if _, err := k.TryGet("nobody's"); !errors.Is(err, kernels.ErrNoKey) {
				return fmt.Errorf("a key that nobody has put: %w", err)
			}
			return nil
		})
		for rank, err := range errs {
			require.NoError(t, err, "host %d", rank)
		}
	}
}

// A host that fails, is lost, or does not end is an error on all, and so is a key that does not come.
func TestKeysFail(t *testing.T) {
	_, seats := newTable(3)
	_, errs := serveAll(t.Context(), seats, func(rank int, k *keys) error {
		if rank == 1 {
			return errors.New("no chips")
		}
		_, err := k.Get("of 1", time.Minute)
		return err
	})
	require.EqualError(t, errs[1], "no chips")
	require.EqualError(t, errs[0], "host 1 could not open its devices: no chips")

	meeting, seats := newTable(2)
	time.AfterFunc(20*time.Millisecond, func() { close(meeting.lost) })
	_, errs = serveAll(t.Context(), seats, func(_ int, k *keys) error {
		_, err := k.Get("never", time.Minute)
		return err
	})
	require.ErrorIs(t, errs[0], errGone)

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, seats = newTable(3)
	behind, errs := serveAll(ctx, seats, func(rank int, k *keys) error {
		if rank == 2 {
			_, err := k.Get("never", time.Minute)
			return err
		}
		return nil
	})
	require.ErrorIs(t, errs[0], context.DeadlineExceeded)
	require.Equal(t, []int{2}, behind[0])

	k := newKeys()
	_, err := k.Get("late", time.Millisecond)
	var late interface{ Timeout() bool }
	require.ErrorAs(t, err, &late)
	require.ErrorContains(t, err, `no host has put the key "late" within 1ms`)
	k.end(errParted)
	require.ErrorIs(t, k.Put("a", nil), errParted)
	_, err = k.Get("a", time.Minute)
	require.ErrorIs(t, err, errParted)
}

func FuzzRound(f *testing.F) {
	f.Add([]byte{})
	f.Add((&round{done: true, failure: "no", entries: []entry{{"a", []byte("b")}, {"", nil}}}).encode())
	f.Add([]byte{0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRound(b)
		if err != nil {
			return
		}
		again, err := decodeRound(r.encode())
		require.NoError(t, err)
		require.Equal(t, r, again)
	})
}
