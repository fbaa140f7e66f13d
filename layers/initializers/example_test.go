package initializers_test

import (
	"fmt"
	"math"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers/initializers"
)

// initial returns the initial values of a weight of that shape.
func initial(v distribute.Initializer, shape ...int) ([]float64, error) {
	into := kernels.NewArray(ir.Type{DType: ir.Float32, Shape: shape})
	err := v.Initialize(into, 1)
	return into.Float64s(), err
}

func show(v distribute.Initializer, shape ...int) {
	values, err := initial(v, shape...)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f\n", values)
}

// largest prints the largest absolute value of a large sample, which shows the bounds of a distribution.
func largest(v distribute.Initializer, shape ...int) {
	values, err := initial(v, shape...)
	if err != nil {
		fmt.Println(err)
		return
	}
	top := 0.0
	for _, x := range values {
		top = max(top, math.Abs(x))
	}
	fmt.Printf("%.2f\n", top)
}

func ExampleZeros() {
	show(initializers.Zeros{}, 3)
	// Output: [0.000 0.000 0.000]
}

func ExampleOnes() {
	show(initializers.Ones{}, 3)
	// Output: [1.000 1.000 1.000]
}

func ExampleConstant() {
	show(initializers.Constant{Value: 0.5}, 3)
	// Output: [0.500 0.500 0.500]
}

// A weight with given initial values, such as embeddings that were trained elsewhere.
func ExampleConstant_values() {
	words, err := kernels.ArrayOf([]float32{0.1, 0.2, 0.3, 0.4, 0.5, 0.6}, 3, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	show(initializers.Constant{Values: words}, 3, 2)
	// Output: [0.100 0.200 0.300 0.400 0.500 0.600]
}

func ExampleIdentity() {
	show(initializers.Identity{Gain: new(2.0)}, 2, 3)
	// Output: [2.000 0.000 0.000 0.000 2.000 0.000]
}

func ExampleRandomNormal() {
	show(initializers.RandomNormal{Mean: 7, Stddev: new(0.0)}, 3)
	// Output: [7.000 7.000 7.000]
}

func ExampleRandomUniform() {
	largest(initializers.RandomUniform{MinVal: new(-3.0), MaxVal: new(3.0)}, 100000)
	// Output: 3.00
}

func ExampleTruncatedNormal() {
	largest(initializers.TruncatedNormal{Stddev: new(1.0)}, 100000)
	// Output: 2.00
}

func ExampleVarianceScaling() {
	largest(initializers.VarianceScaling{Scale: 3, Mode: initializers.FanIn, Distribution: initializers.UniformDistribution}, 100, 1000)
	// Output: 0.30
}

func ExampleGlorotUniform() {
	largest(initializers.GlorotUniform{}, 300, 300)
	// Output: 0.10
}

func ExampleGlorotNormal() {
	largest(initializers.GlorotNormal{}, 300, 300)
	// Output: 0.13
}

func ExampleHeUniform() {
	largest(initializers.HeUniform{}, 600, 200)
	// Output: 0.10
}

func ExampleHeNormal() {
	largest(initializers.HeNormal{}, 200, 600)
	// Output: 0.23
}

func ExampleLecunUniform() {
	largest(initializers.LecunUniform{}, 300, 300)
	// Output: 0.10
}

func ExampleLecunNormal() {
	largest(initializers.LecunNormal{}, 300, 300)
	// Output: 0.13
}

func ExampleOrthogonal() {
	q, err := initial(initializers.Orthogonal{}, 3, 2)
	fmt.Println(err)
	fmt.Printf("%.2f %.2f\n", q[0]*q[0]+q[2]*q[2]+q[4]*q[4], math.Abs(q[0]*q[1]+q[2]*q[3]+q[4]*q[5]))
	// Output:
	// <nil>
	// 1.00 0.00
}

func ExampleGet() {
	v, err := initializers.Get("he_normal")
	fmt.Printf("%T %v\n", v, err)
	// Output: *initializers.HeNormal <nil>
}

func ExampleSTFT() {
	values, err := initial(initializers.STFT{Side: "real", Window: "none"}, 2, 1, 2)
	fmt.Println(values, err)
	// Output: [1 1 1 -1] <nil>
}
