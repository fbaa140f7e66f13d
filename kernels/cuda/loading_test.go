//go:build linux

package cuda

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/kept"
	"github.com/gokeras/gokeras/kernels/ir"
)

// keeping is a backend on a fake driver that keeps compiled kernels in a folder.
func keeping(t *testing.T, folder string, o fakedriver.Options) (*backend, *fakedriver.Fake) {
	f := fakedriver.New(o)
	b := on(t, f)
	b.kept = func() *kept.Folder { return kept.At(folder, kept.Limit) }
	return b, f
}

// started makes everything once and returns how often the driver compiled.
func started(t *testing.T, folder string, o fakedriver.Options) int {
	b, f := keeping(t, folder, o)
	require.NoError(t, scenario(t, b))
	return f.Calls()["cuLinkComplete"]
}

// What the driver has compiled is used at the next start, by the same kind of device with the same driver alone. Files
// that are not what was written are compiled again.
func TestKeptKernels(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "kernels")
	n := started(t, folder, fakedriver.Options{})
	require.Positive(t, n)
	assert.Zero(t, started(t, folder, fakedriver.Options{}), "the second start")
	assert.Equal(t, n, started(t, folder, fakedriver.Options{Version: 13000}), "another driver")
	assert.Equal(t, n, started(t, folder, fakedriver.Options{Capability: 89}), "another device")
	assert.Zero(t, started(t, folder, fakedriver.Options{Capability: 89}))
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Len(t, files, 3*n)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, data[:len(data)-1], 0o600))
	}
	assert.Equal(t, n, started(t, folder, fakedriver.Options{}), "files that were cut")
	assert.Zero(t, started(t, folder, fakedriver.Options{}))

	b, _ := keeping(t, folder, fakedriver.Options{}) // whole, with the right checksum, and nothing that the driver knows
	require.NoError(t, b.Open(kernels.Device{Kind: Kind}))
	d := b.devices[0]
	plan, err := b.Compile(countdown(t), kernels.CompileOptions{Device: d.name})
	require.NoError(t, err)
	defer plan.Close()
	_, texts, err := d.load("p", plan.(*executable).plan.Text)
	require.NoError(t, err)
	for _, text := range texts {
		require.NoError(t, d.kept.Put(d.key(text), []byte("not a kernel")))
	}
	d.unload(texts)
	assert.Equal(t, n, started(t, folder, fakedriver.Options{}))
	assert.Zero(t, started(t, folder, fakedriver.Options{}), "they were replaced")
}

// A folder that nothing can be written to, or a driver that does not hand out what it compiles, changes nothing.
func TestNothingKept(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	assert.Positive(t, started(t, filepath.Join(file, "folder"), fakedriver.Options{}))
	for _, call := range []string{"cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete"} {
		folder := t.TempDir()
		b, f := keeping(t, folder, fakedriver.Options{})
		f.Fail(call, 1)
		require.NoError(t, scenario(t, b), call)
		files, err := filepath.Glob(filepath.Join(folder, "*"))
		require.NoError(t, err)
		assert.Empty(t, files)
	}
}

// A text that does not compile is an error with the driver's words, and so is a kernel that is not there.
func TestLoadingFails(t *testing.T) {
	b, f := keeping(t, t.TempDir(), fakedriver.Options{})
	require.NoError(t, b.Open(kernels.Device{Kind: Kind}))
	d := b.devices[0]
	_, _, err := d.load("p", ".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry k()\n{\n\tnonsense;\n\tret;\n}\n")
	var e *driver.Error
	require.ErrorAs(t, err, &e)
	assert.Equal(t, "cuModuleLoadDataEx", e.Call)
	assert.Contains(t, e.Detail, `program "p" on cuda:0: `)
	assert.Contains(t, e.Detail, "nonsense")
	f.Fail("cuModuleGetFunction", 1)
	require.ErrorContains(t, scenario(t, b), "cuModuleGetFunction")
	require.NoError(t, scenario(t, b))
	assert.Empty(t, d.kernels, "all were given back")
}

// Programs share kernels, from many goroutines; the last one gives them back.
func TestSharedKernels(t *testing.T) {
	b, f := keeping(t, t.TempDir(), fakedriver.Options{})
	device := kernels.Device{Kind: Kind}
	load := func(op ir.Op) kernels.Executable {
		p := ir.New("p")
		x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{7}})
		y, err := p.Add("layer", op, nil, x)
		assert.NoError(t, err)
		p.AddOutput("y", y[0])
		e, err := b.Compile(p, kernels.CompileOptions{Device: device})
		assert.NoError(t, err)
		s, err := e.NewSession(kernels.SessionOptions{Device: device})
		assert.NoError(t, err)
		s.Close()
		return e
	}
	var all sync.WaitGroup
	loaded := make([]kernels.Executable, 12)
	for i := range loaded {
		all.Go(func() { loaded[i] = load([]ir.Op{ir.Neg, ir.Exp, ir.Relu}[i%3]) })
	}
	all.Wait()
	assert.Equal(t, 3, f.Calls()["cuLinkComplete"])
	assert.Equal(t, 3, f.Calls()["cuModuleLoadDataEx"])
	for i, e := range loaded {
		assert.Len(t, b.devices[0].kernels, 3-max(0, i-len(loaded)+3), "before program %d is closed", i)
		e.Close()
	}
	assert.Empty(t, b.devices[0].kernels)
	assert.Equal(t, 3, f.Calls()["cuModuleUnload"])
}
