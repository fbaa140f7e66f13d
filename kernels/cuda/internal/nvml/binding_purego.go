//go:build linux && !cgo

package nvml

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// Binding names the way in which the library is called.
const Binding = "purego"

type (
	result int32
	handle uintptr
)

// The library's results.
const (
	success         result = 0
	invalidArgument result = 2
	notSupported    result = 3
)

// pciInfo is nvmlPciInfo_t.
type pciInfo struct {
	_     [16]byte  // the address in an older form
	_     [5]uint32 // domain, bus, device, and the numbers of the product
	busID [32]byte
}

// memoryInfo is nvmlMemory_t.
type memoryInfo struct{ total, _, used uint64 }

type bound struct {
	library        uintptr
	start, stop    func() result
	describe       func(result) *byte
	driverVersion  func(*byte, uint32) result
	deviceCount    func(*uint32) result
	byIndex        func(uint32, *handle) result
	deviceUUID     func(handle, *byte, uint32) result
	pci            func(handle, *pciInfo) result
	memoryOf       func(handle, *memoryInfo) result
	commonAncestor func(handle, handle, *int32) result
	linkState      func(handle, uint32, *int32) result
	linkEnd        func(handle, uint32, *pciInfo) result
}

func load(path string) (binding, error) {
	l, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, err
	}
	b := &bound{library: l}
	var missing []error
	for name, to := range map[string]any{
		"nvmlInit_v2": &b.start, "nvmlShutdown": &b.stop, "nvmlErrorString": &b.describe, "nvmlSystemGetDriverVersion": &b.driverVersion,
		"nvmlDeviceGetCount_v2": &b.deviceCount, "nvmlDeviceGetHandleByIndex_v2": &b.byIndex, "nvmlDeviceGetUUID": &b.deviceUUID,
		"nvmlDeviceGetPciInfo_v3": &b.pci, "nvmlDeviceGetMemoryInfo": &b.memoryOf, "nvmlDeviceGetTopologyCommonAncestor": &b.commonAncestor,
		"nvmlDeviceGetNvLinkState": &b.linkState, "nvmlDeviceGetNvLinkRemotePciInfo_v2": &b.linkEnd,
	} {
		symbol, err := purego.Dlsym(l, name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		purego.RegisterFunc(to, symbol)
	}
	if err := errors.Join(missing...); err != nil {
		return nil, errors.Join(err, purego.Dlclose(l))
	}
	if err := b.failed("nvmlInit_v2", b.start()); err != nil {
		return nil, errors.Join(err, purego.Dlclose(l))
	}
	return b, nil
}

func (b *bound) failed(call string, r result) error {
	if r == success {
		return nil
	}
	return fmt.Errorf("nvml: %s: %s (%d)", call, unix.BytePtrToString(b.describe(r)), r)
}

func (b *bound) close() error {
	return errors.Join(b.failed("nvmlShutdown", b.stop()), purego.Dlclose(b.library))
}

// text calls a function that writes a text.
func (b *bound) text(call string, f func(to *byte, size uint32) result) (string, error) {
	var buffer [96]byte
	err := b.failed(call, f(&buffer[0], uint32(len(buffer)-1)))
	return unix.ByteSliceToString(buffer[:]), err
}

func (b *bound) driver() (string, error) {
	return b.text("nvmlSystemGetDriverVersion", b.driverVersion)
}

func (b *bound) count() (int, error) {
	var n uint32
	err := b.failed("nvmlDeviceGetCount_v2", b.deviceCount(&n))
	return int(n), err
}

func (b *bound) device(i int) (h handle, err error) {
	return h, b.failed("nvmlDeviceGetHandleByIndex_v2", b.byIndex(uint32(i), &h))
}

func (b *bound) uuid(i int) (string, error) {
	d, err := b.device(i)
	if err != nil {
		return "", err
	}
	return b.text("nvmlDeviceGetUUID", func(to *byte, size uint32) result { return b.deviceUUID(d, to, size) })
}

func (b *bound) bus(i int) (string, error) {
	d, err := b.device(i)
	if err != nil {
		return "", err
	}
	var p pciInfo
	err = b.failed("nvmlDeviceGetPciInfo_v3", b.pci(d, &p))
	return unix.ByteSliceToString(p.busID[:]), err
}

func (b *bound) memory(i int) (total, used uint64, err error) {
	d, err := b.device(i)
	if err != nil {
		return 0, 0, err
	}
	var m memoryInfo
	err = b.failed("nvmlDeviceGetMemoryInfo", b.memoryOf(d, &m))
	return m.total, m.used, err
}

func (b *bound) ancestor(i, j int) (Level, error) {
	x, err := b.device(i)
	if err != nil {
		return 0, err
	}
	y, err := b.device(j)
	if err != nil {
		return 0, err
	}
	var l int32
	err = b.failed("nvmlDeviceGetTopologyCommonAncestor", b.commonAncestor(x, y, &l))
	return Level(l), err
}

func (b *bound) nvlink(i, link int) (string, error) {
	d, err := b.device(i)
	if err != nil {
		return "", err
	}
	var state int32
	switch r := b.linkState(d, uint32(link), &state); {
	case r == notSupported || r == invalidArgument:
		return "", nil
	case r != success:
		return "", b.failed("nvmlDeviceGetNvLinkState", r)
	case state == 0:
		return "", nil
	}
	var p pciInfo
	err = b.failed("nvmlDeviceGetNvLinkRemotePciInfo_v2", b.linkEnd(d, uint32(link), &p))
	return unix.ByteSliceToString(p.busID[:]), err
}

// The sizes of the library's structs.
var (
	_ [68]byte = [unsafe.Sizeof(pciInfo{})]byte{}
	_ [24]byte = [unsafe.Sizeof(memoryInfo{})]byte{}
)
