//go:build linux

package cuda

import (
	"errors"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// While kernels run, the host is ahead of the device and writes the inputs of later steps. Such a copy from host memory
// goes through a second stream into separate memory, a slot, in parallel with the kernels. The first stream waits for
// it at the point where the copy would have been, and moves the contents of the slot to the buffer. So a batch is
// already on the device when the step needs it. Kernels see the same contents as without slots, and buffers keep their
// addresses, as captured steps require.

// feedFrom is the smallest number of bytes for which that is done: moving less costs more than it saves.
const feedFrom = 32 << 10

// feedDepth is how many slots of one size there are: the inputs of about two steps.
const feedDepth = 4

// feed is what a device has for such copies.
type feed struct {
	stream driver.Handle // 0: not made yet
	slots  []*slot
	turn   uint64
}

// slot is memory that a batch is copied to ahead of time.
type slot struct {
	memory driver.Address
	bytes  int64
	used   uint64        // the turn in which it was last used
	filled driver.Handle // recorded in the second stream behind the copy from host memory
	free   driver.Handle // recorded in the first stream where the slot may be filled again; nowhere at first
}

// busy reports whether kernels or copies are in progress, or are waited for.
func (d *device) busy() bool {
	if d.Enter() != nil {
		return false
	}
	defer d.Leave()
	return d.API.QueryStream(d.Stream) == driver.NotReady
}

// send begins the copy of a block to the device.
func (d *device) send(to driver.Address, h *block, n int) error {
	d.await()
	if n >= feedFrom && d.busy() {
		d.feeding.Lock()
		defer d.feeding.Unlock()
		if s := d.slot(int64(n)); s != nil {
			return d.enqueue(func() error { return d.ahead(s, to, h, n) })
		}
	}
	return d.enqueue(func() error {
		if err := d.Err(d.API.CopyToDevice(to, h.memory[:n], d.Stream), "cuMemcpyHtoDAsync_v2"); err != nil {
			return err
		}
		return d.record(h, d.Stream)
	})
}

// ahead copies a block to a slot now, and the slot to its destination in turn; the caller has the context, and the
// order.
func (d *device) ahead(s *slot, to driver.Address, h *block, n int) error {
	f := &d.feed
	if err := d.Err(d.API.WaitEvent(f.stream, s.free), "cuStreamWaitEvent"); err != nil {
		return err
	}
	if err := d.Err(d.API.CopyToDevice(s.memory, h.memory[:n], f.stream), "cuMemcpyHtoDAsync_v2"); err != nil {
		return err
	}
	if err := d.record(h, f.stream); err != nil {
		return err
	}
	if err := d.Err(d.API.RecordEvent(s.filled, f.stream), "cuEventRecord"); err != nil {
		return err
	}
	if err := d.Err(d.API.WaitEvent(d.Stream, s.filled), "cuStreamWaitEvent"); err != nil {
		return err
	}
	if err := d.Err(d.API.CopyOnDevice(to, s.memory, int64(n), d.Stream), "cuMemcpyDtoDAsync_v2"); err != nil {
		return err
	}
	err := d.Err(d.API.RecordEvent(s.free, d.Stream), "cuEventRecord")
	if err != nil {
		d.API.SynchronizeStream(d.Stream) // nothing else would say when the slot may be filled
	}
	return err
}

// slot returns the slot for the next copy of n bytes: a free one, a new one, or the least recently used one; nil if
// there is no memory for any. The caller holds feeding.
func (d *device) slot(n int64) *slot {
	size := int64(feedFrom)
	for size < n {
		size *= 2
	}
	f := &d.feed
	var oldest *slot
	count := 0
	for _, s := range f.slots {
		if s.bytes != size {
			continue
		}
		count++
		if oldest == nil || s.used < oldest.used {
			oldest = s
		}
	}
	if count < feedDepth && (oldest == nil || !d.over(oldest.free)) && d.hasRoom(size) {
		if s, err := d.newSlot(size); err == nil { // without a slot, copies wait for their turn
			f.slots = append(f.slots, s)
			oldest = s
		}
	}
	if oldest != nil {
		f.turn++
		oldest.used = f.turn
	}
	return oldest
}

// over reports whether an event has happened.
func (d *device) over(e driver.Handle) bool {
	if d.Enter() != nil {
		return false
	}
	defer d.Leave()
	return d.API.QueryEvent(e) == driver.Success
}

// hasRoom reports whether another slot would leave most of the memory to models.
func (d *device) hasRoom(size int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.feed.slots {
		size += s.bytes
	}
	return size <= d.limit/16 && d.used+size <= d.limit
}

// newSlot makes a slot, and with the first one the second stream. The memory is allocated in the second stream, which
// need not wait for the kernels in the first.
func (d *device) newSlot(size int64) (*slot, error) {
	f := &d.feed
	if f.stream == 0 {
		err := d.enqueue(func() error {
			made, r := d.API.NewStream()
			if r == driver.Success {
				f.stream = made
			}
			return d.Err(r, "cuStreamCreateWithPriority")
		})
		if err != nil {
			return nil, err
		}
	}
	a, err := d.tryAlloc(size, "a batch that is copied ahead of time", f.stream)
	if err != nil {
		return nil, err
	}
	s := &slot{memory: a, bytes: size}
	err = d.enqueue(func() error {
		for _, e := range []*driver.Handle{&s.filled, &s.free} {
			made, r := d.API.NewEvent()
			if r != driver.Success {
				return d.Err(r, "cuEventCreate")
			}
			*e = made
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, d.dropSlot(s))
	}
	return s, nil
}

// dropSlot releases a slot; copies to it must be over.
func (d *device) dropSlot(s *slot) error {
	err := d.free(s.memory, s.bytes)
	return errors.Join(err, d.enqueue(func() error {
		var all []error
		for _, e := range []driver.Handle{s.filled, s.free} {
			if e != 0 {
				all = append(all, d.Err(d.API.DestroyEvent(e), "cuEventDestroy_v2"))
			}
		}
		return errors.Join(all...)
	}))
}

// starve releases all slots, and reports whether there were any.
func (d *device) starve() bool {
	d.feeding.Lock()
	defer d.feeding.Unlock()
	f := &d.feed
	if len(f.slots) == 0 {
		return false
	}
	_ = d.enqueue(func() error { return d.Err(d.API.SynchronizeStream(f.stream), "cuStreamSynchronize") })
	for _, s := range f.slots {
		_ = d.dropSlot(s)
	}
	f.slots = nil
	return true
}
