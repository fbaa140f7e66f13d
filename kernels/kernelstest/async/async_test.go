package async_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/kernelstest/async"
)

var first = kernels.Device{Kind: "async"}

// The backend passes what every backend passes, and leaves nothing behind.
func TestConformance(t *testing.T) {
	b := async.New(async.Options{Delay: 20 * time.Microsecond})
	before := b.Stats()
	t.Run("suite", func(t *testing.T) { kernelstest.Run(t, b, first) })
	after := b.Stats()
	assert.NoError(t, after.Leaks(before))
	assert.NotZero(t, after.Launches)
}

// adder is a session of a program that adds 1 to a variable, with its buffers.
func adder(t *testing.T, b *async.Backend) (kernels.Session, kernels.Queue, kernels.Buffer) {
	p := ir.New("add")
	x := p.AddInput("x", ir.Type{DType: ir.Float32})
	one, err := p.Add("", ir.Constant, ir.ConstantAttrs{Literal: must(ir.Floats(ir.Float32, nil, []float64{1}))})
	require.NoError(t, err)
	sum, err := p.Add("", ir.Add, nil, x, one[0])
	require.NoError(t, err)
	p.AddAlias("x", sum[0], 0)
	e, err := b.Compile(p, kernels.CompileOptions{Device: first})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	s, err := e.NewSession(kernels.SessionOptions{Device: first})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	q, err := b.NewQueue(first)
	require.NoError(t, err)
	t.Cleanup(q.Close)
	v, err := b.NewBuffer(first, ir.Type{DType: ir.Float32})
	require.NoError(t, err)
	return s, q, v
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// The same launch again and again is captured and replayed, and the host waits for nothing until it reads.
func TestLaunchesAreReplayed(t *testing.T) {
	b := async.New(async.Options{Delay: 5 * time.Millisecond})
	s, q, v := adder(t, b)
	defer v.Free()
	start := time.Now()
	for range 10 {
		s.Launch(t.Context(), kernels.Launch{Queue: q, Inputs: []kernels.Buffer{v}, Outputs: []kernels.Buffer{nil}})
	}
	launched := b.Stats()
	assert.EqualValues(t, 1, launched.Captures)
	assert.EqualValues(t, 7, launched.Replays)
	assert.Zero(t, launched.Synchronizations)
	assert.Zero(t, launched.Waits)
	t.Logf("ten launches took %v", time.Since(start))
	data := make([]byte, 4)
	require.NoError(t, v.Read(data))
	assert.Equal(t, 10.0, ir.Element(data, ir.Float32, 0))
	assert.Nil(t, v.Bytes())

	other := must(b.NewBuffer(first, v.Type()))
	defer other.Free()
	require.NoError(t, s.Launch(t.Context(), kernels.Launch{Queue: q, Inputs: []kernels.Buffer{other}, Outputs: []kernels.Buffer{nil}}).Wait(t.Context()))
	require.NoError(t, other.Read(data))
	assert.Equal(t, 1.0, ir.Element(data, ir.Float32, 0), "other buffers are not those that were captured")
	assert.EqualValues(t, 7, b.Stats().Replays)
}

// What is used after it was freed is an error, and counted where it is freed twice.
func TestMistakesAreFound(t *testing.T) {
	b := async.New(async.Options{})
	s, q, v := adder(t, b)
	launch := kernels.Launch{Queue: q, Inputs: []kernels.Buffer{v}, Outputs: []kernels.Buffer{nil}}
	require.NoError(t, s.Launch(t.Context(), launch).Wait(t.Context()))
	before := b.Stats()
	v.Free()
	assert.ErrorContains(t, s.Launch(t.Context(), launch).Wait(t.Context()), "freed")
	assert.ErrorContains(t, q.Wait(t.Context()), "freed")
	assert.ErrorContains(t, v.Write(make([]byte, 4)), "freed")
	v.Free()
	assert.ErrorContains(t, b.Stats().Leaks(before), "freed twice")
	require.NoError(t, b.Stats().Leaks(b.Stats()))
	forgotten := must(b.NewBuffer(first, v.Type()))
	defer forgotten.Free()
	assert.ErrorContains(t, b.Stats().Leaks(async.Stats{Executables: 9, Sessions: 9, Queues: 9, FreedTwice: 9}), "1 buffers")
	assert.Error(t, b.Open(kernels.Device{Kind: "async", Index: 8}))
	assert.Error(t, b.Open(kernels.Device{Kind: "cpu"}))
}

// Processes find each other by what the first one draws; without an exchange of all they do not.
func TestProcessesConnect(t *testing.T) {
	b := async.New(async.Options{Delay: -1})
	var mu sync.Mutex
	brought, ready := make([][]byte, 2), sync.NewCond(&mu)
	came := 0
	exchange := func(rank int) func(context.Context, []byte) ([][]byte, error) {
		return func(_ context.Context, own []byte) ([][]byte, error) {
			mu.Lock()
			defer mu.Unlock()
			brought[rank] = own
			came++
			ready.Broadcast()
			for came < 2 {
				ready.Wait()
			}
			return brought, nil
		}
	}
	var wait sync.WaitGroup
	results := make([]float64, 2)
	for rank := range 2 {
		wait.Go(func() {
			d := kernels.Device{Kind: "async", Index: rank}
			ends, err := b.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{d}, First: rank, Replicas: 2, Exchange: exchange(rank)})
			if !assert.NoError(t, err) {
				return
			}
			defer ends[0].Close()
			assert.Equal(t, rank, ends[0].Replica())
			assert.Equal(t, 2, ends[0].Replicas())
			v := must(b.NewBuffer(d, ir.Type{DType: ir.Float32}))
			defer v.Free()
			assert.NoError(t, v.Write(ir.AppendElement(nil, ir.Float32, float64(rank+1))))
			assert.NoError(t, ends[0].AllReduce(t.Context(), ir.Sum, []kernels.Buffer{v}))
			data := make([]byte, 4)
			assert.NoError(t, v.Read(data))
			results[rank] = ir.Element(data, ir.Float32, 0)
		})
	}
	wait.Wait()
	assert.Equal(t, []float64{3, 3}, results)
	one := async.New(async.Options{OneProcess: true})
	_, err := one.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{first}, Replicas: 2, Exchange: exchange(0)})
	assert.ErrorIs(t, err, errors.ErrUnsupported)
}
