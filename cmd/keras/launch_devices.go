package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// devicesVariable says which GPUs a process sees, by their numbers or names; the process itself numbers them from 0.
const devicesVariable = "CUDA_VISIBLE_DEVICES"

// shareDevices gives each worker its own GPUs, in order, from those that the launcher sees. Other processes of the job
// see none.
func (f *launchFlags) shareDevices() error {
	if f.devices == 0 {
		return nil
	}
	needed := f.devices * f.workers
	if text, set := os.LookupEnv(devicesVariable); set {
		for _, name := range strings.Split(text, ",") {
			if name = strings.TrimSpace(name); name != "" {
				f.cards = append(f.cards, name)
			}
		}
		if len(f.cards) < needed {
			return usagef("launch: --devices-per-worker %d: %d workers need %d GPUs, and %s names %d, %q", f.devices, f.workers, needed, devicesVariable, len(f.cards), text)
		}
		for i, name := range f.cards[:needed] {
			for _, other := range f.cards[:i] {
				if name == other {
					return usagef("launch: --devices-per-worker %d: %s names the GPU %s twice: %q", f.devices, devicesVariable, name, text)
				}
			}
		}
		return nil
	}
	if gpus != nil {
		all, err := gpus()
		if err != nil {
			return fmt.Errorf("launch: --devices-per-worker %d: %w", f.devices, err)
		}
		if len(all) < needed {
			return usagef("launch: --devices-per-worker %d: %d workers need %d GPUs, this machine has %d", f.devices, f.workers, needed, len(all))
		}
	}
	for i := range needed {
		f.cards = append(f.cards, strconv.Itoa(i))
	}
	return nil
}

// devicesOf returns the variable for a process; "" if GPUs are not divided.
func (f *launchFlags) devicesOf(task cluster.Task) string {
	switch {
	case f.devices == 0:
		return ""
	case task.Type != cluster.Worker:
		return devicesVariable + "="
	}
	return devicesVariable + "=" + strings.Join(f.cards[task.Index*f.devices:(task.Index+1)*f.devices], ",")
}
