package tpu

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/kernels"
)

// system is this process's view of the joined hosts of a TPU.
type system struct {
	hosts     *cluster.Spec
	task      cluster.Task
	members   []cluster.Member
	group     distribute.WorkerGroup
	processes []int // the numbers that the devices' driver has for the hosts, by rank
	err       error // why they are not joined
}

// systems are the systems of this process by kind of device, because devices can be opened only once.
var systems struct {
	sync.Mutex
	of map[string]*system
}

// join connects the hosts of a TPU; it returns nil if there is only one.
func join(ctx context.Context, o SystemOptions, spec *cluster.Spec, task cluster.Task) (*system, error) {
	if spec == nil {
		return nil, nil
	}
	members, err := cluster.Members(spec)
	if err != nil || len(members) == 1 {
		return nil, err
	}
	if o.Join == nil {
		return nil, fmt.Errorf("tpu: the TPU has %d hosts (%v), and SystemOptions has no Join: give it multiworker.JoinHosts, or the TPU the name \"local\" for the chips of this host alone", len(members), spec)
	}
	systems.Lock()
	defer systems.Unlock()
	if s := systems.of[o.DeviceKind]; s != nil {
		if s.err == nil && (s.task != task || s.hosts.String() != spec.String()) {
			return nil, fmt.Errorf("tpu: this process is %v of the hosts %v, and cannot be %v of %v too", s.task, s.hosts, task, spec)
		}
		return s, s.err
	}
	backend, err := kernels.Lookup(o.DeviceKind)
	if err != nil {
		return nil, fmt.Errorf("tpu: %w; import _ \"github.com/gokeras/gokeras/kernels/pjrt\"", err)
	}
	devices, ok := backend.(kernels.Joiner)
	if !ok {
		return nil, fmt.Errorf("tpu: devices of kind %q of several hosts cannot be brought together; use multiworker.NewStrategy for them", o.DeviceKind)
	}
	s := &system{hosts: spec, task: task, members: members}
	if s.group, err = o.Join(ctx, spec, task); err != nil {
		return nil, err
	}
	if s.err = s.connect(ctx, devices); s.err != nil {
		_ = s.group.Close() // the first error is the one to report
		s.err = fmt.Errorf("tpu: connecting %d hosts: %w; start the processes anew", len(members), s.err)
	}
	if systems.of == nil {
		systems.of = map[string]*system{}
	}
	systems.of[o.DeviceKind] = s
	return s, s.err
}

// connect opens the devices of all hosts.
func (s *system) connect(ctx context.Context, devices kernels.Joiner) error {
	k := newKeys()
	var process int
	var failed error
	connected := make(chan struct{})
	go func() {
		defer close(connected)
		process, failed = devices.Join(kernels.Hosts{Index: s.group.Rank(), Count: s.group.Size(), Keys: k})
	}()
	behind, err := k.serve(ctx, s.group, connected, &failed)
	if err != nil {
		if late := s.names(behind); ctx.Err() != nil && late != "" {
			err = fmt.Errorf("%s did not open the devices in time: %w", late, err)
		}
		return err
	}
	blocks, err := s.group.AllGather(ctx, distribute.WorkerCall{Name: "numbers of the hosts of a TPU"}, binary.AppendUvarint(nil, uint64(process)))
	if err != nil {
		return err
	}
	for rank, block := range blocks {
		number, n := binary.Uvarint(block)
		if n != len(block) || n == 0 || slices.Contains(s.processes, int(number)) {
			return fmt.Errorf("host %d calls itself process %d, as another one does (%v)", rank, number, s.processes)
		}
		s.processes = append(s.processes, int(number))
	}
	return nil
}

// names lists hosts by their ranks.
func (s *system) names(ranks []int) string {
	var list []string
	for _, rank := range ranks {
		if rank < len(s.members) {
			list = append(list, fmt.Sprintf("%v (%s)", s.members[rank].Task, s.members[rank].Address))
		}
	}
	return strings.Join(list, ", ")
}
