package kernelstest

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// meeting are replicas whose communicators are driven directly.
type meeting struct {
	runner
	devices []kernels.Device
	comms   []kernels.Communicator
}

// each runs f for all replicas at once, with a buffer for each value of each replica.
func (m meeting) each(t *testing.T, values [][]reference.Value, f func(ctx context.Context, c kernels.Communicator, b []kernels.Buffer) error) [][]reference.Value {
	t.Helper()
	ctx := runContext(t)
	results, errs := make([][]reference.Value, len(m.comms)), make([]error, len(m.comms))
	var group sync.WaitGroup
	for i := range m.comms {
		group.Go(func() {
			buffers, err := runner{backend: m.backend, device: m.devices[i]}.upload(values[i])
			defer free(buffers)
			if err == nil {
				err = f(ctx, m.comms[i], buffers)
			}
			if errs[i] = err; err != nil {
				return
			}
			for _, b := range buffers {
				v, err := download(b)
				errs[i] = errors.Join(errs[i], err)
				results[i] = append(results[i], v)
			}
		})
	}
	group.Wait()
	require.NoError(t, errors.Join(errs...))
	return results
}

// expect compares with an op of the reference, which takes the first values and gives those at the numbers given.
func (m meeting) expect(t *testing.T, op ir.Op, attrs ir.CollectiveAttrs, operands int, values, got [][]reference.Value, places ...int) {
	t.Helper()
	p := newProgram("expected")
	var in []ir.Value
	inputs := make([][]reference.Value, len(m.comms))
	for o := range operands {
		in = append(in, p.in(values[0][o].Type.DType, values[0][o].Type.Shape...))
	}
	p.out(p.ops(op, attrs, in...)...)
	for i := range inputs {
		inputs[i] = values[i][:operands]
	}
	want, err := reference.RunReplicas(p.Program, inputs)
	require.NoError(t, err)
	for i := range m.comms {
		for o, place := range places {
			assert.NoError(t, Compare(got[i][place], want[i][o], 8, true), "replica %d, value %d", i, place)
			if op == ir.AllReduce {
				assert.Equal(t, got[0][place].Bytes(), got[i][place].Bytes(), "replicas 0 and %d hold different bits", i)
			}
		}
	}
}

// communicators drives the methods of communicators directly, without a program, as strategies do with values of their
// own.
func (r runner) communicators(t *testing.T, devices []kernels.Device, comms []kernels.Communicator) {
	n, m := len(comms), meeting{r, devices, comms}
	d := (&suite{}).new(ir.AllReduce, "communicators of %d", n)
	make2 := func(f func() []reference.Value) [][]reference.Value {
		values := make([][]reference.Value, n)
		for i := range values {
			values[i] = f()
		}
		return values
	}
	for _, kind := range []ir.Kind{ir.Sum, ir.Max, ir.Min, ir.Mean} {
		t.Run("all-reduce "+string(kind), func(t *testing.T) {
			values := make2(func() []reference.Value {
				return []reference.Value{d.normal(ir.Float32, 40001), d.normal(ir.Float64, 3, 5), d.normal(ir.BFloat16, 17), d.normal(ir.Float32, 0), d.normal(ir.Float32)}
			})
			got := m.each(t, values, func(ctx context.Context, c kernels.Communicator, b []kernels.Buffer) error {
				return c.AllReduce(ctx, kind, b)
			})
			a := collectiveOver(n)
			a.Kind = kind
			m.expect(t, ir.AllReduce, a, 5, values, got, 0, 1, 2, 3, 4)
		})
	}
	for axis := range 2 {
		t.Run("all-gather", func(t *testing.T) {
			whole := ir.Shape{3, 5}
			whole[axis] *= n
			values := make2(func() []reference.Value {
				return []reference.Value{d.normal(ir.Int16, 3, 5), d.normal(ir.Int16, whole...)}
			})
			got := m.each(t, values, func(ctx context.Context, c kernels.Communicator, b []kernels.Buffer) error {
				return c.AllGather(ctx, b[0], b[1], axis)
			})
			m.expect(t, ir.AllGather, ir.CollectiveAttrs{Replicas: n, Axis: axis}, 1, values, got, 1)
		})
	}
	for root := range n {
		t.Run("broadcast", func(t *testing.T) {
			values := make2(func() []reference.Value { return []reference.Value{d.normal(ir.Float16, 4, 3)} })
			got := m.each(t, values, func(ctx context.Context, c kernels.Communicator, b []kernels.Buffer) error {
				return c.Broadcast(ctx, root, b[0])
			})
			m.expect(t, ir.CollectiveBroadcast, ir.CollectiveAttrs{Replicas: n, Root: root}, 1, values, got, 0)
		})
	}
}
