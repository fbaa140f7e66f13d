package multiworker

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
)

// JoinHosts is what the Join of tpu.SystemOptions is for a TPU of several hosts: they meet as workers do, and notice as
// workers do who is lost. Of the options Security, Deadline, JoinTimeout, Listener, NoSharedMemory, Observe and the
// Timeout of Communication count; the others are those of a strategy and must be left out.
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
