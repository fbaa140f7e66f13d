package tpu

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels"
)

// Coordinates are the position of a core: x, y and z of its chip, and its number on the chip.
type Coordinates [4]int

// Topology is the mesh of a TPU's cores: tf.tpu.experimental.Topology.
type Topology struct {
	mesh    Coordinates
	devices [][]Coordinates // by task (host) and device of it
	at      map[Coordinates]place
	numbers map[Coordinates]int // of the devices among those of all tasks; nil for a topology that was made by hand
	kind    string              // of the devices that the cores are in this program; "" for a topology that was made by hand
	own     int                 // task that this process is
	system  *system
}

// place is the task and the device at some coordinates.
type place struct{ task, device int }

// NewTopology describes a mesh of the given shape, in cores. devices has the coordinates of each device of each task;
// all tasks have the same number of devices.
func NewTopology(meshShape Coordinates, devices [][]Coordinates) (*Topology, error) {
	if slices.Min(meshShape[:]) < 1 {
		return nil, fmt.Errorf("tpu: the mesh shape is %v; expected four positive numbers, (x, y, z, cores on a chip)", meshShape)
	}
	t := &Topology{mesh: meshShape, devices: devices, at: map[Coordinates]place{}}
	for i, task := range devices {
		if len(task) != len(devices[0]) {
			return nil, fmt.Errorf("tpu: task %d has %d devices and task 0 has %d; all need equally many", i, len(task), len(devices[0]))
		}
		for j, c := range task {
			for axis := range c {
				if c[axis] < 0 || c[axis] >= meshShape[axis] {
					return nil, fmt.Errorf("tpu: device %d of task %d lies at %v, outside of the mesh %v", j, i, c, meshShape)
				}
			}
			if other, taken := t.at[c]; taken {
				return nil, fmt.Errorf("tpu: device %d of task %d lies at %v, where device %d of task %d is", j, i, c, other.device, other.task)
			}
			t.at[c] = place{i, j}
		}
	}
	return t, nil
}

// topologyOf arranges the cores that a backend reports in a mesh. Cores without coordinates form a row. Tasks are
// hosts, numbered by their ranks or, if there is only one host, by the backend's numbers.
func topologyOf(kind string, cores []kernels.Core, own *system) (*Topology, error) {
	var devices [][]Coordinates
	var order [][]int // numbers of the devices
	low, high := Coordinates{}, Coordinates{}
	for i, c := range cores {
		at := Coordinates{i, 0, 0, 0}
		if c.Coordinates != nil {
			at = Coordinates{3: c.OnChip}
			copy(at[:3], c.Coordinates)
		}
		for axis, n := range at {
			if i == 0 || n < low[axis] {
				low[axis] = n
			}
			high[axis] = max(high[axis], n)
		}
		task := c.Process
		if own != nil {
			if task = slices.Index(own.processes, c.Process); task < 0 {
				return nil, fmt.Errorf("tpu: core %d belongs to process %d, which is none of the hosts' %v", c.Number, c.Process, own.processes)
			}
			if n := len(ofTask(devices, task)); task == own.group.Rank() && c.Device.Index != n {
				return nil, fmt.Errorf("tpu: core %d is device %v of its host; expected number %d", c.Number, c.Device, n)
			}
		}
		for len(devices) <= task {
			devices, order = append(devices, nil), append(order, nil)
		}
		devices[task], order[task] = append(devices[task], at), append(order[task], c.Number)
	}
	mesh := Coordinates{}
	for axis := range mesh {
		mesh[axis] = high[axis] - low[axis] + 1
		for _, task := range devices {
			for i := range task {
				task[i][axis] -= low[axis] // a slice of a larger machine
			}
		}
	}
	t, err := NewTopology(mesh, devices)
	if err != nil {
		return nil, err
	}
	numbers := map[Coordinates]int{}
	for i, task := range devices {
		for j, at := range task {
			numbers[at] = order[i][j]
		}
	}
	t.kind, t.system, t.numbers = kind, own, numbers
	if own != nil {
		t.own = own.group.Rank()
	}
	return t, nil
}

func ofTask(devices [][]Coordinates, task int) []Coordinates {
	if task < len(devices) {
		return devices[task]
	}
	return nil
}

// MeshShape is the number of cores along each axis.
func (t *Topology) MeshShape() Coordinates { return t.mesh }

// MeshRank is 4, the number of axes.
func (t *Topology) MeshRank() int { return len(t.mesh) }

// NumTasks is the number of hosts.
func (t *Topology) NumTasks() int { return len(t.devices) }

// NumTPUsPerTask is the number of devices of each host.
func (t *Topology) NumTPUsPerTask() int {
	if len(t.devices) == 0 {
		return 0
	}
	return len(t.devices[0])
}

// DeviceCoordinates returns the coordinates of a device of a task.
func (t *Topology) DeviceCoordinates(task, device int) (Coordinates, error) {
	if task < 0 || task >= t.NumTasks() || device < 0 || device >= t.NumTPUsPerTask() {
		return Coordinates{}, fmt.Errorf("tpu: there is no device %d of task %d; the topology has %d tasks with %d devices each", device, task, t.NumTasks(), t.NumTPUsPerTask())
	}
	return t.devices[task][device], nil
}

// MissingDevices lists the positions of the mesh without a device.
func (t *Topology) MissingDevices() []Coordinates {
	var missing []Coordinates
	for x := range t.mesh[0] {
		for y := range t.mesh[1] {
			for z := range t.mesh[2] {
				for core := range t.mesh[3] {
					if _, ok := t.at[Coordinates{x, y, z, core}]; !ok {
						missing = append(missing, Coordinates{x, y, z, core})
					}
				}
			}
		}
	}
	return missing
}

// DeviceAt returns the task whose device is at the coordinates, and the number of that device in the task.
func (t *Topology) DeviceAt(c Coordinates) (task, device int, err error) {
	p, ok := t.at[c]
	if !ok {
		return 0, 0, fmt.Errorf("tpu: no device lies at %v of the mesh %v", c, t.mesh)
	}
	return p.task, p.device, nil
}

// DeviceKind is the kind of the devices in this program, "tpu"; "" for a topology from NewTopology.
func (t *Topology) DeviceKind() string { return t.kind }

// String returns the shape and the number of hosts.
func (t *Topology) String() string {
	return fmt.Sprintf("mesh %v of %d tasks with %d devices each", t.mesh, t.NumTasks(), t.NumTPUsPerTask())
}
