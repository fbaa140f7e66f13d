package tpu

import (
	"fmt"
	"math"
	"slices"
)

// DeviceOrder is the order of replicas on the mesh.
type DeviceOrder int

// Orders of devices.
const (
	Auto DeviceOrder = iota // rings where that is possible
	Ring                    // each replica beside the one before, and the last beside the first
	Mesh                    // row by row
)

// AssignmentOptions configure [AssignDevices]. The zero value is one replica on one core.
type AssignmentOptions struct {
	// ComputationShape is the shape of the block of cores of one replica; nil means one core.
	ComputationShape []int
	// ComputationStride is the distance between these cores along each axis; nil means 1.
	ComputationStride []int
	// Replicas is the number of replicas; 0 means 1.
	Replicas int
	Order    DeviceOrder
}

// DeviceAssignment maps each logical core of each replica to a core of a topology:
// tf.tpu.experimental.DeviceAssignment.
type DeviceAssignment struct {
	topology *Topology
	cores    [][]Coordinates // by replica and logical core
}

// NewDeviceAssignment makes an assignment from explicit coordinates of each logical core of each replica.
func NewDeviceAssignment(t *Topology, cores [][]Coordinates) (*DeviceAssignment, error) {
	if t == nil {
		return nil, fmt.Errorf("tpu: a device assignment needs a topology; InitializeSystem returns one")
	}
	if len(cores) == 0 || len(cores[0]) == 0 {
		return nil, fmt.Errorf("tpu: a device assignment needs one replica with one core at least")
	}
	seen := map[Coordinates]bool{}
	for i, replica := range cores {
		if len(replica) != len(cores[0]) {
			return nil, fmt.Errorf("tpu: replica %d has %d cores and replica 0 has %d; all need equally many", i, len(replica), len(cores[0]))
		}
		for _, c := range replica {
			if _, _, err := t.DeviceAt(c); err != nil {
				return nil, err
			}
			if seen[c] {
				return nil, fmt.Errorf("tpu: the core at %v is assigned twice", c)
			}
			seen[c] = true
		}
	}
	return &DeviceAssignment{t, cores}, nil
}

// AssignDevices chooses a compact block of cores for each replica: tf.tpu.experimental.DeviceAssignment.build. A
// topology in which they do not fit is an error.
func AssignDevices(t *Topology, o AssignmentOptions) (*DeviceAssignment, error) {
	if t == nil {
		return nil, fmt.Errorf("tpu: a device assignment needs a topology; InitializeSystem returns one")
	}
	b := block{mesh: t.mesh, replicas: o.Replicas}
	if o.Replicas == 0 {
		b.replicas = 1
	}
	var err error
	if b.shape, err = perAxis("computation shape", o.ComputationShape); err != nil {
		return nil, err
	}
	if b.stride, err = perAxis("computation stride", o.ComputationStride); err != nil {
		return nil, err
	}
	if err := b.fit(); err != nil {
		return nil, err
	}
	if len(t.MissingDevices()) > 0 {
		return assignPresent(t, b)
	}
	b.arrange()
	rings := b.shape[3] == b.mesh[3] && product(b.stride) == 1 && b.replicas == b.most
	switch o.Order {
	case Auto:
	case Ring:
		if !rings {
			return nil, fmt.Errorf("tpu: the order Ring needs replicas that fill the mesh %v, with all %d cores of a chip each and no stride; use Auto", b.mesh, b.mesh[3])
		}
	case Mesh:
		rings = false
	default:
		return nil, fmt.Errorf("tpu: device order %d; expected Auto, Ring or Mesh", o.Order)
	}
	if rings {
		return &DeviceAssignment{t, b.ringed()}, nil
	}
	return &DeviceAssignment{t, b.meshed()}, nil
}

// perAxis reads a list of four positive numbers; nil means all ones.
func perAxis(what string, list []int) (Coordinates, error) {
	if list == nil {
		return Coordinates{1, 1, 1, 1}, nil
	}
	if len(list) != 4 || slices.Min(list) < 1 {
		return Coordinates{}, fmt.Errorf("tpu: the %s is %v; expected four positive numbers, (x, y, z, cores on a chip)", what, list)
	}
	return Coordinates(list), nil
}

func product(c Coordinates) int { return c[0] * c[1] * c[2] * c[3] }

// block is the problem of placing replicas of one shape on a mesh.
type block struct {
	mesh, shape, stride Coordinates
	footprint           Coordinates // shape times stride
	replicas, most      int
	counts              Coordinates // replicas that fit along each axis
	grid                Coordinates // replicas along each axis
}

// fit finds out whether the replicas fit.
func (b *block) fit() error {
	b.most = 1
	for i := range b.mesh {
		b.footprint[i] = b.shape[i] * b.stride[i]
		if b.footprint[i] > b.mesh[i] {
			return fmt.Errorf("tpu: a replica of shape %v with stride %v does not fit in a TPU of shape %v", b.shape, b.stride, b.mesh)
		}
		b.counts[i] = b.mesh[i] / b.footprint[i] * b.stride[i]
		b.most *= b.counts[i]
	}
	if b.replicas < 1 || b.replicas > b.most {
		return fmt.Errorf("tpu: %d replicas were asked for; 1 to %d of shape %v with stride %v fit in a TPU of shape %v", b.replicas, b.most, b.shape, b.stride, b.mesh)
	}
	return nil
}

// arrange chooses the number of replicas along each axis, as close to a cube as possible. It handles short axes first,
// because they leave the least choice; among equal axes, the cores of a chip come before x, y and z.
func (b *block) arrange() {
	axes := []int{3, 0, 1, 2}
	slices.SortStableFunc(axes, func(i, j int) int { return b.counts[i] - b.counts[j] })
	left := b.replicas
	for i, axis := range axes {
		target := int(math.Ceil(math.Pow(float64(left), 1/float64(len(axes)-i))))
		b.grid[axis] = min(target, b.counts[axis])
		left = (left + b.grid[axis] - 1) / b.grid[axis]
	}
}

// meshed places the replicas row by row, cores of a chip first.
func (b *block) meshed() [][]Coordinates {
	var all [][]Coordinates
	for replica := range b.replicas {
		var offset Coordinates
		rest := replica
		for _, axis := range []int{3, 0, 1, 2} {
			n := rest % b.grid[axis]
			rest /= b.grid[axis]
			offset[axis] = n/b.stride[axis]*b.footprint[axis] + n%b.stride[axis]
		}
		var cores []Coordinates
		for i := range product(b.shape) {
			at := offset
			for axis := 3; axis >= 0; axis-- {
				at[axis] += i % b.shape[axis] * b.stride[axis]
				i /= b.shape[axis]
			}
			cores = append(cores, at)
		}
		all = append(all, cores)
	}
	return all
}

// ringed places the replicas, and the chips of each, in rings.
func (b *block) ringed() [][]Coordinates {
	inner := ring(b.shape[0], b.shape[1], b.shape[2])
	outer := ring(b.grid[0], b.grid[1], b.grid[2])
	var all [][]Coordinates
	for _, replica := range outer[:b.replicas] {
		var cores []Coordinates
		for i := range product(b.shape) {
			chip := inner[i/b.mesh[3]]
			at := Coordinates{3: i % b.mesh[3]}
			for axis := range chip {
				at[axis] = replica[axis]*b.shape[axis] + chip[axis]
			}
			cores = append(cores, at)
		}
		all = append(all, cores)
	}
	return all
}

// assignPresent assigns the existing cores in the order of the tasks, if some cores of the mesh are missing.
func assignPresent(t *Topology, b block) (*DeviceAssignment, error) {
	each := product(b.shape)
	if product(b.stride) != 1 || b.replicas*each > t.NumTasks()*t.NumTPUsPerTask() {
		return nil, fmt.Errorf("tpu: %d replicas of %d cores with stride %v on a TPU with missing cores; expected stride 1 and at most %d cores", b.replicas, each, b.stride, t.NumTasks()*t.NumTPUsPerTask())
	}
	present := slices.Concat(t.devices...)
	var all [][]Coordinates
	for replica := range b.replicas {
		all = append(all, present[replica*each:(replica+1)*each])
	}
	return &DeviceAssignment{t, all}, nil
}

// Topology is the topology to which the cores belong.
func (a *DeviceAssignment) Topology() *Topology { return a.topology }

// NumReplicas is the number of replicas.
func (a *DeviceAssignment) NumReplicas() int { return len(a.cores) }

// NumCoresPerReplica is the number of logical cores of each replica.
func (a *DeviceAssignment) NumCoresPerReplica() int { return len(a.cores[0]) }

// Coordinates returns the coordinates of a logical core of a replica.
func (a *DeviceAssignment) Coordinates(replica, logicalCore int) (Coordinates, error) {
	if replica < 0 || replica >= a.NumReplicas() || logicalCore < 0 || logicalCore >= a.NumCoresPerReplica() {
		return Coordinates{}, fmt.Errorf("tpu: there is no logical core %d of replica %d; the assignment has %d replicas with %d cores each", logicalCore, replica, a.NumReplicas(), a.NumCoresPerReplica())
	}
	return a.cores[replica][logicalCore], nil
}

// Ordinal is the number of a logical core of a replica among the devices of its task.
func (a *DeviceAssignment) Ordinal(replica, logicalCore int) (int, error) {
	_, device, err := a.find(replica, logicalCore)
	return device, err
}

func (a *DeviceAssignment) find(replica, logicalCore int) (task, device int, err error) {
	c, err := a.Coordinates(replica, logicalCore)
	if err != nil {
		return 0, 0, err
	}
	return a.topology.DeviceAt(c)
}

// DeviceName is TensorFlow's name of a logical core of a replica, "/job:worker/task:0/device:TPU:3"; without a job the
// name begins with the task.
func (a *DeviceAssignment) DeviceName(replica, logicalCore int, job string) (string, error) {
	task, device, err := a.find(replica, logicalCore)
	return fmt.Sprintf("%s/device:TPU:%d", taskName(job, task), device), err
}

// HostName is TensorFlow's name of the CPU beside a logical core of a replica.
func (a *DeviceAssignment) HostName(replica, logicalCore int, job string) (string, error) {
	task, _, err := a.find(replica, logicalCore)
	return taskName(job, task) + "/device:CPU:0", err
}

func taskName(job string, task int) string {
	if job == "" {
		return fmt.Sprintf("/task:%d", task)
	}
	return fmt.Sprintf("/job:%s/task:%d", job, task)
}

// LookupReplicas lists the replicas whose logical core of the given number is on a task.
func (a *DeviceAssignment) LookupReplicas(task, logicalCore int) ([]int, error) {
	var found []int
	for replica := range a.cores {
		at, _, err := a.find(replica, logicalCore)
		if err != nil {
			return nil, err
		}
		if at == task {
			found = append(found, replica)
		}
	}
	if found == nil {
		return nil, fmt.Errorf("tpu: no replica has its logical core %d on task %d", logicalCore, task)
	}
	return found, nil
}
