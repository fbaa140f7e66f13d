//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/cublas"
	"github.com/gokeras/gokeras/kernels/cuda/internal/cudnn"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/kept"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
)

// device is a GPU with its memory and the host memory that copies go through.
type device struct {
	*driver.Device
	name kernels.Device

	meeting atomic.Pointer[group] // of a launch on this device that waits for other replicas
	beside  driver.Handle         // a second stream, for collectives in parallel with kernels; 0: not made yet

	mu     sync.Mutex
	limit  int64 // bytes that may be used
	used   int64
	idle   []*block
	stages []*stage // without a block, for reuse
	dead   *unreachable.List
	// blocking: the host waits for each kernel, so that an error names its layer.
	blocking bool

	crossing crossing

	blas opened[cublas.API]
	dnn  opened[cudnn.API]

	feeding sync.Mutex // guards feed; comes before the order
	feed    feed

	loading sync.Mutex         // guards kernels
	kernels map[string]*kernel // that programs have loaded, by text
	kept    *kept.Folder       // of compiled kernels
	retired []driver.Address   // windows that processes may still read because they have not noticed the end of the group
}

// block is host memory that the device can reach. The event tells when the last copy is over.
type block struct {
	memory []byte
	event  driver.Handle
	busy   bool // the event was recorded
}

// Err is the error of a call on the device. If the device no longer works, it is a [kernels.ErrDeviceLost] that names
// it.
func (d *device) Err(r driver.Result, call string) error {
	if r == driver.Success {
		return nil
	}
	return d.orLost(d.Device.Err(r, call))
}

// Enter is Enter of the driver's device, with the errors of Err.
func (d *device) Enter() error { return d.orLost(d.Device.Enter()) }

func (d *device) orLost(err error) error {
	if err == nil {
		return nil
	}
	var call *driver.Error
	if errors.As(err, &call) && slices.Contains(driver.Fatal, call.Result) {
		return fmt.Errorf("%v: %w: %w", d.name, kernels.ErrDeviceLost, err)
	}
	return err
}

// enqueue runs f, which puts work into the stream.
func (d *device) enqueue(f func() error) error {
	d.await()
	d.Order.Lock()
	defer d.Order.Unlock()
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	return f()
}

// OutOfMemoryError says what was requested from a device's memory and what there is.
type OutOfMemoryError struct {
	Device      kernels.Device
	What        string // what the memory is for
	Asked, Used int64  // bytes
	Limit, Free int64  // what may be used; what the driver reports as free
	Driver      error  // the driver's refusal; nil if the limit is the reason
}

func (e *OutOfMemoryError) Error() string {
	s := fmt.Sprintf("cuda: out of memory on %v: %s needs %d bytes, %d of %d are in use and the device has %d free; a smaller batch or model, or mixed precision, needs less", e.Device, e.What, e.Asked, e.Used, e.Limit, e.Free)
	if e.Driver != nil {
		s += fmt.Sprintf(" (%v)", e.Driver)
	}
	return s
}

// Unwrap is the driver's refusal.
func (e *OutOfMemoryError) Unwrap() error { return e.Driver }

// alloc allocates memory of the device. If there is too little, memory for copies ahead of time is released first, then
// that of models which nobody can reach.
func (d *device) alloc(bytes int64, what string) (driver.Address, error) {
	a, err := d.tryAlloc(bytes, what, d.Stream)
	var full *OutOfMemoryError
	if errors.As(err, &full) && d.starve() {
		if a, err = d.tryAlloc(bytes, what, d.Stream); err == nil {
			return a, nil
		}
	}
	if errors.As(err, &full) {
		d.dead.Collect()
		return d.tryAlloc(bytes, what, d.Stream)
	}
	return a, err
}

// tryAlloc allocates memory in the order of a stream.
func (d *device) tryAlloc(bytes int64, what string, stream driver.Handle) (driver.Address, error) {
	if bytes == 0 {
		bytes = 1
	}
	d.mu.Lock()
	used, limit := d.used, d.limit
	if used+bytes <= limit {
		d.used += bytes
	}
	d.mu.Unlock()
	if used+bytes > limit {
		return 0, d.outOfMemory(bytes, used, what, nil)
	}
	var a driver.Address
	err := d.enqueue(func() error {
		var r driver.Result
		a, r = d.API.Alloc(bytes, stream)
		if r == driver.OutOfMemory { // freed memory may be in pieces that are too small
			if err := d.trim(); err != nil {
				return err
			}
			a, r = d.API.Alloc(bytes, stream)
		}
		if r == driver.OutOfMemory {
			return d.outOfMemoryInside(bytes, used, what, d.Err(r, "cuMemAllocAsync"))
		}
		return d.Err(r, "cuMemAllocAsync")
	})
	if err != nil {
		d.mu.Lock()
		d.used -= bytes
		d.mu.Unlock()
	}
	return a, err
}

// trim returns freed memory to the system; the caller has the context.
func (d *device) trim() error {
	if err := d.Err(d.API.SynchronizeStream(d.Stream), "cuStreamSynchronize"); err != nil {
		return err
	}
	return d.Err(d.API.Trim(d.Index), "cuMemPoolTrimTo")
}

func (d *device) outOfMemory(bytes, used int64, what string, cause error) error {
	var out error
	err := d.enqueue(func() error {
		out = d.outOfMemoryInside(bytes, used, what, cause)
		return nil
	})
	return errors.Join(out, err)
}

func (d *device) outOfMemoryInside(bytes, used int64, what string, cause error) error {
	free, _, _ := d.API.MemoryInfo()
	return &OutOfMemoryError{Device: d.name, What: what, Asked: bytes, Used: used, Limit: d.limit, Free: free, Driver: cause}
}

// free releases memory when everything put into the stream so far is over.
func (d *device) free(a driver.Address, bytes int64) error {
	if bytes == 0 {
		bytes = 1
	}
	d.mu.Lock()
	d.used -= bytes
	d.mu.Unlock()
	return d.enqueue(func() error { return d.Err(d.API.Free(a, d.Stream), "cuMemFreeAsync") })
}

// minBlock is the size of the smallest blocks of host memory.
const minBlock = 4096

// hostBytes is how much host memory the copies of one size in progress may use.
var hostBytes = 256 << 20

// takeBlock returns host memory for a copy: an idle block if there is one, otherwise a new one.
func (d *device) takeBlock(bytes int) (*block, error) {
	if err := d.Enter(); err != nil {
		return nil, err
	}
	defer d.Leave()
	size := minBlock
	for size < bytes {
		size *= 2
	}
	d.mu.Lock()
	oldest, bytes := -1, size
	for i, b := range d.idle {
		if len(b.memory) != size {
			continue
		}
		if !b.busy || d.API.QueryEvent(b.event) == driver.Success {
			d.idle = slices.Delete(d.idle, i, i+1)
			d.mu.Unlock()
			b.busy = false
			return b, nil
		}
		if bytes += size; oldest < 0 {
			oldest = i
		}
	}
	if oldest >= 0 && bytes > hostBytes { // the host is far ahead of the device
		b := d.idle[oldest]
		d.idle = slices.Delete(d.idle, oldest, oldest+1)
		d.mu.Unlock()
		if err := d.Err(d.API.SynchronizeEvent(b.event), "cuEventSynchronize"); err != nil {
			d.keepBlock(b)
			return nil, err
		}
		b.busy = false
		return b, nil
	}
	d.mu.Unlock()
	b := &block{}
	var r driver.Result
	if b.memory, r = d.API.HostAlloc(size); r != driver.Success {
		return nil, d.Err(r, "cuMemHostAlloc")
	}
	if b.event, r = d.API.NewEvent(); r != driver.Success {
		d.API.HostFree(b.memory)
		return nil, d.Err(r, "cuEventCreate")
	}
	return b, nil
}

// keepBlock makes a block available again, when its event is over.
func (d *device) keepBlock(b *block) {
	if len(b.memory) > pieceBytes && d.dropBlock(b) == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.idle = append(d.idle, b)
}

// dropBlock releases the memory of a large block when its copy is over, because pinned memory is scarce.
func (d *device) dropBlock(b *block) error {
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	if b.busy {
		if err := d.Err(d.API.SynchronizeEvent(b.event), "cuEventSynchronize"); err != nil {
			return err
		}
	}
	return errors.Join(d.Err(d.API.HostFree(b.memory), "cuMemFreeHost"), d.Err(d.API.DestroyEvent(b.event), "cuEventDestroy_v2"))
}

// record marks the end of the copy that uses the block; the caller holds the order. If that fails, the copy has ended.
func (d *device) record(b *block, stream driver.Handle) error {
	err := d.Err(d.API.RecordEvent(b.event, stream), "cuEventRecord")
	b.busy = err == nil
	if err != nil {
		d.API.SynchronizeStream(stream)
	}
	return err
}

// close releases what the device holds.
func (d *device) close() error {
	var all []error
	d.starve()
	if err := d.Enter(); err == nil {
		all = append(all, d.Err(d.API.SynchronizeStream(d.Stream), "cuStreamSynchronize"))
		if d.feed.stream != 0 {
			all = append(all, d.Err(d.API.DestroyStream(d.feed.stream), "cuStreamDestroy_v2"))
		}
		if d.beside != 0 {
			all = append(all, d.Err(d.API.DestroyStream(d.beside), "cuStreamDestroy_v2"))
		}
		for _, b := range d.idle {
			all = append(all, d.Err(d.API.HostFree(b.memory), "cuMemFreeHost"), d.Err(d.API.DestroyEvent(b.event), "cuEventDestroy_v2"))
		}
		all = append(all, d.blas.close(), d.dnn.close())
		for _, a := range d.retired {
			all = append(all, d.Err(d.API.FreeShared(a), "cuMemFree_v2"))
		}
		if d.crossing.event != 0 {
			all = append(all, d.Err(d.API.DestroyEvent(d.crossing.event), "cuEventDestroy_v2"))
		}
		d.Leave()
	}
	d.idle = nil
	return errors.Join(append(all, d.Device.Close())...)
}
