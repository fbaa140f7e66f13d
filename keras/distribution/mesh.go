package distribution

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/distribute/tpu"
	"github.com/gokeras/gokeras/kernels"
)

// ListDevices lists the devices of a kind ("cpu", "gpu", "tpu", "xla") as "tpu:0" and so on. "" means the accelerators
// of imported backends, or "cpu" if there are none. The list is empty if there is no such device; opening one tells why
// (distribute.NewOneDeviceStrategy, or the command keras devices).
func ListDevices(kind string) []string {
	all := kernels.Devices()
	if kind == "" {
		kind = "cpu"
		for _, d := range all {
			if d.Kind != "cpu" {
				kind = d.Kind
				break
			}
		}
	}
	names := []string{} // not nil, because nil means all devices of the default kind to NewDeviceMesh
	for _, d := range all {
		if d.Kind == strings.ToLower(kind) {
			names = append(names, d.String())
		}
	}
	return names
}

// DeviceMesh is an array of devices with a name for each of its axes.
type DeviceMesh struct {
	shape   []int
	names   []string
	devices []kernels.Device
	over    *tpu.Topology // the topology of a mesh over the cores of all hosts; nil: the devices are in this process
}

// NewDeviceMesh arranges devices in row-major order. Without devices it uses [ListDevices] of "".
func NewDeviceMesh(shape []int, axisNames []string, devices ...string) (*DeviceMesh, error) {
	m, places, err := emptyMesh(shape, axisNames)
	if err != nil {
		return nil, err
	}
	if devices == nil {
		devices = ListDevices("")
	}
	if len(devices) == 0 {
		return nil, fmt.Errorf("distribution: a mesh of shape %v without devices; expected %d: ListDevices has found none of the kind asked for, and distribute.NewOneDeviceStrategy(\"tpu:0\") says why", shape, places)
	}
	if places != len(devices) {
		return nil, fmt.Errorf("distribution: a mesh of shape %v has %d places; received %d devices", shape, places, len(devices))
	}
	for _, name := range devices {
		d, err := kernels.ParseDevice(name)
		if err != nil {
			return nil, fmt.Errorf("distribution: %w", err)
		}
		if slices.Contains(m.devices, d) {
			return nil, fmt.Errorf("distribution: device %v is in the mesh twice", d)
		}
		if len(m.devices) > 0 && d.Kind != m.devices[0].Kind {
			return nil, fmt.Errorf("distribution: devices %v and %v of one mesh are of different kinds", m.devices[0], d)
		}
		m.devices = append(m.devices, d)
	}
	return m, nil
}

// NewDeviceMeshOver arranges the cores of all hosts of a TPU in row-major order, host by host. As long as the last axes
// fit into a host, what is divided along them is exchanged within hosts. topology is the result of
// tpu.InitializeSystem. All hosts create the mesh and its distribution, and then make the same calls with the same data
// in the same order; each stores the parts on its own cores.
func NewDeviceMeshOver(topology *tpu.Topology, shape []int, axisNames []string) (*DeviceMesh, error) {
	m, places, err := emptyMesh(shape, axisNames)
	if err != nil {
		return nil, err
	}
	if topology == nil || topology.DeviceKind() == "" {
		return nil, fmt.Errorf("distribution: a mesh over hosts needs the topology that tpu.InitializeSystem returns")
	}
	if n := topology.NumTasks() * topology.NumTPUsPerTask(); places != n {
		return nil, fmt.Errorf("distribution: a mesh of shape %v has %d places; the topology, a %v, has %d devices", shape, places, topology, n)
	}
	for i := range places {
		m.devices = append(m.devices, kernels.Device{Kind: topology.DeviceKind(), Index: i})
	}
	m.over = topology
	return m, nil
}

// emptyMesh returns a mesh without devices, and the number of devices that it needs.
func emptyMesh(shape []int, axisNames []string) (m *DeviceMesh, places int, err error) {
	if len(shape) == 0 || len(axisNames) == 0 {
		return nil, 0, fmt.Errorf("distribution: the shape %v and the axis names %q of a mesh cannot be empty", shape, axisNames)
	}
	if len(shape) != len(axisNames) {
		return nil, 0, fmt.Errorf("distribution: a mesh of shape %v with the axis names %q; expected one name for each axis", shape, axisNames)
	}
	places = 1
	for i, name := range axisNames {
		if name == "" || slices.Contains(axisNames[:i], name) {
			return nil, 0, fmt.Errorf("distribution: the axis names %q; expected different names that are not empty", axisNames)
		}
		if shape[i] < 1 {
			return nil, 0, fmt.Errorf("distribution: a mesh of shape %v; expected positive numbers", shape)
		}
		places *= shape[i]
	}
	return &DeviceMesh{shape: slices.Clone(shape), names: slices.Clone(axisNames)}, places, nil
}

// Shape returns the number of devices along each axis.
func (m *DeviceMesh) Shape() []int { return slices.Clone(m.shape) }

// AxisNames returns the names of the axes.
func (m *DeviceMesh) AxisNames() []string { return slices.Clone(m.names) }

// Devices lists the devices in row-major order. Those of a mesh over hosts are numbered consecutively.
func (m *DeviceMesh) Devices() []kernels.Device { return slices.Clone(m.devices) }

// String returns the shape and names.
func (m *DeviceMesh) String() string {
	return fmt.Sprintf("DeviceMesh(shape %v, axes %s)", m.shape, strings.Join(m.names, ", "))
}

// TensorLayout says along which axis of a mesh each axis of a tensor is divided.
type TensorLayout struct {
	axes []string // "": not divided
	mesh *DeviceMesh
}

// NewTensorLayout makes a layout from names of the mesh's axes; "" leaves an axis undivided.
func NewTensorLayout(mesh *DeviceMesh, axes ...string) (*TensorLayout, error) {
	if mesh == nil {
		return nil, fmt.Errorf("distribution: a layout needs a mesh")
	}
	for i, name := range axes {
		if name == "" {
			continue
		}
		if !slices.Contains(mesh.names, name) {
			return nil, fmt.Errorf("distribution: the layout %q names the axis %q; the mesh has %q", axes, name, mesh.names)
		}
		if slices.Contains(axes[:i], name) {
			return nil, fmt.Errorf("distribution: the layout %q names the axis %q twice; an axis of the mesh can cut one axis", axes, name)
		}
	}
	return &TensorLayout{slices.Clone(axes), mesh}, nil
}

// Axes returns the names of the mesh's axes, "" for undivided axes.
func (l *TensorLayout) Axes() []string { return slices.Clone(l.axes) }

// Mesh returns the mesh that the names belong to.
func (l *TensorLayout) Mesh() *DeviceMesh { return l.mesh }

// String lists the axes.
func (l *TensorLayout) String() string { return fmt.Sprintf("TensorLayout(%q, %v)", l.axes, l.mesh) }

// numbers returns the indices of the mesh's axes, -1 for undivided axes.
func (l *TensorLayout) numbers() []int {
	out := make([]int, len(l.axes))
	for i, name := range l.axes {
		out[i] = slices.Index(l.mesh.names, name)
	}
	return out
}
