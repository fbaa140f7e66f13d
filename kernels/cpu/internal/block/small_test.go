package block_test

import (
	"testing"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestLongBlocksWithNumbers covers operations with a number on more elements than there are copies of the number.
func TestLongBlocksWithNumbers(t *testing.T) {
	const n = 1300
	x, bytes, got := make([]int32, n), make([]uint8, n), make([]int32, n)
	for i := range x {
		x[i] = int32(i%7-3) * int32(i)
	}
	from := unsafe.Pointer(&x[0])
	block.Convert(ir.Int32, ir.Bool)(unsafe.Pointer(&bytes[0]), from, nil, nil, n)
	block.Unary(ir.Relu, ir.Int32)(unsafe.Pointer(&got[0]), from, nil, nil, n)
	for i, v := range x {
		if (v != 0) != (bytes[i] == 1) || got[i] != max(v, 0) {
			t.Fatalf("element %d, %d: as a bool %d, with relu %d", i, v, bytes[i], got[i])
		}
	}
}
