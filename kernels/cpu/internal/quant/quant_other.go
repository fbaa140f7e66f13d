//go:build !amd64 && !arm64

package quant

import "github.com/gokeras/gokeras/kernels/cpu/internal/tile"

// tiles lists the tiles for products of int8.
var tiles = [...]tile.Tile{{Kind: kind, Layout: tile.Int8x64, Lanes: 1, Family: int(familyGo)}}

// starts reports whether multiply begins with the given numbers, not with what c holds.
func (f family) starts() bool { return false }

func (f family) multiply(_, _ int, c []int32, _ int, _ []int32, x []byte, ldx int, w []byte, _ int) {
	multiplyGo(c, x[:ldx], w)
}

// widenVectors does nothing: no kernels here read what it would write.
func widenVectors(_, _ []byte) (done int, sum int32) { return 0, 0 }

// sumRows is for processors with VNNI.
func sumRows(_ []int32, _ []byte, _, _ int) {}

// bytesRowOf is for processors with AVX2.
func bytesRowOf(_, _ []float32, _ []byte, _ []float32, _ []int8, _ int32, _ int) {}
