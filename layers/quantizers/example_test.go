package quantizers_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/quantizers"
)

func matrix() kernels.Array {
	a, err := kernels.FromFloat64s(ir.Float32, ir.Shape{2, 2}, []float64{1, -8, -0.5, 2})
	if err != nil {
		panic(err)
	}
	return a
}

// One scale for each column.
func ExampleAbsMaxQuantizer() {
	q, scale, err := (&quantizers.AbsMaxQuantizer{}).QuantizeArray(matrix(), 0)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v %.3f\n", q.Float64s(), scale.Float64s())
	// Output: [127 -127 -63 32] [127.000 15.875]
}

func ExampleQuantizer() {
	var q quantizers.Quantizer = &quantizers.AbsMaxQuantizer{ValueRange: []int{-8, 7}}
	whole, _, err := q.QuantizeArray(matrix(), 1)
	if err != nil {
		panic(err)
	}
	fmt.Println(whole.Float64s())
	// Output: [1 -7 -2 7]
}

func ExampleGrouped() {
	g, err := quantizers.QuantizeGrouped(matrix(), 2)
	if err != nil {
		panic(err)
	}
	back, err := g.Dequantize(2)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%v %.2f\n", g.Values.Float64s(), back.Float64s())
	// Output: [7 -8 -8 7] [1.00 -8.00 -0.50 2.00]
}

func ExampleConfig() {
	c, err := quantizers.Resolve("int4")
	fmt.Println(c.Mode(), c.Activations(), err)
	// Output: int4 <nil> <nil>
}

func ExampleInt8QuantizationConfig() {
	c := &quantizers.Int8QuantizationConfig{WeightsOnly: true}
	fmt.Println(c.Mode(), c.Activations())
	// Output: int8 <nil>
}

func ExampleInt4QuantizationConfig() {
	fmt.Println((&quantizers.Int4QuantizationConfig{}).Block(), (&quantizers.Int4QuantizationConfig{BlockSize: 32}).Block())
	// Output: 128 32
}

func ExampleFloat8QuantizationConfig() {
	fmt.Println((&quantizers.Float8QuantizationConfig{}).Mode())
	// Output: float8
}

// Numbers of the format E4M3 have three bits after the leading one.
func ExampleFloat8() {
	fmt.Println(quantizers.E4M3.Max, quantizers.E5M2.Max)
	// Output: 448 57344
}
