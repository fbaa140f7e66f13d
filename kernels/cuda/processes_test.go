//go:build linux

package cuda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/ir"
)

// member is a process as one of several: its communicators connect it with the others.
type member struct {
	*process
	options kernels.CommunicatorOptions
	group   roundWorker
}

func (m member) NewCommunicators(ctx context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	devices := o.Devices
	o = m.options
	o.Devices = devices
	return m.backend.NewCommunicators(ctx, o)
}

// newMembers makes processes with so many devices each, which ask for NCCL.
func newMembers(processes []*process, devices ...int) []member {
	r := newRound(len(devices))
	total, first := 0, 0
	for _, n := range devices {
		total += n
	}
	all := make([]member, len(devices))
	for rank, n := range devices {
		all[rank] = member{processes[rank], kernels.CommunicatorOptions{First: first, Replicas: total, Library: kernels.NCCL, Exchange: func(ctx context.Context, own []byte) ([][]byte, error) {
			return roundWorker{r, rank}.AllGather(ctx, distribute.WorkerCall{}, own)
		}}, roundWorker{r, rank}}
		first += n
	}
	return all
}

func newProcesses(n int) []*process {
	w := fakenccl.NewWorld()
	all := make([]*process, n)
	for i := range all {
		all[i] = newProcess(w, fakedriver.Options{Devices: 2})
	}
	return all
}

// each runs f for every member at once.
func each[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { out[i] = f(i) })
	}
	all.Wait()
	return out
}

// crews connects the members.
func crews(t *testing.T, members []member, devices ...int) []*crew {
	all := make([]*crew, len(members))
	for _, err := range each(len(members), func(i int) error {
		all[i] = &crew{b: members[i]}
		return all[i].formPart(t, devices[i], members[i].options.First, members[i].options.Replicas)
	}) {
		require.NoError(t, err)
	}
	return all
}

func closeAll(all []*crew) {
	each(len(all), func(i int) bool {
		all[i].Close()
		return true
	})
}

// weighs checks the weight of all replicas after so many steps of n replicas.
func weighs(t *testing.T, all []*crew, steps, n int) {
	t.Helper()
	for i, c := range all {
		weights, err := c.weights()
		require.NoError(t, err)
		for _, w := range weights {
			require.Equal(t, float64(1-steps*n*(n+1)), w, "process %d", i)
		}
	}
}

// Replicas of several processes, with different numbers of devices, come to the sum over all.
func TestNCCLProcesses(t *testing.T) {
	processes := newProcesses(3)
	all := crews(t, newMembers(processes, 1, 2, 1), 1, 2, 1)
	for step := range 4 {
		for _, errs := range each(3, func(i int) []error { return all[i].step() }) {
			require.NoError(t, errors.Join(errs...))
		}
		weighs(t, all, step+1, 4)
	}
	closeAll(all)
	for i, p := range processes {
		require.Zero(t, p.driver.Calls()["cuStreamBeginCapture_v2"], "process %d: one cannot capture, so none does", i)
		require.NoError(t, p.clean(), "process %d", i)
		require.Zero(t, p.library.Calls()["ncclCommAbort"], "the end was in good order")
	}
}

// hanging waits until the others wait for a process that does not come.
func hanging(t *testing.T, p *process, collectives int) {
	t.Helper()
	require.Eventually(t, func() bool { return p.library.Calls()["ncclAllReduce"] >= collectives }, 2*time.Minute, time.Millisecond)
}

// A process that dies leaves the others waiting in NCCL: an abort frees them with the reason, their weights are those
// before the step, and they go on without it.
func TestNCCLLostProcess(t *testing.T) {
	gone := errors.New("worker 1 is gone")
	for name, end := range map[string]struct {
		stop func(t *testing.T, p *process, c *crew)
		want string
	}{
		"abort": {func(t *testing.T, p *process, c *crew) {
			hanging(t, p, 2)
			c.comms[0].Abort(gone)
		}, gone.Error()},
		"connection lost": {func(t *testing.T, p *process, _ *crew) {
			hanging(t, p, 2)
			p.library.Break(nccl.RemoteError)
		}, "remote process exited"},
		"time is over": {func(t *testing.T, _ *process, c *crew) {
			l := c.comms[0].(*communicator).group.link
			l.mu.Lock()
			defer l.mu.Unlock()
			l.timeout = time.Nanosecond
		}, "have waited for the others in NCCL for"},
		"device lost": {func(t *testing.T, p *process, _ *crew) {
			hanging(t, p, 2)
			p.driver.Lose(0)
		}, "cuda:0"},
	} {
		t.Run(name, func(t *testing.T) {
			processes := newProcesses(3)
			all := crews(t, newMembers(processes, 1, 1, 1), 1, 1, 1)
			for _, errs := range each(3, func(i int) []error { return all[i].step() }) {
				require.NoError(t, errors.Join(errs...))
			}
			processes[1].library.Die()
			survivors := []int{0, 2}
			each(2, func(i int) bool {
				go end.stop(t, processes[survivors[i]], all[survivors[i]])
				return true
			})
			for i, errs := range each(2, func(i int) []error { return all[survivors[i]].step() }) {
				require.ErrorContains(t, errs[0], end.want, "survivor %d", i)
			}
			all[1].comms[0].Abort(gone) // the dead process leaves
			if name == "device lost" {
				closeAll(all)
				return
			}
			weighs(t, []*crew{all[0], all[2]}, 1, 3)
			closeAll(all)
			rest := []*process{processes[0], processes[2]}
			again := crews(t, newMembers(rest, 1, 1), 1, 1)
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

// The end of a context frees who waits for other processes.
func TestNCCLCancelled(t *testing.T) {
	processes := newProcesses(2)
	all := crews(t, newMembers(processes, 1, 1), 1, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	c := all[0]
	e := c.sessions[0].Launch(context.Background(), kernels.Launch{Queue: c.queues[0], Inputs: c.inputs[0], Outputs: []kernels.Buffer{nil}, Communicator: c.comms[0]})
	go func() {
		hanging(t, processes[0], 1)
		cancel(errors.New("the caller has had enough"))
	}()
	require.ErrorContains(t, e.Wait(ctx), "the caller has had enough")
	weighs(t, all, 0, 2)
	closeAll(all)
	for _, p := range processes {
		require.NoError(t, p.clean())
	}
}

// A failure on one process is the failure of all, with the index and the layer, and changes no weight.
func TestNCCLFailureOfOneProcess(t *testing.T) {
	processes := newProcesses(2)
	all := crews(t, newMembers(processes, 1, 2), 1, 2)
	var data []byte
	for range 70 {
		data = ir.AppendElement(data, ir.Int32, 77)
	}
	require.NoError(t, all[1].inputs[1][2].Write(data))
	for i, errs := range each(2, func(i int) []error { return all[i].step() }) {
		for _, err := range errs {
			require.ErrorContains(t, err, "layer: gather: index 77 is outside axis 0 of length 70", "process %d", i)
		}
	}
	weighs(t, all, 0, 3)
	closeAll(all)
	for _, p := range processes {
		require.NoError(t, p.clean())
	}
}

// Processes that cannot connect: all get the same answer, which names the worker. Where nobody asked for NCCL it is
// that NCCL cannot be used.
func TestNCCLRendezvous(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *process)
		want   string
	}{
		"another version": {func(p *process) { p.library.SetVersion(22005) }, `NCCL is version 2.29.7 on worker 0 \(cuda:0 of host host\d+\) and 2.20.5 on worker 1 \(cuda:0 of host host\d+\); all workers need the same one`},
		"none": {func(p *process) {
			p.openNCCL = func() (nccl.API, error) { return nil, errors.New("there is no " + "libnccl.so.2; install it") }
		}, `worker 1 \(cuda:0 of host host\d+\) cannot use NCCL: there is no libnccl.so.2; install it`},
		"one card": {func(p *process) { p.host = func() string { return "node7 b007" } }, "cuda:0 of worker 0 and cuda:0 of worker 1 are one GPU, 00000000:A0:00.0 of host node7; each replica needs a GPU of its own"},
		"too old":  {func(p *process) { p.library.SetVersion(21003) }, `worker 1 \(cuda:0 of host host\d+\) cannot use NCCL: nccl: version 2.10.3 is too old; install 2.14.0 or later`},
	} {
		for _, library := range []string{"", kernels.NCCL} {
			t.Run(fmt.Sprint(name, " ", library), func(t *testing.T) {
				processes := newProcesses(2)
				c.change(processes[1])
				if name == "one card" {
					c.change(processes[0])
				}
				members := newMembers(processes, 1, 1)
				for _, err := range each(2, func(i int) error {
					members[i].options.Library = library
					_, err := members[i].NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{{Kind: Kind}}})
					return err
				}) {
					require.Error(t, err)
					require.Regexp(t, c.want, err.Error())
					require.Equal(t, library == "", errors.Is(err, errors.ErrUnsupported))
				}
				for _, p := range processes {
					require.NoError(t, p.clean())
				}
			})
		}
	}
	for _, junk := range []string{"", "junk", "{}", `{"ID":"AAA="}`} {
		_, err := newProcesses(1)[0].rendezvous(t.Context(), kernels.CommunicatorOptions{Library: kernels.NCCL, Exchange: func(_ context.Context, own []byte) ([][]byte, error) {
			return [][]byte{own, []byte(junk)}, nil
		}})
		require.ErrorContains(t, err, "worker 1 tells of NCCL in a form that is not understood")
	}
	p := newProcesses(1)[0]
	p.openNCCL = func() (nccl.API, error) { return nil, errors.New("there is none") }
	require.EqualError(t, p.CheckLibrary(kernels.NCCL), "there is none")
	require.ErrorContains(t, p.CheckLibrary("MPI"), `"MPI"; expected "NCCL"`)
	for text, o := range map[string]kernels.CommunicatorOptions{
		"combined by \"MPI\"":          {Library: "MPI"},
		"cannot travel as int8":        {Narrow: ir.Int8},
		"a way to exchange messages":   {Replicas: 2, Library: kernels.NCCL},
		"there is no device cuda:5":    {Devices: []kernels.Device{{Kind: Kind, Index: 5}}},
		"cuda:0 is named twice; each ": {Library: kernels.NCCL, Devices: []kernels.Device{{Kind: Kind}, {Kind: Kind}}},
	} {
		if o.Devices == nil {
			o.Devices = []kernels.Device{{Kind: Kind}}
		}
		_, err := p.NewCommunicators(t.Context(), o)
		require.ErrorContains(t, err, text)
	}
	require.NoError(t, p.clean())
}

// A process that cannot begin to connect is named to the others at once. One that exchanges messages and then does not
// come is waited for until the time is over.
func TestNCCLNeverComes(t *testing.T) {
	processes := newProcesses(2)
	members := newMembers(processes, 1, 1)
	for i := range members {
		members[i].options.Timeout = 20 * time.Millisecond
	}
	connect := func(i int) error {
		_, err := members[i].NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{{Kind: Kind}}})
		return err
	}
	processes[1].library.Fail("ncclCommInitRankConfig", 1)
	errs := each(2, connect)
	require.ErrorContains(t, errs[0], "cuda: worker 1 (cuda:0 of host ")
	require.ErrorContains(t, errs[0], ") cannot connect through NCCL: ")
	for _, err := range errs {
		require.ErrorContains(t, err, "ncclCommInitRankConfig")
		require.ErrorContains(t, err, "replica 1 of 2 on cuda:0")
	}
	errs = each(2, func(i int) error {
		if i == 0 {
			return connect(i)
		}
		own, err := processes[1].backend.offer(kernels.CommunicatorOptions{First: 1, Replicas: 2, Library: kernels.NCCL, Devices: []kernels.Device{{Kind: Kind}}})
		require.NoError(t, err)
		for _, message := range []any{own, invitation{}} {
			data, err := json.Marshal(message)
			require.NoError(t, err)
			_, err = members[1].options.Exchange(t.Context(), data)
			require.NoError(t, err)
		}
		return nil
	})
	require.ErrorContains(t, errs[0], "connecting replicas 0 to 0 of 2 on [cuda:0] through NCCL: cuda: not all of 2 replicas have come to connect through NCCL within 20ms: worker 1 (cuda:0 of host ")
	require.ErrorIs(t, errs[0], kernels.ErrNotComing)
	for _, p := range processes {
		require.NoError(t, p.clean())
	}
}
