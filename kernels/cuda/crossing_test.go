//go:build linux

package cuda

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// copies sends values from device to device in a ring of three, and overwrites what was copied at once.
func copies(t *testing.T, b *backend) error {
	const n, rounds = 1000, 6
	var ring []kernels.Buffer
	defer func() {
		for _, one := range ring {
			one.Free()
		}
	}()
	for i := range 3 {
		one, err := b.NewBuffer(kernels.Device{Kind: Kind, Index: i}, ir.Type{DType: ir.Uint8, Shape: ir.Shape{n}})
		if err != nil {
			return err
		}
		ring = append(ring, one)
	}
	got := make([]byte, n)
	for round := range byte(rounds) {
		errs := []error{ring[0].Write(bytes.Repeat([]byte{round}, n))}
		for i := range 3 {
			errs = append(errs, ring[(i+1)%3].CopyFrom(ring[i]).Wait(t.Context()))
			errs = append(errs, ring[i].Write(bytes.Repeat([]byte{100 + byte(i)}, n)))
		}
		errs = append(errs, ring[1].Read(got)) // overwritten
		if err := errors.Join(errs...); err != nil {
			return err
		}
		require.Equal(t, bytes.Repeat([]byte{101}, n), got)
		errs = []error{ring[1].Write(bytes.Repeat([]byte{round}, n)), ring[2].CopyFrom(ring[1]).Wait(t.Context()), ring[1].Write(got), ring[2].Read(got)}
		if err := errors.Join(errs...); err != nil {
			return err
		}
		require.Equal(t, bytes.Repeat([]byte{round}, n), got)
	}
	return nil
}

// Copies between devices are in order with what both do, and pass through the host only where the devices do not reach
// each other's memory. Each call fails once in each place.
func TestCopiesBetweenDevices(t *testing.T) {
	for name, apart := range map[string]func(a, b int) bool{"peers": nil, "apart": func(_, _ int) bool { return true }, "some": func(a, b int) bool { return a+b == 1 }} {
		t.Run(name, func(t *testing.T) {
			f := fakedriver.New(fakedriver.Options{Devices: 3, NoPeers: apart})
			b := on(t, f)
			require.NoError(t, copies(t, b))
			require.NoError(t, f.Fault())
			calls := f.Calls()
			require.Equal(t, name == "apart", calls["cuMemcpyDtoDAsync_v2"] == 0)
			require.Equal(t, name == "peers", calls["cuMemcpyDtoHAsync_v2"] == 12, "reads of the test alone")
			for _, call := range []string{"cuEventRecord", "cuStreamWaitEvent", "cuMemcpyDtoDAsync_v2", "cuMemPoolSetAccess", "cuDeviceCanAccessPeer"} {
				for k := 1; k <= min(calls[call], 9); k++ {
					f := fakedriver.New(fakedriver.Options{Devices: 3, NoPeers: apart})
					b := on(t, f)
					f.Fail(call, k)
					require.Error(t, copies(t, b), "call %d of %s failed", k, call)
					require.NoError(t, copies(t, b), "after call %d of %s failed", k, call)
					require.NoError(t, f.Fault())
				}
			}
		})
	}
}
