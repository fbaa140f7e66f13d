package micro

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
)

var (
	float32s = tile.Kind{In: tile.Float32, Acc: tile.Float32}
	float64s = tile.Kind{In: tile.Float64, Acc: tile.Float64}
	halves   = tile.Kind{In: tile.BFloat16, Acc: tile.Float32}
)

// tiles lists the register tiles, the best ones first.
var tiles = [...]tile.Tile{
	{Kind: float32s, Needs: isa.NEON, Layout: tile.Float32x32, Lanes: 4, Family: familyF32NEON},
	{Kind: float32s, Layout: tile.Float32x32, Lanes: 1},
	{Kind: float64s, Needs: isa.NEON, Layout: tile.Float64x16, Lanes: 2, Family: familyF64NEON},
	{Kind: float64s, Layout: tile.Float64x16, Lanes: 1},
	{Kind: halves, Needs: isa.NEON | isa.BF16, Layout: tile.BFloat16x32, Lanes: 4, Family: familyBf16NEON},
	{Kind: halves, Layout: tile.BFloat16x32, Lanes: 1},
}
