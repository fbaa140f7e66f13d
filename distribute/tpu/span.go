package tpu

import (
	"context"
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// spans reports whether every replica has cores of all hosts. It is an error if a replica has cores of several hosts
// but not of all.
func (a *DeviceAssignment) spans() (bool, error) {
	spanning := 0
	for i, cores := range a.cores {
		var hosts []int
		seen := map[int]bool{}
		for j := range cores {
			host, _, err := a.find(i, j)
			if err != nil {
				return false, err
			}
			if !seen[host] {
				hosts, seen[host] = append(hosts, host), true
			}
		}
		switch n := a.topology.NumTasks(); len(hosts) {
		case 1:
		case n:
			spanning++
		default:
			return false, fmt.Errorf("tpu: replica %d has cores of the hosts %v, of %d; expected those of one host, or of all", i, hosts, n)
		}
	}
	if spanning != 0 && spanning != len(a.cores) {
		return false, fmt.Errorf("tpu: %d of %d replicas have cores of all hosts, the others those of one host; expected all replicas to be alike", spanning, len(a.cores))
	}
	return spanning > 0, nil
}

// span connects the hosts of a mesh whose devices have the given numbers.
func (s *system) span(cores []int) *kernels.MeshSpan {
	m := &kernels.MeshSpan{Cores: cores, Exchange: func(ctx context.Context, name string, own []byte) ([][]byte, error) {
		return s.group.AllGather(ctx, distribute.WorkerCall{Name: name}, own)
	}}
	if g, ok := s.group.(distribute.EndingGroup); ok {
		m.Broken = g.Break
		m.Ended, m.Why = g.Ended()
	}
	return m
}

// MeshOptions configure [NewMeshStrategy].
type MeshOptions struct {
	// Topology is what InitializeSystem returned.
	Topology *Topology
	// Shape is the number of cores along each axis of the mesh. The cores are in row-major order, host by host.
	Shape []int
	// Layouts says how the inputs of a program are divided over the mesh; see [kernels.MeshOptions].
	Layouts func(p *ir.Program) ([][]int, error)
}

// NewMeshStrategy creates a strategy of one replica on all cores of all hosts; XLA divides its programs and arrays over
// them. Package keras/distribution builds its strategies for a TPU on it; most programs use those.
func NewMeshStrategy(o MeshOptions) (*Strategy, error) {
	t := o.Topology
	switch {
	case t == nil || t.kind == "":
		return nil, errors.New("tpu: a mesh needs the topology that InitializeSystem returns")
	case t.NumTasks() > 1 && t.system == nil:
		return nil, fmt.Errorf("tpu: the TPU has %d hosts, which have not joined each other: give InitializeSystem the Resolver and Join", t.NumTasks())
	}
	var all []Coordinates
	for _, host := range t.devices {
		all = append(all, host...)
	}
	a := &DeviceAssignment{t, [][]Coordinates{all}}
	spans := t.system != nil
	devices, err := places(a, spans, o.Shape, o.Layouts)
	if err != nil {
		return nil, err
	}
	var group distribute.WorkerGroup
	if spans {
		group = t.system.group
	}
	inner, err := over(devices, group, spans, false)
	if err != nil {
		return nil, err
	}
	return &Strategy{Strategy: inner, assignment: a}, nil
}
