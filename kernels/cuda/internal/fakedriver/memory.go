//go:build linux

package fakedriver

import (
	"fmt"
	"maps"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

func (f *Fake) MemoryInfo() (free, total int64, r driver.Result) {
	defer f.mu.Unlock()
	r = f.enter("cuMemGetInfo_v2")
	return f.options.Memory - f.held - f.idle(), f.options.Memory, r
}

func (f *Fake) Alloc(bytes int64, _ driver.Handle) (driver.Address, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuMemAllocAsync"); r != 0 {
		return 0, r
	}
	switch {
	case f.kept[bytes] > 0:
		f.kept[bytes]--
	case f.held+f.idle()+bytes > f.options.Memory:
		return 0, driver.OutOfMemory
	}
	a := driver.Address(f.Memory.Alloc(int(bytes)))
	f.owners[a] = f.here()
	f.sizes[a] = bytes
	f.held += bytes
	return a, 0
}

func (f *Fake) Free(a driver.Address, s driver.Handle) driver.Result {
	r := f.enter("cuMemFreeAsync")
	bytes, ok := f.sizes[a]
	delete(f.sizes, a)
	f.held -= bytes
	f.kept[bytes]++
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if !ok {
		return driver.InvalidValue
	}
	return f.put(s, func() error {
		f.mu.Lock()
		delete(f.owners, a)
		f.mu.Unlock()
		return f.Memory.Free(uint64(a))
	})
}

// idle returns the bytes that were freed and are kept for reuse; the lock is held.
func (f *Fake) idle() int64 {
	var sum int64
	for bytes, n := range f.kept {
		sum += bytes * int64(n)
	}
	return sum
}

// Trim drops freed memory that was kept.
func (f *Fake) Trim(int) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuMemPoolTrimTo")
	if r == 0 {
		clear(f.kept)
	}
	return r
}

func (f *Fake) HostAlloc(bytes int) ([]byte, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuMemHostAlloc"); r != 0 {
		return nil, r
	}
	memory := make([]byte, bytes)
	f.host[unsafe.SliceData(memory)] = true
	return memory, 0
}

func (f *Fake) HostFree(memory []byte) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuMemFreeHost")
	if !f.host[unsafe.SliceData(memory)] {
		return driver.InvalidValue
	}
	delete(f.host, unsafe.SliceData(memory))
	return r
}

func (f *Fake) CopyToDevice(to driver.Address, from []byte, s driver.Handle) driver.Result {
	r := f.enter("cuMemcpyHtoDAsync_v2")
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if err := f.reaches(s, []uint64{uint64(to)}); err != nil {
		return f.fails(err)
	}
	return f.put(s, f.traced(s, CopyToDevice, func() error { return f.move(f.Memory.At(uint64(to)), from, len(from)) }))
}

func (f *Fake) CopyToHost(to []byte, from driver.Address, s driver.Handle) driver.Result {
	r := f.enter("cuMemcpyDtoHAsync_v2")
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	return f.put(s, func() error {
		f.downloads.Lock()
		f.downloads.sizes[len(to)]++
		f.downloads.Unlock()
		return f.move(to, f.Memory.At(uint64(from)), len(to))
	})
}

// Downloads returns the number of copies from devices to host memory, by size in bytes, including those of graphs.
func (f *Fake) Downloads() map[int]int {
	f.downloads.Lock()
	defer f.downloads.Unlock()
	return maps.Clone(f.downloads.sizes)
}

func (f *Fake) CopyOnDevice(to, from driver.Address, bytes int64, s driver.Handle) driver.Result {
	r := f.enter("cuMemcpyDtoDAsync_v2")
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if err := f.reaches(s, []uint64{uint64(to), uint64(from)}); err != nil {
		return f.fails(err)
	}
	return f.put(s, func() error { return f.move(f.Memory.At(uint64(to)), f.Memory.At(uint64(from)), int(bytes)) })
}

func (f *Fake) move(to, from []byte, n int) error {
	if len(to) < n || len(from) < n {
		return fmt.Errorf("fakedriver: a copy of %d bytes between memory of %d and %d", n, len(from), len(to))
	}
	copy(to[:n], from[:n])
	return nil
}

func (f *Fake) Fill(to driver.Address, value byte, bytes int64, s driver.Handle) driver.Result {
	r := f.enter("cuMemsetD8Async")
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	return f.put(s, func() error {
		memory := f.Memory.At(uint64(to))
		if int64(len(memory)) < bytes {
			return fmt.Errorf("fakedriver: %d bytes are filled of %d", bytes, len(memory))
		}
		for i := range memory[:bytes] {
			memory[i] = value
		}
		return nil
	})
}
