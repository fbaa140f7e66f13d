//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/cublas"
	"github.com/gokeras/gokeras/kernels/cuda/internal/cudnn"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/kept"
	"github.com/gokeras/gokeras/kernels/cuda/internal/libraries"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nvml"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Kind is the kind of device that the backend serves.
const Kind = "cuda"

func init() {
	own.measure, own.kept, own.tuning = timed, kept.Open, newTuning()
	own.findBLAS, own.openBLAS = libraries.CUBLASLt, cublas.Open
	own.findDNN, own.openDNN = libraries.CUDNN, cudnn.Open
	kernels.Register(own)
	kernels.RegisterAlias("gpu", Kind)
}

// own is the backend that is registered.
var own = newBackend(Kind, driver.Open)

// backend runs programs through the driver. It is opened at the first use.
type backend struct {
	kind string
	open func() (driver.API, error)

	once    sync.Once
	api     driver.API
	err     error
	mu      sync.Mutex
	devices []*device // by index; nil if it was not used yet
	numbers map[int64]*numbered

	openNCCL func() (nccl.API, error)
	loading  sync.Once
	nccl     nccl.API
	ncclErr  error

	// measure times one way in which values meet; run repeats it. nil: nothing is timed.
	measure func(way string, bytes int, run func(times int) error) (time.Duration, error)

	pick   func(lower.Question) int // which of several kernels is taken; nil: as measured
	cut    func(lower.Cut) lower.Cut
	tuning *tuning // nil: nothing is measured

	stages, several int // see [lower.Options]

	findBLAS func(driver int) libraries.Found // cuBLASLt; nil: it is not looked for
	openBLAS func(path string) (cublas.API, error)
	findDNN  func(driver int) libraries.Found // cuDNN, likewise
	openDNN  func(path string) (cudnn.API, error)

	pickLibrary           func(lower.Question) string // which library makes a product, for tests; nil: what was measured
	soughtBLAS, soughtDNN sought

	choosing sync.Mutex
	choices  map[string]*choice // of groups of one process, by their devices

	survey  func() (nvml.Machine, error)
	kept    func() *kept.Folder // for compiled kernels
	sharing bool                // processes may meet on one GPU, for tests
	dead    unreachable.List
	host    func() string // where this process runs
}

func newBackend(kind string, open func() (driver.API, error)) *backend {
	return &backend{kind: kind, open: open, numbers: map[int64]*numbered{}, choices: map[string]*choice{}, openNCCL: nccl.Open, survey: nvml.Survey, host: thisHost, kept: func() *kept.Folder { return nil }}
}

// Kind is "cuda".
func (b *backend) Kind() string { return b.kind }

func (b *backend) connect() error {
	b.once.Do(func() {
		if b.api, b.err = b.open(); b.err != nil {
			return
		}
		var n int
		if n, b.err = driver.Count(b.api); b.err == nil {
			b.devices = make([]*device, n)
		}
	})
	return b.err
}

// Devices lists the GPUs. There are none without a driver.
func (b *backend) Devices() []kernels.Device {
	if b.connect() != nil {
		return nil
	}
	all := make([]kernels.Device, len(b.devices))
	for i := range all {
		all[i] = kernels.Device{Kind: b.kind, Index: i}
	}
	return all
}

// Open returns an error that says why a device cannot be used.
func (b *backend) Open(d kernels.Device) error {
	_, err := b.device(d)
	return err
}

// device opens a GPU once.
func (b *backend) device(d kernels.Device) (*device, error) {
	if d.Kind != b.kind {
		return nil, fmt.Errorf("cuda: device %v is not one of this backend, whose devices are called %q", d, b.kind)
	}
	if err := b.connect(); err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if d.Index < 0 || d.Index >= len(b.devices) {
		return nil, fmt.Errorf("cuda: there is no device %v: the driver has %d of them, counted from 0", d, len(b.devices))
	}
	if b.devices[d.Index] == nil {
		opened, err := driver.NewDevice(b.api, d.Index)
		if err != nil {
			return nil, err
		}
		own := &device{Device: opened, name: d, limit: opened.Facts.Memory, kernels: map[string]*kernel{}, kept: b.kept(), dead: &b.dead, blocking: os.Getenv(blockingVariable) != ""}
		if own.limit, err = memoryLimit(own.limit); err != nil {
			return nil, errors.Join(err, opened.Close())
		}
		b.devices[d.Index] = own
	}
	return b.devices[d.Index], nil
}

// blockingVariable makes the host wait for each kernel if it is set.
const blockingVariable = "GOKERAS_CUDA_BLOCKING"

// memoryLimit reads the limit that the user has set, a number of bytes.
func memoryLimit(all int64) (int64, error) {
	const variable = "GOKERAS_CUDA_MEMORY"
	text := os.Getenv(variable)
	if text == "" {
		return all, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("cuda: %s is %q; expected a number of bytes that a device may use", variable, text)
	}
	return n, nil
}

// close releases all devices, for tests: buffers, sessions and queues must be gone.
func (b *backend) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []error
	for _, d := range b.devices {
		if d != nil {
			all = append(all, d.close())
		}
	}
	b.devices = nil
	return errors.Join(all...)
}

// HasType reports whether kernels can be made for the type.
func (b *backend) HasType(d ir.DType) bool { return lower.HasType(d) }

// NewBuffer allocates memory filled with zeros.
func (b *backend) NewBuffer(d kernels.Device, t ir.Type) (kernels.Buffer, error) {
	own, err := b.device(d)
	if err != nil {
		return nil, err
	}
	if !t.DType.Valid() || slices.ContainsFunc(t.Shape, func(d int) bool { return d < 0 }) {
		return nil, fmt.Errorf("cuda: a buffer of type %v: expected an element type of %v and axis lengths of 0 or more", t, ir.DTypes())
	}
	if err := kernels.CheckType(Kind, t.DType, lower.HasType); err != nil {
		return nil, err
	}
	buffer, err := own.newBuffer(t)
	if err != nil {
		return nil, err
	}
	return buffer, nil
}
