//go:build linux

package pjrt_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// Mistakes of installation are errors that say what to do, at once.
func TestNoPlugin(t *testing.T) {
	t.Setenv("TPU_LIBRARY_PATH", filepath.Join(t.TempDir(), "none.so"))
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("CONDA_PREFIX", "")
	_, err := distribute.NewOneDeviceStrategy("tpu:0")
	require.ErrorContains(t, err, "libtpu")

	noLibrary := filepath.Join(t.TempDir(), "plugin.so")
	require.NoError(t, os.WriteFile(noLibrary, []byte("not a library"), 0o600))
	require.ErrorContains(t, pjrt.New("xla", noLibrary).Open(kernels.Device{Kind: "xla"}), "cannot be loaded")
	require.ErrorContains(t, pjrt.New("xla", noLibrary).Open(kernels.Device{Kind: "tpu"}), `whose devices are called "xla"`)
}

func TestDevices(t *testing.T) {
	b := pjrt.New("xla", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(2)})
	require.Len(t, b.Devices(), 2)
	require.ErrorContains(t, b.Open(kernels.Device{Kind: "xla", Index: 2}), "has 2 of them")
	info, err := b.Info()
	require.NoError(t, err)
	require.Equal(t, "cpu", info.Platform)
	require.NotEmpty(t, info.StableHLO)
	_, err = b.NewCommunicators(context.Background(), kernels.CommunicatorOptions{Devices: []kernels.Device{{Kind: "xla"}, {Kind: "xla"}}})
	require.ErrorContains(t, err, "named twice")
	bad := pjrt.New("xla", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: 2})
	require.ErrorContains(t, bad.Open(kernels.Device{Kind: "xla"}), "received int; expected a string, int64")
}
