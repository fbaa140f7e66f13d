//go:build linux

package cuda

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// communicator is that of a single replica, which has nobody to meet.
type communicator struct {
	mu  sync.Mutex
	err error
}

// NewCommunicators connects a single replica. Several GPUs cannot be connected yet.
func (b *backend) NewCommunicators(_ context.Context, o kernels.CommunicatorOptions) ([]kernels.Communicator, error) {
	for _, d := range o.Devices {
		if err := b.Open(d); err != nil {
			return nil, err
		}
	}
	if o.Total() != 1 || len(o.Devices) != 1 {
		return nil, fmt.Errorf("cuda: connecting %d replicas: %w", o.Total(), errors.ErrUnsupported)
	}
	return []kernels.Communicator{&communicator{}}, nil
}

func (c *communicator) Replica() int  { return 0 }
func (c *communicator) Replicas() int { return 1 }

func (c *communicator) state(ctx context.Context) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.err, ctx.Err())
}

// AllReduce leaves the values as they are.
func (c *communicator) AllReduce(ctx context.Context, _ ir.Kind, _ []kernels.Buffer) error {
	return c.state(ctx)
}

// AllGather copies the part.
func (c *communicator) AllGather(ctx context.Context, part, whole kernels.Buffer, _ int) error {
	if err := c.state(ctx); err != nil {
		return err
	}
	return whole.CopyFrom(part).Wait(ctx)
}

// Broadcast leaves the value as it is.
func (c *communicator) Broadcast(ctx context.Context, _ int, _ kernels.Buffer) error {
	return c.state(ctx)
}

// Abort makes later calls fail.
func (c *communicator) Abort(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
}

// Close gives nothing back: there is nothing.
func (c *communicator) Close() { c.Abort(errors.New("cuda: the communicator is closed")) }
