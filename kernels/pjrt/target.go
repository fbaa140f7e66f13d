//go:build linux

package pjrt

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"

	"github.com/gokeras/gokeras/kernels/internal/parts"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// Target is a set of devices that need not be here. Programs are compiled for it ahead of time, to see whether they
// compile, and how much memory and arithmetic a step needs.
type Target struct {
	name     string
	topology *capi.Topology
	devices  []capi.DeviceInfo
}

// NewTarget opens the plugin in a file, or libtpu if path is "", and describes devices by the platform's name for them:
// "v5e:2x2", "v4:2x2x1", "v6e:2x4" for libtpu. No hardware and no network are needed.
func NewTarget(path, name string) (*Target, error) {
	if path == "" {
		var err error
		if path, err = findTPU(); err != nil {
			return nil, err
		}
	}
	// Without hardware libtpu would ask the cloud where it is, and hold a lock that keeps other processes out.
	for variable, value := range map[string]string{
		"TPU_SKIP_MDS_QUERY": "1", "ALLOW_MULTIPLE_LIBTPU_LOAD": "1", "TPU_WORKER_HOSTNAMES": "localhost", "TPU_WORKER_ID": "0", "TPU_LOG_DIR": "disabled",
	} {
		if _, given := os.LookupEnv(variable); given {
			continue
		}
		if err := os.Setenv(variable, value); err != nil {
			return nil, fmt.Errorf("pjrt: %w", err)
		}
	}
	plugin, err := capi.Open(path)
	if err != nil {
		return nil, err
	}
	t := &Target{name: name}
	if t.topology, err = plugin.NewTopology(name); err != nil {
		return nil, fmt.Errorf("pjrt: plugin %s knows no devices %q: %w; names of TPUs are like v4:2x2x1, v5e:2x2 and v6e:2x4", path, name, err)
	}
	if t.devices, err = t.topology.Devices(); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// Devices is the number of devices.
func (t *Target) Devices() int { return len(t.devices) }

// Model is the name of the devices, "TPU v5 lite".
func (t *Target) Model() string { return t.devices[0].Kind }

// Close releases the target.
func (t *Target) Close() error { return t.topology.Close() }

// Analysis is the compiler's analysis of a program, for one device and one run.
type Analysis struct {
	FLOPs         float64 `json:"flops"`
	BytesAccessed float64 `json:"bytes_accessed"`
	// Bytes on the device: of the code, of inputs and outputs, of outputs that share the memory of an input, of
	// intermediate values, and the peak.
	Code      int64 `json:"code_bytes"`
	Arguments int64 `json:"argument_bytes"`
	Outputs   int64 `json:"output_bytes"`
	Aliased   int64 `json:"aliased_bytes"`
	Temporary int64 `json:"temporary_bytes"`
	Peak      int64 `json:"peak_bytes"`
}

// Compile compiles a program for all devices together, each of them a replica, with donation. Collectives of the
// program must span the same number. The result cannot be run.
func (t *Target) Compile(p *ir.Program) (Analysis, error) {
	hash := fnv.New32a()
	hash.Write([]byte(p.Hash()))
	return t.compile(p, stablehlo.Options{Replicas: t.Devices(), Number: int32(hash.Sum32() &^ (1 << 31)), Donate: true}, capi.CompileOptions{Replicas: t.Devices()})
}

// CompileMesh compiles a program for one device that is divided over all devices, with donation. mesh is the number of
// devices along each axis of a mesh; layouts are those of [kernels.MeshOptions] for the inputs of the program.
func (t *Target) CompileMesh(p *ir.Program, mesh []int, layouts [][]int) (Analysis, error) {
	if err := parts.Mesh(mesh).Check(t.Devices()); err != nil {
		return Analysis{}, fmt.Errorf("pjrt: compiling program %q for %s: %w", p.Name, t.name, err)
	}
	shardy := takesShardy(t.topology.Plugin())
	_, o, err := divide(p, mesh, layouts, 1, shardy)
	if err != nil {
		return Analysis{}, err
	}
	ids := make([]int, len(t.devices))
	for i, d := range t.devices {
		ids[i] = d.ID
	}
	return t.compile(p, o, capi.CompileOptions{Replicas: 1, Partitions: t.Devices(), Devices: ids, Shardy: shardy})
}

func (t *Target) compile(p *ir.Program, o stablehlo.Options, c capi.CompileOptions) (Analysis, error) {
	module, err := stablehlo.Lower(p, o)
	if err != nil {
		return Analysis{}, err
	}
	code, err := t.topology.Compile([]byte(module.Text), c)
	if err != nil {
		return Analysis{}, fmt.Errorf("pjrt: compiling program %q for %s: %w", p.Name, t.name, err)
	}
	memory, err := code.Memory()
	costs, failed := code.Costs()
	if err = errors.Join(err, failed, code.Close()); err != nil {
		return Analysis{}, fmt.Errorf("pjrt: program %q for %s: %w", p.Name, t.name, err)
	}
	return Analysis{
		FLOPs: costs["flops"], BytesAccessed: costs["bytes accessed"], Code: memory.Code, Arguments: memory.Arguments, Outputs: memory.Outputs,
		Aliased: memory.Aliased, Temporary: memory.Temporary, Peak: memory.Peak,
	}, nil
}
