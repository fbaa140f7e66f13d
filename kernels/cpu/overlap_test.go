package cpu_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Whatever the timing, all-reduces that run while replicas compute give the same bits as all-reduces that block.
func TestOverlappedAllReduces(t *testing.T) {
	const replicas, calls, rounds = 3, 70, 4 // more than may be under way
	ctx := bounded(t)
	fill := func(c kernels.Communicator, round int) (values [][]kernels.Buffer) {
		r := rand.New(rand.NewPCG(uint64(c.Replica()), uint64(round)))
		for range calls {
			b := newBuffer(t, ir.Float32, 3000)
			for e := range 3000 {
				copy(b.Bytes()[4*e:], ir.AppendElement(nil, ir.Float32, r.NormFloat64()*1e3))
			}
			values = append(values, []kernels.Buffer{b})
		}
		return values
	}
	var want [rounds][calls][]byte
	one := communicators(t, replicas)
	for _, err := range together(one, func(c kernels.Communicator) error {
		for round := range rounds {
			for k, v := range fill(c, round) {
				if err := c.AllReduce(ctx, ir.Sum, v); err != nil {
					return err
				}
				if c.Replica() == 0 {
					want[round][k] = v[0].Bytes()
				}
			}
		}
		return nil
	}) {
		require.NoError(t, err)
	}
	two := communicators(t, replicas)
	for _, err := range together(two, func(c kernels.Communicator) error {
		r := rand.New(rand.NewPCG(uint64(c.Replica()), 7))
		pause := func() {
			if r.IntN(40) == 0 {
				time.Sleep(time.Duration(r.IntN(400)) * time.Microsecond)
			}
		}
		o := c.(kernels.Overlapper)
		for round := range rounds {
			values := fill(c, round)
			for k, v := range values {
				if err := o.StartAllReduce(ctx, ir.Sum, v); err != nil {
					return err
				}
				pause()
				if k%9 == 2 { // other calls may come in between
					if err := c.Broadcast(ctx, 1, newBuffer(t, ir.Float32, 7)); err != nil {
						return err
					}
				}
			}
			for k, v := range values {
				if err := o.WaitAllReduce(ctx); err != nil {
					return err
				}
				if string(v[0].Bytes()) != string(want[round][k]) {
					return fmt.Errorf("round %d, call %d: other bits", round, k)
				}
				pause()
			}
		}
		return nil
	}) {
		require.NoError(t, err)
	}
}

// A replica that has started its all-reduce continues to compute, even if another replica is late.
func TestStartDoesNotWait(t *testing.T) {
	all := communicators(t, 2)
	ctx := bounded(t)
	early := all[0].(kernels.Overlapper)
	a, b := []kernels.Buffer{newBuffer(t, ir.Float32, 4)}, []kernels.Buffer{newBuffer(t, ir.Float32, 4)}
	for range 3 {
		require.NoError(t, early.StartAllReduce(ctx, ir.Sum, a))
	}
	for range 3 {
		require.NoError(t, all[1].(kernels.Overlapper).StartAllReduce(ctx, ir.Sum, b))
	}
	for _, err := range together(all, func(c kernels.Communicator) error {
		for range 3 {
			if err := c.(kernels.Overlapper).WaitAllReduce(ctx); err != nil {
				return err
			}
		}
		return nil
	}) {
		require.NoError(t, err)
	}
}

func TestOverlappedMistakes(t *testing.T) {
	ctx := bounded(t)
	all := communicators(t, 2)
	o := all[0].(kernels.Overlapper)
	require.ErrorContains(t, o.WaitAllReduce(ctx), "has not started")
	v := []kernels.Buffer{newBuffer(t, ir.Float32, 4)}
	for _, err := range together(all, func(c kernels.Communicator) error {
		if c.Replica() == 1 {
			return c.AllReduce(ctx, ir.Sum, []kernels.Buffer{newBuffer(t, ir.Float32, 4)})
		}
		return errors.Join(o.StartAllReduce(ctx, ir.Sum, v), o.WaitAllReduce(ctx))
	}) {
		require.NoError(t, err)
	}
	require.ErrorContains(t, o.WaitAllReduce(ctx), "has not started")

	broken := errors.New("broken")
	for i, err := range together(all, func(c kernels.Communicator) error {
		o := c.(kernels.Overlapper)
		if err := o.StartAllReduce(ctx, ir.Sum, []kernels.Buffer{newBuffer(t, ir.Float32, 4)}); err != nil {
			return err
		}
		if c.Replica() == 1 {
			time.Sleep(5 * time.Millisecond) // the other has parked
			c.Abort(broken)
			return broken
		}
		if err := o.StartAllReduce(ctx, ir.Sum, []kernels.Buffer{newBuffer(t, ir.Float32, 4)}); err != nil {
			return err
		}
		return errors.Join(o.WaitAllReduce(ctx), o.WaitAllReduce(ctx))
	}) {
		assert.ErrorIs(t, err, broken, "replica %d", i)
	}
	for _, err := range together(all, func(c kernels.Communicator) error {
		return c.AllReduce(ctx, ir.Sum, []kernels.Buffer{newBuffer(t, ir.Float32, 4)})
	}) {
		require.ErrorIs(t, err, broken, "it is not used again")
	}
}

// A step starts the all-reduce of a bucket before the computation that does not need it, and waits for it afterwards.
func TestStepOverlapsAllReduce(t *testing.T) {
	g := tape{ir.New("step")}
	x, w := g.input("x", ir.Float32, 8, 8), g.input("w", ir.Float32, 8, 8)
	matmul := func(a, b ir.Value) ir.Value {
		return g.op(ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, a, b)
	}
	early := g.op(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2, Bucket: 1}, matmul(x, w))
	late := g.op(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: 2, Bucket: 2}, matmul(matmul(x, x), x))
	g.p.AddAlias("w", g.op(ir.Sub, nil, w, early), 1)
	g.p.AddOutput("y", late)
	all := communicators(t, 2)
	var names [2][]string
	for _, err := range together(all, func(c kernels.Communicator) error {
		e, err := kernels.LoadReplica(cpu.Backend{}, g.p, device, c)
		if err != nil {
			return err
		}
		defer e.Close()
		names[c.Replica()] = cpu.StepNames(e)
		x, w, y := newBuffer(t, ir.Float32, 8, 8), newBuffer(t, ir.Float32, 8, 8), newBuffer(t, ir.Float32, 8, 8)
		return e.Run(context.Background(), []kernels.Buffer{x, w}, []kernels.Buffer{nil, y})
	}) {
		require.NoError(t, err)
	}
	assert.Equal(t, []string{"dot", "all_reduce", "dot", "dot", "all_reduce", "all_reduce wait", "all_reduce wait", "sub"}, names[0],
		"started at once, waited for when w is to change: a failed one changes no variable")
}
