package tpu_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/tpu"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	_ "github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// machine is the CPU's backend with the places of a TPU: two chips side by side, of a larger machine, with two cores
// each.
type machine struct {
	kernels.Backend
	kind  string
	fails error
	hangs chan struct{}
}

func (m *machine) Kind() string { return m.kind }
func (m *machine) Open(d kernels.Device) error {
	if m.hangs != nil {
		<-m.hangs
	}
	return m.fails
}

func (m *machine) Cores() ([]kernels.Core, error) {
	var cores []kernels.Core
	for i := range 4 {
		cores = append(cores, kernels.Core{Device: kernels.Device{Kind: m.kind, Index: i}, Number: i, Coordinates: []int{2 + i/2, 1, 0}, OnChip: i % 2})
	}
	return cores, nil
}

var register = sync.OnceFunc(func() {
	cpu, err := kernels.Lookup("cpu")
	if err != nil {
		panic(err)
	}
	kernels.Register(&machine{Backend: cpu, kind: "chips"})
	kernels.Register(&machine{Backend: cpu, kind: "broken", fails: errors.New("the lock file is held by process 7")})
	kernels.Register(&machine{Backend: cpu, kind: "hung", hangs: make(chan struct{})})
})

func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := values[name]; return v, ok }
}

func TestTopologyOfDevices(t *testing.T) {
	register()
	topology, err := tpu.InitializeSystem(t.Context(), tpu.SystemOptions{Resolver: &cluster.TPU{Name: "local"}, DeviceKind: "chips"})
	require.NoError(t, err)
	require.Equal(t, tpu.Coordinates{2, 1, 1, 2}, topology.MeshShape())
	require.Equal(t, 4, topology.MeshRank())
	require.Equal(t, 1, topology.NumTasks())
	require.Equal(t, 4, topology.NumTPUsPerTask())
	require.Empty(t, topology.MissingDevices())
	at, err := topology.DeviceCoordinates(0, 3)
	require.NoError(t, err)
	require.Equal(t, tpu.Coordinates{1, 0, 0, 1}, at)
	_, err = topology.DeviceCoordinates(1, 0)
	require.ErrorContains(t, err, "there is no device 0 of task 1")

	// a replica on each chip
	a, err := tpu.AssignDevices(topology, tpu.AssignmentOptions{Replicas: 2, ComputationShape: []int{1, 1, 1, 2}})
	require.NoError(t, err)
	_, err = tpu.NewStrategy(t.Context(), tpu.Options{Topology: topology, DeviceAssignment: a})
	require.ErrorContains(t, err, "2 cores for each replica; expected 1")
	s, err := tpu.NewStrategy(t.Context(), tpu.Options{DeviceKind: "cpu"})
	require.NoError(t, err)
	require.Equal(t, 1, s.NumReplicasInSync())
	_, err = tpu.NewStrategy(t.Context(), tpu.Options{DeviceKind: "cpu", DeviceAssignment: a, Topology: s.Topology()})
	require.ErrorContains(t, err, "the device assignment is for another topology")
}

func TestSystemMistakes(t *testing.T) {
	register()
	start := func(o tpu.SystemOptions) error {
		_, err := tpu.InitializeSystem(t.Context(), o)
		return err
	}
	require.ErrorContains(t, start(tpu.SystemOptions{}), `no backend for device kind "tpu"`)
	require.ErrorContains(t, start(tpu.SystemOptions{}), "kernels/pjrt")
	require.ErrorContains(t, start(tpu.SystemOptions{DeviceKind: "broken"}), "no TPU devices found: the lock file is held by process 7")
	require.ErrorContains(t, start(tpu.SystemOptions{DeviceKind: "chips", Cores: 3}), "Cores is 3")
	require.ErrorContains(t, tpu.ConnectToCluster(t.Context(), nil), "the resolver is nil")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := tpu.InitializeSystem(ended, tpu.SystemOptions{DeviceKind: "hung"})
	require.ErrorIs(t, err, context.Canceled)

	byHand, err := tpu.NewTopology(tpu.Coordinates{1, 1, 1, 1}, [][]tpu.Coordinates{{{}}})
	require.NoError(t, err)
	_, err = tpu.NewStrategy(t.Context(), tpu.Options{Topology: byHand})
	require.ErrorContains(t, err, "made by hand")
}

// The resolver's sources: the name "local", addresses, the variables of a TPU virtual machine and of GKE, and the
// metadata server.
func TestClusters(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := map[string]string{
			"/computeMetadata/v1/instance/attributes/worker-network-endpoints": "unknown:unknown:10.1.0.1",
			"/computeMetadata/v1/instance/attributes/agent-worker-number":      "0",
		}
		text, ok := values[r.URL.Path]
		if !ok || r.Header.Get("Metadata-Flavor") != "Google" {
			http.Error(w, "unknown", http.StatusNotFound)
			return
		}
		fmt.Fprint(w, text)
	}))
	defer server.Close()
	metadata := cluster.Metadata{Host: strings.TrimPrefix(server.URL, "http://")}
	for _, r := range []*cluster.TPU{
		{Name: "local", Lookup: environment(nil)},
		{Lookup: environment(nil), Metadata: metadata},
		{Lookup: environment(map[string]string{"TPU_WORKER_HOSTNAMES": "localhost", "TPU_WORKER_ID": "0"})},
		{Lookup: environment(map[string]string{"KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS": "grpc://10.0.0.2:8470"})},
		{Lookup: environment(map[string]string{"TPU_NAME": "local"})},
	} {
		require.NoError(t, tpu.ConnectToCluster(t.Context(), r))
	}
	pod := &cluster.TPU{Lookup: environment(map[string]string{"TPU_WORKER_HOSTNAMES": "h0,h1", "TPU_WORKER_ID": "1"})}
	_, err := tpu.InitializeSystem(t.Context(), tpu.SystemOptions{Resolver: pod, DeviceKind: "cpu"})
	require.ErrorContains(t, err, "the TPU has 2 hosts")
	require.ErrorContains(t, err, "multiworker.JoinHosts")
	_, err = tpu.InitializeSystem(t.Context(), tpu.SystemOptions{Resolver: pod, DeviceKind: "cpu", Join: func(context.Context, *cluster.Spec, cluster.Task) (distribute.WorkerGroup, error) {
		return nil, errors.New("not reached")
	}})
	require.ErrorContains(t, err, `devices of kind "cpu" of several hosts cannot be brought together`)
	none := &cluster.TPU{Lookup: environment(nil), Metadata: cluster.Metadata{Host: strings.TrimPrefix(server.URL, "http://") + "/nowhere"}}
	require.ErrorContains(t, tpu.ConnectToCluster(t.Context(), none), "no TPU found")
}

// A custom loop: a step on every core, values that are reduced, and the calls that place tensors on the cores of a
// replica.
func TestLoop(t *testing.T) {
	topology, err := tpu.InitializeSystem(t.Context(), tpu.SystemOptions{DeviceKind: "cpu", Cores: 4})
	require.NoError(t, err)
	a, err := tpu.AssignDevices(topology, tpu.AssignmentOptions{Replicas: 2})
	require.NoError(t, err)
	resolver := &cluster.TPU{Name: "local"}
	s, err := tpu.NewStrategy(t.Context(), tpu.Options{Topology: topology, DeviceAssignment: a, Resolver: resolver})
	require.NoError(t, err)
	require.Equal(t, "TPU(cpu:0, cpu:1)", s.String())
	require.Equal(t, resolver, s.ClusterResolver())
	require.Equal(t, a, s.DeviceAssignment())
	step := s.Function(func(r *distribute.Replica, b distribute.Batch) *ops.Tensor {
		x := s.ReplicateToLogicalDevices(s.AssignToLogicalDevice(s.SplitToLogicalDevices(b.X, 1), 0))
		return r.AllReduce(ir.Sum, ops.Sum(x))[0]
	})
	four, err := kernels.FromFloat64s(ir.Float32, ir.Shape{4}, []float64{1, 2, 3, 4})
	require.NoError(t, err)
	parts, err := distribute.SplitBatch(s, distribute.HostBatch{X: []kernels.Array{four}})
	require.NoError(t, err)
	out, err := s.Run(t.Context(), step, parts)
	require.NoError(t, err)
	require.Equal(t, []float64{10}, out[1].Float64s())

	for message, f := range map[string]func(x *ops.Tensor) *ops.Tensor{
		"logical core 1; a replica has 1":                        func(x *ops.Tensor) *ops.Tensor { return s.AssignToLogicalDevice(x, 1) },
		"received 2 numbers of parts; expected 1":                func(x *ops.Tensor) *ops.Tensor { return s.SplitToLogicalDevices(x, 1, 1) },
		"[2] makes 2 parts; expected 1, the cores of a replica":  func(x *ops.Tensor) *ops.Tensor { return s.SplitToLogicalDevices(x, 2) },
		"axis 0 of length 2 in 3 parts; expected parts of equal": func(x *ops.Tensor) *ops.Tensor { return s.SplitToLogicalDevices(x, 3) },
	} {
		bad := s.Function(func(_ *distribute.Replica, b distribute.Batch) *ops.Tensor { return f(b.X) })
		_, err := s.Run(t.Context(), bad, parts)
		require.ErrorContains(t, err, message)
	}

	// variables of one strategy do not join another
	v, err := distribute.Scope(s).NewVariable(distribute.VariableSpec{Name: "v", Shape: ir.Shape{}, DType: ir.Float32})
	require.NoError(t, err)
	other, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	mixed := other.Function(func(r *distribute.Replica, _ distribute.Batch) *ops.Tensor { return r.Read(v) })
	_, err = other.Run(t.Context(), mixed, distribute.PerReplicaBatch{{X: []kernels.Array{four}}})
	require.ErrorContains(t, err, "TPU(cpu:0, cpu:1)")
}
