package cpu

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/comm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Kind is the device kind of this backend.
const Kind = "cpu"

// Backend runs programs on the processor. "cpu:0", "cpu:1", ... are logical devices that share its cores.
type Backend struct{}

var (
	_ kernels.Backend  = Backend{}
	_ kernels.Deferrer = Backend{}
)

func init() { kernels.Register(Backend{}) }

// Kind returns "cpu".
func (Backend) Kind() string { return Kind }

// Devices lists "cpu:0". Other logical devices can be used without being listed.
func (Backend) Devices() []kernels.Device { return []kernels.Device{{Kind: Kind}} }

// Open accepts every "cpu:n". It fails if the environment variable that picks the kernel family has an invalid value.
func (Backend) Open(d kernels.Device) error {
	if d.Kind != Kind || d.Index < 0 {
		return fmt.Errorf("cpu: device %v: expected \"cpu:0\", \"cpu:1\" and so on", d)
	}
	return isa.Err()
}

// NewBuffer allocates zeroed host memory.
func (b Backend) NewBuffer(d kernels.Device, t ir.Type) (kernels.Buffer, error) {
	if err := b.checkBuffer(d, t); err != nil {
		return nil, err
	}
	return newBuffer(d, t), nil
}

// NewBorrowingBuffer is NewBuffer for a buffer that usually uses the caller's memory.
func (b Backend) NewBorrowingBuffer(d kernels.Device, t ir.Type) (kernels.Borrower, error) {
	if err := b.checkBuffer(d, t); err != nil {
		return nil, err
	}
	return &buffer{typ: t, device: d, deferred: true}, nil
}

func (b Backend) checkBuffer(d kernels.Device, t ir.Type) error {
	if err := b.Open(d); err != nil {
		return err
	}
	if !t.DType.Valid() || slices.ContainsFunc(t.Shape, func(n int) bool { return n < 0 }) {
		return fmt.Errorf("cpu: cannot make a buffer of %v", t)
	}
	return plan.CheckMemory("a buffer of "+t.String(), float64(t.Bytes()))
}

// NewQueue returns a queue that runs launches on the caller's goroutine: a launch has finished when it returns.
func (b Backend) NewQueue(d kernels.Device) (kernels.Queue, error) {
	if err := b.Open(d); err != nil {
		return nil, err
	}
	return &queue{device: d}, nil
}

// NewCommunicators connects one replica for each device. The replicas must run in separate goroutines of this process,
// because they meet in shared memory.
func (b Backend) NewCommunicators(_ context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	devices := o.Devices
	if len(devices) == 0 || len(devices) >= 1<<16 {
		return nil, fmt.Errorf("cpu: cannot connect %d devices", len(devices))
	}
	if o.Total() != len(devices) || o.First != 0 {
		return nil, fmt.Errorf("cpu: connecting %d replicas of this process with %d in all: %w", len(devices), o.Total(), errors.ErrUnsupported)
	}
	for _, d := range devices {
		if err := b.Open(d); err != nil {
			return nil, err
		}
	}
	return comm.New(len(devices)), nil
}
