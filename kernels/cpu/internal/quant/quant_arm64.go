package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
)

// tiles lists the tiles for products of int8, the best ones first.
var tiles = [...]tile.Tile{
	{Kind: kind, Needs: isa.NEON | isa.DotProd, Layout: tile.Int8x64, Lanes: 4, Family: int(familyDots)},
	{Kind: kind, Layout: tile.Int8x64, Lanes: 1, Family: int(familyGo)},
}

// starts reports whether multiply begins with the given numbers, not with what c holds.
func (f family) starts() bool { return false }

func (f family) multiply(n, _ int, c []int32, ldc int, _ []int32, x []byte, ldx int, w []byte, groups int) {
	if f == familyGo {
		multiplyGo(c, x[:ldx], w)
		return
	}
	_, _, _ = c[(n-1)*ldc+Width-1], x[n*ldx-1], w[groups*group*Width-1]
	for column := 0; column < Width; column += Width / 2 {
		callDots(n, unsafe.Pointer(&c[column]), unsafe.Pointer(&x[0]), unsafe.Pointer(&w[column*group]), uintptr(groups), uintptr(4*ldc), uintptr(ldx))
	}
}

// callDots must be neither inlined nor a leaf: assembly cannot be preempted, so a loop that calls nothing else would
// delay the garbage collector until it ends.
//
//go:noinline
func callDots(n int, c, x, w unsafe.Pointer, groups, ldc, ldx uintptr) {
	switch n {
	case 3:
		rows3Dots(c, x, w, groups, ldc, ldx)
	case 2:
		rows2Dots(c, x, w, groups, ldc, ldx)
	default:
		rows1Dots(c, x, w, groups, ldc, ldx)
	}
}

//go:noescape
func rows1Dots(c, x, w unsafe.Pointer, groups, ldc, ldx uintptr)

//go:noescape
func rows2Dots(c, x, w unsafe.Pointer, groups, ldc, ldx uintptr)

//go:noescape
func rows3Dots(c, x, w unsafe.Pointer, groups, ldc, ldx uintptr)

// widenVectors does nothing: no kernels here read what it would write.
func widenVectors(_, _ []byte) (done int, sum int32) { return 0, 0 }

// sumRows is for processors with VNNI.
func sumRows(_ []int32, _ []byte, _, _ int) {}

// bytesRowOf is for processors with AVX2.
func bytesRowOf(_, _ []float32, _ []byte, _ []float32, _ []int8, _ int32, _ int) {}
