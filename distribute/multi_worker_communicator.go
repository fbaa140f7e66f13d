package distribute

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// workerLink holds what the local replicas of one instance share.
type workerLink struct {
	group  WorkerGroup
	values []kernels.Array // of the current call, reused
}

// workerCommunicator combines values in three steps: over the replicas of this process, over the processes (the first
// local replica does that), and back to the local replicas. With one replica per process it is the second step alone.
// Calls allocate nothing.
type workerCommunicator struct {
	link      *workerLink
	inner     kernels.Communicator // nil: one replica in this process
	local     int
	perWorker int
	first     int
	total     int
	call      WorkerCall

	block     kernels.Buffer // parts of the local replicas in AllGather
	blockType ir.Type
}

var _ kernels.Communicator = (*workerCommunicator)(nil)

// Prepare lets the local replicas' devices create what a session needs.
func (c *workerCommunicator) Prepare(s kernels.Session) error {
	if p, ok := c.inner.(kernels.Preparer); ok {
		return p.Prepare(s)
	}
	return nil
}

// SetCall says what the calls belong to.
func (c *workerCommunicator) SetCall(call WorkerCall) { c.call = call }

// Replica is this replica's number among the replicas of all processes.
func (c *workerCommunicator) Replica() int { return c.first + c.local }

// Replicas is the number of replicas of all processes.
func (c *workerCommunicator) Replicas() int { return c.total }

// host returns the memory of a buffer in host memory, or a copy of one that is elsewhere.
func host(b kernels.Buffer) (kernels.Array, error) {
	if data := b.Bytes(); data != nil || b.Type().Bytes() == 0 {
		return kernels.Array{Type: b.Type(), Data: data}, nil
	}
	a := kernels.NewArray(b.Type())
	return a, b.Read(a.Data)
}

// overWorkers passes the values to f in host memory, and copies them back.
func (c *workerCommunicator) overWorkers(values []kernels.Buffer, f func(c *workerCommunicator, ctx context.Context, kind ir.Kind, root int, values []kernels.Array) error, ctx context.Context, kind ir.Kind, root int) error {
	l := c.link
	l.values = l.values[:0]
	for _, b := range values {
		a, err := host(b)
		if err != nil {
			return err
		}
		l.values = append(l.values, a)
	}
	if err := f(c, ctx, kind, root, l.values); err != nil {
		return err
	}
	for i, b := range values {
		if b.Bytes() == nil && len(l.values[i].Data) > 0 {
			if err := b.Write(l.values[i].Data); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *workerCommunicator) reduceGroup(ctx context.Context, kind ir.Kind, _ int, values []kernels.Array) error {
	return c.link.group.AllReduce(ctx, c.call, kind, values)
}

func (c *workerCommunicator) broadcastGroup(ctx context.Context, _ ir.Kind, root int, values []kernels.Array) error {
	return c.link.group.Broadcast(ctx, c.call, root, values)
}

// AllReduce combines values over all replicas, in place.
func (c *workerCommunicator) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	if c.inner != nil {
		if err := c.inner.AllReduce(ctx, kind, values); err != nil {
			return err
		}
	}
	if c.local == 0 {
		if err := c.overWorkers(values, (*workerCommunicator).reduceGroup, ctx, kind, 0); err != nil {
			return err
		}
	}
	return c.hand(ctx, values)
}

// hand copies the first local replica's values to the others.
func (c *workerCommunicator) hand(ctx context.Context, values []kernels.Buffer) error {
	if c.inner == nil {
		return nil
	}
	for _, v := range values {
		if err := c.inner.Broadcast(ctx, 0, v); err != nil {
			return err
		}
	}
	return nil
}

// AllGather concatenates equal-sized parts in replica order.
func (c *workerCommunicator) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	t, w := part.Type(), whole.Type()
	if axis < 0 || axis >= len(t.Shape) || t.Bytes()*c.total != w.Bytes() || t.DType != w.DType {
		return fmt.Errorf("distribute: all_gather along axis %d: %d parts of %v do not make %v", axis, c.total, t, w)
	}
	block := part
	if c.inner != nil {
		if err := c.reserve(part, axis); err != nil {
			return err
		}
		block = c.block
		if err := c.inner.AllGather(ctx, part, block, axis); err != nil {
			return err
		}
	}
	if c.local == 0 {
		if err := c.gatherGroup(ctx, block, whole, axis); err != nil {
			return err
		}
	}
	if c.inner == nil {
		return nil
	}
	return c.inner.Broadcast(ctx, 0, whole)
}

// reserve allocates the memory for the parts of the local replicas.
func (c *workerCommunicator) reserve(part kernels.Buffer, axis int) (err error) {
	t := part.Type()
	t.Shape = t.Shape.Clone()
	t.Shape[axis] *= c.perWorker
	if c.block != nil && c.blockType.Equal(t) {
		return nil
	}
	if c.block != nil {
		c.block.Free()
		c.block = nil
	}
	c.blockType = t
	if s, ok := part.(kernels.Scratcher); ok {
		c.block, err = s.Scratch(t)
		return err
	}
	backend, err := kernels.Lookup(part.Device().Kind)
	if err != nil {
		return err
	}
	c.block, err = backend.NewBuffer(part.Device(), t)
	return err
}

// gatherGroup joins the processes' blocks into whole.
func (c *workerCommunicator) gatherGroup(ctx context.Context, block, whole kernels.Buffer, axis int) error {
	own, err := host(block)
	if err != nil {
		return err
	}
	blocks, err := c.link.group.AllGather(ctx, c.call, own.Data)
	if err != nil {
		return err
	}
	out, err := host(whole)
	if err != nil {
		return err
	}
	shape := own.Type.Shape
	row := shape[axis:].Size() * own.Type.DType.Size()
	for rank, data := range blocks {
		if len(data) != len(own.Data) {
			return fmt.Errorf("distribute: all_gather: worker %d brings %d bytes, this one %d", rank, len(data), len(own.Data))
		}
		for o := range shape[:axis].Size() {
			copy(out.Data[(o*len(blocks)+rank)*row:(o*len(blocks)+rank+1)*row], data[o*row:(o+1)*row])
		}
	}
	if whole.Bytes() == nil {
		return whole.Write(out.Data)
	}
	return nil
}

// Broadcast copies the value of replica root to all.
func (c *workerCommunicator) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	if root < 0 || root >= c.total {
		return fmt.Errorf("distribute: broadcast from replica %d: there are %d replicas", root, c.total)
	}
	owner := root / c.perWorker
	mine := owner == c.first/c.perWorker
	if mine && c.inner != nil {
		if err := c.inner.Broadcast(ctx, root%c.perWorker, value); err != nil {
			return err
		}
	}
	if c.local == 0 {
		if err := c.overWorkers([]kernels.Buffer{value}, (*workerCommunicator).broadcastGroup, ctx, "", owner); err != nil {
			return err
		}
	}
	if mine || c.inner == nil {
		return nil
	}
	return c.inner.Broadcast(ctx, 0, value)
}

// Abort makes current and all later calls of the local replicas return err. Other processes learn of it through
// [FailTogether].
func (c *workerCommunicator) Abort(err error) {
	if c.inner != nil {
		c.inner.Abort(err)
	}
}

// Close releases the communicator's resources.
func (c *workerCommunicator) Close() {
	if c.inner != nil {
		c.inner.Close()
	}
	if c.block != nil {
		c.block.Free()
		c.block = nil
	}
}
