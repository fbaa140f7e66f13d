package quantizers_test

import (
	"fmt"
	"log"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/quantizers"
)

func ExampleGPTQConfig() {
	w, err := kernels.FromFloat64s(ir.Float32, ir.Shape{3, 1}, []float64{0.1, -0.4, 0.5})
	if err != nil {
		log.Fatal(err)
	}
	seen := quantizers.Statistics{Rows: 2, Products: []float64{5, 4, 0, 4, 5, 0, 0, 0, 1}} // inputs 0 and 1 are correlated
	q, err := (&quantizers.GPTQConfig{GroupSize: -1}).Quantize(w, seen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(q.Values.Float64s(), q.Zero.Float64s())
	fmt.Printf("%.2f\n", q.Scale.Float64s())
	// Output:
	// [9 0 15] [7]
	// [0.06]
}

func ExampleAWQConfig() {
	w, err := kernels.FromFloat64s(ir.Float32, ir.Shape{3, 1}, []float64{0.1, -0.4, 0.5})
	if err != nil {
		log.Fatal(err)
	}
	q, err := (&quantizers.AWQConfig{GroupSize: -1}).Quantize(w, quantizers.Statistics{Rows: 2, Magnitudes: []float64{8, 1, 1}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(q.Values.Float64s(), q.Saliency.Element(0) > q.Saliency.Element(1))
	// Output: [15 0 11] true
}

func ExampleStatistics() {
	s := quantizers.Statistics{Rows: 2, Magnitudes: []float64{8, 1, 1}}
	fmt.Println(s.Rows, "rows of", len(s.Magnitudes), "features")
	// Output: 2 rows of 3 features
}

func ExampleCalibrator() {
	for _, c := range []quantizers.Calibrator{&quantizers.GPTQConfig{WeightBits: 8}, &quantizers.AWQConfig{GroupSize: 64}} {
		products, magnitudes := c.Needs()
		fmt.Println(c.Mode(), c.DTypePolicy(), products, magnitudes)
	}
	// Output:
	// gptq gptq/8/128 true false
	// awq awq/4/64 false true
}

func ExampleCalibrated() {
	w, err := kernels.FromFloat64s(ir.Float32, ir.Shape{4, 1}, []float64{-1, 2, 4, -8})
	if err != nil {
		log.Fatal(err)
	}
	q, err := (&quantizers.AWQConfig{GroupSize: 2}).Quantize(w, quantizers.Statistics{Rows: 1, Magnitudes: []float64{1, 1, 1, 1}})
	if err != nil {
		log.Fatal(err)
	}
	scale, zero, group := q.Scale.Float64s(), q.Zero.Float64s(), q.Group.Float64s()
	for i, n := range q.Values.Float64s() {
		g := int(group[i])
		fmt.Printf("%.1f ", (n-zero[g])*scale[g])
	}
	fmt.Println()
	// Output: -1.0 2.0 4.0 -8.0
}
