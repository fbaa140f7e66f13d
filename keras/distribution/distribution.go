package distribution

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/tpu"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/partition"
)

// parallel is what both distributions have in common: a strategy over a mesh.
type parallel struct {
	distribute.Strategy
	pod     *tpu.Strategy // the strategy, for a mesh over the hosts of a TPU; nil for a mesh of this process
	mesh    *DeviceMesh
	batch   string
	layouts *LayoutMap

	mu  sync.Mutex
	own map[string]*TensorLayout // of variables, by path; see DistributeVariable
}

// DataParallel copies all variables to every device and divides the batches: keras.distribution.DataParallel.
type DataParallel struct{ parallel }

// NewDataParallel creates the strategy. It divides batches along the first axis of the mesh.
func NewDataParallel(mesh *DeviceMesh) (*DataParallel, error) {
	if mesh == nil || len(mesh.devices) == 0 {
		return nil, errors.New("distribution: DataParallel needs a mesh; make one with NewDeviceMesh")
	}
	d := &DataParallel{parallel: parallel{mesh: mesh, batch: mesh.names[0], layouts: NewLayoutMap(mesh)}}
	backend, err := kernels.Lookup(mesh.devices[0].Kind)
	if err != nil {
		return nil, fmt.Errorf("distribution: DataParallel: %w", err)
	}
	if _, ok := backend.(kernels.Partitioner); ok || mesh.over != nil {
		return d, d.place("DataParallel")
	}
	names := make([]string, len(mesh.devices))
	for i, device := range mesh.devices {
		names[i] = device.String()
	}
	d.Strategy, err = distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: names, SameRandomNumbers: true})
	return d, err
}

// ModelParallel divides variables according to a layout map, and batches along one axis of the mesh:
// keras.distribution.ModelParallel.
type ModelParallel struct{ parallel }

// NewModelParallel creates the strategy. Variables without a layout in the map are copied to all devices. Optimizer
// slots have the layout of their variables. batchDimName is the mesh axis along which batches are divided; "" is the
// first. A batch that does not divide evenly is copied to all devices.
func NewModelParallel(layouts *LayoutMap, batchDimName string) (*ModelParallel, error) {
	if layouts == nil || layouts.mesh == nil {
		return nil, errors.New("distribution: ModelParallel needs a layout map with a mesh; make one with NewLayoutMap")
	}
	if batchDimName == "" {
		batchDimName = layouts.mesh.names[0]
	}
	if !slices.Contains(layouts.mesh.names, batchDimName) {
		return nil, fmt.Errorf("distribution: ModelParallel: the batch axis %q is none of the mesh's, %q", batchDimName, layouts.mesh.names)
	}
	d := &ModelParallel{parallel: parallel{mesh: layouts.mesh, batch: batchDimName, layouts: layouts}}
	return d, d.place("ModelParallel")
}

// place makes the mesh one device, and the strategy one on that device.
func (d *parallel) place(what string) error {
	if d.mesh.over != nil {
		var err error
		if d.pod, err = tpu.NewMeshStrategy(tpu.MeshOptions{Topology: d.mesh.over, Shape: d.mesh.shape, Layouts: d.InputLayouts}); err != nil {
			return fmt.Errorf("distribution: %s: %w", what, err)
		}
		d.Strategy = d.pod
		d.Strategy.Placement().LayerOutput = d.layerOutput
		return nil
	}
	backend, err := kernels.Lookup(d.mesh.devices[0].Kind)
	if err != nil {
		return fmt.Errorf("distribution: %s: %w", what, err)
	}
	p, ok := backend.(kernels.Partitioner)
	if !ok {
		if p, err = partition.For(backend); err != nil {
			return fmt.Errorf("distribution: %s: %w", what, err)
		}
	}
	device, err := p.NewMesh(kernels.MeshOptions{Devices: d.mesh.devices, Shape: d.mesh.shape, Layouts: d.InputLayouts})
	if err != nil {
		return fmt.Errorf("distribution: %s: %w", what, err)
	}
	if d.Strategy, err = distribute.NewOneDeviceStrategy(device.String()); err == nil {
		d.Strategy.Placement().LayerOutput = d.layerOutput
	}
	return err
}

// layerOutput gives the result of a layer the layout whose key in the map is the layer's path and "/output".
func (d *parallel) layerOutput(layer string, y *ops.Tensor) *ops.Tensor {
	path := layer + "/output"
	l, err := d.layouts.Get(path)
	switch {
	case err != nil:
		ops.Fail(y.Graph(), err)
	case l == nil:
		return y
	case len(l.axes) != y.Rank():
		ops.Failf(y.Graph(), "distribution: the layout of %s names %d axes, %q; the output has the shape %v", path, len(l.axes), l.axes, y.Shape())
	}
	return DistributeTensor(y, l)
}

// Rank returns the number of this process among the hosts of the mesh, or 0 if there is only one.
func (d *parallel) Rank() int {
	if d.pod == nil {
		return 0
	}
	return d.pod.Rank()
}

// IsChief reports whether this process writes checkpoints and summaries: the host with rank 0.
func (d *parallel) IsChief() bool { return d.Rank() == 0 }

// Close leaves the hosts of a mesh over several hosts; the others cannot continue then. With one host it does nothing.
func (d *parallel) Close() error {
	if d.pod == nil {
		return nil
	}
	return d.pod.Close()
}

// DeviceMesh returns the mesh.
func (d *parallel) DeviceMesh() *DeviceMesh { return d.mesh }

// BatchDimName returns the mesh axis along which batches are divided.
func (d *parallel) BatchDimName() string { return d.batch }

// DataLayout returns the layout of data with rank axes, the first of which is the batch axis.
func (d *parallel) DataLayout(rank int) *TensorLayout {
	axes := make([]string, rank)
	if rank > 0 {
		axes[0] = d.batch
	}
	return &TensorLayout{axes, d.mesh}
}

// VariableLayout returns the layout of a variable with the given path and number of axes.
func (d *parallel) VariableLayout(path string, rank int) (*TensorLayout, error) {
	d.mu.Lock()
	l, err := d.own[path], error(nil)
	d.mu.Unlock()
	if l == nil {
		l, err = d.layouts.Get(path)
	}
	if err != nil {
		return nil, err
	}
	if l == nil {
		return &TensorLayout{make([]string, rank), d.mesh}, nil
	}
	if len(l.axes) != rank {
		return nil, fmt.Errorf("distribution: the layout of %s names %d axes, %q; the variable has %d", path, len(l.axes), l.axes, rank)
	}
	return l, nil
}

// InputLayouts returns the layout of each input of a program: for each axis the mesh axis that divides it, or -1, as in
// [kernels.MeshOptions]. nil means a full copy on every device.
func (d *parallel) InputLayouts(p *ir.Program) ([][]int, error) {
	all := make([][]int, len(p.Inputs))
	for i, in := range p.Inputs {
		shape := p.Type(in.Value).Shape
		switch {
		case isData(in.Name):
			l := d.DataLayout(len(shape)).numbers()
			if len(shape) > 0 && shape[0]%d.mesh.shape[l[0]] == 0 {
				all[i] = l
			}
		case in.Name != "random_state":
			l, err := d.VariableLayout(d.variableOf(p, in.Name, shape), len(shape))
			if err != nil {
				return nil, err
			}
			all[i] = l.numbers()
		}
	}
	return all, nil
}

// isData reports whether an input is data: in0, in1, ...
func isData(name string) bool {
	number, ok := strings.CutPrefix(name, "in")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// variableOf returns the path by which a variable is looked up. An optimizer slot, "adam/dense_kernel_velocity", has
// the layout of the program's variable that it belongs to, "dense/kernel".
func (d *parallel) variableOf(p *ir.Program, path string, shape ir.Shape) string {
	_, slot, ok := strings.Cut(path, "/")
	if !ok {
		return path
	}
	best := path
	for _, in := range p.Inputs {
		if !isData(in.Name) && in.Name != path && p.Type(in.Value).Shape.Equal(shape) && strings.HasPrefix(slot, strings.ReplaceAll(in.Name, "/", "_")+"_") && (best == path || len(in.Name) > len(best)) {
			best = in.Name
		}
	}
	return best
}
