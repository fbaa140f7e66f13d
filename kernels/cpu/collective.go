package cpu

import (
	"fmt"
	"unsafe"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// checkReplicas rejects collectives made for another number of replicas than the program is compiled for.
func checkReplicas(p *ir.Program, o kernels.CompileOptions) error {
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if a, ok := n.Attrs.(ir.CollectiveAttrs); ok {
			if a.Replicas != o.Replicas {
				return fmt.Errorf("cpu: %v (scope %q) is made for %d replicas, the program is compiled for %d", n.Op, n.Scope, a.Replicas, o.Replicas)
			}
		}
		for _, sub := range ir.SubPrograms(n.Attrs) {
			if err := checkReplicas(sub, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *build) collective() ir.CollectiveAttrs { return b.n.Attrs.(ir.CollectiveAttrs) }

// handle wraps an operand for a communicator. Its address is looked up at each run.
func (b *build) handle(o *plan.Operand) *buffer { return &buffer{typ: o.Typ, device: b.c.device} }

func refresh(buffers []kernels.Buffer, operands []*plan.Operand) {
	for i, o := range operands {
		b := buffers[i].(*buffer)
		b.data = plan.Raw(o)
		b.own = b.data // communicators may write it
	}
}

func buildAllReduce(b *build) (func(), error) {
	a := b.collective()
	in, out := b.operandList(0, len(b.n.Inputs)), b.results()
	buffers := make([]kernels.Buffer, len(out))
	for i, o := range out {
		buffers[i] = b.handle(o)
	}
	rt, where, meet := b.rt(), b.where(), b.meeting()
	return func() {
		for i := range out {
			copyOperand(out[i], in[i])
		}
		if a.Size() == 1 {
			return
		}
		refresh(buffers, out)
		defer rt.rest().End()
		c, err := meet.end(rt)
		switch {
		case err != nil:
		case rt.overlapper != nil && a.Groups == nil: // a step of its own waits for it
			err = rt.overlapper.StartAllReduce(rt.ctx, a.Kind, buffers)
		default:
			err = c.AllReduce(rt.ctx, a.Kind, buffers)
		}
		if err != nil {
			rt.fail(fmt.Errorf("%s: %w", where, err))
		}
	}, nil
}

// where describes the node for an error message.
func (b *build) where() string { return fmt.Sprintf("cpu: %v (scope %q)", b.n.Op, b.n.Scope) }

func buildAllGather(b *build) (func(), error) {
	a := b.collective()
	part, whole := b.in(0), b.out(0)
	operands := []*plan.Operand{part, whole}
	buffers := []kernels.Buffer{b.handle(part), b.handle(whole)}
	rt, where, meet := b.rt(), b.where(), b.meeting()
	return func() {
		if a.Size() == 1 {
			copyOperand(whole, part)
			return
		}
		refresh(buffers, operands)
		defer rt.rest().End()
		c, err := meet.end(rt)
		if err == nil {
			err = c.AllGather(rt.ctx, buffers[0], buffers[1], a.Axis)
		}
		if err != nil {
			rt.fail(fmt.Errorf("%s: %w", where, err))
		}
	}, nil
}

// buildReduceScatter combines whole values and keeps this replica's part.
func buildReduceScatter(b *build) (func(), error) {
	a := b.collective()
	in, out := b.in(0), b.out(0)
	whole := &plan.Operand{Mem: b.workspace(in.Typ.Bytes()), Typ: in.Typ, N: in.N}
	src := byteStrides(in.Typ)
	_, place := a.Group(b.c.replica)
	first := place * out.Typ.Shape[a.Axis] * src[a.Axis]
	c := newCopy(in.Typ.DType.Size(), out.Typ.Shape, byteStrides(out.Typ), src)
	operands, buffers := []*plan.Operand{whole}, []kernels.Buffer{b.handle(whole)}
	rt, where, meet := b.rt(), b.where(), b.meeting()
	return func() {
		copyOperand(whole, in)
		if a.Size() > 1 {
			refresh(buffers, operands)
			err := func() error {
				defer rt.rest().End()
				c, err := meet.end(rt)
				if err != nil {
					return err
				}
				return c.AllReduce(rt.ctx, a.Kind, buffers)
			}()
			if err != nil {
				rt.fail(fmt.Errorf("%s: %w", where, err))
				return
			}
		}
		if out.N > 0 {
			c.run(out.Ptr(), unsafe.Add(whole.Ptr(), first), 0, c.dims[0])
		}
	}, nil
}

func buildCollectiveBroadcast(b *build) (func(), error) {
	a := b.collective()
	in, out := b.in(0), b.out(0)
	operands, buffers := []*plan.Operand{out}, []kernels.Buffer{b.handle(out)}
	rt, where, meet := b.rt(), b.where(), b.meeting()
	return func() {
		copyOperand(out, in)
		if a.Size() == 1 {
			return
		}
		refresh(buffers, operands)
		defer rt.rest().End()
		c, err := meet.end(rt)
		if err == nil {
			err = c.Broadcast(rt.ctx, a.Root, buffers[0])
		}
		if err != nil {
			rt.fail(fmt.Errorf("%s: %w", where, err))
		}
	}, nil
}

func buildReplicaID(b *build) (func(), error) {
	out, replica := b.out(0), uint32(b.c.replica)
	return func() { plan.Data[uint32](out)[0] = replica }, nil
}
