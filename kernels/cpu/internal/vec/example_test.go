package vec_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// The first step of Adam moves every weight by the learning rate against the sign of its gradient.
func ExampleAdamArgs() {
	a := &vec.AdamArgs[float64]{
		W: []float64{1, 1}, M: make([]float64, 2), V: make([]float64, 2), G: []float64{0.5, -3},
		Alpha:         0.01 * 0.31622776601683794 / 0.1, // rate·√(1 − β₂)/(1 − β₁)
		OneMinusBeta1: 0.1, OneMinusBeta2: 0.1, GradientScale: 1,
	}
	vec.Adam(a)
	fmt.Printf("%.4f\n", a.W)
	// Output: [0.9900 1.0100]
}

func ExampleSoftmax() {
	x := []float64{1, 1, 1, 1}
	vec.Softmax(x, x)
	fmt.Println(x)
	// Output: [0.25 0.25 0.25 0.25]
}
