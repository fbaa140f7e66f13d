//go:build linux

package fakedriver

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
)

const noBinary = 209 // CUDA_ERROR_NO_BINARY_FOR_GPU

// LoadModule parses the text. It parses equal texts once.
func (f *Fake) LoadModule(text string) (driver.Handle, string, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuModuleLoadDataEx"); r != 0 {
		return 0, "", r
	}
	return f.load(text)
}

// load implements LoadModule; the lock is held.
func (f *Fake) load(text string) (driver.Handle, string, driver.Result) {
	m, ok := f.parsed[text]
	if !ok {
		var err error
		if m, err = ptxsim.Parse(text); err != nil {
			return 0, err.Error(), 218
		}
		if !m.RunsOn(f.options.Capability) {
			return 0, "the target of the module is another architecture", noBinary
		}
		f.parsed[text] = m
	}
	h := f.handle()
	f.modules[h] = m
	f.homes[h] = f.here()
	return h, "", 0
}

// binaryHead is the header of Assemble's binaries, which the text follows; only devices of the same capability load
// them.
func (f *Fake) binaryHead() string { return fmt.Sprintf("\x7fbinary for %d\n", f.options.Capability) }

// Assemble makes each of the driver's calls that link a text; each may fail.
func (f *Fake) Assemble(text string) ([]byte, string, driver.Result) {
	for _, call := range []string{"cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete"} {
		r := f.enter(call)
		f.mu.Unlock()
		if r != 0 {
			return nil, "", r
		}
	}
	if _, err := ptxsim.Parse(text); err != nil {
		return nil, err.Error(), 218
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return []byte(f.binaryHead() + text), "", 0
}

// LoadBinary rejects anything that Assemble did not make for a device of this capability.
func (f *Fake) LoadBinary(binary []byte) (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuModuleLoadDataEx"); r != 0 {
		return 0, r
	}
	text, ok := strings.CutPrefix(string(binary), f.binaryHead())
	if !ok {
		return 0, driver.NoBinary
	}
	h, _, r := f.load(text)
	return h, r
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

// mostShared is the maximum shared memory of a block, by compute capability.
func mostShared(capability int) int {
	switch {
	case capability < 80:
		return 64 << 10
	case capability == 80 || capability == 87:
		return 163 << 10
	case capability < 90 || capability >= 120:
		return 99 << 10
	}
	return 227 << 10
}

// AllowShared rejects more than the device has.
func (f *Fake) AllowShared(h driver.Handle, bytes int) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuFuncSetAttribute")
	if r == 0 && (f.kernels[h] == nil || f.kernels[h].Shared+bytes > mostShared(f.options.Capability)) {
		r = driver.InvalidValue
	}
	if r == 0 {
		f.allowed[h] = bytes
	}
	return r
}

func (f *Fake) Launch(h driver.Handle, c driver.Config, args []uint64) driver.Result {
	r := f.enter("cuLaunchKernel")
	k, shared := f.kernels[h], max(f.allowed[h], driver.DefaultShared)
	if s := f.streams[c.Stream]; r == 0 && s != nil && f.homes[h] != s.device {
		r = driver.InvalidContext
	}
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if k == nil || int(c.Shared) > shared || c.Block == 0 || c.Block > 1024 || c.Grid[0] == 0 || c.Grid[1] == 0 || c.Grid[2] == 0 {
		return driver.InvalidValue
	}
	if err := f.reaches(c.Stream, args); err != nil {
		return f.fails(err)
	}
	l := ptxsim.Launch{Grid: [3]int{int(c.Grid[0]), int(c.Grid[1]), int(c.Grid[2])}, Block: int(c.Block), Shared: int(c.Shared), Args: append([]uint64{}, args...), Memory: &f.Memory, Order: f.options.Order, Races: f.options.Races}
	return f.put(c.Stream, f.traced(c.Stream, k.Name, func() error {
		if f.options.Before != nil {
			f.options.Before(k.Name)
		}
		return k.Run(l)
	}))
}

// EncodeTensorMap checks its arguments as a driver does, and that the matrix lies within one allocation.
func (f *Fake) EncodeTensorMap(a driver.Address, t driver.Tiled) (driver.TensorMap, driver.Result) {
	if f.options.NoTensorMaps {
		return driver.TensorMap{}, driver.NotFound
	}
	if t == (driver.Tiled{}) { // the caller only asks whether the call is supported
		return driver.TensorMap{}, driver.InvalidValue
	}
	r := f.enter("cuTensorMapEncodeTiled")
	f.mu.Unlock()
	if r != 0 {
		return driver.TensorMap{}, r
	}
	end := 2 * (t.Lengths[0] - 1)
	for i := 1; i < t.Rank; i++ {
		end += (t.Lengths[i] - 1) * t.Strides[i-1]
	}
	if !t.Valid(a) || len(f.Memory.At(uint64(a))) < end+2 {
		return driver.TensorMap{}, driver.InvalidValue
	}
	m := ptxsim.TensorMap{Address: uint64(a), Rank: t.Rank, Lengths: t.Lengths, Strides: t.Strides, Box: t.Box}
	return driver.TensorMap(m.Words()), 0
}

// reaches checks that the device of a stream may access the memory that address arguments point to.
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

// fails records an error as a kernel's fault.
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
