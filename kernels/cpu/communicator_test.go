package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

func communicators(t testing.TB, n int) []kernels.Communicator {
	devices := make([]kernels.Device, n)
	for i := range devices {
		devices[i] = kernels.Device{Kind: cpu.Kind, Index: i}
	}
	all, err := cpu.Backend{}.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices})
	require.NoError(t, err)
	for i, c := range all {
		require.Equal(t, i, c.Replica())
		require.Equal(t, n, c.Replicas())
	}
	return all
}

// together runs f for every replica and returns the errors.
func together(all []kernels.Communicator, f func(c kernels.Communicator) error) []error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, c := range all {
		group.Go(func() { errs[i] = f(c) })
	}
	group.Wait()
	return errs
}

func newBuffer(t testing.TB, d ir.DType, shape ...int) kernels.Buffer {
	b, err := cpu.Backend{}.NewBuffer(device, ir.Type{DType: d, Shape: shape})
	require.NoError(t, err)
	return b
}

func bounded(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// combine is the result that replicas must agree on. Values are combined one after the other. float32 rounds after each
// step, half precision once at the end.
func combine(kind ir.Kind, d ir.DType, x []float64) float64 {
	round := func(v float64) float64 { return v }
	switch d {
	case ir.Float32, ir.BFloat16, ir.Float16:
		round = func(v float64) float64 { return float64(float32(v)) }
	case ir.Int8:
		round = func(v float64) float64 { return float64(int8(int64(v))) }
	}
	acc := x[0]
	for _, v := range x[1:] {
		switch kind {
		case ir.Sum, ir.Mean:
			acc = round(acc + v)
		case ir.Max:
			acc = max(acc, v)
		case ir.Min:
			acc = min(acc, v)
		}
	}
	if kind == ir.Mean {
		acc = round(acc / float64(len(x)))
	}
	if d.IsFloat() {
		acc = ir.RoundFloat(d, acc)
	}
	return acc
}

func TestAllReduce(t *testing.T) {
	for _, replicas := range []int{1, 2, 3, 5} {
		for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.BFloat16, ir.Float16, ir.Int8, ir.Int32} {
			for _, kind := range []ir.Kind{ir.Sum, ir.Mean, ir.Max, ir.Min} {
				if kind == ir.Mean && !d.IsFloat() {
					continue
				}
				t.Run(fmt.Sprint(replicas, d, kind), func(t *testing.T) { checkAllReduce(t, replicas, d, kind) })
			}
		}
	}
}

func checkAllReduce(t *testing.T, replicas int, d ir.DType, kind ir.Kind) {
	all := communicators(t, replicas)
	r := rand.New(rand.NewPCG(5, 6))
	sizes := []int{0, 1, 63, 64, 65, 1000, 5000}
	values := make([][]kernels.Buffer, replicas)
	before := make([][][]float64, len(sizes)) // by value, element, replica
	for i := range values {
		for k, n := range sizes {
			b := newBuffer(t, d, n)
			if before[k] == nil {
				before[k] = make([][]float64, n)
			}
			for e := range n {
				copy(b.Bytes()[e*d.Size():], ir.AppendElement(nil, d, r.NormFloat64()*30))
				before[k][e] = append(before[k][e], ir.Element(b.Bytes(), d, e))
			}
			values[i] = append(values[i], b)
		}
	}
	ctx := bounded(t)
	for _, err := range together(all, func(c kernels.Communicator) error { return c.AllReduce(ctx, kind, values[c.Replica()]) }) {
		require.NoError(t, err)
	}
	for k, n := range sizes {
		for e := range n {
			want := combine(kind, d, before[k][e])
			for i := range values {
				require.Equal(t, want, ir.Element(values[i][k].Bytes(), d, e), "value %d, element %d, replica %d", k, e, i)
			}
		}
	}
}

func TestAllGatherAndBroadcast(t *testing.T) {
	all := communicators(t, 3)
	ctx := bounded(t)
	wholes := make([]kernels.Buffer, 3)
	roots := make([]kernels.Buffer, 3)
	for i := range wholes {
		wholes[i], roots[i] = newBuffer(t, ir.Uint8, 2, 6), newBuffer(t, ir.Uint8, 2)
	}
	for _, err := range together(all, func(c kernels.Communicator) error {
		r := byte(c.Replica())
		part := newBuffer(t, ir.Uint8, 2, 2)
		copy(part.Bytes(), []byte{10 * r, 10*r + 1, 10*r + 2, 10*r + 3})
		roots[r].Bytes()[0], roots[r].Bytes()[1] = r, r+100
		if err := c.AllGather(ctx, part, wholes[r], 1); err != nil {
			return err
		}
		return c.Broadcast(ctx, 2, roots[r])
	}) {
		require.NoError(t, err)
	}
	for i := range wholes {
		assert.Equal(t, []byte{0, 1, 10, 11, 20, 21, 2, 3, 12, 13, 22, 23}, wholes[i].Bytes())
		assert.Equal(t, []byte{2, 102}, roots[i].Bytes())
	}
}

// TestManyRounds has more replicas than cores, with different amounts of work between calls, so that some spin and some
// park.
func TestManyRounds(t *testing.T) {
	all := communicators(t, 8)
	ctx := bounded(t)
	const rounds = 300
	for _, err := range together(all, func(c kernels.Communicator) error {
		b := newBuffer(t, ir.Int64, 1)
		r := rand.New(rand.NewPCG(uint64(c.Replica()), 0))
		for n := range rounds {
			copy(b.Bytes(), ir.AppendElement(nil, ir.Int64, float64(n*c.Replica())))
			if r.IntN(60) == 0 {
				time.Sleep(300 * time.Microsecond)
			}
			if err := c.AllReduce(ctx, ir.Sum, []kernels.Buffer{b}); err != nil {
				return err
			}
			if got := ir.Element(b.Bytes(), ir.Int64, 0); got != float64(n*28) {
				return fmt.Errorf("round %d: got %v, want %d", n, got, n*28)
			}
		}
		return nil
	}) {
		require.NoError(t, err)
	}
}

func TestReplicasDisagree(t *testing.T) {
	all := communicators(t, 3)
	ctx := bounded(t)
	cases := map[string]func(c kernels.Communicator) error{
		"kind": func(c kernels.Communicator) error {
			kind := ir.Sum
			if c.Replica() == 1 {
				kind = ir.Max
			}
			return c.AllReduce(ctx, kind, []kernels.Buffer{newBuffer(t, ir.Float32, 3)})
		},
		"shape": func(c kernels.Communicator) error {
			return c.AllReduce(ctx, ir.Sum, []kernels.Buffer{newBuffer(t, ir.Float32, 3+c.Replica()/2)})
		},
		"type": func(c kernels.Communicator) error {
			return c.AllReduce(ctx, ir.Sum, []kernels.Buffer{newBuffer(t, []ir.DType{ir.Float32, ir.Float32, ir.Int32}[c.Replica()], 3)})
		},
		"number of values": func(c kernels.Communicator) error {
			b := newBuffer(t, ir.Float32, 3)
			return c.AllReduce(ctx, ir.Sum, []kernels.Buffer{b, b}[:1+c.Replica()%2])
		},
		"operation": func(c kernels.Communicator) error {
			b := newBuffer(t, ir.Float32, 3)
			if c.Replica() == 0 {
				return c.Broadcast(ctx, 0, b)
			}
			return c.AllReduce(ctx, ir.Sum, []kernels.Buffer{b})
		},
		"root": func(c kernels.Communicator) error {
			return c.Broadcast(ctx, c.Replica(), newBuffer(t, ir.Float32, 3))
		},
		"gathered shape": func(c kernels.Communicator) error {
			return c.AllGather(ctx, newBuffer(t, ir.Float32, 3), newBuffer(t, ir.Float32, 8), 0)
		},
		"no such root": func(c kernels.Communicator) error { return c.Broadcast(ctx, 3, newBuffer(t, ir.Float32, 3)) },
		"bool": func(c kernels.Communicator) error {
			return c.AllReduce(ctx, "median", []kernels.Buffer{newBuffer(t, ir.Int8, 3)})
		},
	}
	for name, call := range cases {
		t.Run(name, func(t *testing.T) {
			for i, err := range together(all, call) {
				assert.Error(t, err, "replica %d", i)
				assert.NotErrorIs(t, err, context.DeadlineExceeded)
			}
			assert.Error(t, all[0].Broadcast(ctx, 0, newBuffer(t, ir.Float32, 1)), "all calls fail")
			for _, err := range together(communicators(t, len(all)), func(c kernels.Communicator) error { return c.Broadcast(ctx, 0, newBuffer(t, ir.Float32, 1)) }) {
				assert.NoError(t, err)
			}
		})
	}
}

func TestAbortWakesWaitingReplicas(t *testing.T) {
	all := communicators(t, 4)
	broken := errors.New("broken")
	for _, err := range together(all, func(c kernels.Communicator) error {
		if c.Replica() == 2 {
			time.Sleep(5 * time.Millisecond) // the others have parked
			c.Abort(broken)
			return broken
		}
		return c.AllReduce(bounded(t), ir.Sum, []kernels.Buffer{newBuffer(t, ir.Float32, 3)})
	}) {
		assert.ErrorIs(t, err, broken)
	}
}

func TestContextEndsWaiting(t *testing.T) {
	all := communicators(t, 3)
	ctx, cancel := context.WithCancel(context.Background())
	for i, err := range together(all, func(c kernels.Communicator) error {
		b := []kernels.Buffer{newBuffer(t, ir.Float32, 3)}
		switch c.Replica() {
		case 0: // never comes
			time.Sleep(5 * time.Millisecond)
			cancel()
			return context.Canceled
		case 1:
			return c.AllReduce(ctx, ir.Sum, b)
		}
		return c.AllReduce(bounded(t), ir.Sum, b) // has a context of its own, and is woken all the same
	}) {
		assert.ErrorIs(t, err, context.Canceled, "replica %d", i)
	}
}

func TestAllReduceDoesNotAllocate(t *testing.T) {
	all := communicators(t, 2)
	ctx := context.Background()
	a, b := []kernels.Buffer{newBuffer(t, ir.Float32, 3000)}, []kernels.Buffer{newBuffer(t, ir.Float32, 3000)}
	const rounds = 51 // AllocsPerRun runs once more, to warm up
	done := make(chan error)
	go func() {
		var err error
		for range rounds {
			if err == nil {
				err = all[1].AllReduce(ctx, ir.Sum, b)
			}
		}
		done <- err
	}()
	assert.Zero(t, testing.AllocsPerRun(rounds-1, func() {
		if err := all[0].AllReduce(ctx, ir.Sum, a); err != nil {
			t.Error(err)
		}
	}))
	require.NoError(t, <-done)
}

// replicated is a step that sums two gradients over the replicas, in one bucket or two, and includes an embedding that
// can fail.
func replicated(replicas int, buckets [2]int) *ir.Program {
	g := tape{ir.New("step")}
	w, x, i := g.input("w", ir.Float32, 40, 3), g.input("x", ir.Float32, 2, 3), g.input("i", ir.Int32, 2)
	rows := g.op(ir.Embedding, nil, w, i)
	sum := func(v ir.Value, bucket int) ir.Value {
		return g.op(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: replicas, Bucket: bucket}, v)
	}
	first := sum(g.op(ir.Mul, nil, rows, x), buckets[0])
	second := sum(g.op(ir.Add, nil, rows, x), buckets[1])
	g.p.AddOutput("y", g.op(ir.Sub, nil, first, second))
	return g.p
}

func TestReplicas(t *testing.T) {
	for _, buckets := range [][2]int{{0, 0}, {0, 1}} {
		const replicas = 3
		p := replicated(replicas, buckets)
		all := communicators(t, replicas)
		results := make([][]byte, replicas)
		steps := make([]int, replicas)
		run := func(label func(replica int) byte) []error {
			return together(all, func(c kernels.Communicator) error {
				e, err := kernels.LoadReplica(cpu.Backend{}, p, device, c)
				if err != nil {
					return err
				}
				defer e.Close()
				steps[c.Replica()] = e.Stats().Steps
				w, x, i, y := newBuffer(t, ir.Float32, 40, 3), newBuffer(t, ir.Float32, 2, 3), newBuffer(t, ir.Int32, 2), newBuffer(t, ir.Float32, 2, 3)
				for k := range 120 {
					copy(w.Bytes()[4*k:], ir.AppendElement(nil, ir.Float32, float64(k)))
				}
				for k := range 6 {
					copy(x.Bytes()[4*k:], ir.AppendElement(nil, ir.Float32, float64(c.Replica()+1)))
				}
				i.Bytes()[0] = label(c.Replica())
				err = e.Run(bounded(t), []kernels.Buffer{w, x, i}, []kernels.Buffer{y})
				results[c.Replica()] = y.Bytes()
				return err
			})
		}
		for _, err := range run(func(r int) byte { return byte(r) }) {
			require.NoError(t, err)
		}
		// Row r of w is 3r..3r+2, x is r+1: Σ_r w·x - Σ_r (w + x) in the first row.
		for k := range 3 {
			want := 0
			for r := range replicas {
				v := 3*r + k
				want += v*(r+1) - (v + r + 1)
			}
			for r := range results {
				assert.Equal(t, float64(want), ir.Element(results[r], ir.Float32, k))
			}
		}
		calls := 1 + buckets[1] // for all of a bucket, one
		units := 4
		if calls == 1 { // no collective stands between the product and the sum
			units = 3
		}
		assert.Equal(t, units+2*calls, steps[0], "embedding, product, sum, difference, and the start and the wait of the collectives")
		// One replica gets a bad index. The others must not wait for it, and must learn why.
		for r, err := range run(func(r int) byte { return byte(39 + r/2) }) {
			var index *cpu.IndexError
			assert.ErrorAs(t, err, &index, "replica %d", r)
		}
		all = communicators(t, replicas)
		for _, err := range run(func(r int) byte { return 0 }) {
			require.NoError(t, err)
		}
	}
}
