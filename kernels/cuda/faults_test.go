//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// countdown is a program that takes a vector from a variable, with an arena.
func countdown(t testing.TB) *ir.Program {
	p := ir.New("countdown")
	float := ir.Type{DType: ir.Float32, Shape: ir.Shape{5}}
	w, g := p.AddInput("w", float), p.AddInput("g", float)
	d, err := p.Add("layer", ir.Sub, nil, w, g)
	require.NoError(t, err)
	p.AddAlias("w", d[0], 0)
	return p
}

// scenario does everything once: buffers, copies, a launch, a captured one and replays, reading back.
func scenario(t testing.TB, b *backend) error {
	d := kernels.Device{Kind: Kind}
	if err := b.Open(d); err != nil {
		return err
	}
	var in []kernels.Buffer
	defer func() {
		for _, x := range in {
			x.Free()
		}
	}()
	for range 2 {
		x, err := b.NewBuffer(d, ir.Type{DType: ir.Float32, Shape: ir.Shape{5}})
		if err != nil {
			return err
		}
		in = append(in, x)
		if err := x.Write(ir.AppendElement(make([]byte, 16), ir.Float32, 1)); err != nil {
			return err
		}
	}
	e, err := b.Compile(countdown(t), kernels.CompileOptions{Device: d})
	if err != nil {
		return err
	}
	defer e.Close()
	s, err := e.NewSession(kernels.SessionOptions{Device: d})
	if err != nil {
		return err
	}
	defer s.Close()
	q, err := b.NewQueue(d)
	if err != nil {
		return err
	}
	defer q.Close()
	for range 5 {
		if err := s.Launch(t.Context(), kernels.Launch{Queue: q, Inputs: in, Outputs: []kernels.Buffer{nil}}).Wait(t.Context()); err != nil {
			return err
		}
	}
	if err := q.Wait(t.Context()); err != nil {
		return err
	}
	data := make([]byte, 20)
	if err := in[0].Read(data); err != nil {
		return err
	}
	if x := ir.Element(data, ir.Float32, 4); x != -4 {
		return fmt.Errorf("the last number is %v, expected -4", x)
	}
	return in[1].CopyFrom(in[0]).Wait(t.Context())
}

// Every call fails once, at each place: the error names it, nothing hangs, and the next one works.
func TestEveryCallFails(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{})
	b := newBackend(Kind, func() (driver.API, error) { return f, nil })
	require.NoError(t, scenario(t, b))
	calls := f.Calls()
	require.NoError(t, b.close())
	require.Empty(t, f.Alive())
	var names []string
	for name := range calls {
		names = append(names, name)
	}
	slices.Sort(names)
	// These are made on the way out, where nobody is told, or to find out whether memory is idle, or there is another
	// way.
	silent := []string{"cuLinkCreate_v2", "cuLinkAddData_v2", "cuLinkComplete", "cuStreamQuery", "cuStreamDestroy_v2", "cuDevicePrimaryCtxRelease_v2", "cuMemFreeAsync", "cuMemFreeHost", "cuEventDestroy_v2", "cuModuleUnload", "cuGraphExecDestroy", "cuEventQuery", "cuCtxSetCurrent", "cuStreamSynchronize", "cuMemPoolTrimTo"}
	for _, name := range names {
		for n := 1; n <= calls[name]; n++ {
			f := fakedriver.New(fakedriver.Options{})
			b := newBackend(Kind, func() (driver.API, error) { return f, nil })
			f.Fail(name, n)
			err := scenario(t, b)
			if !slices.Contains(silent, name) {
				require.ErrorContains(t, err, name, "call %d", n)
				var e *driver.Error
				require.True(t, errors.As(err, &e), "%v", err)
			}
			f.Fail("", 0) // where it did not come to that: how often events are asked varies
			if name == "cuInit" || name == "cuDriverGetVersion" || name == "cuDeviceGetCount" {
				continue // the driver stays unusable
			}
			require.NoError(t, scenario(t, b), "after %s failed", name)
			if !slices.Contains(silent, name) && name != "cuGraphDestroy" {
				require.NoError(t, b.close())
				require.Empty(t, f.Alive(), "after call %d of %s failed", n, name)
			}
		}
	}
}

// What users meet: no GPU, no permission, an old driver, an old GPU, an index out of range, too little memory.
func TestBadMachines(t *testing.T) {
	for name, c := range map[string]struct {
		options fakedriver.Options
		index   int
		want    string
	}{
		"no GPU":        {fakedriver.Options{Refuse: driver.NoDevice}, 0, "finds no GPU"},
		"no permission": {fakedriver.Options{Refuse: driver.NoPermission}, 0, "/dev/nvidia"},
		"old driver":    {fakedriver.Options{Version: 10020}, 0, "CUDA 10.2, which is too old; install one for CUDA 11.4"},
		"old GPU":       {fakedriver.Options{Capability: 61}, 0, "compute capability 6.1; 7.5 or later"},
		"no pools":      {fakedriver.Options{NoPools: true}, 0, "has no pools of memory"},
		"index":         {fakedriver.Options{Devices: 2}, 2, "has 2 of them"},
	} {
		t.Run(name, func(t *testing.T) {
			f := fakedriver.New(c.options)
			b := newBackend(Kind, func() (driver.API, error) { return f, nil })
			assert.ErrorContains(t, b.Open(kernels.Device{Kind: Kind, Index: c.index}), c.want)
		})
	}
	t.Run("memory", func(t *testing.T) {
		b := on(t, fakedriver.New(fakedriver.Options{Memory: 1000}))
		none, err := b.NewBuffer(kernels.Device{Kind: Kind}, ir.Type{DType: ir.Float32, Shape: ir.Shape{300}})
		require.ErrorContains(t, err, "needs 1200 bytes")
		require.True(t, none == nil, "no buffer comes with an error")
		var e *OutOfMemoryError
		require.ErrorAs(t, err, &e)
		assert.Equal(t, int64(1200), e.Asked)
		small, err := b.NewBuffer(kernels.Device{Kind: Kind}, ir.Type{DType: ir.Float32, Shape: ir.Shape{200}})
		require.NoError(t, err)
		small.Free()
	})
	t.Run("layer", func(t *testing.T) {
		b := on(t, fakedriver.New(fakedriver.Options{Memory: 1 << 20}))
		p := ir.New("step")
		typ := ir.Type{DType: ir.Float32, Shape: ir.Shape{64, 64}}
		v := p.AddInput("x", typ)
		for i, width := range []int{64, 8192, 64} {
			out, err := p.Add(fmt.Sprint("model/dense_", i), ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, v,
				p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{p.Type(v).Shape[1], width}}))
			require.NoError(t, err)
			v = out[0]
		}
		p.AddOutput("y", v)
		_, err := kernels.Load(b, p, kernels.Device{Kind: Kind})
		require.ErrorContains(t, err, `program "step", of which layer model/dense_2 needs the most, needs`) // its wide operand, and parts of sums
		p = ir.New("small")                                                                                 // the process lives on, and another program works
		out, err := p.Add("layer", ir.Neg, nil, p.AddInput("x", typ))
		require.NoError(t, err)
		p.AddOutput("y", out[0])
		e, err := kernels.Load(b, p, kernels.Device{Kind: Kind})
		require.NoError(t, err)
		e.Close()
	})
	t.Run("limit", func(t *testing.T) {
		t.Setenv("GOKERAS_CUDA_MEMORY", "100")
		b := on(t, fakedriver.New(fakedriver.Options{}))
		_, err := b.NewBuffer(kernels.Device{Kind: Kind}, ir.Type{DType: ir.Float32, Shape: ir.Shape{26}})
		require.ErrorContains(t, err, "needs 104 bytes")
	})
}
