package async_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest/async"
)

// A test registers a backend and makes strategies on its devices.
func ExampleNew() {
	b := async.New(async.Options{Kind: "slow", Devices: 2})
	kernels.Register(b)
	fmt.Println(b.Open(kernels.Device{Kind: "slow", Index: 1}))
	fmt.Println(b.Open(kernels.Device{Kind: "slow", Index: 2}))
	// Output:
	// <nil>
	// async: device slow:2: expected "slow:0" to "slow:1"
}

// The backend counts what the host does.
func ExampleBackend() {
	b := async.New(async.Options{})
	v, err := b.NewBuffer(kernels.Device{Kind: "async"}, ir.Type{DType: ir.Uint8, Shape: ir.Shape{2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Write([]byte{1, 2}), b.Stats().Synchronizations)
	data := make([]byte, 2)
	fmt.Println(v.Read(data), data, b.Stats().Synchronizations)
	v.Free()
	// Output:
	// <nil> 0
	// <nil> [1 2] 1
}

// Leaks compares what is alive with what was before.
func ExampleStats_Leaks() {
	before := async.Stats{Buffers: 1}
	fmt.Println(async.Stats{Buffers: 3}.Leaks(before))
	// Output: async: 3 buffers, there were 1 before
}
