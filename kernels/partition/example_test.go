package partition_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/partition"
)

// The rows of a matrix are divided over two devices, so each of them computes a part of the sum.
func ExampleProgram() {
	p := ir.New("sum")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 3}})
	y, err := p.Add("layer", ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, x)
	if err != nil {
		panic(err)
	}
	p.AddOutput("y", y[0])
	parts, err := partition.Program(p, []int{2}, [][]int{{0, -1}})
	if err != nil {
		panic(err)
	}
	for _, n := range parts.Nodes {
		fmt.Println(n.Op, parts.Type(n.Outputs[0]))
	}
	// Output:
	// reduce float32[3]
	// all_reduce float32[3]
}

func ExampleBackend() {
	b, err := partition.For(cpu.Backend{})
	if err != nil {
		panic(err)
	}
	mesh, err := b.NewMesh(kernels.MeshOptions{
		Devices: []kernels.Device{{Kind: "cpu"}, {Kind: "cpu", Index: 1}}, Shape: []int{2},
		Layouts: func(p *ir.Program) ([][]int, error) { return make([][]int, len(p.Inputs)), nil },
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(mesh.Kind)
	// Output: cpu_mesh
}

func ExampleLayout() {
	_, err := partition.Layout("dense/kernel", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 3}}, []int{2}, []int{-1, 0})
	fmt.Println(err)
	// Output: partition: axis 1 of dense/kernel has length 3 and cannot be divided into 2 equal parts; leave that axis whole in its layout, or choose a mesh whose axis divides the length
}
