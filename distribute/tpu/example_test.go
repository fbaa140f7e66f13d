package tpu_test

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/distribute/tpu"
)

// A strategy over four cores; here they are logical devices of the CPU.
func ExampleNewStrategy() {
	ctx := context.Background()
	topology, err := tpu.InitializeSystem(ctx, tpu.SystemOptions{DeviceKind: "cpu", Cores: 4})
	if err != nil {
		panic(err)
	}
	strategy, err := tpu.NewStrategy(ctx, tpu.Options{Topology: topology})
	if err != nil {
		panic(err)
	}
	fmt.Println(strategy.NumReplicasInSync(), topology.MeshShape())
	// Output: 4 [4 1 1 1]
}

// Two replicas with two cores each on a chip with 2 x 2 cores.
func ExampleAssignDevices() {
	topology, err := tpu.NewTopology(tpu.Coordinates{2, 2, 1, 1}, [][]tpu.Coordinates{{{0, 0}, {1, 0}, {0, 1}, {1, 1}}})
	if err != nil {
		panic(err)
	}
	a, err := tpu.AssignDevices(topology, tpu.AssignmentOptions{Replicas: 2, ComputationShape: []int{1, 2, 1, 1}})
	if err != nil {
		panic(err)
	}
	for replica := range a.NumReplicas() {
		c, _ := a.Coordinates(replica, 1)
		fmt.Println(c)
	}
	// Output:
	// [0 1 0 0]
	// [1 1 0 0]
}

// One replica over a mesh needs devices whose compiler divides programs, as a TPU's does; logical devices of the CPU
// have none.
func ExampleMeshOptions() {
	topology, err := tpu.InitializeSystem(context.Background(), tpu.SystemOptions{DeviceKind: "cpu", Cores: 2})
	if err != nil {
		panic(err)
	}
	_, err = tpu.NewMeshStrategy(tpu.MeshOptions{Topology: topology, Shape: []int{2}})
	fmt.Println(err)
	// Output: tpu: SPMDPartitioning needs devices whose compiler divides programs, those of a PJRT plugin; "cpu" are none
}
