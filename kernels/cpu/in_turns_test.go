package cpu_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// turning holds the sessions of some replicas and their launches.
type turning struct {
	sessions []kernels.Session
	launches []kernels.Launch
	errs     []error
}

func newTurning(t *testing.T, p *ir.Program, replicas int) *turning {
	t.Helper()
	code, err := cpu.Backend{}.Compile(p, kernels.CompileOptions{Device: device, Replicas: replicas, Overlap: true})
	require.NoError(t, err)
	s := &turning{errs: make([]error, replicas)}
	for i, c := range communicators(t, replicas) {
		session, err := code.NewSession(kernels.SessionOptions{Device: device, Replica: i})
		require.NoError(t, err)
		t.Cleanup(session.Close)
		l := kernels.Launch{Communicator: c}
		for _, in := range p.Inputs {
			l.Inputs = append(l.Inputs, newBuffer(t, p.Type(in.Value).DType, p.Type(in.Value).Shape...))
		}
		for _, out := range p.Outputs {
			l.Outputs = append(l.Outputs, newBuffer(t, p.Type(out.Value).DType, p.Type(out.Value).Shape...))
		}
		s.sessions, s.launches = append(s.sessions, session), append(s.launches, l)
	}
	return s
}

func (s *turning) run() bool { return s.runUnder(context.Background()) }

func (s *turning) runUnder(ctx context.Context) bool {
	return s.sessions[0].(kernels.TurnTaker).LaunchInTurns(ctx, s.sessions, s.launches, s.errs)
}

// apart runs each replica in its own goroutine.
func (s *turning) apart(t *testing.T) {
	all := make([]kernels.Communicator, len(s.launches))
	for i := range all {
		all[i] = s.launches[i].Communicator
	}
	copy(s.errs, together(all, func(c kernels.Communicator) error {
		return s.sessions[c.Replica()].Launch(bounded(t), s.launches[c.Replica()]).Wait(bounded(t))
	}))
}

// chained is a step of many sums, each of the previous result.
func chained(replicas, sums int) *ir.Program {
	g := tape{ir.New("step")}
	x := g.input("x", ir.Float32, 5)
	y := x
	for i := range sums {
		y = g.op(ir.Tanh, nil, g.op(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: replicas, Bucket: i + 1}, g.op(ir.Mul, nil, y, x)))
	}
	g.p.AddOutput("y", y)
	return g.p
}

// Replicas in turns give the same bits as replicas in parallel, run after run, also if both kinds of run alternate.
func TestReplicasTakeTurns(t *testing.T) {
	defer cpu.InTurns()()
	for _, replicas := range []int{2, 3, 4} {
		for name, p := range map[string]*ir.Program{"one bucket": replicated(replicas, [2]int{1, 1}), "two buckets": replicated(replicas, [2]int{1, 2}),
			"chained": chained(replicas, 7)} {
			turns, apart := newTurning(t, p, replicas), newTurning(t, p, replicas)
			for round := range 40 {
				for i := range replicas {
					r := rand.New(rand.NewPCG(uint64(i), uint64(round)))
					for k, in := range p.Inputs {
						b := turns.launches[i].Inputs[k].Bytes()
						for e := range p.Type(in.Value).Shape.Size() {
							v := r.NormFloat64()
							if !p.Type(in.Value).DType.IsFloat() {
								v = float64(r.IntN(40))
							}
							copy(b[4*e:], ir.AppendElement(nil, p.Type(in.Value).DType, v))
						}
						copy(apart.launches[i].Inputs[k].Bytes(), b)
					}
				}
				if round%5 == 4 {
					turns.apart(t)
				} else {
					require.True(t, turns.run(), name)
				}
				apart.apart(t)
				for i := range replicas {
					require.NoError(t, turns.errs[i], name)
					require.Zero(t, cpu.Writing(turns.sessions[i]), "buffers that the run has written are steady again")
					require.NoError(t, apart.errs[i], name)
					for k := range p.Outputs {
						require.Equal(t, apart.launches[i].Outputs[k].Bytes(), turns.launches[i].Outputs[k].Bytes(), "%s, round %d, replica %d of %d", name, round, i, replicas)
					}
				}
			}
		}
	}
}

// An error on one replica is an error on all, and none waits forever.
func TestTurnsEndWithAnError(t *testing.T) {
	defer cpu.InTurns()()
	for wrong := range 3 {
		s := newTurning(t, replicated(3, [2]int{1, 2}), 3)
		s.launches[wrong].Inputs[2].Bytes()[0] = 40 // there is no such row
		require.True(t, s.run())
		for i, err := range s.errs {
			require.ErrorContains(t, err, "40", "replica %d, of which %d is wrong", i, wrong)
		}
	}
	s := newTurning(t, replicated(2, [2]int{1, 2}), 2)
	s.sessions[1].Close()
	require.True(t, s.run())
	require.ErrorContains(t, s.errs[0], "closed")
	require.ErrorContains(t, s.errs[1], "closed")
}

// The first failure stays in the queues, and nothing runs until somebody has read it.
func TestTurnsFailTheirQueues(t *testing.T) {
	defer cpu.InTurns()()
	s := newTurning(t, chained(2, 1), 2)
	for i := range s.launches {
		var err error
		s.launches[i].Queue, err = cpu.Backend{}.NewQueue(device)
		require.NoError(t, err)
	}
	s.sessions[1].Close()
	require.True(t, s.run())
	require.False(t, s.run(), "queues that have failed")
	for _, l := range s.launches {
		require.ErrorContains(t, l.Queue.Wait(t.Context()), "closed")
	}
	require.True(t, s.run())
}

// A panic releases the sessions.
func TestTurnsEndWithAPanic(t *testing.T) {
	defer cpu.InTurns()()
	s := newTurning(t, chained(2, 3), 2)
	own := s.launches[1].Communicator
	s.launches[1].Communicator = panicking{own}
	require.PanicsWithValue(t, "no sum", func() { s.run() })
	s.launches[1].Communicator = own
	s.apart(t)
	for _, err := range s.errs {
		require.ErrorContains(t, err, "panicked")
	}
}

type panicking struct{ kernels.Communicator }

func (p panicking) Progress() error { return nil }
func (p panicking) StartAllReduce(context.Context, ir.Kind, []kernels.Buffer) error {
	panic("no sum")
}
func (p panicking) WaitAllReduce(context.Context) error { return nil }

// Programs that are large, meet in other ways, have loops or start too many sums use a goroutine for each replica.
func TestWhatTakesNoTurns(t *testing.T) {
	defer cpu.InTurns()()
	large := tape{ir.New("large")}
	x := large.input("x", ir.Float32, 300, 300)
	large.p.AddOutput("y", large.op(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, x))
	gathers := tape{ir.New("gathers")}
	gathers.p.AddOutput("y", gathers.op(ir.AllGather, ir.CollectiveAttrs{Replicas: 2}, gathers.input("x", ir.Float32, 3)))
	small := tape{ir.New("small")}
	small.p.AddOutput("y", small.op(ir.Tanh, nil, small.input("x", ir.Float32, 3)))
	for name, p := range map[string]*ir.Program{"large": large.p, "gathers": gathers.p, "many sums": chained(2, 17)} {
		require.False(t, newTurning(t, p, 2).run(), name)
	}
	watched := newTurning(t, small.p, 2)
	require.True(t, watched.run())
	watched.sessions[1].(cpu.Profiler).Profiling(true)
	require.False(t, watched.run(), "a replica whose steps are timed")
	watched.sessions[1].(cpu.Profiler).Profiling(false)
	ctx, slot := tracing.Context(cpu.Measurable(t.Context()))
	require.True(t, watched.runUnder(ctx))
	measurement := start(t, ctx)
	require.False(t, watched.runUnder(ctx), "a run that is measured")
	measurement.Stop()
	recorder, err := slot.Start(1)
	require.NoError(t, err)
	require.False(t, watched.runUnder(ctx), "a run that is traced")
	recorder.Stop()
	require.True(t, watched.runUnder(ctx))
	mixed := newTurning(t, small.p, 2)
	mixed.sessions[1] = newTurning(t, chained(2, 1), 2).sessions[1]
	require.False(t, mixed.run(), "sessions of different programs")
	mixed = newTurning(t, chained(2, 1), 2)
	mixed.launches[1].Communicator = struct{ kernels.Communicator }{mixed.launches[1].Communicator}
	require.False(t, mixed.run(), "a communicator of another kind")
	require.True(t, slices.Equal(mixed.errs, []error{nil, nil}))
}

func TestTurnsDoNotAllocate(t *testing.T) {
	defer cpu.InTurns()()
	s := newTurning(t, chained(3, 4), 3)
	for range 3 {
		require.True(t, s.run())
	}
	require.Zero(t, testing.AllocsPerRun(100, func() { s.run() }))
}
