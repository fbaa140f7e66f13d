//go:build linux

package cuda

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/libraries"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nvml"
)

// GPU describes a device of this machine.
type GPU struct {
	Device     kernels.Device
	Name       string
	Memory     int64  // bytes
	Capability string // "9.0"
	Processors int    // streaming multiprocessors
	Driver     string // the CUDA version that the driver is for, "12.4"
	Problem    string // why it cannot be used; "" if it can

	// From NVIDIA's management library; zero without it.
	Release string // of the driver, "550.54.15"
	UUID    string
	Bus     string // PCI address
	Used    int64  // bytes of the memory that all processes together have taken
}

// String is one line about the device.
func (g GPU) String() string {
	s := fmt.Sprintf("%v: %s, %.1f GiB, compute capability %s, %d multiprocessors, driver for CUDA %s", g.Device, g.Name, float64(g.Memory)/(1<<30), g.Capability, g.Processors, g.Driver)
	if g.UUID != "" {
		s += fmt.Sprintf(" (release %s), %.1f GiB taken, %s at %s", g.Release, float64(g.Used)/(1<<30), g.UUID, g.Bus)
	}
	if g.Problem != "" {
		s += "; cannot be used: " + g.Problem
	}
	return s
}

// GPUs describes the GPUs of this machine, without using them. The error says why there are none: no driver, too old a
// driver, or no permission.
func GPUs() ([]GPU, error) { return own.gpus() }

func (b *backend) gpus() ([]GPU, error) {
	if err := b.connect(); err != nil {
		return nil, err
	}
	all := make([]GPU, len(b.devices))
	machine, _ := b.survey() // the error does not matter here
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
		if at := machine.Find(nvml.BusOf(f.Domain, f.Bus, f.BusDevice)); at >= 0 {
			g := machine.GPUs[at]
			all[i].Release, all[i].UUID, all[i].Bus, all[i].Used = machine.Driver, g.UUID, g.Bus, int64(g.Used)
		}
	}
	return all, nil
}

// Libraries lists, one per line, which of NVIDIA's libraries this machine has besides the driver, their versions, and
// what they are used for. None is needed: this package has a kernel of its own for every operation. Versions that could
// not be used are listed as ignored.
func Libraries() []string { return own.libraries() }

func (b *backend) libraries() []string {
	version := 0
	if b.connect() == nil {
		version, _ = b.api.Version() // 0 is older than all libraries
	}
	lines := []string{}
	for _, found := range libraries.Find(version) {
		lines = append(lines, found.String())
	}
	if n, err := b.ncclVersion(); err != nil {
		lines = append(lines, "no NCCL: "+err.Error())
	} else {
		lines = append(lines, "NCCL "+n+": used between replicas where it is asked for, or measured to be faster")
	}
	return lines
}
