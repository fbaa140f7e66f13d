//go:build linux

package cuda

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// fed is a program that adds batches up, and the memory that they are written to.
type fed struct {
	*backend
	session    kernels.Session
	queue      kernels.Queue
	sum, batch kernels.Buffer
	n          int
}

func newFed(t testing.TB, b *backend, n int) (*fed, error) {
	d, typ := kernels.Device{Kind: Kind}, ir.Type{DType: ir.Float32, Shape: ir.Shape{n}}
	p := ir.New("p")
	sum, batch := p.AddInput("sum", typ), p.AddInput("batch", typ)
	y, err := p.Add("layer", ir.Add, nil, sum, batch)
	require.NoError(t, err)
	p.AddAlias("sum", y[0], 0)
	f := &fed{backend: b, n: n}
	e, err := b.Compile(p, kernels.CompileOptions{Device: d})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if f.session, err = e.NewSession(kernels.SessionOptions{Device: d}); err != nil {
		return nil, err
	}
	if f.queue, err = b.NewQueue(d); err == nil {
		if f.sum, err = b.NewBuffer(d, typ); err == nil {
			f.batch, err = b.NewBuffer(d, typ)
		}
	}
	if err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

func (f *fed) close() {
	f.session.Close()
	if f.queue != nil {
		f.queue.Close()
	}
	for _, x := range []kernels.Buffer{f.sum, f.batch} {
		if x != nil {
			x.Free()
		}
	}
}

// step writes a batch of a number and launches.
func (f *fed) step(t testing.TB, x float64) error {
	var data []byte
	for range f.n {
		data = ir.AppendElement(data, ir.Float32, x)
	}
	if err := f.batch.Write(data); err != nil {
		return err
	}
	e := f.session.Launch(t.Context(), kernels.Launch{Queue: f.queue, Inputs: []kernels.Buffer{f.sum, f.batch}, Outputs: []kernels.Buffer{nil}})
	if e.Done() {
		return e.Wait(t.Context())
	}
	return nil
}

func (f *fed) total(t testing.TB) (float64, error) {
	if err := f.queue.Wait(t.Context()); err != nil {
		return 0, err
	}
	data := make([]byte, 4*f.n)
	err := f.sum.Read(data)
	assert.Equal(t, ir.Element(data, ir.Float32, 0), ir.Element(data, ir.Float32, f.n-1))
	return ir.Element(data, ir.Float32, f.n-1), err
}

// Batches of later steps are copied to the device while a step runs, and each step sees its own.
func TestBatchesAheadOfTime(t *testing.T) {
	begun, goOn := make(chan bool, 100), make(chan bool)
	f := fakedriver.New(fakedriver.Options{Before: func(string) { begun <- true; <-goOn }})
	b := on(t, f)
	x, err := newFed(t, b, feedFrom/4)
	require.NoError(t, err)
	defer x.close()
	_, err = x.total(t) // the device is idle
	require.NoError(t, err)
	f.Trace()
	const steps = 7
	for i := range steps {
		require.NoError(t, x.step(t, float64(1+i)))
		if i == 0 {
			<-begun // the first kernel is under way, and does not end
		}
	}
	copies := func() (ahead int) {
		for _, s := range f.Spans() {
			if s.What == fakedriver.CopyToDevice && s.Stream > 0 && s.End > 0 {
				ahead++
			}
		}
		return ahead
	}
	assert.Eventually(t, func() bool { return copies() >= feedDepth }, 10*time.Second, time.Millisecond, "batches are on the device before the step before them has ended")
	close(goOn)
	sum, err := x.total(t)
	require.NoError(t, err)
	assert.Equal(t, float64(steps*(steps+1)/2), sum)
	assert.Equal(t, steps-1, copies(), "all but the first, for which the device was idle")
	assert.Len(t, b.devices[0].feed.slots, feedDepth)
}

// The numbers are right for any sizes and number of steps, with a host that is far ahead and little memory.
func TestFeedingRandom(t *testing.T) {
	defer func(n int) { hostBytes = n }(hostBytes)
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		hostBytes = 1 << (16 + r.IntN(6))
		f := fakedriver.New(fakedriver.Options{Memory: 1 << (22 + r.IntN(3)), Lag: time.Duration(r.IntN(2)) * 50 * time.Microsecond})
		b := on(t, f)
		var all []*fed
		want := []float64{}
		for range 1 + r.IntN(3) {
			x, err := newFed(t, b, 1+r.IntN(30000))
			require.NoError(t, err)
			all, want = append(all, x), append(want, 0)
		}
		for range 40 {
			i, v := r.IntN(len(all)), float64(r.IntN(100))
			require.NoError(t, all[i].step(t, v))
			want[i] += v
			if r.IntN(12) == 0 {
				got, err := all[i].total(t)
				require.NoError(t, err)
				require.Equal(t, want[i], got, "seed %d", seed)
			}
		}
		for i, x := range all {
			got, err := x.total(t)
			require.NoError(t, err)
			require.Equal(t, want[i], got, "seed %d", seed)
			x.close()
		}
	}
}

// Every call fails once while batches are copied ahead of time: the error says which, nothing is left, and what comes
// after it works.
func TestFeedingFails(t *testing.T) {
	run := func(b *backend) error {
		x, err := newFed(t, b, feedFrom/4)
		if err != nil {
			return err
		}
		defer x.close()
		for i := range 6 {
			if err := x.step(t, float64(i)); err != nil {
				return err
			}
		}
		sum, err := x.total(t)
		if err == nil && sum != 15 {
			t.Errorf("the sum is %v, expected 15", sum)
		}
		return err
	}
	slow := fakedriver.Options{Before: func(string) { time.Sleep(time.Millisecond) }}
	f := fakedriver.New(slow)
	require.NoError(t, run(on(t, f)))
	calls := f.Calls()
	require.Positive(t, calls["cuMemcpyDtoDAsync_v2"])
	quiet := []string{"cuStreamQuery", "cuEventQuery", "cuStreamCreateWithPriority", "cuEventCreate", "cuMemAllocAsync"} // copies come in turn then
	for _, name := range []string{"cuStreamQuery", "cuEventQuery", "cuStreamCreateWithPriority", "cuEventCreate", "cuMemAllocAsync", "cuMemHostAlloc", "cuStreamWaitEvent", "cuMemcpyHtoDAsync_v2", "cuEventRecord", "cuMemcpyDtoDAsync_v2"} {
		for n := 1; n <= calls[name]; n++ {
			f := fakedriver.New(slow)
			b := newBackend(Kind, func() (driver.API, error) { return f, nil })
			require.NoError(t, b.Open(kernels.Device{Kind: Kind})) // the first stream is there
			f.Fail(name, n)
			err := run(b)
			if err != nil {
				require.ErrorContains(t, err, name)
			} else {
				require.True(t, slices.Contains(quiet, name) || f.Pending(), "call %d of %s failed and nobody noticed", n, name)
			}
			f.Fail("", 0)
			require.NoError(t, run(b), "after call %d of %s failed", n, name)
			require.NoError(t, b.close())
			require.Empty(t, f.Alive(), "after call %d of %s failed", n, name)
		}
	}
}

// Memory for copies ahead of time is given back where a model needs it.
func TestFeedingGivesWay(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{Memory: 4 << 20, Before: func(string) { time.Sleep(time.Millisecond) }})
	b := on(t, f)
	x, err := newFed(t, b, feedFrom/4)
	require.NoError(t, err)
	defer x.close()
	for range 6 {
		require.NoError(t, x.step(t, 1))
	}
	d := b.devices[0]
	require.NotEmpty(t, d.feed.slots)
	large, err := b.NewBuffer(d.name, ir.Type{DType: ir.Uint8, Shape: ir.Shape{4<<20 - int(d.used) + 1}})
	require.NoError(t, err)
	assert.Empty(t, d.feed.slots)
	large.Free()
	sum, err := x.total(t)
	require.NoError(t, err)
	assert.Equal(t, 6.0, sum)
	_, err = b.NewBuffer(d.name, ir.Type{DType: ir.Uint8, Shape: ir.Shape{5 << 20}})
	var full *OutOfMemoryError
	require.ErrorAs(t, err, &full)
}
