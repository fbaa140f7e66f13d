//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/internal/unreachable"
	"github.com/gokeras/gokeras/kernels/ir"
)

// communicator belongs to one replica of a group.
type communicator struct {
	group   *group
	replica int
	closed  bool // guarded by the group
}

// NewCommunicators connects replicas of this process by kernels of our own, or by NCCL if requested, and those of
// several processes by NCCL. Without NCCL the latter is [errors.ErrUnsupported], unless NCCL was requested.
func (b *backend) NewCommunicators(ctx context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	for _, d := range o.Devices {
		if err := b.Open(d); err != nil {
			return nil, err
		}
	}
	switch {
	case len(o.Devices) == 0:
		return nil, errors.New("cuda: no devices to connect")
	case o.Library != "" && o.Library != kernels.NCCL:
		return nil, fmt.Errorf("cuda: values cannot be combined by %q; expected %q, or nothing for the backend's own choice", o.Library, kernels.NCCL)
	case o.Narrow != ir.Invalid && !o.Narrow.IsHalf():
		return nil, fmt.Errorf("cuda: sums cannot travel as %v; expected bfloat16, float16, or nothing for their own type", o.Narrow)
	case o.Inner:
		return b.newInner(o.Devices, nil)
	case o.Total() == 1 && o.Library == "":
		return []kernels.Communicator{&single{}}, nil
	}
	var g *group
	var err error
	if o.Library == "" && o.Total() == len(o.Devices) {
		g, err = b.group(ctx, o)
	} else {
		g, err = b.linked(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	return g.ends(), nil
}

// ends are the communicators of a group's replicas.
func (g *group) ends() []kernels.Communicator {
	all := make([]kernels.Communicator, len(g.devices))
	for i := range all {
		c := &communicator{group: g, replica: i}
		if g.link == nil { // other processes would not know
			g.backend.dead.Watch(c)
		}
		all[i] = c
	}
	return all
}

// Replica is the number of this replica among those of all processes.
func (c *communicator) Replica() int {
	if l := c.group.link; l != nil {
		return l.first + c.replica
	}
	return c.replica
}

// Replicas is the number of replicas of all processes.
func (c *communicator) Replicas() int {
	if l := c.group.link; l != nil {
		return l.ranks
	}
	return len(c.group.devices)
}

// Abort makes current and later calls of all replicas return err.
func (c *communicator) Abort(err error) { c.group.end(err) }

// Close ends calls in progress. The last communicator to be closed releases what the group holds.
func (c *communicator) Close() {
	unreachable.Forget(c)
	g := c.group
	g.mu.Lock()
	g.fail(errClosed)
	if !c.closed {
		c.closed = true
		g.open--
	}
	last := g.open == 0
	if last {
		g.open = -1
	}
	g.mu.Unlock()
	if last {
		g.release()
	}
}

// AllReduce combines values in place.
func (c *communicator) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	return c.call(ctx, ir.AllReduce, ir.CollectiveAttrs{Kind: kind}, values, nil)
}

// AllGather concatenates the parts of all replicas along the axis.
func (c *communicator) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	return c.call(ctx, ir.AllGather, ir.CollectiveAttrs{Axis: axis}, []kernels.Buffer{part}, []kernels.Buffer{whole})
}

// Broadcast copies the root's value to all.
func (c *communicator) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	return c.call(ctx, ir.CollectiveBroadcast, ir.CollectiveAttrs{Root: root}, []kernels.Buffer{value}, nil)
}

// call runs a program with one collective. Without outputs the results replace the operands.
func (c *communicator) call(ctx context.Context, op ir.Op, a ir.CollectiveAttrs, inputs, outputs []kernels.Buffer) error {
	g := c.group
	g.mu.Lock()
	err := g.err
	g.mu.Unlock()
	for _, b := range append(inputs[:len(inputs):len(inputs)], outputs...) {
		if _, ok := b.(*buffer); !ok && err == nil { // it may belong to a running program, which the devices would wait for
			err = fmt.Errorf("cuda: %v: received a %T, expected a buffer of %v; communicators that wrap those of GPUs must read and write values in host memory", op, b, g.devices[c.replica].name)
			c.Abort(err)
		}
	}
	if err != nil || len(inputs) == 0 {
		return err
	}
	a.Replicas = c.Replicas()
	p := ir.New(op.String())
	values := make([]ir.Value, len(inputs))
	for i, b := range inputs {
		values[i] = p.AddInput(fmt.Sprint("x", i), b.Type())
	}
	results, err := p.Add("communicator", op, a, values...)
	if err == nil {
		for i, v := range results {
			if outputs == nil {
				p.AddAlias(fmt.Sprint("y", i), v, i)
			} else {
				p.AddOutput(fmt.Sprint("y", i), v)
				if t := outputs[i].Type(); !t.Equal(p.Type(v)) {
					err = fmt.Errorf("cuda: %v of %v over %d replicas is %v, received a buffer of %v", op, inputs[i].Type(), a.Replicas, p.Type(v), t)
				}
			}
		}
	}
	if err == nil {
		err = c.launch(ctx, p, inputs, outputs)
	}
	if err != nil {
		c.Abort(err)
	}
	return err
}

func (c *communicator) launch(ctx context.Context, p *ir.Program, inputs, outputs []kernels.Buffer) error {
	g := c.group
	e, err := g.backend.Compile(p, kernels.CompileOptions{Device: g.devices[c.replica].name, Replicas: c.Replicas()})
	if err != nil {
		return err
	}
	defer e.Close()
	s, err := e.NewSession(kernels.SessionOptions{Device: g.devices[c.replica].name, Replica: c.Replica()})
	if err != nil {
		return err
	}
	defer s.Close()
	if outputs == nil {
		outputs = make([]kernels.Buffer, len(inputs))
	}
	return s.Launch(ctx, kernels.Launch{Inputs: inputs, Outputs: outputs, Communicator: c}).Wait(ctx)
}

// single is the communicator of a replica without peers.
type single struct {
	mu  sync.Mutex
	err error
}

func (c *single) Replica() int  { return 0 }
func (c *single) Replicas() int { return 1 }

func (c *single) state(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.err, ctx.Err())
}

// AllReduce leaves the values as they are.
func (c *single) AllReduce(ctx context.Context, _ ir.Kind, _ []kernels.Buffer) error {
	return c.state(ctx)
}

// AllGather copies the part.
func (c *single) AllGather(ctx context.Context, part, whole kernels.Buffer, _ int) error {
	if err := c.state(ctx); err != nil {
		return err
	}
	return whole.CopyFrom(part).Wait(ctx)
}

// Broadcast leaves the value as it is.
func (c *single) Broadcast(ctx context.Context, _ int, _ kernels.Buffer) error {
	return c.state(ctx)
}

// Abort makes later calls fail.
func (c *single) Abort(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// Close has nothing to release.
func (c *single) Close() { c.Abort(errClosed) }
