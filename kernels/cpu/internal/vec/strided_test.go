package vec

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// TestStrided copies elements at every distance, and reads nothing past the last one.
func TestStrided(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, size := range []int{1, 2, 4, 8} {
			for stride := 2; stride <= 8; stride++ {
				for n := 1; n < 300; n += 1 + n/20 {
					src := guard.Copy(t, make([]uint8, ((n-1)*stride+1)*size), false)
					for i := range src {
						src[i] = uint8(rand.Uint32())
					}
					got := guard.Copy(t, make([]uint8, n*size), false)
					m := Strided(unsafe.Pointer(&got[0]), unsafe.Pointer(&src[0]), size, stride, n)
					require.LessOrEqual(t, m, n)
					if Chains() && n >= 128/size && (size >= 4 || stride <= 4) {
						require.NotZero(t, m)
					}
					for i := range m {
						require.Equal(t, src[i*stride*size:][:size], got[i*size:][:size], "size %d, stride %d, element %d of %d", size, stride, i, n)
					}
				}
			}
		}
	})
}

// TestApart deinterleaves groups of two to four elements, and reads nothing after them, nor the elements of the last
// group that it must not read.
func TestApart(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, size := range []int{1, 2, 4, 8} {
			for parts := 2; parts <= 4; parts++ {
				for n := 1; n < 300; n += 1 + n/20 {
					behind := rand.IntN(parts)
					src := guard.Copy(t, make([]uint8, (n*parts-behind)*size), false)
					for i := range src {
						src[i] = uint8(rand.Uint32())
					}
					got, to := make([][]uint8, parts), make([]unsafe.Pointer, parts)
					for i := range got {
						got[i] = guard.Copy(t, make([]uint8, n*size), false)
						to[i] = unsafe.Pointer(&got[i][0])
					}
					m := Apart(to, unsafe.Pointer(&src[0]), size, behind, n)
					require.LessOrEqual(t, m, n)
					if vector := 64 / size; Chains() && n >= 2*vector {
						require.GreaterOrEqual(t, m, n&^(vector-1)-vector)
						if n%vector == 0 && behind == 0 {
							require.Equal(t, n, m)
						}
					}
					for i := range m {
						for j := range parts {
							require.Equal(t, src[(i*parts+j)*size:][:size], got[j][i*size:][:size], "size %d, part %d of %d, group %d of %d", size, j, parts, i, n)
						}
					}
				}
			}
		}
	})
}

// TestTurns interleaves the elements of two to four operands.
func TestTurns(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, size := range []int{1, 2, 4, 8} {
			for count := 2; count <= 4; count++ {
				for n := 1; n < 300; n += 1 + n/20 {
					first := rand.IntN(5)
					sources, pointers := make([][]uint8, count), make([]unsafe.Pointer, count)
					for i := range sources {
						sources[i] = guard.Copy(t, make([]uint8, (first+n)*size), false)
						for j := range sources[i] {
							sources[i][j] = uint8(rand.Uint32())
						}
						pointers[i] = unsafe.Pointer(&sources[i][0])
					}
					got := guard.Copy(t, make([]uint8, count*n*size), false)
					m := Turns(unsafe.Pointer(&got[0]), pointers, size, first, n)
					require.LessOrEqual(t, m, n)
					if Chains() && n >= 64/size {
						require.NotZero(t, m)
					}
					for i := range m {
						for j, s := range sources {
							require.Equal(t, s[(first+i)*size:][:size], got[(i*count+j)*size:][:size], "size %d, %d sources, element %d of %d", size, count, i, n)
						}
					}
				}
			}
		}
	})
}

// TestReversed copies elements backwards, at any position, and reads and writes nothing else.
func TestReversed(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		for _, size := range []int{1, 2, 4, 8} {
			for n := 1; n < 300; n += 1 + n/70 {
				for _, before := range []bool{false, true} {
					x, y := guard.Copy(t, make([]uint8, n*size), before), guard.Copy(t, make([]uint8, n*size), before)
					for i := range x {
						x[i] = uint8(rand.Uint32()) | 1
					}
					m := Reversed(unsafe.Pointer(&y[0]), unsafe.Pointer(&x[(n-1)*size]), size, n)
					for i := range m {
						require.Equal(t, x[(n-1-i)*size:][:size], y[i*size:][:size], "size %d, %d of %d", size, i, n)
					}
					require.Equal(t, make([]uint8, (n-m)*size), y[m*size:])
					if Chains() { // on amd64
						require.Greater(t, m, n-64/size)
					}
				}
			}
		}
	})
}
