package kernels

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Device names one place that can hold buffers and run programs.
type Device struct {
	Kind  string // "cpu", "gpu", "tpu"
	Index int
}

// ErrNotComing is wrapped by errors of communicators that have waited in vain for replicas of other processes: no
// connection is lost, but no data arrives.
var ErrNotComing = errors.New("replicas of another process do not come")

// ErrDeviceLost is wrapped by errors of calls on a device that no longer works, such as a GPU that fell off the bus.
// Other devices still work.
var ErrDeviceLost = errors.New("the device is lost")

// String returns the usual spelling, "cpu:0".
func (d Device) String() string { return d.Kind + ":" + strconv.Itoa(d.Index) }

// ParseDevice reads "cpu:0", "CPU:0", "/cpu:0", "/device:CPU:0" and "cpu" (index 0). An alias of a backend, such as
// "gpu" for package cuda, gives the kind that it stands for.
func ParseDevice(name string) (Device, error) {
	s := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(name), "/"), "device:")
	kind, index, found := strings.Cut(s, ":")
	n := 0
	if found {
		var err error
		if n, err = strconv.Atoi(index); err != nil || n < 0 {
			return Device{}, fmt.Errorf("kernels: device %q: the index after the colon must be a number from 0, as in \"cpu:0\"", name)
		}
	}
	if kind == "" || strings.ContainsAny(kind, "/:") {
		return Device{}, fmt.Errorf("kernels: device %q: expected a form like \"cpu:0\" or \"gpu:1\"", name)
	}
	return Device{canonical(kind), n}, nil
}
