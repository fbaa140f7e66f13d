//go:build linux

package cuda

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// islands says that two devices reach each other only within pairs.
func islands(a, b int) bool { return a/2 != b/2 }

// The suite of replicas, with values that are small and large, between devices that reach each other's memory and that
// do not.
func TestReplicasConformance(t *testing.T) {
	usual := twoShotBytes
	defer func() { twoShotBytes = usual }()
	for name, c := range map[string]struct {
		noPeers func(a, b int) bool
		large   int
	}{
		"shares":                   {nil, 1},
		"through the host":         {islands, usual},
		"shares, through the host": {islands, 1},
	} {
		t.Run(name, func(t *testing.T) {
			twoShotBytes = c.large
			f := fakedriver.New(fakedriver.Options{Devices: 4, NoPeers: c.noPeers})
			kernelstest.RunReplicas(t, on(t, f), kernels.Device{Kind: Kind})
		})
	}
}

// step is a training step of one of n replicas: w - (sum + the largest of all sums).
func stepOf(t testing.TB, n int) *ir.Program {
	p := ir.New("step")
	float := ir.Type{DType: ir.Float32, Shape: ir.Shape{70}}
	w, g, i := p.AddInput("w", float), p.AddInput("g", float), p.AddInput("i", ir.Type{DType: ir.Int32, Shape: ir.Shape{70}})
	add := func(op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
		out, err := p.Add("layer", op, a, in...)
		require.NoError(t, err)
		return out[0]
	}
	rows := add(ir.Gather, ir.GatherAttrs{}, g, i)
	sum := add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: n}, rows)
	beside := add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{0}}, rows) // while the sum is formed
	whole := add(ir.AllGather, ir.CollectiveAttrs{Replicas: n}, sum)
	largest := add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{0}}, whole)
	largest = add(ir.Add, nil, largest, add(ir.Sub, nil, beside, add(ir.Reduce, ir.ReduceAttrs{Kind: ir.Min, Axes: []int{0}}, rows))) // plus 0
	next := add(ir.Sub, nil, w, add(ir.Add, nil, sum, add(ir.Broadcast, ir.BroadcastAttrs{Shape: float.Shape}, largest)))
	p.AddAlias("w", next, 0)
	return p
}

// crew is a step on several devices.
type crew struct {
	b        kernels.Backend
	comms    []kernels.Communicator
	sessions []kernels.Session
	queues   []kernels.Queue
	inputs   [][]kernels.Buffer
	close    []func()
}

func (c *crew) Close() {
	for _, f := range slices.Backward(c.close) {
		f()
	}
}

func newCrew(t testing.TB, b kernels.Backend, n int) (*crew, error) {
	c := &crew{b: b}
	return c, c.form(t, n)
}

func (c *crew) form(t testing.TB, n int) error { return c.formPart(t, n, 0, n) }

// formPart is form for the devices of one process, whose replicas are numbered from first, of total.
func (c *crew) formPart(t testing.TB, n, first, total int) (err error) {
	b := c.b
	var devices []kernels.Device
	for i := range n {
		devices = append(devices, kernels.Device{Kind: Kind, Index: i})
	}
	if c.comms, err = b.NewCommunicators(context.Background(), kernels.CommunicatorOptions{Devices: devices}); err != nil {
		return err
	}
	for _, end := range c.comms {
		c.close = append(c.close, end.Close)
	}
	e, err := b.Compile(stepOf(t, total), kernels.CompileOptions{Device: devices[0], Replicas: total})
	if err != nil {
		return err
	}
	c.close = append(c.close, e.Close)
	for i, d := range devices {
		s, err := e.NewSession(kernels.SessionOptions{Device: d, Replica: first + i})
		if err != nil {
			return err
		}
		c.sessions, c.close = append(c.sessions, s), append(c.close, s.Close)
		q, err := b.NewQueue(d)
		if err != nil {
			return err
		}
		c.queues, c.close = append(c.queues, q), append(c.close, q.Close)
		var in []kernels.Buffer
		for k, dtype := range []ir.DType{ir.Float32, ir.Float32, ir.Int32} {
			x, err := b.NewBuffer(d, ir.Type{DType: dtype, Shape: ir.Shape{70}})
			if err != nil {
				return err
			}
			in, c.close = append(in, x), append(c.close, x.Free)
			var data []byte
			for j := range 70 {
				data = ir.AppendElement(data, dtype, []float64{1, float64(first + i + 1), float64(j)}[k])
			}
			if err := x.Write(data); err != nil {
				return err
			}
		}
		c.inputs = append(c.inputs, in)
	}
	return nil
}

// step launches one step on all, from one goroutine, as strategies do.
func (c *crew) step() []error {
	var events []kernels.Event
	for i, s := range c.sessions {
		events = append(events, s.Launch(context.Background(), kernels.Launch{Queue: c.queues[i], Inputs: c.inputs[i], Outputs: []kernels.Buffer{nil}, Communicator: c.comms[i]}))
	}
	errs := make([]error, len(events))
	for i, e := range events {
		errs[i] = e.Wait(context.Background())
	}
	return errs
}

// weights are the first elements of w on all devices.
func (c *crew) weights() ([]float64, error) {
	var out []float64
	for _, in := range c.inputs {
		data := make([]byte, 280)
		if err := in[0].Read(data); err != nil {
			return nil, err
		}
		out = append(out, ir.Element(data, ir.Float32, 69))
	}
	return out, nil
}

// several does what strategies do with n devices.
func several(t testing.TB, b kernels.Backend, n int) error {
	c := &crew{b: b}
	defer c.Close()
	err := c.form(t, n)
	for range 3 {
		if err == nil {
			for _, e := range c.step() {
				if err == nil {
					err = e
				}
			}
		}
	}
	if err != nil {
		return err
	}
	all, err := c.weights()
	sum := float64(n * (n + 1) / 2)
	for _, x := range all {
		if x != 1-3*2*sum {
			return fmt.Errorf("the weight is %v, expected %v", all, 1-6*sum)
		}
	}
	return err
}

// Every call fails once, at every fourth place, with -failures 0 at each, with several devices: all replicas get the
// error, which names the call; nothing hangs, nothing leaks, and others go on.
func TestEveryCallFailsWithReplicas(t *testing.T) {
	for name, noPeers := range map[string]func(a, b int) bool{"peers": nil, "through the host": islands} {
		t.Run(name, func(t *testing.T) {
			const n = 3
			options := fakedriver.Options{Devices: n, NoPeers: noPeers}
			f := fakedriver.New(options)
			b := newBackend(Kind, func() (driver.API, error) { return f, nil })
			require.NoError(t, several(t, b, n))
			require.NoError(t, f.Fault())
			calls := f.Calls()
			require.NoError(t, b.close())
			require.Empty(t, f.Alive())
			for _, call := range []string{"cuDeviceCanAccessPeer", "cuMemPoolSetAccess", "cuEventCreate", "cuEventRecord", "cuStreamWaitEvent", "cuLaunchKernel", "cuMemcpyDtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyHtoDAsync_v2", "cuMemHostAlloc", "cuMemAllocAsync", "cuModuleLoadDataEx", "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphDestroy", "cuGraphLaunch"} {
				require.True(t, calls[call] > 0 || call == "cuMemPoolSetAccess", call)
				for k := 1; k <= calls[call]; k++ {
					if *failures > 0 && k%4 != 1 {
						continue
					}
					f := fakedriver.New(options)
					b := newBackend(Kind, func() (driver.API, error) { return f, nil })
					f.Fail(call, k)
					require.ErrorContains(t, several(t, b, n), call, "call %d", k)
					require.NoError(t, several(t, b, n), "after call %d of %s failed", k, call)
					require.NoError(t, f.Fault())
					require.NoError(t, b.close())
					require.Empty(t, f.Alive(), "after call %d of %s failed", k, call)
				}
			}
		})
	}
}

// A step in which one replica fails changes no weight anywhere, and all replicas get its error.
func TestReplicaFailureChangesNothing(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{Devices: 3})
	b := on(t, f)
	c, err := newCrew(t, b, 3)
	require.NoError(t, err)
	defer func() { c.Close() }()
	var bad []byte
	for range 70 {
		bad = ir.AppendElement(bad, ir.Int32, 99)
	}
	require.NoError(t, c.inputs[1][2].Write(bad))
	for i, err := range c.step() {
		require.ErrorContains(t, err, "index 99", "replica %d", i)
	}
	all, err := c.weights()
	require.NoError(t, err)
	require.Equal(t, []float64{1, 1, 1}, all)
	for _, err := range c.step() {
		require.Error(t, err, "the communicators have failed")
	}
}

// A device that falls off the bus is a lost replica: all get an error with its number and name.
func TestLostDevice(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{Devices: 3})
	b := newBackend(Kind, func() (driver.API, error) { return f, nil })
	c, err := newCrew(t, b, 3)
	require.NoError(t, err)
	for _, err := range c.step() {
		require.NoError(t, err)
	}
	f.Lose(1)
	for i, err := range c.step() {
		require.ErrorContains(t, err, "cuda:1", "replica %d", i)
		require.ErrorContains(t, err, "replica 1", "replica %d", i)
	}
	c.Close()
	rest, err := b.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{{Kind: Kind}, {Kind: Kind, Index: 2}}})
	require.NoError(t, err, "the others go on")
	for _, end := range rest {
		end.Close()
	}
}

func TestReplicasBadInput(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{Devices: 2})
	b := on(t, f)
	_, err := b.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{{Kind: Kind}, {Kind: Kind}}})
	require.ErrorContains(t, err, "named twice")
	_, err = b.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{{Kind: Kind}, {Kind: Kind, Index: 2}}})
	require.ErrorContains(t, err, "has 2 of them")
	c, err := newCrew(t, b, 2)
	require.NoError(t, err)
	defer c.Close()
	// One replica comes, the other does another collective.
	p := ir.New("other")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{3}})
	y, err := p.Add("other layer", ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Max, Replicas: 2}, x)
	require.NoError(t, err)
	p.AddAlias("x", y[0], 0)
	d := kernels.Device{Kind: Kind, Index: 1}
	e, err := b.Compile(p, kernels.CompileOptions{Device: d, Replicas: 2})
	require.NoError(t, err)
	defer e.Close()
	s, err := e.NewSession(kernels.SessionOptions{Device: d, Replica: 1})
	require.NoError(t, err)
	defer s.Close()
	buffer, err := b.NewBuffer(d, ir.Type{DType: ir.Float32, Shape: ir.Shape{3}})
	require.NoError(t, err)
	defer buffer.Free()
	first := c.sessions[0].Launch(t.Context(), kernels.Launch{Queue: c.queues[0], Inputs: c.inputs[0], Outputs: []kernels.Buffer{nil}, Communicator: c.comms[0]})
	require.False(t, first.Done())
	second := s.Launch(t.Context(), kernels.Launch{Inputs: []kernels.Buffer{buffer}, Outputs: []kernels.Buffer{nil}, Communicator: c.comms[1]})
	for _, event := range []kernels.Event{first, second} {
		require.ErrorContains(t, event.Wait(t.Context()), "all replicas must make the same collectives in the same order")
	}
}
