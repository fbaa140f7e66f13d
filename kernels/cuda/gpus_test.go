//go:build linux

package cuda

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
)

func ExampleGPU() {
	fmt.Println(GPU{Device: kernels.Device{Kind: Kind}, Name: "NVIDIA H200", Memory: 139 << 30, Capability: "9.0", Processors: 132, Driver: "12.4"})
	// Output: cuda:0: NVIDIA H200, 139.0 GiB, compute capability 9.0, 132 multiprocessors, driver for CUDA 12.4
}

func TestGPUs(t *testing.T) {
	all, err := on(t, fakedriver.New(fakedriver.Options{Devices: 2})).gpus()
	require.NoError(t, err)
	require.Len(t, all, 2)
	assert.Equal(t, "cuda:1: Fake GPU, 1.0 GiB, compute capability 9.0, 132 multiprocessors, driver for CUDA 12.4", all[1].String())
	all, err = on(t, fakedriver.New(fakedriver.Options{Capability: 61})).gpus()
	require.NoError(t, err)
	assert.Contains(t, all[0].String(), "cannot be used: compute capability 7.5")
}

// A GPU has the names that people write.
func TestSpellings(t *testing.T) {
	for _, name := range []string{"cuda:0", "gpu:0", "/gpu:0", "GPU:0", "/device:GPU:0", "gpu"} {
		d, err := kernels.ParseDevice(name)
		require.NoError(t, err)
		assert.Equal(t, kernels.Device{Kind: Kind}, d, name)
	}
}

func ExampleOutOfMemoryError() {
	fmt.Println(&OutOfMemoryError{Device: kernels.Device{Kind: Kind}, What: `the memory for intermediate values of program "step"`, Asked: 3 << 30, Used: 1 << 30, Limit: 2 << 30, Free: 5 << 30})
	// Output: cuda: out of memory on cuda:0: the memory for intermediate values of program "step" needs 3221225472 bytes, 1073741824 of 2147483648 are in use and the device has 5368709120 free; a smaller batch or model, or mixed precision, needs less
}
