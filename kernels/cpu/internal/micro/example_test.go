package micro_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// A 1x3 convolution of one row of 4 pixels with 1 channel: the tile's rows are output pixels, and k runs over the taps.
func ExampleTile() {
	x := []float32{1, 2, 3, 4}
	kernel := []float32{1, 10, 100}
	y := make([]float32, 2)
	micro.Run(&micro.Tile[float32]{
		A: x, B: kernel, C: y,
		Rows: 2, Cols: 1, K: 3, Segments: 1, Outer: 1,
		ARow: 1, AK: 1, BK: 1, CRow: 1,
	})
	fmt.Println(y)
	// Output: [321 432]
}
