//go:build linux

package cuda

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// Copies from one device to another go without the host if one reaches the memory of the other. The copy is ordered
// with everything before and after it in both streams.

// crossing is what a device needs for copies from others.
type crossing struct {
	event driver.Handle    // recorded in the device's stream; 0: not made yet
	from  map[*device]bool // whose memory the device reaches
}

// reaches reports whether copies from another device need no host memory. The first one opens the memory.
func (d *device) reaches(from *device) (bool, error) {
	if d.name.Kind != from.name.Kind {
		return false, nil
	}
	for _, one := range []*device{d, from} {
		if err := one.makeCrossing(); err != nil {
			return false, err
		}
	}
	d.mu.Lock()
	known, asked := d.crossing.from[from]
	d.mu.Unlock()
	if asked {
		return known, nil
	}
	can, r := d.API.CanAccessPeer(d.Index, from.Index)
	err := d.Err(r, "cuDeviceCanAccessPeer")
	if err == nil && can {
		err = from.enqueue(func() error { return from.Err(d.API.AllowPeer(from.Index, d.Index), "cuMemPoolSetAccess") })
	}
	if err == nil {
		d.mu.Lock()
		d.crossing.from[from] = can
		d.mu.Unlock()
	}
	return can, err
}

func (d *device) makeCrossing() error {
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.crossing.event != 0 {
		return nil
	}
	e, r := d.API.NewEvent()
	if r == driver.Success {
		d.crossing = crossing{e, map[*device]bool{}}
	}
	return d.Err(r, "cuEventCreate")
}

// cross copies memory of another device. The other device's stream waits for the copy, so that later work there may
// overwrite the memory.
func (d *device) cross(to driver.Address, from *device, source driver.Address, bytes int64) error {
	d.await()
	from.await()
	first, second := d, from // as groups lock them
	if second.Index < first.Index {
		first, second = second, first
	}
	first.Order.Lock()
	defer first.Order.Unlock()
	second.Order.Lock()
	defer second.Order.Unlock()
	if err := from.inside(func() driver.Result { return from.API.RecordEvent(from.crossing.event, from.Stream) }, "cuEventRecord"); err != nil {
		return err
	}
	if err := d.inside(func() driver.Result { return d.API.WaitEvent(d.Stream, from.crossing.event) }, "cuStreamWaitEvent"); err != nil {
		return err
	}
	if err := d.inside(func() driver.Result { return d.API.CopyOnDevice(to, source, bytes, d.Stream) }, "cuMemcpyDtoDAsync_v2"); err != nil {
		return err
	}
	err := d.inside(func() driver.Result { return d.API.RecordEvent(d.crossing.event, d.Stream) }, "cuEventRecord")
	if err == nil {
		err = from.inside(func() driver.Result { return from.API.WaitEvent(from.Stream, d.crossing.event) }, "cuStreamWaitEvent")
	}
	if err != nil { // the other device does not wait for the copy, so the host does
		_ = d.inside(func() driver.Result { return d.API.SynchronizeStream(d.Stream) }, "cuStreamSynchronize")
	}
	return err
}

// inside makes a call in the device's context.
func (d *device) inside(f func() driver.Result, call string) error {
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	return d.Err(f(), call)
}
