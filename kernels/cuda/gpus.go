//go:build linux

package cuda

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// GPU describes a device of this machine.
type GPU struct {
	Device     kernels.Device
	Name       string
	Memory     int64  // bytes
	Capability string // "9.0"
	Processors int    // streaming multiprocessors
	Driver     string // the CUDA version that the driver is for, "12.4"
	Problem    string // why it cannot be used; "" where it can
}

// String is one line about the device.
func (g GPU) String() string {
	s := fmt.Sprintf("%v: %s, %.1f GiB, compute capability %s, %d multiprocessors, driver for CUDA %s", g.Device, g.Name, float64(g.Memory)/(1<<30), g.Capability, g.Processors, g.Driver)
	if g.Problem != "" {
		s += "; cannot be used: " + g.Problem
	}
	return s
}

// GPUs describes the GPUs of this machine, without using them. The error says why there are none: no driver, too old a one, no permission.
func GPUs() ([]GPU, error) { return own.gpus() }

func (b *backend) gpus() ([]GPU, error) {
	if err := b.connect(); err != nil {
		return nil, err
	}
	all := make([]GPU, len(b.devices))
	for i := range all {
		f, err := driver.Describe(b.api, i)
		if err != nil {
			return nil, err
		}
		all[i] = GPU{
			Device: kernels.Device{Kind: b.kind, Index: i}, Name: f.Name, Memory: f.Memory, Capability: fmt.Sprintf("%d.%d", f.Capability/10, f.Capability%10),
			Processors: f.Processors, Driver: driver.Version(f.Driver),
		}
		if f.Capability < driver.MinimumCapability {
			all[i].Problem = fmt.Sprintf("compute capability %d.%d or later is needed", driver.MinimumCapability/10, driver.MinimumCapability%10)
		}
	}
	return all, nil
}
