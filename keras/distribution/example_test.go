package distribution_test

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/distribute/tpu"
	"github.com/gokeras/gokeras/keras/distribution"
)

func ExampleNewDeviceMesh() {
	mesh, err := distribution.NewDeviceMesh([]int{2, 2}, []string{"batch", "model"}, "cpu:0", "cpu:1", "cpu:2", "cpu:3")
	fmt.Println(mesh, err)
	_, err = distribution.NewDeviceMesh([]int{2, 2}, []string{"batch", "model"}, "cpu:0")
	fmt.Println(err)
	// Output:
	// DeviceMesh(shape [2 2], axes batch, model) <nil>
	// distribution: a mesh of shape [2 2] has 4 places; received 1 devices
}

func ExampleNewTensorLayout() {
	mesh, err := distribution.NewDeviceMesh([]int{1, 2}, []string{"batch", "model"}, "cpu:0", "cpu:1")
	if err != nil {
		panic(err)
	}
	layout, err := distribution.NewTensorLayout(mesh, "", "model") // columns are cut in two
	fmt.Println(layout, err)
	// Output: TensorLayout(["" "model"], DeviceMesh(shape [1 2], axes batch, model)) <nil>
}

// Variables are found by their whole path, or by regular expressions that match all of it.
func ExampleLayoutMap() {
	mesh, err := distribution.NewDeviceMesh([]int{1, 2}, []string{"batch", "model"}, "cpu:0", "cpu:1")
	if err != nil {
		panic(err)
	}
	layouts := distribution.NewLayoutMap(mesh)
	if err := layouts.Set(`dense.*/kernel`, "", "model"); err != nil {
		panic(err)
	}
	for _, path := range []string{"dense_1/kernel", "model/dense_1/kernel"} {
		layout, err := layouts.Get(path)
		fmt.Println(layout != nil, err)
	}
	// Output:
	// true <nil>
	// false <nil>
}

// Without a compiler that cuts arrays, data parallel training is that of a mirrored strategy.
func ExampleNewDataParallel() {
	mesh, err := distribution.NewDeviceMesh([]int{2}, []string{"batch"}, "cpu:0", "cpu:1")
	if err != nil {
		panic(err)
	}
	d, err := distribution.NewDataParallel(mesh)
	if err != nil {
		panic(err)
	}
	fmt.Println(d.NumReplicasInSync(), d.DataLayout(2).Axes())
	// Output: 2 [batch ]
}

func ExampleNewModelParallel() {
	mesh, err := distribution.NewDeviceMesh([]int{1, 2}, []string{"batch", "model"}, "cpu:0", "cpu:1")
	if err != nil {
		panic(err)
	}
	layouts := distribution.NewLayoutMap(mesh)
	if err := layouts.Set("dense/kernel", "", "model"); err != nil {
		panic(err)
	}
	d, err := distribution.NewModelParallel(layouts, "batch")
	if err != nil {
		panic(err)
	}
	layout, err := d.VariableLayout("dense/kernel", 2)
	fmt.Printf("%q %v\n", layout.Axes(), err)
	// Output: ["" "model"] <nil>
}

// A mesh over the cores of a TPU; those of all hosts, where it has several.
func ExampleNewDeviceMeshOver() {
	topology, err := tpu.InitializeSystem(context.Background(), tpu.SystemOptions{DeviceKind: "cpu", Cores: 4})
	if err != nil {
		panic(err)
	}
	mesh, err := distribution.NewDeviceMeshOver(topology, []int{2, 2}, []string{"batch", "model"})
	fmt.Println(mesh, err)
	_, err = distribution.NewDeviceMeshOver(topology, []int{2, 3}, []string{"batch", "model"})
	fmt.Println(err)
	// Output:
	// DeviceMesh(shape [2 2], axes batch, model) <nil>
	// distribution: a mesh of shape [2 3] has 6 places; the topology, a mesh [4 1 1 1] of 1 tasks with 4 devices each, has 4 devices
}
