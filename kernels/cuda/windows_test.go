//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/ir"
)

// newNeighbours makes processes of one host, without NCCL, with a GPU each.
func newNeighbours(n int) ([]*process, []member) {
	w := fakenccl.NewWorld()
	all := make([]*process, n)
	ones := make([]int, n)
	for i := range all {
		all[i] = newNeighbour(w, i, fakedriver.Options{})
		ones[i] = 1
	}
	members := newMembers(all, ones...)
	for i := range members {
		members[i].options.Library = ""
	}
	return all, members
}

func newNeighbour(w *fakenccl.World, i int, o fakedriver.Options) *process {
	o.Bus = i
	p := newProcess(w, o)
	p.host = func() string { return "one host" }
	p.openNCCL = func() (nccl.API, error) { return nil, errors.New("there is no NCCL") }
	return p
}

// collected does a collective on every member and returns the results.
func collected(t *testing.T, members []member, ends []kernels.Communicator, c collectiveCase) [][]byte {
	t.Helper()
	n := len(members)
	type result struct {
		data []byte
		err  error
	}
	results := each(n, func(r int) (out result) {
		d := kernels.Device{Kind: Kind}
		in, err := members[r].NewBuffer(d, c.t)
		if err != nil {
			return result{err: err}
		}
		defer in.Free()
		if err := in.Write(c.operand(r)); err != nil {
			return result{err: err}
		}
		to, outs := in, []kernels.Buffer(nil)
		if c.result != nil {
			if to, err = members[r].NewBuffer(d, *c.result); err != nil {
				return result{err: err}
			}
			defer to.Free()
			outs = append(outs, to)
		}
		a := c.a
		out.err = ends[r].(*communicator).call(context.Background(), c.op, a, []kernels.Buffer{in}, outs)
		out.data = make([]byte, to.Type().Bytes())
		out.err = errors.Join(out.err, to.Read(out.data))
		return out
	})
	var all [][]byte
	for r, got := range results {
		require.NoError(t, got.err, "rank %d", r)
		all = append(all, got.data)
	}
	return all
}

type collectiveCase struct {
	op      ir.Op
	a       ir.CollectiveAttrs
	t       ir.Type
	result  *ir.Type // nil: in place
	operand func(rank int) []byte
}

// connected makes the ends of all members.
func connected(t *testing.T, members []member) []kernels.Communicator {
	t.Helper()
	errs := make([]error, len(members))
	ends := each(len(members), func(i int) kernels.Communicator {
		all, err := members[i].NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{{Kind: Kind}}})
		if errs[i] = err; err != nil {
			return nil
		}
		return all[0]
	})
	require.NoError(t, errors.Join(errs...))
	return ends
}

// Values of processes meet in windows with the bits with which those of one process meet on its devices: every kind and
// type, small and large ones, in one round and in many.
func TestWindowsConformance(t *testing.T) {
	usualWindow, usualShares := windowBytes, twoShotBytes
	defer func() { windowBytes, twoShotBytes = usualWindow, usualShares }()
	for name, c := range map[string]struct{ n, window, shares int }{
		"two":                  {2, usualWindow, usualShares},
		"four, shares":         {4, usualWindow, 1},
		"three, small windows": {3, 512, 1 << 30}, // in one go
		"three, both":          {3, 512, 1},
	} {
		t.Run(name, func(t *testing.T) {
			windowBytes, twoShotBytes = c.window, c.shares
			processes, members := newNeighbours(c.n)
			ends := connected(t, members)
			together := newProcess(fakenccl.NewWorld(), fakedriver.Options{Devices: c.n})
			var devices []kernels.Device
			for i := range c.n {
				devices = append(devices, kernels.Device{Kind: Kind, Index: i})
			}
			one, err := together.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices})
			require.NoError(t, err)
			for d, kinds := range map[ir.DType][]ir.Kind{ir.Float32: {ir.Sum, ir.Mean}, ir.BFloat16: {ir.Sum}, ir.Int32: {ir.Max}} {
				for _, k := range kinds {
					shapes := []ir.Shape{{401}}
					if k == ir.Sum {
						shapes = []ir.Shape{{}, {0}, {7}, {401}}
					}
					for _, shape := range shapes {
						typ := ir.Type{DType: d, Shape: shape}
						operand := func(r int) (data []byte) {
							for i := range shape.Size() {
								data = ir.AppendElement(data, d, float64((r+2)*(i%13+1))/7)
							}
							return data
						}
						want := each(c.n, func(r int) []byte {
							b, err := together.NewBuffer(devices[r], typ)
							require.NoError(t, err)
							defer b.Free()
							require.NoError(t, b.Write(operand(r)))
							require.NoError(t, one[r].AllReduce(t.Context(), k, []kernels.Buffer{b}))
							data := make([]byte, typ.Bytes())
							require.NoError(t, b.Read(data))
							return data
						})
						got := collected(t, members, ends, collectiveCase{op: ir.AllReduce, a: ir.CollectiveAttrs{Kind: k}, t: typ, operand: operand})
						require.Equal(t, want, got, "%v of %v", k, typ)
					}
				}
			}
			moved(t, members, ends)
			for _, end := range append(ends, one...) {
				go end.Close()
			}
			for i, end := range ends {
				end.Close()
				require.NoError(t, processes[i].driver.Fault())
			}
			for _, end := range one {
				end.Close()
			}
		})
	}
}

// moved checks the collectives that only move values, and reduce-scatter.
func moved(t *testing.T, members []member, ends []kernels.Communicator) {
	n := len(members)
	shape := ir.Shape{n, 3 * n, 5}
	typ := ir.Type{DType: ir.Int32, Shape: shape}
	value := func(r, i int) float64 { return float64(100000*r + i) }
	operand := func(r int) (data []byte) {
		for i := range shape.Size() {
			data = ir.AppendElement(data, ir.Int32, value(r, i))
		}
		return data
	}
	for axis := range 2 {
		whole := ir.Type{DType: ir.Int32, Shape: shape.Clone()}
		whole.Shape[axis] *= n
		inner := shape[axis:].Size()
		var want []byte
		for o := range shape[:axis].Size() {
			for r := range n {
				for i := range inner {
					want = ir.AppendElement(want, ir.Int32, value(r, o*inner+i))
				}
			}
		}
		for r, got := range collected(t, members, ends, collectiveCase{ir.AllGather, ir.CollectiveAttrs{Axis: axis}, typ, &whole, operand}) {
			require.Equal(t, want, got, "rank %d, axis %d", r, axis)
		}
	}
	for root := range 2 {
		for r, got := range collected(t, members, ends, collectiveCase{ir.CollectiveBroadcast, ir.CollectiveAttrs{Root: root}, typ, nil, operand}) {
			require.Equal(t, operand(root), got, "rank %d, root %d", r, root)
		}
	}
	for axis := range 2 {
		part := ir.Type{DType: ir.Int32, Shape: shape.Clone()}
		part.Shape[axis] /= n
		inner := part.Shape[axis:].Size()
		for r, got := range collected(t, members, ends, collectiveCase{ir.ReduceScatter, ir.CollectiveAttrs{Kind: ir.Sum, Axis: axis}, typ, &part, operand}) {
			var want []byte
			for o := range shape[:axis].Size() {
				for i := range inner {
					sum := 0.0
					for q := range n {
						sum += value(q, o*inner*n+r*inner+i)
					}
					want = ir.AppendElement(want, ir.Int32, sum)
				}
			}
			require.Equal(t, want, got, "rank %d, axis %d", r, axis)
		}
	}
}

// Nobody writes to a window that another one still reads, whoever is slow: sums of numbers that change from round to
// round, with one round in a launch and with several, in one go and in shares.
func TestWindowsTurns(t *testing.T) {
	usualWindow, usualShares := windowBytes, twoShotBytes
	defer func() { windowBytes, twoShotBytes = usualWindow, usualShares }()
	const n, length = 2, 200
	for name, c := range map[string]struct{ window, shares int }{
		"one round": {usualWindow, 1 << 30}, "one round of shares": {usualWindow, 1}, "two rounds": {512, 1 << 30}, "two rounds of shares": {512, 1}, "four": {256, 1 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			windowBytes, twoShotBytes = c.window, c.shares
			w := fakenccl.NewWorld()
			processes := []*process{newNeighbour(w, 0, fakedriver.Options{}), newNeighbour(w, 1, fakedriver.Options{Before: func(kernel string) {
				if kernel != "meet" {
					time.Sleep(time.Millisecond) // the other one could go on meanwhile
				}
			}})}
			members := newMembers(processes, 1, 1)
			for i := range members {
				members[i].options.Library = ""
			}
			ends := connected(t, members)
			for r, err := range each(n, func(r int) (err error) {
				d := kernels.Device{Kind: Kind}
				p := drafting{ir.New("turns"), t}
				x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{length}})
				p.AddAlias("x", p.add("sum", ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: n}, x), 0) // doubles
				exec, err := members[r].Compile(p.Program, kernels.CompileOptions{Device: d, Replicas: n})
				require.NoError(t, err)
				defer exec.Close()
				s, err := exec.NewSession(kernels.SessionOptions{Device: d, Replica: r})
				require.NoError(t, err)
				defer s.Close()
				b, err := members[r].NewBuffer(d, p.Type(x))
				require.NoError(t, err)
				defer b.Free()
				var data []byte
				for i := range length {
					data = ir.AppendElement(data, ir.Float32, float64(i+1))
				}
				require.NoError(t, b.Write(data))
				const steps = 8 // some of them replayed
				var last kernels.Event
				for range steps {
					last = s.Launch(context.Background(), kernels.Launch{Inputs: []kernels.Buffer{b}, Outputs: []kernels.Buffer{nil}, Communicator: ends[r]})
				}
				if err := errors.Join(last.Wait(context.Background()), b.Read(data)); err != nil {
					return err
				}
				for i := range length {
					if got := ir.Element(data, ir.Float32, i); got != float64(i+1)*(1<<steps) {
						return fmt.Errorf("element %d is %v, expected %v", i, got, float64(i+1)*(1<<steps))
					}
				}
				return nil
			}) {
				require.NoError(t, err, "rank %d", r)
			}
			each(n, func(r int) bool { ends[r].Close(); return true })
			for _, p := range processes {
				require.NoError(t, p.clean())
			}
		})
	}
}

// Steps of processes that meet in windows: kernel by kernel, then replayed, with failures that all get.
func TestWindowsSteps(t *testing.T) {
	processes, members := newNeighbours(3)
	all := crews(t, members, 1, 1, 1)
	const steps = captureAfter + 4
	for step := range steps {
		for _, errs := range each(3, func(i int) []error { return all[i].step() }) {
			require.NoError(t, errors.Join(errs...))
		}
		weighs(t, all, step+1, 3)
	}
	for _, p := range processes {
		require.Equal(t, steps-captureAfter, p.driver.Calls()["cuGraphLaunch"])
	}
	var bad []byte
	for range 70 {
		bad = ir.AppendElement(bad, ir.Int32, 77)
	}
	require.NoError(t, all[1].inputs[0][2].Write(bad))
	for i, errs := range each(3, func(i int) []error { return all[i].step() }) {
		require.ErrorContains(t, errs[0], "layer: gather: index 77 is outside axis 0 of length 70", "process %d", i)
	}
	weighs(t, all, steps, 3)
	closeAll(all)
	for _, p := range processes {
		require.NoError(t, p.clean())
	}
}

// A process that does not come leaves the others waiting in a kernel: an abort, the end of the time or of a device
// frees them with the reason, their weights are those before the step, and they meet again without it.
func TestWindowsLostProcess(t *testing.T) {
	gone := errors.New("worker 1 is gone")
	for name, end := range map[string]struct {
		stop func(p *process, c *crew)
		want string
	}{
		"abort": {func(_ *process, c *crew) { c.comms[0].Abort(gone) }, gone.Error()},
		"time is over": {func(_ *process, c *crew) {
			l := c.comms[0].(*communicator).group.link
			l.mu.Lock()
			defer l.mu.Unlock()
			l.timeout = time.Nanosecond
		}, "cuda:0] have waited for the others in memory that their processes have opened for"},
	} {
		for _, steps := range []int{1, captureAfter + 2} {
			t.Run(fmt.Sprint(name, " after ", steps), func(t *testing.T) {
				processes, members := newNeighbours(3)
				all := crews(t, members, 1, 1, 1)
				for range steps {
					for _, errs := range each(3, func(i int) []error { return all[i].step() }) {
						require.NoError(t, errors.Join(errs...))
					}
				}
				survivors := []int{0, 2}
				for i, err := range each(2, func(i int) error {
					c, p := all[survivors[i]], processes[survivors[i]]
					e := c.sessions[0].Launch(context.Background(), kernels.Launch{Queue: c.queues[0], Inputs: c.inputs[0], Outputs: []kernels.Buffer{nil}, Communicator: c.comms[0]})
					end.stop(p, c)
					return e.Wait(context.Background())
				}) {
					require.ErrorContains(t, err, end.want, "survivor %d", i)
				}
				all[1].comms[0].Abort(gone) // the lost process leaves
				weighs(t, []*crew{all[0], all[2]}, steps, 3)
				closeAll(all)
				rest := newMembers([]*process{processes[0], processes[2]}, 1, 1)
				for i := range rest {
					rest[i].options.Library = ""
				}
				again := crews(t, rest, 1, 1)
				for _, errs := range each(2, func(i int) []error { return again[i].step() }) {
					require.NoError(t, errors.Join(errs...))
				}
				weighs(t, again, 1, 2)
				closeAll(again)
				for i, p := range processes {
					require.NoError(t, p.clean(), "process %d", i)
				}
			})
		}
	}
}

// neighbourly does some steps on all members, and ends what one of them could not do for all.
func neighbourly(t *testing.T, members []member, atEnd ...func()) []error {
	all := make([]*crew, len(members))
	formed := each(len(members), func(i int) error {
		all[i] = &crew{b: members[i]}
		err := all[i].formPart(t, 1, i, len(members))
		if err != nil {
			members[i].group.Fail(err)
		}
		return err
	})
	if errors.Join(formed...) != nil {
		each(len(all), func(i int) bool {
			for _, c := range all[i].comms {
				c.Abort(errors.New("another process could not begin"))
			}
			all[i].Close()
			return true
		})
		return formed
	}
	errs := each(len(all), func(i int) (err error) {
		for range captureAfter + 2 {
			if err = errors.Join(all[i].step()...); err != nil {
				for _, c := range all { // as the group of the workers does
					c.comms[0].Abort(err)
				}
				return err
			}
		}
		return nil
	})
	for _, f := range atEnd {
		f()
	}
	closeAll(all)
	return errs
}

// Every call fails once, at each place, in one of the processes: the failure is the error of all or they meet without
// windows, nothing hangs and nothing is left.
func TestEveryCallFailsWithWindows(t *testing.T) {
	processes, members := newNeighbours(2)
	require.NoError(t, processes[0].Open(kernels.Device{Kind: Kind}))
	calls := callsIn(t, processes[0].driver, func() { require.NoError(t, errors.Join(neighbourly(t, members)...)) })
	for _, call := range []string{"cuMemAlloc_v2", "cuIpcGetMemHandle", "cuIpcOpenMemHandle_v2", "cuModuleLoadDataEx", "cuModuleGetFunction", "cuStreamCreateWithPriority", "cuMemcpyDtoDAsync_v2", "cuLaunchKernel", "cuGraphLaunch"} {
		require.NotZero(t, calls[call], call)
		for k := 1; k <= min(calls[call], 6); k++ {
			processes, members := newNeighbours(2)
			require.NoError(t, processes[0].Open(kernels.Device{Kind: Kind}))
			processes[0].driver.Fail(call, k)
			own := neighbourly(t, members)[0]
			require.ErrorContains(t, own, call, "call %d", k)
			for i, p := range processes {
				require.NoError(t, p.clean(), "process %d after call %d of %s failed", i, k, call)
			}
		}
	}
}

// Processes that cannot open memory to each other say so, and do without it.
func TestNoWindows(t *testing.T) {
	for name, change := range map[string]func(processes []*process, members []member){
		"another host": func(p []*process, _ []member) { p[1].host = func() string { return "another" } },
		"refused": func(p []*process, _ []member) {
			f := fakedriver.New(fakedriver.Options{Bus: 1, NoPeers: func(_, _ int) bool { return true }})
			p[1].backend = newNeighbour(fakenccl.NewWorld(), 1, fakedriver.Options{}).backend
			p[1].open = func() (driver.API, error) { return f, nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			processes, members := newNeighbours(2)
			change(processes, members)
			for _, err := range each(2, func(i int) error {
				_, err := members[i].NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{{Kind: Kind}}})
				return err
			}) {
				require.ErrorIs(t, err, errors.ErrUnsupported)
				require.ErrorContains(t, err, "there is no NCCL")
			}
			for _, p := range processes {
				require.NoError(t, p.clean())
			}
		})
	}
}

// NVIDIA's assembler takes the kernel in which processes wait for each other.
func TestMeetAssembles(t *testing.T) {
	ptxas := os.Getenv("GOKERAS_PTXAS")
	if ptxas == "" {
		t.Skip("GOKERAS_PTXAS does not name NVIDIA's assembler ptxas (make test-cuda)")
	}
	for _, ranks := range []int{2, 8, mostRanks} {
		path := filepath.Join(t.TempDir(), "meet.ptx")
		require.NoError(t, os.WriteFile(path, []byte(meetText(&windows{peers: make([]driver.Address, ranks)})), 0o666))
		for _, architecture := range []string{"sm_75", "sm_80", "sm_90", "sm_120"} {
			out, err := exec.Command(ptxas, "-arch="+architecture, path, "-o", path+".cubin").CombinedOutput()
			require.NoError(t, err, "%s", out)
		}
	}
}
