//go:build amd64 || arm64

package vec

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// However long a run is, no call is longer than others: the garbage collector cannot interrupt it.
func TestCallsOfButterfliesAreShort(t *testing.T) {
	defer func(old [2][3]func(wide bool, yre, yim, xre, xim, w unsafe.Pointer, count, part, run, in uintptr)) {
		butterflies = old
	}(butterflies)
	for size, bySize := range butterflies {
		for i, call := range bySize {
			butterflies[size][i] = func(wide bool, yre, yim, xre, xim, w unsafe.Pointer, count, part, run, in uintptr) {
				require.LessOrEqual(t, int(count*part)*(i+2)/(4*(size+1)), callElements)
				call(wide, yre, yim, xre, xim, w, count, part, run, in)
			}
		}
	}
	for radix := 2; radix <= 4; radix++ {
		for _, count := range []int{1, 2, 1000} {
			run := max(20000/count, 1) &^ (Lanes - 1)
			n := radix * count * run
			Butterfly(make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, 2*radix*count), nil, radix, count, run)
			Butterfly(make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, 2*radix*count), nil, radix, count, run)
		}
	}
}
