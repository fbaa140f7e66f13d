//go:build linux

package pjrt_test

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// fakePlugin is testdata/plugin.c: a plugin that counts what is alive and fails one call.
type fakePlugin struct {
	path  string
	reset func(entry, call, version, beyond int64)
	alive func(what int64) int64
	calls func(entry int64) int64
	// host says whether the host can reach the devices' memory.
	host func(yes int64)
	// forgive takes one object out of a count.
	forgive func(what int64)
}

// fake builds the plugin, or skips the test.
func fake(t *testing.T) *fakePlugin {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to build the fake plugin with")
	}
	f := &fakePlugin{path: filepath.Join(t.TempDir(), "plugin.so")}
	out, err := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-o", f.path, "testdata/plugin.c", "-lpthread").CombinedOutput()
	require.NoError(t, err, "%s", out)
	library, err := purego.Dlopen(f.path, purego.RTLD_NOW)
	require.NoError(t, err)
	purego.RegisterLibFunc(&f.reset, library, "fake_reset")
	purego.RegisterLibFunc(&f.alive, library, "fake_alive")
	purego.RegisterLibFunc(&f.calls, library, "fake_calls")
	purego.RegisterLibFunc(&f.host, library, "fake_host")
	purego.RegisterLibFunc(&f.forgive, library, "fake_forgive")
	return f
}

// leaks lists what is alive in the plugin, after the collector had time to run finalizers. One object of the kind
// refused is what the plugin would not destroy, and forgiven.
func (f *fakePlugin) leaks(refused string) map[string]int64 {
	var found map[string]int64
	for range 200 {
		found = map[string]int64{}
		for i, what := range []string{"errors", "events", "clients", "executables", "buffers"} {
			if n := f.alive(int64(i)); n != 0 {
				found[what] = n
			}
		}
		if len(found) == 1 && found[refused] == 1 {
			f.forget(refused)
			continue
		}
		if len(found) == 0 {
			break
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	return found
}

// tour goes through all that a program does with devices, and gives everything back whatever fails.
func tour(ctx context.Context, path string) error {
	b := pjrt.New("fake", path)
	err := tourOf(ctx, b)
	return errors.Join(err, b.Close())
}

func tourOf(ctx context.Context, b *pjrt.Backend) error {
	devices := []kernels.Device{{Kind: "fake"}, {Kind: "fake", Index: 1}}
	four := ir.Type{DType: ir.Float32, Shape: ir.Shape{4}}
	var buffers []kernels.Buffer
	for _, d := range devices {
		if err := b.Open(d); err != nil {
			return err
		}
		x, err := b.NewBuffer(d, four)
		if err != nil {
			return err
		}
		defer x.Free()
		if err := x.Write(make([]byte, 16)); err != nil {
			return err
		}
		buffers = append(buffers, x)
	}
	if _, err := b.Info(); err != nil {
		return err
	}
	if _, err := b.Cores(); err != nil {
		return err
	}
	if err := offloaded(ctx, b, devices[0], four); err != nil {
		return err
	}
	if err := buffers[1].CopyFrom(buffers[0]).Wait(ctx); err != nil {
		return err
	}
	if err := staged(buffers[0]); err != nil {
		return err
	}
	if err := single(ctx, b, devices[0], buffers[0]); err != nil {
		return err
	}
	if err := together(ctx, b, devices, buffers); err != nil {
		return err
	}
	data := make([]byte, 16)
	return errors.Join(buffers[0].Read(data), buffers[1].Download(data).Wait(ctx))
}

// offloaded launches a program on a buffer in the host's memory, where the plugin has one.
func offloaded(ctx context.Context, b *pjrt.Backend, d kernels.Device, t ir.Type) error {
	memories, err := b.Memories(d)
	if err != nil || len(memories) == 0 {
		return err
	}
	x, err := b.NewBufferIn(d, t, "pinned_host")
	if err != nil {
		return err
	}
	defer x.Free()
	if err := x.Write(make([]byte, t.Bytes())); err != nil {
		return err
	}
	if err := single(ctx, b, d, x); err != nil {
		return err
	}
	return x.Read(make([]byte, t.Bytes()))
}

// staged writes a buffer from memory that the plugin reads in place, as often as there is some.
func staged(x kernels.Buffer) error {
	for range 3 {
		s := x.(kernels.Stager).Stage()
		if s == nil {
			return x.Write(make([]byte, x.Type().Bytes()))
		}
		if err := x.(kernels.Stager).WriteStaged(s); err != nil {
			return err
		}
	}
	return nil
}

// single launches a program on one device, and one more after it.
func single(ctx context.Context, b *pjrt.Backend, d kernels.Device, x kernels.Buffer) error {
	p := ir.New("double")
	in := p.AddInput("x", x.Type())
	p.AddAlias("y", must(p.Add("add", ir.Add, nil, in, in))[0], 0)
	e, err := b.Compile(p, kernels.CompileOptions{Device: d})
	if err != nil {
		return err
	}
	defer e.Close()
	s, err := e.NewSession(kernels.SessionOptions{Device: d})
	if err != nil {
		return err
	}
	defer s.Close()
	e.Stats()
	q, err := b.NewQueue(d)
	if err != nil {
		return err
	}
	defer q.Close()
	for range 2 {
		if err := s.Launch(ctx, kernels.Launch{Queue: q, Inputs: []kernels.Buffer{x}, Outputs: []kernels.Buffer{nil}}).Wait(ctx); err != nil {
			return err
		}
	}
	s.Launch(ctx, kernels.Launch{Queue: q, Inputs: []kernels.Buffer{x}, Outputs: []kernels.Buffer{nil}})
	return q.Wait(ctx)
}

// together launches a program with a sum on both devices.
func together(ctx context.Context, b *pjrt.Backend, devices []kernels.Device, buffers []kernels.Buffer) error {
	p := ir.New("sum")
	in := p.AddInput("x", buffers[0].Type())
	p.AddAlias("y", must(p.Add("sum", ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2}, in))[0], 0)
	ends, err := b.NewCommunicators(ctx, kernels.CommunicatorOptions{Devices: devices})
	if err != nil {
		return err
	}
	e, err := b.Compile(p, kernels.CompileOptions{Device: devices[0], Replicas: 2})
	if err != nil {
		return err
	}
	defer e.Close()
	events := make([]kernels.Event, 2)
	for i, d := range devices {
		defer ends[i].Close()
		s, err := e.NewSession(kernels.SessionOptions{Device: d, Replica: i})
		if err != nil {
			return err
		}
		defer s.Close()
		events[i] = s.Launch(ctx, kernels.Launch{Inputs: buffers[i : i+1], Outputs: []kernels.Buffer{nil}, Communicator: ends[i]})
	}
	return errors.Join(events[0].Wait(ctx), events[1].Wait(ctx))
}

func must(v []ir.Value, err error) []ir.Value {
	if err != nil {
		panic(err)
	}
	return v
}

// entries are the offsets of the functions that tour calls, with what they destroy: what a failed call of those leaves
// behind is the plugin's.
var entries = map[int64]string{
	64: "", 72: "", 80: "events", 88: "", 104: "", 120: "", 128: "clients", 136: "", 152: "", 168: "", 200: "", 216: "", 224: "", 232: "", 240: "", 248: "", 256: "", 272: "",
	296: "", 304: "", 320: "", 328: "", 336: "", 352: "", 776: "",
	360: "executables", 392: "", 440: "executables", 448: "", 480: "", 504: "buffers", 592: "", 600: "", 608: "", 616: "", 624: "", 808: "",
}

// Each call of each function of the plugin fails once. That is an error, or hidden where only statistics are asked;
// nothing hangs, and nothing is left.
func TestEveryCallFailsOnce(t *testing.T) {
	f := fake(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	total := 0
	for entry, object := range entries {
		f.host(0)
		if entry == 616 || entry == 624 { // how memory is read that the host can reach, in place of 600
			f.host(1)
		}
		f.reset(-1, 0, 115, 0)
		require.NoError(t, tour(ctx, f.path))
		n := f.calls(entry) // without those of finalizers
		require.NotZero(t, n, "the function at %d is not called", entry)
		require.Empty(t, f.leaks(""))
		for call := int64(1); call <= n; call++ {
			f.reset(entry, call, 115, 0)
			err := tour(ctx, f.path)
			require.NoError(t, ctx.Err(), "call %d of the function at %d hangs", call, entry)
			hidden := entry == 72 || entry == 88 || entry == 608 || entry == 808 // attributes and statistics are optional, copies work without knowing
			if !hidden && object == "" {
				require.ErrorContains(t, err, "injected", "call %d of the function at %d", call, entry)
			}
			f.reset(-1, 0, 115, 0)
			require.Empty(t, f.leaks(object), "after call %d of the function at %d", call, entry)
			total++
		}
	}
	t.Logf("%d failures", total)
	require.Greater(t, total, 60)
}

// forget takes an object that the plugin refused to destroy out of the count.
func (f *fakePlugin) forget(what string) {
	f.forgive(map[string]int64{"errors": 0, "events": 1, "clients": 2, "executables": 3, "buffers": 4}[what])
}

// Older and newer plugins: the interface that is too old is refused, and one that knows longer arguments is content.
func TestPluginVersions(t *testing.T) {
	f := fake(t)
	defer f.reset(-1, 0, 115, 0)
	for _, version := range []int64{57, 81, 115, 400} {
		f.reset(-1, 0, version, 0)
		require.NoError(t, tour(t.Context(), f.path), "0.%d", version)
	}
	f.reset(-1, 0, 400, 64)
	require.NoError(t, tour(t.Context(), f.path), "a plugin whose arguments have grown by 64 bytes")
	f.reset(-1, 0, 56, 0)
	require.ErrorContains(t, tour(t.Context(), f.path), "has version 0.56 of the plugin interface; expected 0.57 or later")
	f.reset(-1, 0, 1003, 0)
	require.ErrorContains(t, tour(t.Context(), f.path), "has version 1.3 of the plugin interface")
	f.reset(-1, 0, 115, 4096)
	require.ErrorContains(t, tour(t.Context(), f.path), "too short")
	f.reset(-1, 0, 115, 0)
	require.Empty(t, f.leaks(""))
}
