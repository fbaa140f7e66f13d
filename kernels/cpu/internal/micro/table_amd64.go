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
	{Kind: float32s, Needs: isa.Vectors512, Layout: tile.Float32x32, Lanes: 16, Family: familyF32AVX512},
	{Kind: float32s, Needs: isa.Vectors256, Layout: tile.Float32x32, Lanes: 8, Family: familyF32AVX2},
	{Kind: float32s, Layout: tile.Float32x32, Lanes: 1},
	{Kind: float64s, Needs: isa.Vectors512, Layout: tile.Float64x16, Lanes: 8, Family: familyF64AVX512},
	{Kind: float64s, Needs: isa.Vectors256, Layout: tile.Float64x16, Lanes: 4, Family: familyF64AVX2},
	{Kind: float64s, Layout: tile.Float64x16, Lanes: 1},
	// Matrix registers; products that cannot use them use the vectors of the same family.
	{Kind: halves, Needs: isa.Vectors512 | isa.AVX512BF16 | isa.AMXTile | isa.AMXBF16, Layout: tile.BFloat16x32, Lanes: 16, Family: familyBf16AVX512},
	{Kind: halves, Needs: isa.Vectors512 | isa.AVX512BF16, Layout: tile.BFloat16x32, Lanes: 16, Family: familyBf16AVX512},
	{Kind: halves, Layout: tile.BFloat16x32, Lanes: 1},
}
