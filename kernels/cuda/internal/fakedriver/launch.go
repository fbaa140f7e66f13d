//go:build linux

package fakedriver

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
)

// LoadModule parses the text; equal ones once.
func (f *Fake) LoadModule(text string) (driver.Handle, string, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuModuleLoadDataEx"); r != 0 {
		return 0, "", r
	}
	m, ok := f.parsed[text]
	if !ok {
		var err error
		if m, err = ptxsim.Parse(text); err != nil {
			return 0, err.Error(), 218
		}
		f.parsed[text] = m
	}
	h := f.handle()
	f.modules[h] = m
	f.homes[h] = f.here()
	return h, "", 0
}

func (f *Fake) UnloadModule(h driver.Handle) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuModuleUnload")
	delete(f.modules, h)
	return r
}

func (f *Fake) Function(h driver.Handle, name string) (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuModuleGetFunction"); r != 0 {
		return 0, r
	}
	m := f.modules[h]
	if m == nil || m.Kernels[name] == nil {
		return 0, driver.NotFound
	}
	k := f.handle()
	f.kernels[k] = m.Kernels[name]
	f.homes[k] = f.homes[h]
	return k, 0
}

func (f *Fake) Launch(h driver.Handle, c driver.Config, args []uint64) driver.Result {
	r := f.enter("cuLaunchKernel")
	k := f.kernels[h]
	if s := f.streams[c.Stream]; r == 0 && s != nil && f.homes[h] != s.device {
		r = driver.InvalidContext
	}
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if k == nil || c.Block == 0 || c.Block > 1024 || c.Grid[0] == 0 || c.Grid[1] == 0 || c.Grid[2] == 0 {
		return driver.InvalidValue
	}
	if err := f.reaches(c.Stream, args); err != nil {
		return f.fails(err)
	}
	l := ptxsim.Launch{Grid: [3]int{int(c.Grid[0]), int(c.Grid[1]), int(c.Grid[2])}, Block: int(c.Block), Args: append([]uint64{}, args...), Memory: &f.Memory, Order: f.options.Order, Races: f.options.Races}
	return f.put(c.Stream, f.traced(c.Stream, k.Name, func() error {
		if f.options.Before != nil {
			f.options.Before(k.Name)
		}
		return k.Run(l)
	}))
}

// reaches checks that the device of a stream may use what arguments that are addresses point to.
func (f *Fake) reaches(h driver.Handle, args []uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.streams[h]; s != nil {
		for _, a := range args {
			if err := f.reach(s.device, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// fails makes an error the fault of a kernel.
func (f *Fake) fails(err error) driver.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault == nil {
		f.fault = err
	}
	return driver.IllegalAddress
}

func (f *Fake) Describe(r driver.Result) (name, text string) {
	switch r {
	case driver.OutOfMemory:
		return "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"
	case driver.NoDevice:
		return "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"
	case driver.IllegalAddress:
		return "CUDA_ERROR_ILLEGAL_ADDRESS", fmt.Sprint(f.Fault())
	case 999:
		return "CUDA_ERROR_UNKNOWN", "a failure that a test asked for"
	}
	return fmt.Sprintf("CUDA_ERROR_%d", r), ""
}
