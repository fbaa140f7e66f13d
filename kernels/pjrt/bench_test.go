//go:build linux

package pjrt_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt"
)

// BenchmarkDispatch is the cost of a launch: a program that squares four numbers in place, waited for each time.
func BenchmarkDispatch(b *testing.B) {
	backend := pjrt.New("xla", plugin(b), pjrt.Option{Name: "cpu_device_count", Value: int64(1)})
	d := kernels.Device{Kind: "xla"}
	p := ir.New("square")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{4}})
	p.AddAlias("x", must(p.Add("square", ir.Mul, nil, x, x))[0], 0)
	l, err := kernels.Load(backend, p, d)
	require.NoError(b, err)
	buffer, err := backend.NewBuffer(d, p.Type(x))
	require.NoError(b, err)
	queue, err := backend.NewQueue(d)
	require.NoError(b, err)
	launch := kernels.Launch{Queue: queue, Inputs: []kernels.Buffer{buffer}, Outputs: []kernels.Buffer{nil}}
	b.ReportAllocs()
	best, ctx := time.Hour, b.Context()
	for b.Loop() {
		begin := time.Now()
		if err := l.Session.Launch(ctx, launch).Wait(ctx); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(begin))
	}
	b.ReportMetric(float64(best.Nanoseconds()), "least-ns/op")
}
