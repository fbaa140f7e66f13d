//go:build linux && cgo

package nvml

import (
	"fmt"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// Binding names the way in which the library is called.
const Binding = "go-nvml"

type bound struct{ library nvml.Interface }

func load(path string) (binding, error) {
	l := nvml.New(nvml.WithLibraryPath(path))
	return bound{l}, failed("nvmlInit_v2", l.Init())
}

func failed(call string, r nvml.Return) error {
	if r == nvml.SUCCESS {
		return nil
	}
	return fmt.Errorf("nvml: %s: %v (%d)", call, r, r)
}

func (b bound) close() error { return failed("nvmlShutdown", b.library.Shutdown()) }

func (b bound) driver() (string, error) {
	s, r := b.library.SystemGetDriverVersion()
	return s, failed("nvmlSystemGetDriverVersion", r)
}

func (b bound) count() (int, error) {
	n, r := b.library.DeviceGetCount()
	return n, failed("nvmlDeviceGetCount_v2", r)
}

func (b bound) device(i int) (nvml.Device, error) {
	d, r := b.library.DeviceGetHandleByIndex(i)
	return d, failed("nvmlDeviceGetHandleByIndex_v2", r)
}

func (b bound) uuid(i int) (string, error) {
	d, err := b.device(i)
	if err != nil {
		return "", err
	}
	s, r := d.GetUUID()
	return s, failed("nvmlDeviceGetUUID", r)
}

func (b bound) bus(i int) (string, error) {
	d, err := b.device(i)
	if err != nil {
		return "", err
	}
	p, r := d.GetPciInfo()
	return text(p.BusId[:]), failed("nvmlDeviceGetPciInfo_v3", r)
}

func text(chars []int8) string {
	var s []byte
	for _, c := range chars {
		if c == 0 {
			break
		}
		s = append(s, byte(c))
	}
	return string(s)
}

func (b bound) memory(i int) (total, used uint64, err error) {
	d, err := b.device(i)
	if err != nil {
		return 0, 0, err
	}
	m, r := d.GetMemoryInfo()
	return m.Total, m.Used, failed("nvmlDeviceGetMemoryInfo", r)
}

func (b bound) ancestor(i, j int) (Level, error) {
	x, err := b.device(i)
	if err != nil {
		return 0, err
	}
	y, err := b.device(j)
	if err != nil {
		return 0, err
	}
	l, r := b.library.DeviceGetTopologyCommonAncestor(x, y)
	return Level(l), failed("nvmlDeviceGetTopologyCommonAncestor", r)
}

func (b bound) nvlink(i, link int) (string, error) {
	d, err := b.device(i)
	if err != nil {
		return "", err
	}
	switch state, r := d.GetNvLinkState(link); {
	case r == nvml.ERROR_NOT_SUPPORTED || r == nvml.ERROR_INVALID_ARGUMENT:
		return "", nil
	case r != nvml.SUCCESS:
		return "", failed("nvmlDeviceGetNvLinkState", r)
	case state != nvml.FEATURE_ENABLED:
		return "", nil
	}
	p, r := d.GetNvLinkRemotePciInfo(link)
	return text(p.BusId[:]), failed("nvmlDeviceGetNvLinkRemotePciInfo_v2", r)
}
