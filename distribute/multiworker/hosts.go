package multiworker

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
)

// JoinHosts returns the Join of tpu.SystemOptions for a TPU with several hosts: hosts join each other, and detect lost
// hosts, as workers do. It uses the options Security, Deadline, JoinTimeout, Listener, NoSharedMemory, Observe and the
// Timeout of Communication. The other options belong to a strategy and must not be set.
func JoinHosts(o Options) func(ctx context.Context, spec *cluster.Spec, task cluster.Task) (distribute.WorkerGroup, error) {
	return func(ctx context.Context, spec *cluster.Spec, task cluster.Task) (distribute.WorkerGroup, error) {
		if o.Resolver != nil || o.Devices != nil || o.CrossDeviceOps != nil || o.Elastic != nil || o.SameRandomNumbers || o.Communication.Implementation != "" || o.Communication.BytesPerPack != 0 {
			return nil, fmt.Errorf("multiworker: JoinHosts takes no Resolver, Devices, CrossDeviceOps, Elastic, SameRandomNumbers, Implementation or BytesPerPack: the TPU's resolver and strategy have them")
		}
		g, err := join(ctx, o, spec, task, collective.Options{})
		if err != nil {
			return nil, err
		}
		return newGroup(g, nil, g.Size(), 0), nil
	}
}
