//go:build linux

package cuda

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// within is a backend whose launches stand still while communicators of another type call inner ones.
type within struct {
	*backend
	arrangement *kernels.Arrangement
}

// standing is an end that is no communicator of GPUs, as those between processes are not. Parts meet in host memory.
type standing struct {
	kernels.InnerCommunicator
	*hall
}

// hall is where parts meet.
type hall struct {
	mu    sync.Mutex
	parts [][]byte
	came  int
	full  chan struct{}
	once  sync.Once
	over  chan struct{}
	why   error // once over is closed
}

func (b within) NewCommunicators(ctx context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	all, err := b.newInner(o.Devices, b.arrangement)
	h := &hall{parts: make([][]byte, len(all)), full: make(chan struct{}), over: make(chan struct{})}
	for i, c := range all {
		all[i] = &standing{c.(kernels.InnerCommunicator), h}
	}
	return all, err
}

func (c *standing) AllGather(_ context.Context, part, whole kernels.Buffer, _ int) error {
	own := make([]byte, part.Type().Bytes())
	if err := part.Read(own); err != nil {
		return err
	}
	c.mu.Lock()
	c.parts[c.Replica()] = own
	full := c.full
	if c.came++; c.came == len(c.parts) {
		c.came, c.full = 0, make(chan struct{})
		close(full)
	}
	c.mu.Unlock()
	select {
	case <-full:
	case <-c.over:
		return c.why
	}
	return whole.Write(bytes.Join(c.parts, nil))
}

func (c *standing) Abort(err error) {
	c.once.Do(func() {
		c.why = err
		close(c.over)
	})
	c.InnerCommunicator.Abort(err)
}

// Workers with several GPUs each and no NCCL train as one CPU does. Where their GPUs reach each other's memory, one of
// each worker copies the sum of gradients to the host in each step; elsewhere all do.
func TestWorkersSumOnDevices(t *testing.T) {
	const workers, each = 2, 2
	const gradient = 64 * 7 * 4
	usual := twoShotBytes
	defer func() { twoShotBytes = usual }()
	x, y := digits()
	x, y = x[:8], y[:8]
	fit := func(t *testing.T, steps int, s distribute.Strategy) ([]float64, error) {
		model, err := keras.NewSequential([]layers.Layer{&layers.Flatten{}, &layers.Dense{Units: 7, NoBias: true}}, keras.InputShape(8, 8, 1), distribute.Scope(s), keras.Seed(3))
		if err != nil {
			return nil, err
		}
		if err := model.Compile(keras.CompileConfig{Optimizer: "sgd", Loss: "sparse_categorical_crossentropy"}); err != nil {
			return nil, err
		}
		if _, err := model.Fit(t.Context(), data.Arrays(x, y), keras.Epochs(steps), keras.BatchSize(8)); err != nil {
			return nil, err
		}
		weights, err := model.GetWeights()
		if err != nil {
			return nil, err
		}
		return weights[0].Float64s(), nil
	}
	copies := func(steps int, apart func(a, b int) bool) int {
		one, err := distribute.NewOneDeviceStrategy("cpu:0")
		require.NoError(t, err)
		want, err := fit(t, steps, one)
		require.NoError(t, err)
		f := fakedriver.New(fakedriver.Options{Devices: workers * each, NoPeers: apart})
		kind := fmt.Sprint("inner", made.Add(1), "cuda")
		b := newBackend(kind, func() (driver.API, error) { return f, nil })
		b.openNCCL = func() (nccl.API, error) { return nil, errors.New("there is no NCCL") }
		kernels.Register(b)
		o := multiworker.Options{Communication: collective.CommunicationOptions{Timeout: time.Minute}, JoinTimeout: time.Minute}
		devices := func(rank int) []string {
			return []string{fmt.Sprint(kind, ":", rank*each), fmt.Sprint(kind, ":", rank*each+1)}
		}
		for rank, err := range fakeWorkersOn(t, workers, o, devices, func(_ int, s *distribute.MultiWorkerMirroredStrategy) error {
			got, err := fit(t, steps, s)
			if err == nil {
				require.InDeltaSlice(t, want, got, 1e-5)
			}
			return err
		}) {
			require.NoError(t, err, "worker %d", rank)
		}
		require.NoError(t, f.Fault())
		return f.Downloads()[gradient]
	}
	for _, twoShotBytes = range []int{1, usual} {
		require.Equal(t, 2*workers, copies(5, nil)-copies(3, nil))
		require.GreaterOrEqual(t, copies(5, alone)-copies(3, alone), 2*workers*each)
	}
}

// alone is a machine whose devices do not reach each other's memory.
func alone(_, _ int) bool { return true }

// NCCL within workers whose values meet in host memory is an error that says what to do.
func TestWorkersWithNcclAllReduce(t *testing.T) {
	fakes()
	o := multiworker.Options{CrossDeviceOps: distribute.NcclAllReduce{}, Communication: collective.CommunicationOptions{Timeout: 20 * time.Second}}
	for _, err := range fakeWorkers(t, 2, o, func(int, *distribute.MultiWorkerMirroredStrategy) error { return nil }) {
		require.ErrorContains(t, err, "NcclAllReduce combines the replicas of one process; leave CrossDeviceOps out and set Communication.Implementation to NCCL")
	}
}

// Ends that one replica does not come to return when it aborts, and when the caller's context ends.
func TestInnerEnds(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{Devices: 2})
	b := on(t, f)
	devices := []kernels.Device{{Kind: Kind, Index: 0}, {Kind: Kind, Index: 1}}
	connect := func() []kernels.Communicator {
		all, err := b.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices, Inner: true})
		require.NoError(t, err)
		return all
	}
	lost := errors.New("the other one is lost")
	for name, end := range map[string]func(all []kernels.Communicator, cancel context.CancelCauseFunc){
		"abort":   func(all []kernels.Communicator, _ context.CancelCauseFunc) { all[1].Abort(lost) },
		"context": func(_ []kernels.Communicator, cancel context.CancelCauseFunc) { cancel(lost) },
	} {
		t.Run(name, func(t *testing.T) {
			all := connect()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			done := make(chan error, 1)
			go func() { done <- all[0].Broadcast(ctx, 0, &shown{typ: ir.Type{DType: ir.Float32}}) }()
			time.Sleep(10 * time.Millisecond)
			end(all, cancel)
			require.ErrorIs(t, <-done, lost)
			require.ErrorIs(t, all[1].Broadcast(t.Context(), 0, &shown{typ: ir.Type{DType: ir.Float32}}), lost)
			for _, c := range all {
				c.Close()
			}
		})
	}
	_, err := on(t, fakedriver.New(fakedriver.Options{Devices: 2, NoPeers: alone})).NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices, Inner: true})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
