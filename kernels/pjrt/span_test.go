//go:build linux

package pjrt_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/tpu"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/distribution"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// Programs that XLA divides over the devices of several hosts train to the weights of one device, with batches that do
// not divide: replicas of several cores of one host, replicas that have cores of every host, and models that layouts
// divide along an axis within hosts or between them. All hosts have the same bits, and the chief writes files with the
// parts of all.
func TestPodPartitioned(t *testing.T) {
	one, err := distribute.NewOneDeviceStrategy("cpu:0")
	require.NoError(t, err)
	want, err := trainPod(t.Context(), one)
	require.NoError(t, err)
	cases := []struct {
		hosts, devices int
		strategy       string
	}{{2, 1, "model,batch"}, {2, 2, "pairs"}, {2, 4, "pairs"}, {2, 2, "across"}, {2, 2, "batch,model"}, {2, 2, "model,batch"}, {3, 1, "data"}, {4, 1, "model,batch"}}
	if testing.Short() {
		cases = cases[:1]
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.hosts, " hosts of ", c.devices, " devices, ", c.strategy), func(t *testing.T) {
			folder := t.TempDir()
			p := startPod(t, c.hosts, c.devices, "train", "POD_STRATEGY="+c.strategy, "POD_SAVE="+folder)
			for i := range c.hosts {
				p.start(i)
			}
			all := results[*podResult](p)
			all[0].same(t, want, 2e-4)
			for _, other := range all[1:] {
				require.Equal(t, all[0], other)
			}
			m, err := keras.LoadModel(filepath.Join(folder, "model.keras"))
			require.NoError(t, err)
			for range 2 {
				weights, err := m.GetWeights()
				require.NoError(t, err)
				for i, w := range weights {
					require.Equal(t, all[0].Weights[i], w.Elements())
				}
				require.NoError(t, m.LoadWeights(filepath.Join(folder, "weights.safetensors")))
			}
			list, err := os.ReadDir(folder)
			require.NoError(t, err)
			require.Len(t, list, 2)
		})
	}
}

// What does not fit together is an error on all hosts, also a host that is lost while the devices of the others wait
// for it, and calls that not all make.
func TestPodPartitionedMistakes(t *testing.T) {
	for _, c := range []struct {
		name, role, want string
		devices          int
		settings         []string
	}{
		{"a host dies", "last", "worker:1 (127.0.0.1:", 1, []string{"POD_STRATEGY=model,batch", "POD_HANG=1"}},
		{"replicas unlike each other", "train", "1 of 2 replicas have cores of all hosts", 3, []string{"POD_STRATEGY=mixed"}},
		{"one host reads", "alone", "all must read or save it together", 1, []string{"POD_STRATEGY=model,batch"}},
		{"programs differ", "other", "so all make the same calls with batches of the same sizes", 1, []string{"POD_STRATEGY=model,batch"}},
	} {
		if testing.Short() && c.name != "one host reads" {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			p := startPod(t, 2, c.devices, c.role, c.settings...)
			p.start(0, 1)
			last, err := p.end(0)
			require.Error(t, err)
			require.Contains(t, last, c.want)
			_, err = p.end(1)
			require.Error(t, err)
		})
	}
}

func init() {
	hostRoles["alone"] = func(ctx context.Context, s distribute.Strategy) (any, error) { // the first host reads, the others compile
		model, err := podModel(ctx, s, 16)
		if err != nil {
			return nil, err
		}
		if os.Getenv("TPU_WORKER_ID") == "0" {
			_, err = model.GetWeights()
		} else {
			_, err = podModel(ctx, s, 8)
		}
		return nil, err
	}
	hostRoles["other"] = func(ctx context.Context, s distribute.Strategy) (any, error) {
		units := 8
		if os.Getenv("TPU_WORKER_ID") == "0" {
			units = 16
		}
		return podModel(ctx, s, units)
	}
}

// podModel is trained for a while on a mesh over the hosts.
func podModel(ctx context.Context, s distribute.Strategy, units int) (*keras.Model, error) {
	model, err := keras.NewSequential([]layers.Layer{&layers.Flatten{}, &layers.Dense{Units: units}, &layers.Dense{Units: 4}}, keras.InputShape(8, 8, 1), distribute.Scope(s), keras.Seed(3))
	if err != nil {
		return nil, err
	}
	if err := model.Compile(keras.CompileConfig{Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}}); err != nil {
		return nil, err
	}
	x, y := digits()
	_, err = model.Fit(ctx, data.Arrays(x, y), keras.BatchSize(20))
	return model, err
}

// podStrategy makes the strategy that POD_STRATEGY asks for: replicas of one core each, of two cores of a host
// ("pairs"), of cores of all hosts ("across", "one" has all of them), or a mesh that layouts divide models over, in two
// ways.
func podStrategy(ctx context.Context, resolver cluster.Resolver, topology *tpu.Topology) (interface {
	distribute.Strategy
	Rank() int
	IsChief() bool
	Close() error
}, error) {
	hosts, each := topology.NumTasks(), topology.NumTPUsPerTask()
	o := tpu.Options{Resolver: resolver, Topology: topology, SPMDPartitioning: true}
	var cores [][]tpu.Coordinates
	switch way := os.Getenv("POD_STRATEGY"); way {
	case "":
		return tpu.NewStrategy(ctx, o)
	case "batch,model", "model,batch":
		mesh, err := distribution.NewDeviceMeshOver(topology, []int{hosts, each}, strings.Split(way, ","))
		if err != nil {
			return nil, err
		}
		layouts := distribution.NewLayoutMap(mesh)
		for key, axes := range map[string][]string{"dense/kernel": {"", "model"}, "dense/bias": {"model"}, "dense_1/kernel": {"model", ""}, "conv2d/kernel": {"", "", "", "model"}} {
			if err := layouts.Set(key, axes...); err != nil {
				return nil, err
			}
		}
		return distribution.NewModelParallel(layouts, "batch")
	case "data":
		mesh, err := distribution.NewDeviceMeshOver(topology, []int{hosts * each}, []string{"batch"})
		if err != nil {
			return nil, err
		}
		return distribution.NewDataParallel(mesh)
	case "pairs":
		for host := range hosts {
			for i := 0; i < each; i += 2 {
				cores = append(cores, podCores(topology, [2]int{host, i}, [2]int{host, i + 1}))
			}
		}
	case "across":
		for i := range each {
			var places [][2]int
			for host := range hosts {
				places = append(places, [2]int{host, i})
			}
			cores = append(cores, podCores(topology, places...))
		}
	case "mixed":
		cores = [][]tpu.Coordinates{podCores(topology, [2]int{0, 0}, [2]int{1, 0}), podCores(topology, [2]int{0, 1}, [2]int{0, 2})}
	}
	a, err := tpu.NewDeviceAssignment(topology, cores)
	if err != nil {
		return nil, err
	}
	o.DeviceAssignment = a
	return tpu.NewStrategy(ctx, o)
}

func podCores(topology *tpu.Topology, places ...[2]int) (all []tpu.Coordinates) {
	for _, p := range places {
		at, err := topology.DeviceCoordinates(p[0], p[1])
		if err != nil {
			panic(err)
		}
		all = append(all, at)
	}
	return all
}
