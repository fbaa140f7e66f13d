package distribute

import (
	"context"
	"errors"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// localCommunicator is the communicator of one of a worker's replicas whose devices sum values in place. The embedded
// communicator does in host memory what devices cannot do. All replicas call the same operations, so all choose the
// same of the two.
type localCommunicator struct {
	kernels.Communicator
	devices kernels.InnerCommunicator
	one     [1]kernels.Buffer
}

var _ kernels.Preparer = (*localCommunicator)(nil)

// Prepare lets the devices create what the session needs.
func (c *localCommunicator) Prepare(s kernels.Session) error { return c.devices.Prepare(s) }

// AllReduce combines values in place.
func (c *localCommunicator) AllReduce(ctx context.Context, kind ir.Kind, values []kernels.Buffer) error {
	if c.devices.Serves(values) {
		return c.devices.AllReduce(ctx, kind, values)
	}
	return c.Communicator.AllReduce(ctx, kind, values)
}

// Broadcast copies the root's value to all.
func (c *localCommunicator) Broadcast(ctx context.Context, root int, value kernels.Buffer) error {
	c.one[0] = value
	if c.devices.Serves(c.one[:]) {
		return c.devices.Broadcast(ctx, root, value)
	}
	return c.Communicator.Broadcast(ctx, root, value)
}

// Abort makes current and later calls of all local replicas return err.
func (c *localCommunicator) Abort(err error) {
	c.devices.Abort(err)
	c.Communicator.Abort(err)
}

// Close releases the resources of both communicators.
func (c *localCommunicator) Close() {
	c.devices.Close()
	c.Communicator.Close()
}

// beside joins the communicators inner, which a backend has made, with those of host memory. If there are none, it
// returns those of host memory alone.
func beside(inner []kernels.Communicator, err error, hosted func() ([]kernels.Communicator, error)) ([]kernels.Communicator, error) {
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, err
	}
	if len(inner) > 0 {
		if _, ok := inner[0].(kernels.InnerCommunicator); !ok {
			return inner, nil
		}
	}
	all, failed := hosted()
	for i, c := range inner {
		if failed != nil {
			c.Close()
			continue
		}
		all[i] = &localCommunicator{Communicator: all[i], devices: c.(kernels.InnerCommunicator)}
	}
	return all, failed
}

// arranged connects devices that combine values in a given arrangement; for other devices it calls host. hosted says
// that other communicators call the result.
func arranged(devices []kernels.Device, hosted bool, a kernels.Arrangement, host func() ([]kernels.Communicator, error)) ([]kernels.Communicator, error) {
	b := arranger(devices)
	if b == nil {
		return host()
	}
	if a.Inner = hosted; !hosted {
		return b.Arrange(context.Background(), devices, a)
	}
	inner, err := b.Arrange(context.Background(), devices, a)
	return beside(inner, err, host)
}
