package kernelstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Run runs the suite on one device of a backend. GOKERAS_TEST_SHARD divides the suite among processes: with "2/8", this
// process runs part 2 of 8, counted from 0.
func Run(t *testing.T, backend kernels.Backend, device kernels.Device) {
	require.NoError(t, backend.Open(device))
	part, parts := shard(t)
	r := runner{backend, device, part, parts}
	t.Run("op", func(t *testing.T) {
		for i, c := range Selected() {
			if r.mine(i) {
				t.Run(c.Name, func(t *testing.T) { r.check(t, c) })
			}
		}
	})
	t.Run("decomposed", r.decomposed)
	t.Run("random", r.random)
	for i, c := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"alias", r.aliases}, {"bad input", r.badInput}, {"replicas", r.replicas},
		{"two at once", r.concurrent}, {"order", r.order}, {"queue", r.queue},
	} {
		if r.mine(i) {
			t.Run(c.name, c.run)
		}
	}
}

// shard reads which part of the suite this process runs.
func shard(t *testing.T) (part, parts int) {
	text := os.Getenv("GOKERAS_TEST_SHARD")
	if text == "" {
		return 0, 1
	}
	_, err := fmt.Sscanf(text, "%d/%d", &part, &parts)
	require.True(t, err == nil && part >= 0 && part < parts, "GOKERAS_TEST_SHARD is %q; expected a number and how many there are, as in 2/8", text)
	return part, parts
}

// RunReplicas runs the part of the suite that tests several replicas.
func RunReplicas(t *testing.T, backend kernels.Backend, device kernels.Device) {
	require.NoError(t, backend.Open(device))
	runner{backend: backend, device: device}.replicas(t)
}

type runner struct {
	backend kernels.Backend
	device  kernels.Device

	part, parts int // of the suite, that this process runs; see [Run]
}

// mine reports whether this process runs case number i.
func (r runner) mine(i int) bool { return r.parts == 0 || i%r.parts == r.part }

// runContext bounds every run, so that a lost replica fails a test instead of hanging it.
func runContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // overloaded machines stall for longer than one
	t.Cleanup(cancel)
	return ctx
}

// refuses reports whether the program has a type that the backend does not support. The backend must then return that
// error itself.
func (r runner) refuses(t *testing.T, p *ir.Program) bool {
	typed, ok := r.backend.(kernels.Typed)
	if !ok || kernels.CheckTypes(r.device.Kind, p, typed.HasType) == nil {
		return false
	}
	_, err := r.backend.Compile(p, kernels.CompileOptions{Device: r.device})
	require.ErrorIs(t, err, errors.ErrUnsupported)
	return true
}

// check runs a case twice and compares the outputs with the reference and with each other, bit by bit.
func (r runner) check(t *testing.T, c Case) {
	t.Helper()
	if r.refuses(t, c.Program) {
		return
	}
	want, err := reference.Run(c.Program, c.Inputs)
	require.NoError(t, err, "the reference cannot run the case")
	e, err := kernels.Load(r.backend, c.Program, r.device)
	require.NoError(t, err)
	defer e.Close()
	first, err := r.run(runContext(t), e, c.Program, c.Inputs)
	require.NoError(t, err)
	for i := range want {
		if err := Compare(first[i], want[i], c.Units, c.Whole); err != nil {
			t.Errorf("output %d: %v\n%v", i, err, c.Program)
		}
	}
	second, err := r.run(runContext(t), e, c.Program, c.Inputs)
	require.NoError(t, err)
	for i := range first {
		if !bytes.Equal(first[i].Bytes(), second[i].Bytes()) {
			t.Errorf("output %d: two runs on the same inputs differ\n%v", i, c.Program)
		}
	}
}

// concurrent runs two sessions of one executable at the same time, as two replicas on one machine do.
func (r runner) concurrent(t *testing.T) {
	p, inputs := RandomProgram(1)
	want, err := reference.Run(p, inputs)
	require.NoError(t, err)
	e, err := r.backend.Compile(p, kernels.CompileOptions{Device: r.device})
	require.NoError(t, err)
	var group sync.WaitGroup
	for range 2 {
		s, err := e.NewSession(kernels.SessionOptions{Device: r.device})
		require.NoError(t, err)
		defer s.Close()
		group.Go(func() {
			for range 20 {
				got, err := r.run(t.Context(), &kernels.Loaded{Executable: e, Session: s}, p, inputs)
				if !assert.NoError(t, err) {
					return
				}
				for i := range want {
					assert.NoError(t, Compare(got[i], want[i], 1<<13, true))
				}
			}
		})
	}
	e.Close() // sessions stay usable
	group.Wait()
}

// run executes once with fresh buffers. Outputs start as garbage, so that an element left unwritten shows; inputs must
// come out as they went in.
func (r runner) run(ctx context.Context, e *kernels.Loaded, p *ir.Program, inputs []reference.Value) ([]reference.Value, error) {
	in, err := r.upload(inputs)
	defer free(in)
	if err != nil {
		return nil, err
	}
	out := make([]kernels.Buffer, 0, len(p.Outputs))
	defer func() { free(out) }()
	for _, o := range p.Outputs {
		b, err := r.garbage(p.Type(o.Value))
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	if err := e.Run(ctx, in, out); err != nil {
		return nil, err
	}
	for i, b := range in {
		after, err := download(b)
		if err != nil {
			return nil, err
		}
		if !bytes.Equal(after.Bytes(), inputs[i].Bytes()) {
			return nil, fmt.Errorf("input %d was changed by the run", i)
		}
	}
	results := make([]reference.Value, len(out))
	for i, b := range out {
		if results[i], err = download(b); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// upload puts values into buffers of the device; the buffers made so far are returned also with an error.
func (r runner) upload(values []reference.Value) ([]kernels.Buffer, error) {
	buffers := make([]kernels.Buffer, 0, len(values))
	for _, v := range values {
		b, err := r.backend.NewBuffer(r.device, v.Type)
		if err != nil {
			return buffers, err
		}
		buffers = append(buffers, b)
		if err := b.Write(v.Bytes()); err != nil {
			return buffers, err
		}
	}
	return buffers, nil
}

// garbage returns a buffer with all bits set, which are NaN, true-like and -1.
func (r runner) garbage(t ir.Type) (kernels.Buffer, error) {
	b, err := r.backend.NewBuffer(r.device, t)
	if err != nil {
		return nil, err
	}
	if t.DType == ir.Bool {
		return b, b.Write(bytes.Repeat([]byte{1}, t.Bytes()))
	}
	return b, b.Write(bytes.Repeat([]byte{0xff}, t.Bytes()))
}

func download(b kernels.Buffer) (reference.Value, error) {
	data := make([]byte, b.Type().Bytes())
	if err := b.Read(data); err != nil {
		return reference.Value{}, err
	}
	return reference.FromBytes(b.Type(), data)
}

func free(buffers []kernels.Buffer) {
	for _, b := range buffers {
		b.Free()
	}
}
