package cpu_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/cpu/internal/flush"
	"github.com/gokeras/gokeras/kernels/ir"
)

// remote is the communicator of another process, with zeros as values. It records the modes of the threads that call
// it.
type remote struct {
	replica, replicas int
	modes             []flush.Mode
}

func (r *remote) note() error {
	r.modes = append(r.modes, flush.Current())
	return nil
}

func (r *remote) Replica() int                                                  { return r.replica }
func (r *remote) Replicas() int                                                 { return r.replicas }
func (r *remote) AllReduce(context.Context, ir.Kind, []kernels.Buffer) error    { return r.note() }
func (r *remote) Broadcast(context.Context, int, kernels.Buffer) error          { return r.note() }
func (r *remote) AllGather(_ context.Context, _, _ kernels.Buffer, _ int) error { return r.note() }
func (r *remote) Abort(error)                                                   {}
func (r *remote) Close()                                                        {}

// overlapping is a remote whose all-reduces run while the replica computes.
type overlapping struct{ remote }

func (r *overlapping) StartAllReduce(context.Context, ir.Kind, []kernels.Buffer) error {
	return r.note()
}
func (r *overlapping) WaitAllReduce(context.Context) error { return r.note() }

// Collectives with other processes run in Go's own mode, so that all workers combine values in the same mode. What is
// computed after them flushes denormals, as before.
func TestCollectivesOfOthersRest(t *testing.T) {
	if !flush.Supported {
		t.Skip("this processor has no mode that flushes denormals")
	}
	a := ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2}
	for _, op := range []ir.Op{ir.AllReduce, ir.AllGather, ir.ReduceScatter, ir.CollectiveBroadcast} {
		for _, overlap := range []bool{false, true} {
			g := tape{ir.New("step")}
			x := g.input("x", ir.Float32, 4)
			half := g.op(ir.Mul, nil, x, x) // a denormal number
			g.p.AddOutput("y", g.op(ir.Add, nil, g.op(op, a, half), g.op(op, a, half)))
			code, err := cpu.Backend{}.Compile(g.p, kernels.CompileOptions{Device: device, Replicas: 2, Overlap: overlap})
			require.NoError(t, err)
			session, err := code.NewSession(kernels.SessionOptions{Device: device})
			require.NoError(t, err)
			in, out := newBuffer(t, ir.Float32, 4), newBuffer(t, g.p.Type(g.p.Outputs[0].Value).DType, g.p.Type(g.p.Outputs[0].Value).Shape...)
			small := kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{4}})
			require.NoError(t, small.SetFloat64s(0, slices.Repeat([]float64{0x1p-64}, 4)))
			require.NoError(t, in.Write(small.Data))
			c := &overlapping{remote{replicas: 2}}
			l := kernels.Launch{Inputs: []kernels.Buffer{in}, Outputs: []kernels.Buffer{out}, Communicator: &c.remote}
			if overlap {
				l.Communicator = c
			}
			require.NoError(t, session.Launch(t.Context(), l).Wait(t.Context()))
			require.NotEmpty(t, c.modes, op)
			for _, mode := range c.modes {
				require.Equal(t, flush.Default, mode, "%v, overlap %v", op, overlap)
			}
			for _, b := range out.Bytes() {
				require.Zero(t, b, "%v: what is computed after it flushes", op)
			}
			require.Equal(t, flush.Default, flush.Current())
			session.Close()
		}
	}
}
