package gemm_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/gemm"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// A dense layer with relu: y = relu(x·w + b).
func ExampleArgs() {
	x := []float32{1, 2, 3, 4} // 2 x 2
	w := []float32{1, 0, -1, 0, 1, -1}
	y := make([]float32, 6)
	a := &gemm.Args[float32]{M: 2, N: 3, K: 2, A: x, B: w, C: y, Bias: []float32{0.5, 0.5, 4}, ReLU: true}
	p := pool.Shared()
	gemm.Run(p, a, make([]float32, gemm.ScratchSize(a, p.Size())))
	fmt.Println(y)
	// Output: [1.5 2.5 1 3.5 4.5 0]
}
