//go:build linux

package driver_test

import (
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// library builds the libcuda.so.1 in testdata, which checks its arguments, and opens it.
func library(t *testing.T) driver.API {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to build the driver of testdata")
	}
	folder := t.TempDir()
	out, err := exec.Command(compiler, "-shared", "-fPIC", "-o", filepath.Join(folder, "libcuda.so.1"), "testdata/libcuda.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Setenv("GOKERAS_CUDA_PATH", folder)
	api, err := driver.Open()
	require.NoError(t, err)
	return api
}

// ok requires a call to succeed and returns its result.
func ok[T any](t *testing.T) func(v T, r driver.Result) T {
	return func(v T, r driver.Result) T {
		t.Helper()
		require.Equal(t, driver.Success, r)
		return v
	}
}

// Every call reaches the library with its arguments in the right places.
func TestBinding(t *testing.T) {
	api := library(t)
	count, err := driver.Count(api)
	require.NoError(t, err)
	assert.Equal(t, 2, count)
	facts, err := driver.Describe(api, 1)
	require.NoError(t, err)
	assert.Equal(t, driver.Facts{Name: "Second", Memory: 5000000000, Capability: 86, Processors: 108, Driver: 12040}, facts)
	_, err = driver.Describe(api, 2)
	assert.ErrorContains(t, err, "cuDeviceGetName")

	d, err := driver.NewDevice(api, 1)
	require.NoError(t, err)
	require.NoError(t, d.Enter())
	free, total, r := api.MemoryInfo()
	assert.Equal(t, []any{int64(3000000000), int64(5000000000), driver.Success}, []any{free, total, r})
	a := ok[driver.Address](t)(api.Alloc(64, d.Stream))
	b := ok[driver.Address](t)(api.Alloc(64, d.Stream))
	shared := ok[driver.Address](t)(api.AllocShared(96))
	handle := ok[driver.SharedMemory](t)(api.SharedHandle(shared))
	assert.Equal(t, shared, ok[driver.Address](t)(api.OpenShared(handle)), "64 bytes by value")
	require.Equal(t, driver.Success, api.CloseShared(shared))
	require.Equal(t, driver.Success, api.FreeShared(shared))
	host := ok[[]byte](t)(api.HostAlloc(64))
	copy(host, "a message of some bytes")
	success := func(r driver.Result) {
		t.Helper()
		require.Equal(t, driver.Success, r)
	}
	success(api.CopyToDevice(a, host, d.Stream))
	success(api.CopyOnDevice(b, a, 64, d.Stream))
	success(api.Fill(a, 7, 3, d.Stream))
	clear(host)
	success(api.CopyToHost(host, b, d.Stream))
	assert.Equal(t, "a message", string(host[:9]))

	event := ok[driver.Handle](t)(api.NewEvent())
	success(api.RecordEvent(event, d.Stream))
	success(api.SynchronizeEvent(event))
	assert.Equal(t, driver.NotReady, api.QueryEvent(event))
	success(api.WaitEvent(d.Stream, event))
	success(api.DestroyEvent(event))
	assert.True(t, ok[bool](t)(api.CanAccessPeer(0, 1)))
	assert.False(t, ok[bool](t)(api.CanAccessPeer(1, 0)))
	success(api.AllowPeer(0, 1))
	assert.NotEqual(t, driver.Success, api.AllowPeer(0, 2))

	module, _, r := api.LoadModule("good")
	success(r)
	function := ok[driver.Handle](t)(api.Function(module, "kernel_0"))
	assert.Equal(t, driver.Success, api.AllowShared(function, 227<<10))
	assert.Equal(t, driver.InvalidValue, api.AllowShared(function, 228<<10))
	_, r = api.Function(module, "kernel_1")
	assert.Equal(t, driver.NotFound, r)
	success(api.Launch(function, driver.Config{Grid: [3]uint32{3, 4, 5}, Block: 96, Shared: 8, Stream: d.Stream}, []uint64{uint64(a), 1 << 40, 12}))
	success(api.SynchronizeStream(d.Stream))
	success(api.CopyToHost(host[:56], a, d.Stream))
	for i, want := range []uint64{3, 4, 5, 96, 8, 1 << 40, 12} {
		assert.Equal(t, want, binary.LittleEndian.Uint64(host[8*i:]), "word %d", i)
	}
	_, log, r := api.LoadModule("bad")
	assert.Equal(t, "line 1: nonsense", log)
	assert.EqualError(t, driver.Check(api, r, "cuModuleLoadDataEx", "%s", log), "cuda: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX (218): a PTX JIT compilation failed; line 1: nonsense")
	success(api.UnloadModule(module))

	binary, log, r := api.Assemble("good")
	success(r)
	assert.Equal(t, "\177binary of good\x00", string(binary), "a copy of what the library gave")
	assert.Empty(t, log)
	module, r = api.LoadBinary(binary)
	success(r)
	success(api.UnloadModule(module))
	_, log, r = api.Assemble("bad")
	assert.Equal(t, driver.Result(218), r)
	assert.Equal(t, "line 1: nonsense", log)
	_, r = api.LoadBinary(nil)
	assert.Equal(t, driver.InvalidValue, r)
	assert.Equal(t, driver.NotReady, api.QueryStream(d.Stream))

	success(api.BeginCapture(d.Stream))
	graph := ok[driver.Handle](t)(api.EndCapture(d.Stream))
	executable := ok[driver.Handle](t)(api.Instantiate(graph))
	success(api.LaunchGraph(executable, d.Stream))
	success(api.DestroyGraph(graph))
	success(api.DestroyExecutable(executable))

	success(api.HostFree(host))
	success(api.Free(a, d.Stream))
	success(api.Free(b, d.Stream))
	success(api.Trim(1))
	d.Leave()
	require.NoError(t, d.Close())
}

// Descriptions of tensor maps reach the library, and the encoded maps reach kernels, after the other arguments.
func TestTensorMaps(t *testing.T) {
	api := library(t)
	d, err := driver.NewDevice(api, 1)
	require.NoError(t, err)
	require.NoError(t, d.Enter())
	defer func() { d.Leave(); require.NoError(t, d.Close()) }()
	a := ok[driver.Address](t)(api.Alloc(512, d.Stream))
	matrix := driver.Tiled{Rank: 2, Lengths: [3]int{100, 70}, Strides: [2]int{208}, Box: [3]int{64, 128}}
	batch := driver.Tiled{BFloat16: true, Rank: 3, Lengths: [3]int{64, 9, 5}, Strides: [2]int{128, 1152}, Box: [3]int{64, 256, 1}}
	one := ok[driver.TensorMap](t)(api.EncodeTensorMap(a, matrix))
	other := ok[driver.TensorMap](t)(api.EncodeTensorMap(a+16, batch))
	assert.Equal(t, []uint64{uint64(a), 6, 2, 100, 70, 0, 208, 0, 64, 128, 0}, one[:11])
	assert.Equal(t, []uint64{uint64(a) + 16, 9, 3, 64, 9, 5, 128, 1152, 64, 256, 1}, other[:11])
	for _, wrong := range []func(t *driver.Tiled){
		func(t *driver.Tiled) { t.Rank = 1 }, func(t *driver.Tiled) { t.Lengths[1] = 0 }, func(t *driver.Tiled) { t.Strides[0] = 200 },
		func(t *driver.Tiled) { t.Strides[0] = 1 << 40 }, func(t *driver.Tiled) { t.Box[1] = 257 }, func(t *driver.Tiled) { t.Box[0] = 32 },
	} {
		m := matrix
		wrong(&m)
		_, r := api.EncodeTensorMap(a, m)
		assert.Equal(t, driver.InvalidValue, r, "%+v", m)
	}
	_, r := api.EncodeTensorMap(a+8, matrix)
	assert.Equal(t, driver.InvalidValue, r, "an address between chunks")

	module, _, r := api.LoadModule("good")
	require.Equal(t, driver.Success, r)
	function := ok[driver.Handle](t)(api.Function(module, "kernel_0"))
	args := append(append([]uint64{uint64(a)}, one[:]...), other[:]...)
	require.Equal(t, driver.Success, api.Launch(function, driver.Config{Grid: [3]uint32{1, 1, 1}, Block: 32, Shared: 128, Maps: 2, Stream: d.Stream}, args))
	host := ok[[]byte](t)(api.HostAlloc(256))
	require.Equal(t, driver.Success, api.CopyToHost(host, a, d.Stream))
	for i, want := range args[1:] {
		assert.Equal(t, want, binary.LittleEndian.Uint64(host[8*i:]), "word %d", i)
	}
	require.Equal(t, driver.Success, api.HostFree(host))
	require.Equal(t, driver.Success, api.Free(a, d.Stream))
}

func TestNoDriver(t *testing.T) {
	t.Setenv("GOKERAS_CUDA_PATH", t.TempDir())
	if _, err := driver.Open(); err != nil {
		assert.ErrorContains(t, err, "driver is not installed")
	}
}
