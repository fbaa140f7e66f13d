//go:build linux

package cuda

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// callsIn counts how often calls were made while run ran.
func callsIn(t *testing.T, f *fakedriver.Fake, run func()) map[string]int {
	t.Helper()
	before := f.Calls()
	run()
	after := f.Calls()
	for name := range after {
		after[name] -= before[name]
	}
	return after
}

// A step that replicas repeat is one call of the driver, with its collectives, and changes what it changed before. One
// with other buffers is launched kernel by kernel.
func TestReplicasStepIsGraph(t *testing.T) {
	const n = 3
	for name, noPeers := range map[string]func(a, b int) bool{"peers": nil, "through the host": islands} {
		t.Run(name, func(t *testing.T) {
			f := fakedriver.New(fakedriver.Options{Devices: n, NoPeers: noPeers})
			b := newBackend(Kind, func() (driver.API, error) { return f, nil })
			c, err := newCrew(t, b, n)
			require.NoError(t, err)
			steps := 0
			step := func() {
				require.NoError(t, errors.Join(c.step()...))
				steps++
				weighs(t, []*crew{c}, steps, n)
			}
			for range captureAfter + 1 {
				step()
			}
			calls := callsIn(t, f, func() {
				for range 4 {
					step()
				}
			})
			require.Equal(t, 4, calls["cuGraphLaunch"])
			require.Zero(t, calls["cuLaunchKernel"])
			// What a device was given before comes before the graph, and what it is given later after it. The pause is
			// for what would go wrong.
			busy := func(device int) {
				r := f.Foreign(c.queues[device].(*queue).device.Stream, device, "busy", func() error { time.Sleep(20 * time.Millisecond); return nil })
				require.Zero(t, r)
			}
			launch := func() (events []kernels.Event) {
				for i, s := range c.sessions {
					events = append(events, s.Launch(t.Context(), kernels.Launch{Queue: c.queues[i], Inputs: c.inputs[i], Outputs: []kernels.Buffer{nil}, Communicator: c.comms[i]}))
				}
				return events
			}
			busy(1)
			events := append([]kernels.Event{c.inputs[1][0].Upload(make([]byte, 280))}, launch()...)
			busy(0)
			events = append(events, launch()...)
			events = append(events, c.inputs[2][0].Upload(make([]byte, 280)))
			for _, e := range events {
				require.NoError(t, e.Wait(t.Context()))
			}
			w, err := c.weights()
			require.NoError(t, err)
			require.Equal(t, []float64{float64(1 - (steps+2)*n*(n+1)), -2 * n * (n + 1), 0}, w)

			// Another buffer on one of the replicas: the graph is of other addresses.
			another, err := b.NewBuffer(kernels.Device{Kind: Kind, Index: 1}, ir.Type{DType: ir.Float32, Shape: ir.Shape{70}})
			require.NoError(t, err)
			require.NoError(t, another.Write(make([]byte, 280)))
			usual := c.inputs[1][1]
			c.inputs[1][1] = another
			calls = callsIn(t, f, func() {
				require.NoError(t, errors.Join(c.step()...))
			})
			require.Zero(t, calls["cuGraphLaunch"])
			c.inputs[1][1] = usual
			require.NoError(t, errors.Join(c.step()...))
			another.Free()
			c.Close()
			require.NoError(t, f.Fault())
			require.NoError(t, b.close())
			require.Empty(t, f.Alive())
		})
	}
}

// A failure in a replayed step changes no weight of any replica, and all get it.
func TestReplicaFailureInGraph(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{Devices: 3})
	c, err := newCrew(t, on(t, f), 3)
	require.NoError(t, err)
	defer func() { c.Close() }()
	for range captureAfter + 2 {
		require.NoError(t, errors.Join(c.step()...))
	}
	var bad []byte
	for range 70 {
		bad = ir.AppendElement(bad, ir.Int32, 99)
	}
	require.NoError(t, c.inputs[1][2].Write(bad))
	calls := callsIn(t, f, func() {
		for i, err := range c.step() {
			require.ErrorContains(t, err, "index 99", "replica %d", i)
		}
	})
	require.Equal(t, 1, calls["cuGraphLaunch"])
	weighs(t, []*crew{c}, captureAfter+2, 3)
}

// Processes with a device each replay graphs with NCCL in them; where a process has several, or the library refuses to
// be captured, kernels are launched one by one.
func TestNCCLStepIsGraph(t *testing.T) {
	for name, c := range map[string]struct {
		devices []int
		refuse  bool
		graphs  bool
	}{"one each": {[]int{1, 1}, false, true}, "several": {[]int{1, 2}, false, false}, "refused": {[]int{1, 1}, true, false}} {
		t.Run(name, func(t *testing.T) {
			processes := newProcesses(2)
			all := crews(t, newMembers(processes, c.devices...), c.devices...)
			for _, p := range processes {
				p.library.RefuseCapture(c.refuse)
			}
			total := c.devices[0] + c.devices[1]
			const steps = captureAfter + 4
			for step := range steps {
				for _, errs := range each(2, func(i int) []error { return all[i].step() }) {
					require.NoError(t, errors.Join(errs...))
				}
				weighs(t, all, step+1, total)
			}
			if c.graphs {
				require.Equal(t, steps-captureAfter, processes[1].driver.Calls()["cuGraphLaunch"])
			} else {
				require.Zero(t, processes[1].driver.Calls()["cuGraphLaunch"])
			}
			closeAll(all)
			for _, p := range processes {
				require.NoError(t, p.clean())
			}
		})
	}
}

// A process that dies leaves the others waiting inside of a replayed graph: an abort frees them, and their weights are
// those before the step.
func TestNCCLLostProcessInGraph(t *testing.T) {
	processes := newProcesses(2)
	all := crews(t, newMembers(processes, 1, 1), 1, 1)
	const steps = captureAfter + 2
	for range steps {
		for _, errs := range each(2, func(i int) []error { return all[i].step() }) {
			require.NoError(t, errors.Join(errs...))
		}
	}
	processes[1].library.Die()
	gone := errors.New("worker 1 is gone")
	f := processes[0].driver
	begun := f.Calls()["cuGraphLaunch"]
	go func() {
		for f.Calls()["cuGraphLaunch"] == begun {
			runtime.Gosched()
		}
		all[0].comms[0].Abort(gone)
	}()
	require.ErrorContains(t, all[0].step()[0], gone.Error())
	all[1].comms[0].Abort(gone)
	weighs(t, all[:1], steps, 2)
	closeAll(all)
	for _, p := range processes {
		require.NoError(t, p.clean())
	}
}
