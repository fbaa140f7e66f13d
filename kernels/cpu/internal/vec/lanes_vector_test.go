//go:build amd64 || arm64

package vec

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// However many runs there are, and however long, up to 2^24 numbers, no call takes longer than the others, as the
// garbage collector cannot interrupt it, and together the calls cover all elements. (The calls are not actually made:
// they get no memory.)
func TestCallsOfButterfliesAreShort(t *testing.T) {
	defer func(old [2][7]func(wide bool, yre, yim, xre, xim, w unsafe.Pointer, count, part, in, out, skipX, skipY uintptr)) {
		butterflies = old
	}(butterflies)
	most, bytes := uintptr(0), uintptr(0)
	for size, bySize := range butterflies {
		for i := range bySize {
			butterflies[size][i] = func(_ bool, _, _, _, _, _ unsafe.Pointer, count, part, _, run, skipX, skipY uintptr) {
				most, bytes = max(most, count*part), bytes+count*part
				if part == 0 || part > run || count > 1 && (part < run || skipX != 0 || skipY != uintptr(i+1)*run) {
					t.Fatalf("a call for %d runs of %d bytes of %d", count, part, run)
				}
			}
		}
	}
	for _, size := range []int{4, 8} {
		for _, radix := range []int{2, 3, 4, 5, 8} {
			for count := 1; radix*count*Lanes <= 1<<24; count = count*7/4 + 1 {
				for run := Lanes; radix*count*run <= 1<<24; run = (run*7/4 + Lanes) &^ (Lanes - 1) {
					most, bytes = 0, 0
					x, y := runsAt{step: size * run, part: size * run * count}, runsAt{step: size * run * radix, part: size * run}
					if !butterflyVectors(y, x, nil, size, radix, count, run) {
						return // without vectors there are no calls
					}
					require.LessOrEqual(t, int(most)*radix/size, callElements, "%d runs of %d, radix %d", count, run, radix)
					require.Equal(t, size*count*run, int(bytes), "%d runs of %d, radix %d", count, run, radix)
				}
			}
		}
	}
}
