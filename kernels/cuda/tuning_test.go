//go:build linux

package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// measured is a backend that measures everything, a way whose name contains fast as the fastest, and notes what it
// measured.
func measured(t *testing.T, folder string, o fakedriver.Options, fast string) (*backend, *fakedriver.Fake, *[]string) {
	b, f := keeping(t, folder, o)
	ways := &[]string{}
	b.tuning = newTuning()
	b.tuning.least, b.tuning.left = 1, time.Hour
	b.tuning.measure = func(way string, run func(times int) error) (time.Duration, error) {
		*ways = append(*ways, way)
		took := 2 * time.Millisecond
		if strings.Contains(way, fast) {
			took = time.Millisecond
		}
		return took, run(2)
	}
	return b, f, ways
}

// taken compiles a product, and returns the number of threads in a block of its kernel and its shared memory, by which
// ways differ.
func taken(t *testing.T, b *backend, o kernels.CompileOptions) [2]int {
	o.Device.Kind = Kind
	e, err := b.Compile(product(t, ir.BFloat16, 128, 256, 64, false, true, true), o)
	require.NoError(t, err)
	defer e.Close()
	s := e.(*executable).plan.Steps[0]
	return [2]int{s.Block, s.Shared}
}

// The fastest of several kernels is found once, remembered for other processes, and taken from then on. What cannot be
// read, and what names no way, is measured again.
func TestTuning(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kernels")
	b, _, ways := measured(t, folder, fakedriver.Options{}, "64x128")
	one := kernels.CompileOptions{}
	fast := taken(t, b, one)
	n := len(*ways)
	require.Greater(t, n, 2)
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(*ways))), n)
	assert.Equal(t, fast, taken(t, b, one))
	assert.Len(t, *ways, n, "it is known now")
	usual, _, _ := measured(t, folder, fakedriver.Options{}, "")
	usual.tuning = nil
	assert.NotEqual(t, fast, taken(t, usual, one), "another one than the usual")

	again, _, none := measured(t, folder, fakedriver.Options{}, "never")
	assert.Equal(t, fast, taken(t, again, one), "another process")
	assert.Empty(t, *none)
	other, _, some := measured(t, folder, fakedriver.Options{Version: 13000}, "64x128")
	taken(t, other, one)
	assert.Len(t, *some, n, "another driver")

	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	for _, file := range files {
		require.NoError(t, os.WriteFile(file, []byte("nonsense"), 0o600))
	}
	hostile, _, some := measured(t, folder, fakedriver.Options{}, "64x128")
	assert.Equal(t, fast, taken(t, hostile, one))
	assert.Len(t, *some, n)
	require.NotEmpty(t, hostile.tuning.best)
	for key := range hostile.tuning.best {
		require.NoError(t, hostile.devices[0].kept.Put(key, []byte("no such way")))
	}
	unknown, _, some := measured(t, folder, fakedriver.Options{}, "64x128")
	assert.Equal(t, fast, taken(t, unknown, one))
	assert.Len(t, *some, n)
}

// Nothing is measured where nothing can be remembered, where the time is up, where it is switched off, for small
// products, and for replicas: they all take the usual kernel.
func TestNothingMeasured(t *testing.T) {
	plain, _ := keeping(t, t.TempDir(), fakedriver.Options{Devices: 2})
	want := taken(t, plain, kernels.CompileOptions{})
	for name, change := range map[string]func(b *backend, o *kernels.CompileOptions){
		"time":     func(b *backend, _ *kernels.CompileOptions) { b.tuning.left = 0 },
		"small":    func(b *backend, _ *kernels.CompileOptions) { b.tuning.least = 1 << 32 },
		"replicas": func(_ *backend, o *kernels.CompileOptions) { o.Replicas = 2 },
		"off":      func(*backend, *kernels.CompileOptions) { t.Setenv(tuningVariable, "off") },
		"folder":   func(b *backend, _ *kernels.CompileOptions) { b.kept = newBackend(Kind, nil).kept },
	} {
		t.Run(name, func(t *testing.T) {
			b, _, ways := measured(t, t.TempDir(), fakedriver.Options{Devices: 2}, "64x128")
			o := kernels.CompileOptions{}
			change(b, &o)
			assert.Equal(t, want, taken(t, b, o))
			assert.Empty(t, *ways)
			require.NoError(t, os.Unsetenv(tuningVariable))
		})
	}
}

// A kernel that makes other bits than the plainest one is not taken, however fast it is.
func TestWrongKernelsAreNotTaken(t *testing.T) {
	b, _, ways := measured(t, t.TempDir(), fakedriver.Options{}, "64x128")
	compared := 0
	b.tuning.equal = func(way string, got, want []byte) bool {
		compared++
		assert.Equal(t, want, got, "sums of whole numbers are exact in all of them")
		assert.False(t, slices.Max(got) == 0, "and not all zeros")
		return !strings.Contains(way, "64x128")
	}
	wrong := taken(t, b, kernels.CompileOptions{})
	assert.Positive(t, compared)
	assert.NotEmpty(t, *ways)
	right, _, _ := measured(t, t.TempDir(), fakedriver.Options{}, "64x128")
	assert.NotEqual(t, taken(t, right, kernels.CompileOptions{}), wrong)
}

// Every call that fails while it is measured leaves the usual kernel, and nothing behind.
func TestMeasuringFails(t *testing.T) {
	plain, _ := keeping(t, t.TempDir(), fakedriver.Options{})
	want := taken(t, plain, kernels.CompileOptions{})
	failed := 0
	for _, call := range []string{"cuMemAllocAsync", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel", "cuMemcpyDtoHAsync_v2", "cuFuncSetAttribute", "cuModuleGetFunction"} {
		for at := 1; at <= 3; at++ {
			folder := t.TempDir()
			b, f, _ := measured(t, folder, fakedriver.Options{}, "64x128")
			require.NoError(t, b.Open(kernels.Device{Kind: Kind}))
			f.Fail(call, at)
			got := taken(t, b, kernels.CompileOptions{})
			if f.Pending() {
				f.Fail("", 0)
				continue
			}
			failed++
			if got == want {
				again, _, ways := measured(t, folder, fakedriver.Options{}, "64x128")
				assert.Equal(t, got, taken(t, again, kernels.CompileOptions{}))
				assert.Empty(t, *ways, "the next run takes it too")
			}
		}
	}
	assert.GreaterOrEqual(t, failed, 12)
}
