//go:build linux

package fakedriver

import (
	"encoding/binary"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// shared is memory that other processes of this machine can open by a handle, which holds the process and the number of
// its file there.
type shared struct {
	block []byte
	file  int // -1 for another process's memory
}

// AllocShared allocates memory in an unnamed file, which exists as long as a process has it open.
func (f *Fake) AllocShared(bytes int64) (driver.Address, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuMemAlloc_v2"); r != 0 {
		return 0, r
	}
	file, err := unix.MemfdCreate("fakedriver", unix.MFD_CLOEXEC)
	if err != nil {
		return 0, driver.OutOfMemory
	}
	block, err := mapped(file, bytes)
	if err != nil {
		unix.Close(file)
		return 0, driver.OutOfMemory
	}
	return f.share(block, file), 0
}

func mapped(file int, bytes int64) ([]byte, error) {
	if err := unix.Ftruncate(file, bytes); err != nil {
		return nil, err
	}
	return unix.Mmap(file, 0, int(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
}

// share registers memory of the current device; the lock is held.
func (f *Fake) share(block []byte, file int) driver.Address {
	a := driver.Address(f.Memory.Map(block))
	f.owners[a] = f.here()
	f.shared[a] = shared{block, file}
	return a
}

// unshare frees memory; the lock is held.
func (f *Fake) unshare(a driver.Address, own bool) driver.Result {
	s, ok := f.shared[a]
	if !ok || own != (s.file >= 0) {
		return driver.InvalidValue
	}
	delete(f.shared, a)
	delete(f.owners, a)
	if err := f.Memory.Free(uint64(a)); err != nil {
		return driver.InvalidValue
	}
	if own {
		unix.Close(s.file)
	}
	unix.Munmap(s.block)
	return 0
}

func (f *Fake) FreeShared(a driver.Address) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuMemFree_v2")
	return max(r, f.unshare(a, true))
}

// SharedHandle encodes the process, the file and the driver that owns it.
func (f *Fake) SharedHandle(a driver.Address) (h driver.SharedMemory, r driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuIpcGetMemHandle"); r != 0 {
		return h, r
	}
	s, ok := f.shared[a]
	if !ok || s.file < 0 {
		return h, driver.InvalidValue
	}
	for i, x := range []uint64{uint64(os.Getpid()), uint64(s.file), uint64(len(s.block)), f.identity, uint64(f.here())} {
		binary.LittleEndian.PutUint64(h[8*i:], x)
	}
	return h, 0
}

// OpenShared rejects handles of the same driver, and of devices that the current one cannot access.
func (f *Fake) OpenShared(h driver.SharedMemory) (driver.Address, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuIpcOpenMemHandle_v2"); r != 0 {
		return 0, r
	}
	var x [5]uint64
	for i := range x {
		x[i] = binary.LittleEndian.Uint64(h[8*i:])
	}
	switch {
	case x[3] == f.identity:
		return 0, driver.InvalidContext
	case f.options.NoPeers != nil && f.options.NoPeers(f.here(), int(x[4])):
		return 0, 217 // CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
	}
	file, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/%d", x[0], x[1]), os.O_RDWR, 0)
	if err != nil {
		return 0, driver.InvalidValue
	}
	defer file.Close()
	block, err := mapped(int(file.Fd()), int64(x[2]))
	if err != nil {
		return 0, driver.InvalidValue
	}
	return f.share(block, -1), 0
}

func (f *Fake) CloseShared(a driver.Address) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuIpcCloseMemHandle")
	return max(r, f.unshare(a, false))
}
