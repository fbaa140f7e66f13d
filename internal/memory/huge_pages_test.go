package memory

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// TestFloats: numbers of every size are zero and nobody else's, and large ones begin with a page.
func TestFloats(t *testing.T) {
	const unit = HugePage / 4
	var all [][]float32
	for i, n := range []int{0, 1, unit - 1, unit, unit + 1, 2*unit - 1, 2 * unit, 5*unit + 3} {
		v := Floats(n)
		require.Len(t, v, n)
		require.Equal(t, n, cap(v))
		if n >= unit {
			require.Zero(t, uintptr(unsafe.Pointer(&v[0]))%HugePage)
		}
		for j := range v {
			if v[j] != 0 {
				t.Fatalf("%d of %d is %v", j, n, v[j])
			}
			v[j] = float32(i)
		}
		all = append(all, v)
	}
	for i, v := range all {
		for _, x := range v {
			if x != float32(i) {
				t.Fatalf("%v among the numbers of %d", x, i)
			}
		}
	}
}
