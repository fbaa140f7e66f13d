package collective

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/internal/fairclock"
	"github.com/gokeras/gokeras/internal/ports"
	"github.com/gokeras/gokeras/kernels/ir"
)

// quick makes faults show soon.
func quick(mode func(int, *Options)) func(int, *Options) {
	return func(rank int, o *Options) {
		if mode != nil {
			mode(rank, o)
		}
		o.Deadline, o.JoinTimeout = time.Second, 5*time.Second
	}
}

func background() context.Context { return context.Background() }

// Workers that do different things all get the same error, and then go on.
func TestOrderErrors(t *testing.T) {
	float := func(n int) []Tensor { return []Tensor{Of(make([]float32, n))} }
	cases := map[string]func(rank int, g *Group) error{
		"shape": func(rank int, g *Group) error {
			return g.AllReduce(background(), Sum, float(10+rank%2), Name("dense/kernel"))
		},
		"large":     func(rank int, g *Group) error { return g.AllReduce(background(), Sum, float(100_000+rank/2)) },
		"algorithm": func(rank int, g *Group) error { return g.AllReduce(background(), Sum, float(10+rank%2*100_000)) },
		"type": func(rank int, g *Group) error {
			if rank == 2 {
				return g.AllReduce(background(), Sum, []Tensor{Of(make([]int32, 10))})
			}
			return g.AllReduce(background(), Sum, float(10))
		},
		"operation": func(rank int, g *Group) error {
			if rank == 1 {
				return g.Barrier(background())
			}
			return g.Broadcast(background(), 0, float(50_000))
		},
		"gather": func(rank int, g *Group) error {
			_, err := g.AllGather(background(), Of(make([]float32, 6), 3-rank%2, 2+rank%2))
			return err
		},
		"reduction": func(rank int, g *Group) error { return g.AllReduce(background(), Reduction(rank%2), float(10)) },
		"name": func(rank int, g *Group) error {
			return g.AllReduce(background(), Sum, float(10), Name(string(rune('a'+rank/2))))
		},
		"program": func(rank int, g *Group) error {
			return g.AllReduce(background(), Sum, float(10), Program(uint64(rank/2)))
		},
		"wire": func(rank int, g *Group) error {
			return g.AllReduce(background(), Sum, float(50_000), Wire([]ir.DType{ir.Invalid, ir.BFloat16}[rank%2]))
		},
		"step": func(rank int, g *Group) error { _, err := g.StepEnd(background(), uint64(7+rank/2), 0); return err },
	}
	for mode, change := range modes {
		for name, f := range cases {
			t.Run(mode+" "+name, func(t *testing.T) {
				t.Parallel()
				groups := join(t, 3, quick(change))
				errs := together(groups, f)
				var first *OrderError
				require.ErrorAs(t, errs[0], &first)
				for _, err := range errs {
					require.Equal(t, first, err)
				}
				require.Equal(t, uint64(1), first.Sequence)
				require.Equal(t, cluster.Task{Type: "worker", Index: 0}, first.A)
				require.NotEqual(t, first.CallA, first.CallB)
				noErrors(t, together(groups, func(rank int, g *Group) error {
					v := []float32{float32(rank)}
					err := g.AllReduce(background(), Sum, []Tensor{Of(v)})
					if err == nil && v[0] != 3 {
						t.Error(v)
					}
					return err
				}))
			})
		}
	}
}

// What is remembered of a call is described as the call was, also when the caller has used its memory for something
// else since.
func TestRecord(t *testing.T) {
	tensors := []Tensor{Of(make([]float32, 6), 2, 3), Of(make([]int8, 5))}
	for range 20 {
		tensors = append(tensors, Of(make([]float64, 4), 4))
	}
	c := &call{kind: broadcast, root: 1, tensors: tensors, name: "n", program: 7, step: 9}
	c.digest()
	want := c.describe()
	var r record
	r.set(c)
	tensors[0].Shape[0] = 77
	tensors[1] = Tensor{}
	require.Equal(t, want, r.describe())
	require.Contains(t, want, `Broadcast from rank 1 "n" float32[2 3] int8[5] float64[4]`)
	require.Contains(t, want, "and 6 more of 24 elements after step 9 in program 0000000000000007")
}

func TestOrderErrorText(t *testing.T) {
	groups := join(t, 2, quick(nil))
	errs := together(groups, func(rank int, g *Group) error {
		return g.AllReduce(background(), Sum, []Tensor{Of(make([]float32, 10+rank), 10+rank)}, Name("dense/kernel"))
	})
	members := groups[0].View().Members
	for _, part := range []string{"collective 1", fmt.Sprintf(`worker:0 (%s) calls AllReduce sum "dense/kernel" float32[10]`, members[0].Address),
		fmt.Sprintf(`worker:1 (%s) calls AllReduce sum "dense/kernel" float32[11]`, members[1].Address)} {
		require.ErrorContains(t, errs[1], part)
	}
}

// A member that closes is named to those that wait for it.
func TestLeave(t *testing.T) {
	for _, mode := range modes {
		groups := join(t, 3, quick(mode))
		errs := together(groups, func(rank int, g *Group) error {
			if rank == 1 {
				time.Sleep(50 * time.Millisecond)
				return g.Close()
			}
			return g.Barrier(background())
		})
		require.NoError(t, errs[1])
		var first *MemberError
		require.ErrorAs(t, errs[0], &first)
		require.Equal(t, errs[0], errs[2])
		require.Equal(t, "left", first.Lost[0].Reason)
		require.Equal(t, cluster.Task{Type: "worker", Index: 1}, first.Lost[0].Task)
		require.ErrorIs(t, groups[1].Barrier(background()), ErrClosed)
		require.ErrorIs(t, groups[1].Close(), ErrClosed)
		// The others go on without it.
		noErrors(t, together(groups, func(rank int, g *Group) error {
			if rank == 1 {
				return nil
			}
			if err := g.Regroup(background(), Terms{Min: 2, HasState: true, Step: uint64(5 + rank)}); err != nil {
				return err
			}
			v := g.View()
			if len(v.Members) != 2 || v.Step != 7 || v.Source != 1 || len(v.Behind) != 1 || v.Behind[0] != 0 {
				t.Errorf("%+v", v)
			}
			return g.Barrier(background())
		}))
		s := groups[0].Stats()
		require.Equal(t, []int64{2, 0}, []int64{s.Groups, s.Lost}, "who leaves is not lost")
		require.Positive(t, s.Received)
	}
}

func TestCancel(t *testing.T) {
	for _, mode := range modes {
		groups := join(t, 3, quick(mode))
		ctx, cancel := context.WithCancel(background())
		time.AfterFunc(50*time.Millisecond, cancel)
		errs := together(groups, func(rank int, g *Group) error {
			switch rank {
			case 1:
				return g.AllReduce(ctx, Sum, []Tensor{Of(make([]float32, 100_000))})
			case 2: // never comes
				return nil
			}
			return g.AllReduce(background(), Sum, []Tensor{Of(make([]float32, 100_000))})
		})
		require.ErrorIs(t, errs[1], context.Canceled)
		var lost *MemberError
		require.ErrorAs(t, errs[0], &lost)
		require.Equal(t, "withdrew", lost.Lost[0].Reason)
		require.Equal(t, 1, lost.Lost[0].Task.Index)
		require.Eventually(t, func() bool { return groups[2].Err() != nil }, 5*time.Second, time.Millisecond)
		require.Equal(t, errs[0], groups[2].Err(), "also the one that was not waiting knows")
	}
}

// A member that is alive but does not come is named after the timeout, to all.
func TestStall(t *testing.T) {
	for _, mode := range modes {
		var mu sync.Mutex
		var log []string
		groups := join(t, 3, func(rank int, o *Options) {
			quick(mode)(rank, o)
			o.Observe = func(text string) {
				mu.Lock()
				log = append(log, text)
				mu.Unlock()
			}
		})
		errs := together(groups, func(rank int, g *Group) error {
			if rank == 1 {
				return nil
			}
			return g.Barrier(background(), Name("here"), Within(1500*time.Millisecond))
		})
		var lost *MemberError
		require.ErrorAs(t, errs[0], &lost)
		require.Equal(t, errs[0], errs[2])
		require.Len(t, lost.Lost, 1)
		require.Equal(t, "stalled", lost.Lost[0].Reason)
		require.Equal(t, 1, lost.Lost[0].Task.Index)
		require.Contains(t, lost.Error(), `"here"`)
		mu.Lock()
		require.Contains(t, strings.Join(log, "\n"), `waiting for [worker:1], not yet in collective 1, Barrier "here"`)
		mu.Unlock()
		var expelled *ExpelledError
		require.Eventually(t, func() bool { return errors.As(groups[1].Err(), &expelled) }, 5*time.Second, time.Millisecond)
		require.Equal(t, int64(1), groups[0].Stats().Lost)
		require.Zero(t, groups[1].Stats().Lost)
	}
}

// A worker that comes later waits until the group takes it in at a step border.
func TestPending(t *testing.T) {
	spec, list := listeners(t, 3)
	start := func(rank int) (*Group, error) {
		return Join(background(), Options{Cluster: spec, Task: cluster.Task{Type: "worker", Index: rank}, Listener: list[rank], MinMembers: 2,
			Patience: 20 * time.Millisecond, JoinTimeout: 10 * time.Second, Deadline: 2 * time.Second, Timeout: 20 * time.Second})
	}
	groups := make([]*Group, 3)
	formed := make(chan struct{}, 2)
	var running sync.WaitGroup
	for _, rank := range []int{1, 2} {
		running.Go(func() {
			g, err := start(rank)
			if err != nil {
				t.Error(err)
				return
			}
			groups[rank] = g
			formed <- struct{}{}
			for step := uint64(1); ; step++ {
				b, err := g.StepEnd(background(), step, 1<<rank)
				if err == nil && b.Pending {
					err = g.Regroup(background(), Terms{HasState: true, Step: step})
				}
				if err != nil {
					t.Error(err)
				}
				if err != nil || b.Pending {
					return
				}
				time.Sleep(5 * time.Millisecond)
			}
		})
	}
	<-formed
	<-formed
	g, err := start(0)
	require.NoError(t, err)
	groups[0] = g
	running.Wait()
	v := g.View()
	require.Len(t, v.Members, 3)
	require.Equal(t, 1, v.Source, "the first of those that have the state")
	require.Equal(t, []int{0}, v.Behind)
	require.NotZero(t, v.Step)
	noErrors(t, together(groups, func(rank int, g *Group) error {
		b, err := g.StepEnd(background(), 1000, 1<<rank)
		if b.Flags != 7 {
			t.Error(b)
		}
		return errors.Join(err, g.Close())
	}))
}

func TestJoinErrors(t *testing.T) {
	addresses, err := ports.Free(2)
	require.NoError(t, err)
	spec, err := cluster.NewSpec(map[string][]string{"worker": addresses})
	require.NoError(t, err)
	address := addresses[1] // where nobody listens
	o := Options{Cluster: spec, Task: cluster.Task{Type: "worker", Index: 0}, JoinTimeout: 2 * time.Second}
	_, err = Join(background(), o)
	var missing *JoinError
	require.ErrorAs(t, err, &missing)
	require.ErrorContains(t, err, "worker:1 ("+address+"): did not come")
	require.ErrorContains(t, err, "connection refused")

	ctx, cancel := context.WithTimeout(background(), 50*time.Millisecond)
	defer cancel()
	o.JoinTimeout = time.Minute
	_, err = Join(ctx, o)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "waiting for a group, in which worker:1 ("+address+"): did not come")

	remote, err := cluster.NewSpec(map[string][]string{"worker": {"10.0.0.1:1", "10.0.0.2:1"}, "ps": {"10.0.0.3:1"}})
	require.NoError(t, err)
	for want, o := range map[string]Options{
		"empty":         {},
		"Security":      {Cluster: remote, Task: cluster.Task{Type: "worker"}},
		"no part":       {Cluster: remote, Task: cluster.Task{Type: "ps"}},
		"exceeds":       {Cluster: spec, Task: cluster.Task{Type: "worker", Index: 9}},
		"MinMembers":    {Cluster: spec, Task: cluster.Task{Type: "worker"}, MinMembers: 3},
		"Deadline":      {Cluster: spec, Task: cluster.Task{Type: "worker"}, Deadline: time.Nanosecond},
		"Timeout":       {Cluster: spec, Task: cluster.Task{Type: "worker"}, Timeout: -1},
		"SegmentBytes":  {Cluster: spec, Task: cluster.Task{Type: "worker"}, SegmentBytes: 1},
		"secret has 3":  {Cluster: spec, Task: cluster.Task{Type: "worker"}, Security: &Security{Secret: []byte("abc")}},
		"no such file":  {Cluster: spec, Task: cluster.Task{Type: "worker"}, Security: &Security{CAFile: "/none", CertFile: "/none", KeyFile: "/none"}},
		"not both":      {Cluster: spec, Task: cluster.Task{Type: "worker"}, Security: &Security{CAFile: "/none", Secret: []byte("abc")}},
		"at most half ": {Cluster: spec, Task: cluster.Task{Type: "worker"}, Heartbeat: time.Hour},
	} {
		_, err := Join(background(), o)
		require.ErrorContains(t, err, want)
	}
}

func TestBadCalls(t *testing.T) {
	g := join(t, 1, nil)[0]
	require.ErrorContains(t, g.AllReduce(background(), Mean, []Tensor{Of([]int32{1})}), "mean of int32")
	require.ErrorContains(t, g.AllReduce(background(), Sum, []Tensor{{DType: ir.Bool, Data: []byte{1}}}), "bool")
	require.ErrorContains(t, g.AllReduce(background(), 99, []Tensor{Of([]int32{1})}), "unknown reduction")
	require.ErrorContains(t, g.AllReduce(background(), Sum, []Tensor{{}}), "element type")
	require.ErrorContains(t, g.AllReduce(background(), Sum, []Tensor{{DType: ir.Float32, Data: make([]byte, 5)}}), "whole elements")
	require.ErrorContains(t, g.AllReduce(background(), Sum, []Tensor{Of([]float32{1, 2}, 3)}), "shape")
	require.ErrorContains(t, g.AllReduce(background(), Sum, []Tensor{{DType: ir.Float32, Data: numbers.Bytes(make([]uint64, 2))[1:9]}}), "aligned")
	require.ErrorContains(t, g.Broadcast(background(), 1, nil), "rank 1")
	_, err := g.AllGather(background(), Tensor{DType: ir.Float32, Shape: []int{}, Data: make([]byte, 4)})
	require.ErrorContains(t, err, "scalar")
	require.NoError(t, g.AllReduce(background(), Sum, nil))
	require.ErrorContains(t, g.Regroup(background(), Terms{Min: 5}), "does not fit")
}

// The worker that comes last waits least.
func TestWaitingIsCounted(t *testing.T) {
	for _, mode := range modes {
		groups := join(t, 2, mode)
		noErrors(t, together(groups, func(rank int, g *Group) error {
			time.Sleep(time.Duration(rank) * time.Second)
			return g.Barrier(background())
		}))
		first, last := groups[0].Stats(), groups[1].Stats()
		require.Greater(t, first.Waiting, 100*time.Millisecond)
		require.Less(t, last.Waiting, first.Waiting)
		require.GreaterOrEqual(t, first.Time, first.Waiting)
		require.Equal(t, int64(1), first.Collectives)
	}
}

// A worker that keeps the others waiting is named to them, once for each collective; it itself hears nothing.
func TestStragglerIsNamed(t *testing.T) {
	for _, mode := range modes {
		var mu sync.Mutex
		texts := make([][]string, 3)
		groups := join(t, 3, func(rank int, o *Options) {
			if mode != nil {
				mode(rank, o)
			}
			o.SlowAfter = 500 * time.Millisecond // by then the others have said where they are, unless the machine is very busy
			o.Observe = func(text string) {
				mu.Lock()
				defer mu.Unlock()
				if strings.Contains(text, "waiting for") {
					texts[rank] = append(texts[rank], text)
				}
			}
		})
		heard := func() bool { mu.Lock(); defer mu.Unlock(); return len(texts[0]) > 0 && len(texts[2]) > 0 }
		noErrors(t, together(groups, func(rank int, g *Group) error {
			for end := time.Now().Add(20 * time.Second); rank == 1 && !heard() && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond)
			}
			return g.Barrier(background(), Name("step 7"))
		}))
		for _, rank := range []int{0, 2} {
			require.Len(t, texts[rank], 1)
			require.Regexp(t, `waiting for \[.*worker:1.*\], not yet in collective 1, Barrier "step 7"`, texts[rank][0])
		}
		require.Empty(t, texts[1])
	}
}

// Whoever no longer waits for a group is not taken in.
func TestCancelledRegroup(t *testing.T) {
	groups := join(t, 2, quick(nil))
	errs := together(groups, func(rank int, g *Group) error {
		ctx, cancel := context.WithTimeout(background(), 100*time.Millisecond)
		defer cancel()
		if rank == 1 {
			time.Sleep(200 * time.Millisecond) // settling lets the first wait meanwhile
			return nil
		}
		return g.Regroup(ctx, Terms{})
	})
	require.ErrorIs(t, errs[0], context.DeadlineExceeded)
	noErrors(t, together(groups, func(_ int, g *Group) error { return g.Regroup(background(), Terms{}) }))
	noErrors(t, together(groups, func(_ int, g *Group) error { return g.Barrier(background()) }))
}

// After a collective nothing of the caller's memory is on the way any more.
func TestMemoryIsReturned(t *testing.T) {
	groups := join(t, 2, func(_ int, o *Options) { o.NoSharedMemory = true })
	noErrors(t, together(groups, func(_ int, g *Group) error {
		tensors := []Tensor{Of(make([]float32, 500_000))}
		for range 30 {
			if err := g.AllReduce(background(), Sum, tensors); err != nil {
				return err
			}
			if n := g.session.lent.out.Load(); n != 0 {
				return fmt.Errorf("%d pieces are still lent", n)
			}
		}
		return nil
	}))
}

// Close leaves no goroutine and no file behind, after work as after faults.
func TestCloseLeavesNothing(t *testing.T) {
	files := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return 0
		}
		return len(entries)
	}
	round := func(mode func(int, *Options)) {
		groups := join(t, 3, quick(mode))
		noErrors(t, together(groups, func(_ int, g *Group) error {
			return g.AllReduce(background(), Sum, []Tensor{Of(make([]float32, 100_000))})
		}))
		_ = together(groups, func(rank int, g *Group) error { // an order error, and a group formed again
			return g.AllReduce(background(), Sum, []Tensor{Of(make([]float32, 10+rank))})
		})
		noErrors(t, together(groups, func(_ int, g *Group) error { return g.Barrier(background()) }))
		_ = together(groups, func(rank int, g *Group) error { // two close while the third waits for them
			if rank == 0 {
				return g.Barrier(background())
			}
			return g.Close()
		})
		require.NoError(t, groups[0].Close())
	}
	for _, mode := range modes {
		round(mode)
	}
	goroutines, open := runtime.NumGoroutine(), files()
	for _, mode := range modes {
		round(mode)
	}
	goroutines++ // that of the clock
	clock := fairclock.Start()
	defer clock.Stop()
	for ; clock.Elapsed() < 3*time.Second; time.Sleep(10 * time.Millisecond) {
		if runtime.NumGoroutine() <= goroutines && files() <= open {
			return
		}
	}
	stacks := make([]byte, 1<<20)
	t.Fatalf("%d goroutines, %d files; before %d, %d\n%s", runtime.NumGoroutine(), files(), goroutines, open, stacks[:runtime.Stack(stacks, true)])
}

// A worker that cannot go on says why: all get that as the cause, whatever they call, and all can continue after it.
func TestFail(t *testing.T) {
	for name, mode := range modes {
		for victim := range 3 {
			t.Run(fmt.Sprint(name, victim), func(t *testing.T) {
				groups := join(t, 3, mode)
				why := "write model.keras: no space left on device, \"" + strings.Repeat("é", 2000)
				errs := together(groups, func(rank int, g *Group) error {
					if rank == victim {
						return g.Fail(context.Background(), why)
					}
					return g.AllReduce(context.Background(), Sum, []Tensor{Of([]float32{1, 2})})
				})
				for rank, err := range errs {
					var failed *FailedError
					require.ErrorAs(t, err, &failed, "worker %d", rank)
					require.Equal(t, cluster.Task{Type: cluster.Worker, Index: victim}, failed.Task)
					require.True(t, strings.HasPrefix(why, failed.Why) && len(failed.Why) > maxFailure-4, failed.Why)
					require.True(t, strings.HasPrefix(err.Error(), fmt.Sprintf("collective: worker:%d (%s) failed: write model.keras: no space left", victim, groups[victim].settings.members[victim].Address)), err)
					var order *OrderError
					require.ErrorAs(t, err, &order)
				}
				noErrors(t, together(groups, func(_ int, g *Group) error { return g.Barrier(context.Background()) }))
			})
		}
	}
}
