package distribute

import (
	"context"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// localCommunicator is an end of the replicas of one worker whose devices sum values where they lie; what devices do
// not serve meets in host memory, through the communicator that it embeds. All replicas call the same operations, so
// that they take the same way.
type localCommunicator struct {
	kernels.Communicator
	devices kernels.InnerCommunicator
	one     [1]kernels.Buffer
}

var _ kernels.Preparer = (*localCommunicator)(nil)

// Prepare lets the devices make what the session needs.
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

// Close releases what both ends hold.
func (c *localCommunicator) Close() {
	c.devices.Close()
	c.Communicator.Close()
}
