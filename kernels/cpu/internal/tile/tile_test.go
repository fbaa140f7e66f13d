package tile_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
)

func ExampleBest() {
	defer isa.Override(isa.Portable)()
	floats := tile.Kind{In: tile.Float32, Acc: tile.Float32}
	table := []tile.Tile{
		{Kind: floats, Needs: isa.Vectors512, Layout: tile.Float32x32, Lanes: 16},
		{Kind: floats, Layout: tile.Float32x32, Lanes: 1},
	}
	best := tile.Best(table, floats)
	fmt.Println(best.Kind, best.Lanes, best.Layout)
	// Output: {float32, float32} 1 float32 x 32
}

// The first row counts whose kind matches and whose features are all available.
func TestBest(t *testing.T) {
	kind := tile.Kind{In: tile.Int8, Acc: tile.Int32}
	lacking := isa.Features(1 << 31) // no processor has it
	table := []tile.Tile{
		{Kind: kind, Needs: lacking, Lanes: 64},
		{Kind: tile.Kind{In: tile.Int8, Acc: tile.Float32}, Lanes: 32},
		{Kind: kind, Needs: isa.Detected(), Lanes: 16},
		{Kind: kind, Needs: isa.Portable, Lanes: 1},
	}
	defer isa.Override(isa.Detected())()
	require.Equal(t, 16, tile.Best(table, kind).Lanes)
	require.PanicsWithValue(t, "tile: no tile for {float64, float64} with "+isa.Detected().String(),
		func() { tile.Best(table, tile.Kind{In: tile.Float64, Acc: tile.Float64}) })
	if isa.Detected() != isa.Portable {
		defer isa.Override(isa.Portable)()
		require.Equal(t, 1, tile.Best(table, kind).Lanes)
	}
}

func TestStrings(t *testing.T) {
	require.Equal(t, "none float32 float64 int8 int32 bfloat16 Element(9)", fmt.Sprint(tile.Element(0), tile.Float32, tile.Float64, tile.Int8, tile.Int32, tile.BFloat16, tile.Element(9)))
	require.Equal(t, "row-major float32 x 32 float64 x 16 int8 x 64 bfloat16 x 32 Layout(77)",
		fmt.Sprint(tile.RowMajor, tile.Float32x32, tile.Float64x16, tile.Int8x64, tile.BFloat16x32, tile.Layout(77)))
}
