//go:build linux

package cuda

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// doubled is a driver whose first GPU counts as several, so that replicas can meet on a machine with one. They share
// its context, in which one reaches the memory of the other; apart says that they shall not, and meet through the host.
type doubled struct {
	driver.API
	count int
	apart bool
}

func (d doubled) DeviceCount() (int, driver.Result) {
	_, r := d.API.DeviceCount()
	return d.count, r
}

func (d doubled) DeviceName(int) (string, driver.Result)           { return d.API.DeviceName(0) }
func (d doubled) DeviceMemory(int) (int64, driver.Result)          { return d.API.DeviceMemory(0) }
func (d doubled) RetainContext(int) (driver.Handle, driver.Result) { return d.API.RetainContext(0) }
func (d doubled) ReleaseContext(int) driver.Result                 { return d.API.ReleaseContext(0) }
func (d doubled) Trim(int) driver.Result                           { return d.API.Trim(0) }
func (d doubled) AllowPeer(int, int) driver.Result                 { return driver.Success }

func (d doubled) DeviceAttribute(attribute, _ int) (int, driver.Result) {
	return d.API.DeviceAttribute(attribute, 0)
}

func (d doubled) CanAccessPeer(int, int) (bool, driver.Result) { return !d.apart, driver.Success }

// doubling runs the suite of up to so many replicas on one device.
func doubling(t *testing.T, count int, apart bool, open func() (driver.API, error)) {
	b := newBackend(Kind, func() (driver.API, error) {
		api, err := open()
		return doubled{api, count, apart}, err
	})
	kernelstest.RunReplicas(t, b, kernels.Device{Kind: Kind})
}

func TestReplicasOnOneDevice(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{})
	doubling(t, 4, false, func() (driver.API, error) { return f, nil })
	require.NoError(t, f.Fault())
}

// Replicas of one process meet on one GPU: in one go, in shares, and through host memory.
func TestHardwareReplicasOnOneDevice(t *testing.T) {
	hardware(t)
	usual := twoShotBytes
	defer func() { twoShotBytes = usual }()
	for _, apart := range []bool{false, true} {
		for _, large := range []int{usual, 1} {
			twoShotBytes = large
			doubling(t, 4, apart, own.open)
		}
	}
}
