//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Workers with several GPUs whose processes meet through host memory still sum the values of their own GPUs in device
// memory. The launches then pause at a collective, each in the communicator that brought it there. Their inner
// communicators meet on the host, and the last one to arrive puts the work of all into the devices' streams.

// inner is what the ends of one set share: a group in which calls meet, not launches. Its parts, steps and lanes are
// those of the collective under way.
type inner struct {
	*group
	values [][]kernels.Buffer // by replica, of the call
}

// innerEnd is the inner communicator of one replica.
type innerEnd struct {
	*inner
	replica int
}

var _ kernels.InnerCommunicator = (*innerEnd)(nil)

// nested is a collective of a session as the ends of an inner communicator do it: over the replicas of this process.
type nested struct {
	among *inner
	steps map[*lower.Step]*lower.Step
}

// newInner connects devices that all reach each other's memory; if the arrangement is nil, the backend chooses the way.
func (b *backend) newInner(devices []kernels.Device, a *kernels.Arrangement) ([]kernels.Communicator, error) {
	g, err := b.empty(devices)
	if err != nil {
		return nil, err
	}
	g.arrangement = a
	if err := g.introduce(); err != nil {
		return nil, err
	}
	if !g.peers {
		g.release()
		return nil, fmt.Errorf("cuda: not all of %v reach each other's memory: %w", devices, errors.ErrUnsupported)
	}
	n := &inner{g, make([][]kernels.Buffer, len(devices))}
	all := make([]kernels.Communicator, len(devices))
	for i := range all {
		all[i] = &innerEnd{n, i}
	}
	return all, nil
}

// Replica is the number of this replica.
func (c *innerEnd) Replica() int { return c.replica }

// Replicas is the number of replicas.
func (c *innerEnd) Replicas() int { return len(c.devices) }

// Serves reports whether these are values of a paused launch.
func (c *innerEnd) Serves(values []kernels.Buffer) bool {
	for _, v := range values {
		if _, ok := v.(*shown); !ok {
			return false
		}
	}
	return true
}

// Prepare makes what the session needs for its all-reduces, because a paused launch cannot allocate memory.
func (c *innerEnd) Prepare(made kernels.Session) error {
	s, ok := made.(*session)
	if !ok || s.nested.among == c.inner {
		return nil
	}
	c.building.Lock()
	defer c.building.Unlock()
	s.nested = nested{steps: map[*lower.Step]*lower.Step{}}
	s.combining = map[*lower.Step]*combining{}
	if err := c.prepareSteps(s, s.executable.plan.Steps); err != nil {
		return err
	}
	s.nested.among = c.inner
	return nil
}

func (c *innerEnd) prepareSteps(s *session, steps []lower.Step) error {
	for i := range steps {
		step := &steps[i]
		if step.Kind == lower.Collect && step.Op == ir.AllReduce {
			local := *step
			local.Number, local.Attrs.Replicas = 0, len(c.devices)
			plan, err := c.plan(c.replica, &local)
			if err != nil {
				return err
			}
			if err := c.reserve(c.replica, plan); err != nil {
				return err
			}
			s.nested.steps[step], s.combining[&local] = &local, plan
		}
		if err := c.prepareSteps(s, step.Body); err != nil {
			return err
		}
	}
	return nil
}

// AllReduce combines values over the replicas of this process.
func (c *innerEnd) AllReduce(ctx context.Context, _ ir.Kind, values []kernels.Buffer) error {
	return c.meet(ctx, values, (*inner).reduce)
}

// Broadcast copies the root's value to all.
func (c *innerEnd) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	return c.meet(ctx, []kernels.Buffer{value}, func(n *inner) (int, error) { return n.copies(root) })
}

// AllGather is not done in device memory.
func (c *innerEnd) AllGather(context.Context, kernels.Buffer, kernels.Buffer, int) error {
	return errors.ErrUnsupported
}

// Abort makes current and later calls of all ends return err.
func (c *innerEnd) Abort(err error) { c.end(err) }

// Close releases what the set holds, when the last communicator is closed.
func (c *innerEnd) Close() {
	c.mu.Lock()
	c.fail(errClosed)
	c.open--
	last := c.open == 0
	c.mu.Unlock()
	if last {
		c.release()
	}
}

// meet waits for all ends; the last one does the work of all.
func (c *innerEnd) meet(ctx context.Context, values []kernels.Buffer, work func(*inner) (int, error)) error {
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { c.Abort(context.Cause(ctx)) })()
	}
	n := c.inner
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.err != nil {
		return n.err
	}
	n.values[c.replica] = values
	if n.came++; n.came < len(n.values) {
		for round := n.round; n.round == round; {
			n.changed.Wait()
		}
		return n.err
	}
	if replica, err := n.together(work); err != nil {
		n.err = fmt.Errorf("cuda: replica %d on %v: %w", replica, n.devices[replica].name, err)
	}
	clear(n.values)
	n.leave(n.err)
	return n.err
}

// together does the work of all replicas. The caller holds mu.
func (n *inner) together(work func(*inner) (int, error)) (int, error) {
	for r, all := range n.values {
		if a, b := len(all), len(n.values[0]); a != b {
			return r, fmt.Errorf("it brings %d values, replica 0 brings %d; all replicas must make the same collectives in the same order", a, b)
		}
	}
	for _, d := range n.order {
		d.Order.Lock()
	}
	defer n.unlock()
	for i, d := range n.devices {
		n.lanes[i] = d.Stream
	}
	replica, err := work(n)
	if err != nil {
		for _, d := range n.devices { // work that has begun reads memory of others, which may be freed next
			if d.Enter() == nil {
				d.synchronize()
				d.Leave()
			}
		}
	}
	return replica, err
}

// reduce does the all-reduce at which the launches are paused.
func (n *inner) reduce() (int, error) {
	for r, values := range n.values {
		v := values[0].(*shown)
		local := v.session.nested.steps[v.step]
		if local == nil {
			return r, fmt.Errorf("%s: its all-reduces were not prepared", v.step.Scope)
		}
		n.parts[r].session, n.steps[r], n.flags[r] = v.session, local, v.session.flag
	}
	defer func() {
		for r := range n.parts {
			n.parts[r].session = nil
		}
	}()
	if r := n.differs(); r > 0 {
		return r, fmt.Errorf("it meets the others in %s, replica 0 in %s; all replicas must make the same collectives in the same order", describe(n.steps[r]), describe(n.steps[0]))
	}
	return n.collectAmong()
}

// copies copies the root's values to the others.
func (n *inner) copies(root int) (int, error) {
	if i, err := n.barrier(); err != nil {
		return i, err
	}
	for r, d := range n.devices {
		if r == root {
			continue
		}
		for k, v := range n.values[r] {
			to, from := v.(*shown), n.values[root][k].(*shown)
			if !to.typ.Equal(from.typ) {
				return r, fmt.Errorf("its value is %v, that of replica %d is %v; all replicas must make the same collectives in the same order", to.typ, root, from.typ)
			}
			bytes := int64(to.typ.Bytes())
			if bytes == 0 {
				continue
			}
			if err := d.inside(func() driver.Result { return d.API.CopyOnDevice(to.address, from.address, bytes, d.Stream) }, "cuMemcpyDtoDAsync_v2"); err != nil {
				return r, err
			}
		}
	}
	return n.barrier()
}
