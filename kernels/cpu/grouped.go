package cpu

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/comm"
	"github.com/gokeras/gokeras/kernels/ir"
)

// meeting is how a replica's collective reaches the others: through the communicator of the run, or one for its group.
type meeting struct {
	groups [][]int
	of     kernels.Communicator // that near was made from
	near   kernels.Communicator
}

func (b *build) meeting() *meeting { return &meeting{groups: b.collective().Groups} }

// end returns the communicator of the collective in this run.
func (m *meeting) end(rt *runtime) (kernels.Communicator, error) {
	if m.groups == nil || rt.comm == nil {
		return rt.comm, nil
	}
	if m.of != rt.comm {
		near, err := nearOf(rt.comm, m.groups)
		if err != nil {
			return nil, err
		}
		m.of, m.near = rt.comm, near
	}
	return m.near, nil
}

// nearOf returns a replica's communicator for its group. If a communicator has no groups, the group gathers the values
// of all replicas.
func nearOf(c kernels.Communicator, groups [][]int) (kernels.Communicator, error) {
	if s, ok := c.(comm.Splitter); ok {
		return s.Split(groups)
	}
	members, place := ir.CollectiveAttrs{Replicas: c.Replicas(), Groups: groups}.Group(c.Replica())
	return &gatherer{Communicator: c, members: members, place: place}, nil
}

// gatherer implements collectives of a group by gathering the values of all replicas. To abort or close it is to abort
// or close the communicator of all.
type gatherer struct {
	kernels.Communicator
	members []int
	place   int
	all     []byte // the values of all replicas
}

func (g *gatherer) Replica() int  { return g.place }
func (g *gatherer) Replicas() int { return len(g.members) }

// gather gathers the values of all replicas, and returns a function that gives the value of a member.
func (g *gatherer) gather(ctx context.Context, v kernels.Buffer) (func(member int) []byte, error) {
	t, n := v.Type(), g.Communicator.Replicas()
	flat := ir.Type{DType: t.DType, Shape: ir.Shape{t.Shape.Size()}}
	size := t.Bytes()
	if len(g.all) < n*size {
		g.all = make([]byte, n*size)
	}
	part := &buffer{typ: flat, device: v.Device(), data: v.Bytes(), own: v.Bytes()}
	whole := &buffer{typ: ir.Type{DType: t.DType, Shape: ir.Shape{n * t.Shape.Size()}}, device: v.Device(), data: g.all[:n*size], own: g.all[:n*size]}
	if err := g.Communicator.AllGather(ctx, part, whole, 0); err != nil {
		return nil, err
	}
	return func(member int) []byte { return g.all[g.members[member]*size:][:size] }, nil
}

// AllReduce combines values in place.
func (g *gatherer) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	for _, v := range values {
		t := v.Type()
		of, err := g.gather(ctx, v)
		if err != nil {
			return err
		}
		if t.Shape.Size() == 0 {
			continue
		}
		all := make([]unsafe.Pointer, len(g.members))
		for i := range all {
			all[i] = unsafe.Pointer(unsafe.SliceData(of(i)))
		}
		if err := comm.Combine(kind, t.DType, all, t.Shape.Size()); err != nil {
			return err
		}
		copy(v.Bytes(), of(0))
	}
	return nil
}

// AllGather concatenates the members' parts along the axis.
func (g *gatherer) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	t, n := part.Type(), len(g.members)
	if axis < 0 || axis >= len(t.Shape) || t.Bytes()*n != whole.Type().Bytes() {
		return fmt.Errorf("cpu: all_gather along axis %d: %d parts of %v do not make %v", axis, n, t, whole.Type())
	}
	of, err := g.gather(ctx, part)
	if err != nil {
		return err
	}
	inner, out := t.Shape[axis:].Size()*t.DType.Size(), whole.Bytes()
	for i := range n {
		from := of(i)
		for o := range t.Shape[:axis].Size() {
			copy(out[(o*n+i)*inner:][:inner], from[o*inner:])
		}
	}
	return nil
}

// Broadcast copies the value of one member to all members of the group.
func (g *gatherer) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	of, err := g.gather(ctx, value)
	if err == nil {
		copy(value.Bytes(), of(root))
	}
	return err
}
