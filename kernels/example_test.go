package kernels_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	_ "github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

func ExampleArray() {
	a, err := kernels.FromFloat64s(ir.Float32, ir.Shape{3, 2}, []float64{1, 2, 3, 4, 5, 6})
	fmt.Println(a.Type, a.Slice(1, 3).Float64s(), err)
	// Output: float32[3 2] [3 4 5 6] <nil>
}

// Elements are read in place as a slice of their Go type, or copied and converted.
func ExampleView() {
	a, err := kernels.ArrayOf([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	view, err := kernels.View[float32](a)
	view[5] = 60
	fmt.Println(a, err)
	fmt.Println(a.At(1, 2), a.Row(1).Int64s())
	_, err = kernels.View[int32](a)
	fmt.Println(err)
	// Output:
	// [[ 1  2  3]
	//  [ 4  5 60]] <nil>
	// 60 [4 5 60]
	// kernels: View: the array holds float32, not int32; Values converts
}

func ExampleDevice() {
	d, err := kernels.ParseDevice("/device:CPU:1")
	fmt.Println(d, err)
	_, err = kernels.ParseDevice("cpu:one")
	fmt.Println(err != nil)
	// Output:
	// cpu:1 <nil>
	// true
}

// Buffers belong to a device; those of the CPU are plain memory.
func ExampleBuffer() {
	backend, err := kernels.Lookup("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := backend.NewBuffer(kernels.Device{Kind: "cpu"}, ir.Type{DType: ir.Uint8, Shape: ir.Shape{4}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer b.Free()
	err = b.Write([]byte{1, 2, 3, 4})
	fmt.Println(b.Type(), b.Bytes(), err)
	// Output: uint8[4] [1 2 3 4] <nil>
}
