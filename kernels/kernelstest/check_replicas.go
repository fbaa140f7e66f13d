package kernelstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// replicaCase is a program for n replicas.
type replicaCase struct {
	name  string
	units float64
	build func(p program, d *draft, n int) []func() reference.Value // the makers of the inputs of one replica
}

func collectiveOver(n int) ir.CollectiveAttrs { return ir.CollectiveAttrs{Replicas: n, Kind: ir.Sum} }

// replicaCases are the programs with collectives; each op of that family is in one.
func replicaCases() []replicaCase {
	type makers = []func() reference.Value
	normal := func(d *draft, dtype ir.DType, shape ...int) func() reference.Value {
		return func() reference.Value { return d.normal(dtype, shape...) }
	}
	var cases []replicaCase
	for _, kind := range []ir.Kind{ir.Sum, ir.Max, ir.Min, ir.Mean} {
		for _, dtype := range numbers {
			if kind == ir.Mean && !dtype.IsFloat() {
				continue
			}
			cases = append(cases, replicaCase{fmt.Sprintf("all_reduce %s %v", kind, dtype), 8, func(p program, d *draft, n int) makers {
				a := collectiveOver(n)
				a.Kind = kind
				p.out(p.ops(ir.AllReduce, a, p.in(dtype, 7, 5), p.in(dtype), p.in(dtype, 0), p.in(dtype, 130))...)
				return makers{normal(d, dtype, 7, 5), normal(d, dtype), normal(d, dtype, 0), normal(d, dtype, 130)}
			}})
		}
	}
	for _, dtype := range some {
		for axis := range 3 {
			cases = append(cases, replicaCase{fmt.Sprintf("all_gather %v axis %d", dtype, axis), 0, func(p program, d *draft, n int) makers {
				a := ir.CollectiveAttrs{Replicas: n, Axis: axis}
				p.out(p.op(ir.AllGather, a, p.in(dtype, 3, 2, 5)))
				return makers{normal(d, dtype, 3, 2, 5)}
			}})
		}
		cases = append(cases, replicaCase{fmt.Sprintf("collective_broadcast %v", dtype), 0, func(p program, d *draft, n int) makers {
			first, last := ir.CollectiveAttrs{Replicas: n}, ir.CollectiveAttrs{Replicas: n, Root: n - 1}
			x := p.in(dtype, 4, 3)
			p.out(p.op(ir.CollectiveBroadcast, last, x), x, p.op(ir.CollectiveBroadcast, first, x))
			return makers{normal(d, dtype, 4, 3)}
		}})
		if dtype == ir.Bool {
			continue
		}
		for axis := range 2 {
			cases = append(cases, replicaCase{fmt.Sprintf("reduce_scatter %v axis %d", dtype, axis), 8, func(p program, d *draft, n int) makers {
				a := collectiveOver(n)
				a.Axis = axis
				p.out(p.op(ir.ReduceScatter, a, p.in(dtype, 12, 12)))
				return makers{normal(d, dtype, 12, 12)}
			}})
		}
	}
	return append(append(cases, groupCases()...), replicaPrograms()...)
}

func replicaPrograms() []replicaCase {
	type makers = []func() reference.Value
	step := func(p program, n, bucket int, v ir.Value) ir.Value {
		return p.op(ir.AllReduce, ir.CollectiveAttrs{Replicas: n, Kind: ir.Mean, Bucket: bucket}, v)
	}
	return []replicaCase{
		{"replica_id", 0, func(p program, _ *draft, n int) makers {
			id := p.op(ir.ReplicaID, collectiveOver(n))
			p.out(id, p.op(ir.Add, nil, id, p.constant(ir.Uint32, 10)))
			return nil
		}},
		{"buckets and work between", 64, func(p program, d *draft, n int) makers {
			x := p.in(ir.Float32, 9, 4)
			y := p.op(ir.Tanh, nil, x)
			first, second := step(p, n, 0, y), step(p, n, 1, p.op(ir.Mul, nil, x, x))
			z := p.op(ir.Add, nil, p.op(ir.Exp, nil, first), second)
			step(p, n, 2, z) // its result is not used, but all replicas take part
			p.out(step(p, n, 1, p.op(ir.Sub, nil, z, x)), first)
			return makers{func() reference.Value { return d.normal(ir.Float32, 9, 4) }}
		}},
		{"inside a scan", 64, func(p program, d *draft, n int) makers {
			body := newProgram("body")
			c, x := body.in(ir.Float32, 3), body.in(ir.Float32, 3)
			sum := step(body, n, 0, body.op(ir.Add, nil, c, x))
			body.out(sum, sum)
			p.out(p.ops(ir.Scan, ir.ScanAttrs{Body: body.Program, Length: 4, Carry: 1, Xs: 1}, p.in(ir.Float32, 3), p.in(ir.Float32, 4, 3))...)
			return makers{func() reference.Value { return d.normal(ir.Float32, 3) }, func() reference.Value { return d.normal(ir.Float32, 4, 3) }}
		}},
		{"training step", 64, func(p program, d *draft, n int) makers {
			w, x := p.in(ir.Float32, 5, 3), p.in(ir.Float32, 4, 5)
			y := p.op(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, x, w)
			g := p.op(ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, x, y)
			p.AddAlias("w", p.op(ir.Sub, nil, w, p.op(ir.Mul, nil, step(p, n, 0, g), p.constant(ir.Float32, 0.01, 5, 3))), 0)
			shared := d.normal(ir.Float32, 5, 3)
			return makers{func() reference.Value { return shared }, func() reference.Value { return d.normal(ir.Float32, 4, 5) }}
		}},
	}
}

// replicas runs programs with collectives over 1 to 4 replicas, on as many devices as can be opened.
func (r runner) replicas(t *testing.T) {
	for n := 1; n <= 4; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			devices := r.devices(n)
			if devices == nil {
				t.Skipf("%s has fewer than %d devices", r.backend.Kind(), n)
			}
			comms, err := r.connect(t, devices)
			require.NoError(t, err)
			require.Len(t, comms, n)
			for i, c := range comms {
				assert.Equal(t, i, c.Replica())
				assert.Equal(t, n, c.Replicas())
			}
			for _, c := range replicaCases() {
				t.Run(c.name, func(t *testing.T) { r.checkReplicas(t, devices, comms, c) })
			}
			t.Run("communicator", func(t *testing.T) { r.communicators(t, devices, comms) })
			if n > 1 {
				for name, f := range map[string]func(*testing.T, []kernels.Device, []kernels.Communicator){
					"failure": r.replicaFailure, "cancelled": r.replicaCancelled, "abort": r.replicaAbort,
				} {
					t.Run(name, func(t *testing.T) {
						comms, err := r.connect(t, devices)
						require.NoError(t, err)
						f(t, devices, comms)
					})
				}
			}
		})
	}
}

// devices returns n devices, the suite's own first, or nil.
func (r runner) devices(n int) []kernels.Device {
	list := []kernels.Device{r.device}
	for i := 0; len(list) < n; i++ {
		d := kernels.Device{Kind: r.device.Kind, Index: i}
		if d == r.device {
			continue
		}
		if r.backend.Open(d) != nil {
			return nil
		}
		list = append(list, d)
	}
	return list
}

// connect makes a communicator for each device.
func (r runner) connect(t *testing.T, devices []kernels.Device) ([]kernels.Communicator, error) {
	comms, err := r.backend.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices})
	t.Cleanup(func() {
		for _, c := range comms {
			c.Close()
		}
	})
	return comms, err
}

// team holds a program that is compiled once, with a session of it for each replica.
type team struct {
	runners []runner
	execs   []*kernels.Loaded
	program *ir.Program
}

func (r runner) team(t *testing.T, devices []kernels.Device, comms []kernels.Communicator, p *ir.Program) team {
	t.Helper()
	g := team{program: p}
	o := kernels.CompileOptions{Device: devices[0], Replicas: len(devices)}
	if len(devices) > 1 {
		_, o.Overlap = comms[0].(kernels.Overlapper)
	}
	e, err := r.backend.Compile(p, o)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	for i, d := range devices {
		s, err := e.NewSession(kernels.SessionOptions{Device: d, Replica: i})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		l := &kernels.Loaded{Executable: e, Session: s}
		if len(devices) > 1 {
			l.Communicator = comms[i]
		}
		g.execs = append(g.execs, l)
		g.runners = append(g.runners, runner{backend: r.backend, device: d})
	}
	return g
}

// run runs all replicas at once.
func (g team) run(ctx context.Context, inputs [][]reference.Value) ([][]reference.Value, []error) {
	out, errs := make([][]reference.Value, len(g.execs)), make([]error, len(g.execs))
	var group sync.WaitGroup
	for i := range g.execs {
		group.Go(func() { out[i], errs[i] = g.runners[i].run(ctx, g.execs[i], g.program, inputs[i]) })
	}
	group.Wait()
	return out, errs
}

func (r runner) checkReplicas(t *testing.T, devices []kernels.Device, comms []kernels.Communicator, c replicaCase) {
	n := len(devices)
	d := (&suite{}).new(ir.AllReduce, "%s over %d", c.name, n)
	p := newProgram(d.Name)
	makers := c.build(p, d, n)
	if r.refuses(t, p.Program) {
		return
	}
	g := r.team(t, devices, comms, p.Program)
	for round := range 2 {
		inputs := make([][]reference.Value, n)
		for i := range inputs {
			for _, f := range makers {
				inputs[i] = append(inputs[i], f())
			}
		}
		want, err := reference.RunReplicas(p.Program, inputs)
		require.NoError(t, err)
		var before [][]reference.Value
		for again := range 2 {
			got, errs := g.run(runContext(t), inputs)
			require.NoError(t, errors.Join(errs...))
			for i := range got {
				for o := range got[i] {
					assert.NoError(t, Compare(got[i][o], want[i][o], c.units, true), "round %d, replica %d, output %d", round, i, o)
					if again > 0 && !bytes.Equal(got[i][o].Bytes(), before[i][o].Bytes()) {
						t.Errorf("replica %d, output %d: two runs on the same inputs differ", i, o)
					}
				}
			}
			before = got
		}
		g.sameBits(t, before)
	}
}

// sameBits checks that all replicas hold the same bits of outputs that are all-reduced values themselves.
func (g team) sameBits(t *testing.T, results [][]reference.Value) {
	for _, node := range g.program.Nodes {
		if node.Op != ir.AllReduce {
			continue
		}
		for o, out := range g.program.Outputs {
			for _, v := range node.Outputs {
				for i := range results {
					members, _ := node.Attrs.(ir.CollectiveAttrs).Group(i)
					if first := members[0]; out.Value == v && !bytes.Equal(results[i][o].Bytes(), results[first][o].Bytes()) {
						t.Errorf("output %d has different bits on replicas %d and %d", o, first, i)
					}
				}
			}
		}
	}
}

// sumOfRows is a program that fails before its collective on a replica whose index is not 0 or 1.
func sumOfRows(n int) program {
	p := newProgram("rows")
	row := p.op(ir.Gather, ir.GatherAttrs{}, p.in(ir.Float32, 2, 3), p.in(ir.Int32))
	p.out(p.op(ir.AllReduce, collectiveOver(n), row))
	return p
}

func sumOfRowsInputs(n int, index func(replica int) float64) [][]reference.Value {
	inputs := make([][]reference.Value, n)
	for i := range inputs {
		inputs[i] = []reference.Value{value(ir.Float32, ir.Shape{2, 3}, func(e int) float64 { return float64(i + e) }), value(ir.Int32, nil, func(int) float64 { return index(i) })}
	}
	return inputs
}

// replicaFailure: when one replica fails, the others return its error instead of waiting for it, and with other
// communicators everything works again.
func (r runner) replicaFailure(t *testing.T, devices []kernels.Device, comms []kernels.Communicator) {
	n := len(devices)
	g := r.team(t, devices, comms, sumOfRows(n).Program)
	for bad := range n {
		_, errs := g.run(runContext(t), sumOfRowsInputs(n, func(replica int) float64 {
			if replica == bad {
				return 5
			}
			return 1
		}))
		for i, err := range errs {
			if assert.Error(t, err, "replica %d, with replica %d failing", i, bad) {
				assert.Contains(t, err.Error(), "5", "replica %d should report the index that replica %d failed with", i, bad)
			}
		}
		comms = g.recovers(t, r, devices, comms)
	}
}

// recovers checks that failed communicators stay failed, and that runs work again with others, which it returns.
func (g team) recovers(t *testing.T, r runner, devices []kernels.Device, comms []kernels.Communicator) []kernels.Communicator {
	t.Helper()
	inputs := sumOfRowsInputs(len(comms), func(int) float64 { return 1 })
	for i := range g.execs {
		_, err := g.runners[i].run(runContext(t), g.execs[i], g.program, inputs[i])
		require.Error(t, err, "replica %d with a communicator that has failed", i)
	}
	comms, err := r.connect(t, devices)
	require.NoError(t, err)
	for i, c := range comms {
		g.execs[i].Communicator = c
	}
	want, err := reference.RunReplicas(g.program, inputs)
	require.NoError(t, err)
	got, errs := g.run(runContext(t), inputs)
	require.NoError(t, errors.Join(errs...), "with other communicators")
	for i := range got {
		assert.NoError(t, Compare(got[i][0], want[i][0], 4, true), "with other communicators")
	}
	return comms
}

// replicaCancelled: a replica whose peers never come gives up when its context ends.
func (r runner) replicaCancelled(t *testing.T, devices []kernels.Device, comms []kernels.Communicator) {
	g := r.team(t, devices, comms, sumOfRows(len(devices)).Program)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	_, err := g.runners[0].run(ctx, g.execs[0], g.program, sumOfRowsInputs(1, func(int) float64 { return 0 })[0])
	require.ErrorIs(t, err, context.DeadlineExceeded)
	g.recovers(t, r, devices, comms)
}

// replicaAbort: Abort wakes a waiting replica with its error and fails later calls.
func (r runner) replicaAbort(t *testing.T, devices []kernels.Device, comms []kernels.Communicator) {
	g := r.team(t, devices, comms, sumOfRows(len(devices)).Program)
	gone := errors.New("a peer is gone")
	inputs := sumOfRowsInputs(1, func(int) float64 { return 0 })[0]
	result := make(chan error, 1)
	go func() {
		_, err := g.runners[0].run(runContext(t), g.execs[0], g.program, inputs)
		result <- err
	}()
	time.Sleep(10 * time.Millisecond) // usually it waits by now; the outcome is the same if it does not
	comms[len(comms)-1].Abort(gone)
	require.ErrorIs(t, <-result, gone)
	_, err := g.runners[0].run(runContext(t), g.execs[0], g.program, inputs)
	require.ErrorIs(t, err, gone, "a call after Abort")
	g.recovers(t, r, devices, comms)
}
