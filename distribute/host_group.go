package distribute

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// hostGroup connects replicas whose values are in host memory, and combines them by one of several algorithms. In a
// call, each replica publishes its values, all wait for each other, do their part of the work, and wait for each other
// again. A call allocates nothing unless it fails.
type hostGroup struct {
	members []*hostCommunicator
	packs   int // packs of one call; 0: each value on its own
	reduce  func(*hostCommunicator, *pack)

	mu         sync.Mutex
	changed    *sync.Cond
	arrived    int
	generation int
	err        error
}

// hostCommunicator is one replica's communicator.
type hostCommunicator struct {
	group   *hostGroup
	replica int
	near    []int           // the replicas of the same group, where values are combined in groups
	ctx     context.Context // of the call

	what   string
	kind   ir.Kind
	number int
	values []kernels.Buffer
	pair   [2]kernels.Buffer
	pack   pack
	copies []*hostCopy // of values of the call that the host cannot see, by their number
	shown  []kernels.Buffer
}

// hostCopy is a copy of a value that the host cannot see.
type hostCopy struct {
	kernels.Buffer
	data []byte
}

func (h *hostCopy) Bytes() []byte { return h.data }

// show returns the values in host memory: themselves if they are there, otherwise copies.
func (c *hostCommunicator) show(values []kernels.Buffer) ([]kernels.Buffer, error) {
	first := -1
	for i, v := range values {
		if v.Bytes() == nil && v.Type().Bytes() > 0 {
			first = i
			break
		}
	}
	if first < 0 {
		return values, nil
	}
	c.shown = append(c.shown[:0], values...)
	for len(c.copies) < len(values) {
		c.copies = append(c.copies, &hostCopy{})
	}
	for i, v := range values {
		n := v.Type().Bytes()
		if n == 0 || v.Bytes() != nil {
			continue
		}
		h := c.copies[i]
		if h.Buffer = v; cap(h.data) < n {
			h.data = make([]byte, n)
		}
		h.data = h.data[:n]
		if err := v.Read(h.data); err != nil {
			return nil, c.fail(err)
		}
		c.shown[i] = h
	}
	return c.shown, nil
}

// put copies the results of a call back to values that are not in host memory.
func (c *hostCommunicator) put() error {
	for _, v := range c.values {
		if h, ok := v.(*hostCopy); ok {
			if err := h.Buffer.Write(h.data); err != nil {
				return c.fail(err)
			}
		}
	}
	return nil
}

// pack is a range of the values of a call, laid end to end: elements from first up to limit.
type pack struct {
	first, limit int
	err          error
}

func newHostGroup(devices []kernels.Device, packs int, reduce func(*hostCommunicator, *pack)) ([]kernels.Communicator, error) {
	g := &hostGroup{packs: packs, reduce: reduce}
	g.changed = sync.NewCond(&g.mu)
	all := make([]kernels.Communicator, len(devices))
	for i := range devices {
		c := &hostCommunicator{group: g, replica: i}
		g.members, all[i] = append(g.members, c), c
	}
	return all, nil
}

func (c *hostCommunicator) Replica() int  { return c.replica }
func (c *hostCommunicator) Replicas() int { return len(c.group.members) }

// watch connects the end of a context with one wait.
type watch struct{ over bool } // guarded by the group: nobody waits any more

// meet returns when all replicas have called it.
func (c *hostCommunicator) meet() error {
	if c.ctx == nil || c.ctx.Done() == nil {
		return c.await(nil)
	}
	ctx, w := c.ctx, &watch{}
	stop := context.AfterFunc(ctx, func() { c.abandon(w, context.Cause(ctx)) })
	defer stop()
	return c.await(w)
}

// await waits for the others. Until it returns, the wait may be abandoned.
func (c *hostCommunicator) await(w *watch) error {
	g := c.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if w != nil {
		defer func() { w.over = true }()
	}
	if g.err != nil {
		return g.err
	}
	g.arrived++
	if g.arrived == len(g.members) {
		g.arrived = 0
		g.generation++
		g.changed.Broadcast()
		return nil
	}
	for at := g.generation; g.generation == at && g.err == nil; {
		g.changed.Wait()
	}
	return g.err
}

// abandon ends a wait for all replicas. If that wait is already over, and the group is used for something else, it does
// nothing.
func (c *hostCommunicator) abandon(w *watch, cause error) {
	g := c.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if !w.over && g.err == nil {
		g.err = fmt.Errorf("replica %d stopped waiting for its peers: %w", c.replica, cause)
		g.changed.Broadcast()
	}
}

// Abort makes current and all later calls of all replicas return err. The first error stays.
func (c *hostCommunicator) Abort(err error) {
	g := c.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err == nil {
		g.err = err
		g.changed.Broadcast()
	}
}

// Close ends calls in progress.
func (c *hostCommunicator) Close() { c.Abort(errClosed) }

var errClosed = errors.New("distribute: the communicator is closed")

// begin waits for the others and checks that all replicas make the same call.
func (c *hostCommunicator) begin() error {
	if err := c.meet(); err != nil {
		return err
	}
	first := c.group.members[0]
	for r, m := range c.group.members {
		if m.what != first.what || m.kind != first.kind || m.number != first.number || len(m.values) != len(first.values) {
			return c.fail(fmt.Errorf("replicas disagree: replica 0 calls %s %q (%d) with %d values, replica %d calls %s %q (%d) with %d",
				first.what, first.kind, first.number, len(first.values), r, m.what, m.kind, m.number, len(m.values)))
		}
		for i, v := range m.values {
			if t, want := v.Type(), first.values[i].Type(); !t.Equal(want) || len(v.Bytes()) != t.Bytes() {
				return c.fail(fmt.Errorf("replicas disagree: %s of value %d: replica 0 brings %v, replica %d brings %v with %d bytes of host memory", first.what, i, want, r, t, len(v.Bytes())))
			}
		}
	}
	return nil
}

// fail ends the call on all replicas.
func (c *hostCommunicator) fail(err error) error {
	c.Abort(err)
	return err
}

// AllReduce combines values over the replicas, in place.
func (c *hostCommunicator) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	values, err := c.show(values)
	if err != nil {
		return err
	}
	c.ctx, c.what, c.kind, c.number, c.values = ctx, "all_reduce", kind, 0, values
	if err := c.begin(); err != nil {
		return err
	}
	total := 0
	for i, v := range values {
		d, n := v.Type().DType, v.Type().Shape.Size()
		if !combines(kind, d) {
			return c.fail(fmt.Errorf("all_reduce cannot combine %v by %q", d, kind))
		}
		if c.group.packs == 0 {
			if err := c.reducePack(total, total+n); err != nil {
				return fmt.Errorf("value %d: %w", i, err)
			}
		}
		total += n
	}
	if packs := c.group.packs; packs > 0 {
		size := total / packs
		for p := range packs {
			limit := (p + 1) * size
			if p == packs-1 {
				limit = total
			}
			if err := c.reducePack(p*size, limit); err != nil {
				return err
			}
		}
	}
	return c.put()
}

// reducePack combines the elements from first up to limit of the values, laid end to end.
func (c *hostCommunicator) reducePack(first, limit int) error {
	c.pack = pack{first: first, limit: limit}
	c.group.reduce(c, &c.pack)
	return c.pack.err
}

// AllGather concatenates the parts of all replicas along the axis.
func (c *hostCommunicator) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	c.pair = [2]kernels.Buffer{part, whole}
	values, err := c.show(c.pair[:])
	if err != nil {
		return err
	}
	c.ctx, c.what, c.kind, c.number, c.values = ctx, "all_gather", "", axis, values
	t, w := part.Type(), whole.Type()
	if axis < 0 || axis >= len(t.Shape) || t.Bytes()*c.Replicas() != w.Bytes() || t.DType != w.DType {
		return c.fail(fmt.Errorf("all_gather along axis %d: %d parts of %v do not make %v", axis, c.Replicas(), t, w))
	}
	if err := c.begin(); err != nil {
		return err
	}
	inner := t.Shape[axis:].Size() * t.DType.Size()
	out, n := values[1].Bytes(), c.Replicas()
	for r, m := range c.group.members {
		from := m.values[0].Bytes()
		for o := range t.Shape[:axis].Size() {
			copy(out[(o*n+r)*inner:(o*n+r+1)*inner], from[o*inner:(o+1)*inner])
		}
	}
	if err := c.meet(); err != nil {
		return err
	}
	return c.put()
}

// Broadcast copies the root's value to all replicas.
func (c *hostCommunicator) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	c.pair = [2]kernels.Buffer{value}
	values, err := c.show(c.pair[:1])
	if err != nil {
		return err
	}
	c.ctx, c.what, c.kind, c.number, c.values = ctx, "broadcast", "", root, values
	if root < 0 || root >= c.Replicas() {
		return c.fail(fmt.Errorf("broadcast from replica %d: there are %d replicas", root, c.Replicas()))
	}
	if err := c.begin(); err != nil {
		return err
	}
	if root != c.replica {
		copy(values[0].Bytes(), c.group.members[root].values[0].Bytes())
	}
	if err := c.meet(); err != nil {
		return err
	}
	return c.put()
}
