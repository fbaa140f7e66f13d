//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// byNCCL is a backend whose replicas meet through NCCL, as if each caller had asked for it.
type byNCCL struct{ *backend }

func (b byNCCL) NewCommunicators(ctx context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	o.Library = kernels.NCCL
	return b.backend.NewCommunicators(ctx, o)
}

// process is a backend on a fake driver with a fake NCCL.
type process struct {
	*backend
	driver  *fakedriver.Fake
	library *fakenccl.Library
}

// made counts processes.
var made atomic.Int64

func newProcess(w *fakenccl.World, o fakedriver.Options) *process {
	f := fakedriver.New(o)
	p := &process{backend: newBackend(Kind, func() (driver.API, error) { return f, nil }), driver: f, library: fakenccl.New(w, f)}
	number := made.Add(1)
	p.host = func() string { return fmt.Sprint("host", number) } // the fakes number their cards alike
	p.openNCCL = func() (nccl.API, error) { return p.library, nil }
	return p
}

// clean checks that nothing was misused, and nothing is left.
func (p *process) clean() error {
	err := errors.Join(p.driver.Fault(), p.library.Fault(), p.close())
	if left := p.driver.Alive(); left != "" {
		err = errors.Join(err, errors.New("alive: "+left))
	}
	if n := p.library.Alive(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d communicators are alive", n))
	}
	return err
}

// The suite of replicas, with values that NCCL combines.
func TestNCCLConformance(t *testing.T) {
	p := newProcess(fakenccl.NewWorld(), fakedriver.Options{Devices: 4, NoPeers: islands})
	t.Cleanup(func() { require.NoError(t, p.clean()) })
	kernelstest.RunReplicas(t, byNCCL{p.backend}, kernels.Device{Kind: Kind})
	calls := p.library.Calls()
	for _, call := range []string{"ncclAllReduce", "ncclBroadcast", "ncclAllGather", "ncclReduceScatter", "ncclSend", "ncclRecv"} {
		assert.NotZero(t, calls[call], call)
	}
}

// Every call fails once, at each place, with several devices: all replicas get the error, which names the call; nothing
// hangs, nothing leaks, and others go on.
func TestEveryNCCLCallFails(t *testing.T) {
	const n = 3
	options := fakedriver.Options{Devices: n}
	p := newProcess(fakenccl.NewWorld(), options)
	require.NoError(t, several(t, byNCCL{p.backend}, n))
	calls := p.library.Calls()
	require.NoError(t, p.clean())
	for _, call := range []string{"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclGroupStart", "ncclGroupEnd", "ncclAllReduce", "ncclAllGather"} {
		require.NotZero(t, calls[call], call)
		for k := 1; k <= calls[call]; k++ {
			p := newProcess(fakenccl.NewWorld(), options)
			p.library.Fail(call, k)
			err := several(t, byNCCL{p.backend}, n)
			require.ErrorContains(t, err, call, "call %d", k)
			require.ErrorContains(t, err, call+" was asked to fail", "call %d", k)
			require.NoError(t, several(t, byNCCL{p.backend}, n), "after call %d of %s failed", k, call)
			require.NoError(t, p.clean(), "after call %d of %s failed", k, call)
		}
	}
	for _, call := range []string{"cuMemsetD8Async", "cuMemcpyDtoDAsync_v2", "cuLaunchKernel"} {
		for k := 1; k <= 12; k++ {
			p := newProcess(fakenccl.NewWorld(), options)
			p.driver.Fail(call, k)
			require.ErrorContains(t, several(t, byNCCL{p.backend}, n), call, "call %d", k)
			require.NoError(t, several(t, byNCCL{p.backend}, n), "after call %d of %s failed", k, call)
			require.NoError(t, p.clean(), "after call %d of %s failed", k, call)
		}
	}
}

// oneRank lets NCCL copy a value with one rank, which is what one GPU can do.
func oneRank(t *testing.T, b *backend) {
	comms, err := b.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{{Kind: Kind}}, Library: kernels.NCCL})
	require.NoError(t, err)
	defer comms[0].Close()
	var buffers []*buffer
	for range 2 {
		made, err := b.NewBuffer(kernels.Device{Kind: Kind}, ir.Type{DType: ir.Float32, Shape: ir.Shape{1000}})
		require.NoError(t, err)
		defer made.Free()
		buffers = append(buffers, made.(*buffer))
	}
	var want []byte
	for i := range 1000 {
		want = ir.AppendElement(want, ir.Float32, float64(i))
	}
	require.NoError(t, buffers[0].Write(want))
	l := comms[0].(*communicator).group.link.carrier.(*ends)
	_, err = l.group(func(_ int, c nccl.Comm, d *device) (nccl.Result, string) {
		return l.api.AllReduce(buffers[0].address, buffers[1].address, 1000, nccl.Float32, nccl.Sum, c, d.Stream), "ncclAllReduce"
	})
	require.NoError(t, err)
	got := make([]byte, len(want))
	require.NoError(t, buffers[1].Read(got))
	require.Equal(t, want, got)
}

func TestNCCLOneRank(t *testing.T) {
	p := newProcess(fakenccl.NewWorld(), fakedriver.Options{})
	oneRank(t, p.backend)
	require.NoError(t, p.clean())
}
