package driver

import (
	"fmt"
	"runtime"
	"sync"
)

// MinimumVersion is the oldest supported version of the driver, in its own encoding: 11.4, which has memory pools and
// cuGraphInstantiateWithFlags.
const MinimumVersion = 11040

// MinimumCapability is the oldest supported architecture, as major·10+minor: Turing.
const MinimumCapability = 75

// Facts describe a device.
type Facts struct {
	Name       string
	Memory     int64 // bytes
	Capability int   // major·10+minor
	Processors int
	Driver     int // CUDA version, 12040 for 12.4

	Domain, Bus, BusDevice int // PCI address
}

// Device is one GPU with its primary context and one stream.
type Device struct {
	API     API
	Index   int
	Facts   Facts
	context Handle
	Stream  Handle
	// Order is held while work is put into the stream, so that a capture holds nothing of others.
	Order sync.Mutex
}

// Fatal lists the results after which a device, or this process's context on it, is unusable: it fell off the bus, its
// memory has errors, or a kernel has failed.
var Fatal = []Result{DeviceUnavailable, 214, 220, IllegalAddress, 710, 714, 715, 716, 717, 718, LaunchFailed, 999}

// Check converts a result to an error.
func Check(api API, r Result, call, format string, args ...any) error {
	if r == Success {
		return nil
	}
	name, text := api.Describe(r)
	e := &Error{Call: call, Result: r, Name: name, Text: text}
	if format != "" {
		e.Detail = fmt.Sprintf(format, args...)
	}
	return e
}

// Count initializes the driver and returns the number of devices.
func Count(api API) (int, error) {
	switch r := api.Init(); r {
	case Success:
	case NoDevice:
		return 0, fmt.Errorf("cuda: the driver finds no GPU on this machine (%w)", Check(api, r, "cuInit", ""))
	case NoPermission, 304:
		return 0, fmt.Errorf("cuda: this process may not use the GPUs; give it access to /dev/nvidia* (%w)", Check(api, r, "cuInit", ""))
	default:
		return 0, Check(api, r, "cuInit", "")
	}
	version, r := api.Version()
	if err := Check(api, r, "cuDriverGetVersion", ""); err != nil {
		return 0, err
	}
	if version < MinimumVersion {
		return 0, fmt.Errorf("cuda: the driver is for CUDA %s, which is too old; install one for CUDA %s or later", Version(version), Version(MinimumVersion))
	}
	n, r := api.DeviceCount()
	return n, Check(api, r, "cuDeviceGetCount", "")
}

// Version formats a version: "12.4".
func Version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Describe returns the facts about a device, without a context.
func Describe(api API, index int) (Facts, error) {
	var f Facts
	var r Result
	if f.Name, r = api.DeviceName(index); r != Success {
		return f, Check(api, r, "cuDeviceGetName", "device %d", index)
	}
	if f.Memory, r = api.DeviceMemory(index); r != Success {
		return f, Check(api, r, "cuDeviceTotalMem_v2", "device %d", index)
	}
	var major, minor int
	for _, a := range []struct {
		attribute int
		to        *int
	}{
		{AttributeMajor, &major}, {AttributeMinor, &minor}, {AttributeProcessors, &f.Processors},
		{AttributeDomain, &f.Domain}, {AttributeBus, &f.Bus}, {AttributeBusDevice, &f.BusDevice},
	} {
		if *a.to, r = api.DeviceAttribute(a.attribute, index); r != Success {
			return f, Check(api, r, "cuDeviceGetAttribute", "attribute %d of device %d", a.attribute, index)
		}
	}
	f.Capability = major*10 + minor
	f.Driver, r = api.Version()
	return f, Check(api, r, "cuDriverGetVersion", "")
}

// Capability returns the compute capability of a device, as major·10+minor.
func Capability(api API, index int) (int, error) {
	major, r := api.DeviceAttribute(AttributeMajor, index)
	if r == Success {
		var minor int
		if minor, r = api.DeviceAttribute(AttributeMinor, index); r == Success {
			return major*10 + minor, nil
		}
	}
	return 0, Check(api, r, "cuDeviceGetAttribute", "the compute capability of device %d", index)
}

// NewDevice opens a device.
func NewDevice(api API, index int) (*Device, error) {
	facts, err := Describe(api, index)
	if err != nil {
		return nil, err
	}
	if facts.Capability < MinimumCapability {
		return nil, fmt.Errorf("cuda: device %d (%s) has compute capability %d.%d; %d.%d or later is needed", index, facts.Name, facts.Capability/10, facts.Capability%10, MinimumCapability/10, MinimumCapability%10)
	}
	pools, r := api.DeviceAttribute(AttributeMemoryPools, index)
	switch {
	case r != Success:
		return nil, Check(api, r, "cuDeviceGetAttribute", "whether device %d has pools of memory", index)
	case pools == 0: // a shared or virtual GPU, for example
		return nil, fmt.Errorf("cuda: device %d (%s) has no pools of memory (cuMemAllocAsync), which are needed; its driver or the virtual machine's settings do not allow them", index, facts.Name)
	}
	d := &Device{API: api, Index: index, Facts: facts}
	if d.context, r = api.RetainContext(index); r != Success {
		return nil, Check(api, r, "cuDevicePrimaryCtxRetain", "device %d", index)
	}
	if err = d.Enter(); err == nil {
		defer d.Leave()
		d.Stream, r = api.NewStream()
		err = Check(api, r, "cuStreamCreateWithPriority", "device %d", index)
	}
	if err != nil {
		api.ReleaseContext(index)
		return nil, err
	}
	return d, nil
}

// Close releases the device; its memory is lost.
func (d *Device) Close() error {
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	r := d.API.DestroyStream(d.Stream)
	err := Check(d.API, r, "cuStreamDestroy_v2", "")
	if r := d.API.ReleaseContext(d.Index); err == nil {
		err = Check(d.API, r, "cuDevicePrimaryCtxRelease_v2", "")
	}
	return err
}

// Enter makes the device's context current on this thread, and locks the goroutine to the thread until Leave.
func (d *Device) Enter() error {
	runtime.LockOSThread()
	if r := d.API.SetContext(d.context); r != Success {
		runtime.UnlockOSThread()
		return Check(d.API, r, "cuCtxSetCurrent", "device %d", d.Index)
	}
	return nil
}

// Leave undoes Enter.
func (d *Device) Leave() { runtime.UnlockOSThread() }

// Err converts the result of a call on the device to an error.
func (d *Device) Err(r Result, call string) error {
	if r == Success {
		return nil
	}
	return Check(d.API, r, call, "device %d", d.Index)
}
