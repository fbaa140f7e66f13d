package distribute

import (
	"context"
	"errors"

	"github.com/gokeras/gokeras/kernels"
)

// connect makes communicators of the backend for the replicas of this process, or with a group for those of all processes. They are nil without an
// error where the backend cannot do the latter.
func (s *local) connect(ctx context.Context, group WorkerGroup) ([]kernels.Communicator, error) {
	backend, err := kernels.Lookup(s.at.Devices[0].Kind)
	if err != nil {
		return nil, err
	}
	o := kernels.CommunicatorOptions{Devices: s.at.Devices}
	if group == nil {
		return backend.NewCommunicators(ctx, o)
	}
	o.First, o.Replicas = s.at.First, s.at.Total
	o.Exchange = func(ctx context.Context, own []byte) ([][]byte, error) {
		return group.AllGather(ctx, WorkerCall{Name: "connecting devices"}, own)
	}
	all, err := backend.NewCommunicators(ctx, o)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, nil
	}
	return all, err
}
