package conv_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/conv"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// Sums over 2x2 windows of a 3x3 image.
func ExampleShape() {
	s := &conv.Shape{Batch: 1, In: [3]int{1, 3, 3}, InChannels: 1, OutChannels: 1, Kernel: [3]int{1, 2, 2}}
	if err := s.Validate(); err != nil {
		fmt.Println(err)
		return
	}
	p := pool.Shared()
	x := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}
	y := make([]float32, 4)
	conv.Forward(p, s, x, []float32{1, 1, 1, 1}, nil, false, y, make([]float32, conv.ForwardScratch[float32](s, p.Size())))
	fmt.Println(s.Out(), y)
	// Output: [1 2 2] [12 16 24 28]
}
