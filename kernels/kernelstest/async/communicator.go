package async

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// communicator connects replicas by that of the backend that computes.
type communicator struct {
	backend *Backend
	inner   kernels.Communicator
	closed  atomic.Bool
}

var _ kernels.Overlapper = (*communicator)(nil)

// NewCommunicators connects replicas, also of several processes where these are goroutines of this one, as in tests:
// they find each other by a number that the first one draws and the exchange spreads.
func (b *Backend) NewCommunicators(ctx context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	for _, d := range o.Devices {
		if err := b.Open(d); err != nil {
			return nil, err
		}
	}
	var ends []kernels.Communicator
	if o.Exchange == nil {
		var err error
		if ends, err = b.ends(ctx, o.Total()); err != nil {
			return nil, err
		}
	} else {
		if b.options.OneProcess {
			return nil, fmt.Errorf("async: connecting processes: %w", errors.ErrUnsupported)
		}
		var own []byte
		if o.First == 0 {
			own = binary.LittleEndian.AppendUint64(nil, meetings.next.Add(1))
		}
		all, err := o.Exchange(ctx, own)
		if err != nil {
			return nil, err
		}
		id := slices.Concat(all...)
		if len(id) != 8 {
			return nil, fmt.Errorf("async: the exchange of %d processes gave %d bytes; expected the 8 of the first one", len(all), len(id))
		}
		if ends, err = b.meet(ctx, binary.LittleEndian.Uint64(id), o); err != nil {
			return nil, err
		}
	}
	out := make([]kernels.Communicator, len(o.Devices))
	for i := range out {
		b.stats.connections.Add(1)
		out[i] = &communicator{backend: b, inner: ends[o.First+i]}
	}
	return out, nil
}

// ends makes communicators for n replicas.
func (b *Backend) ends(ctx context.Context, n int) ([]kernels.Communicator, error) {
	devices := make([]kernels.Device, n)
	for i := range devices {
		devices[i] = kernels.Device{Kind: cpu.Kind, Index: i}
	}
	return b.inner.NewCommunicators(ctx, kernels.CommunicatorOptions{Devices: devices})
}

// meetings are where processes find each other.
var meetings struct {
	next atomic.Uint64
	mu   sync.Mutex
	by   map[uint64]*meeting
}

type meeting struct {
	ends []kernels.Communicator
	left int // replicas that have not come
}

// meet returns the communicators of all replicas of a meeting; the last ones to come end it.
func (b *Backend) meet(ctx context.Context, id uint64, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	meetings.mu.Lock()
	defer meetings.mu.Unlock()
	if meetings.by == nil {
		meetings.by = map[uint64]*meeting{}
	}
	m := meetings.by[id]
	if m == nil {
		ends, err := b.ends(ctx, o.Total())
		if err != nil {
			return nil, err
		}
		m = &meeting{ends, o.Total()}
		meetings.by[id] = m
	}
	if m.left -= len(o.Devices); m.left == 0 {
		delete(meetings.by, id)
	}
	return m.ends, nil
}

func (c *communicator) Replica() int  { return c.inner.Replica() }
func (c *communicator) Replicas() int { return c.inner.Replicas() }

// values returns the memory behind values: of the devices, which finish before, or shown to communicators by a running
// program.
func (c *communicator) values(ctx context.Context, list ...kernels.Buffer) ([]kernels.Buffer, error) {
	out := make([]kernels.Buffer, len(list))
	for i, v := range list {
		switch b := v.(type) {
		case *window:
			out[i] = b.memory
		case *buffer:
			c.backend.stats.synchronizations.Add(1)
			if err := b.device.do(func() error { return nil }).Wait(ctx); err != nil {
				return nil, err
			}
			out[i] = b.memory
		default:
			return nil, fmt.Errorf("async: a communicator was given a %T on %v", v, v.Device())
		}
	}
	return out, nil
}

// AllReduce combines values of the replicas.
func (c *communicator) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	list, err := c.values(ctx, values...)
	if err != nil {
		return err
	}
	return c.inner.AllReduce(ctx, kind, list)
}

// StartAllReduce begins what AllReduce does.
func (c *communicator) StartAllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	list, err := c.values(ctx, values...)
	if err != nil {
		return err
	}
	return c.inner.(kernels.Overlapper).StartAllReduce(ctx, kind, list)
}

// WaitAllReduce waits for the oldest.
func (c *communicator) WaitAllReduce(ctx context.Context) error {
	return c.inner.(kernels.Overlapper).WaitAllReduce(ctx)
}

// AllGather joins the parts of all replicas.
func (c *communicator) AllGather(ctx context.Context, part, whole kernels.Buffer, axis int) error {
	list, err := c.values(ctx, part, whole)
	if err != nil {
		return err
	}
	return c.inner.AllGather(ctx, list[0], list[1], axis)
}

// Broadcast copies the root's value.
func (c *communicator) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	list, err := c.values(ctx, value)
	if err != nil {
		return err
	}
	return c.inner.Broadcast(ctx, root, list[0])
}

// Abort ends the calls of all replicas, for good.
func (c *communicator) Abort(err error) { c.inner.Abort(err) }

// Close gives the end back.
func (c *communicator) Close() {
	if !c.closed.Swap(true) {
		c.backend.stats.connections.Add(-1)
		c.inner.Close()
	}
}
