//go:build !amd64 && !arm64

package micro

import (
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// tiles lists the tiles in Go.
var tiles = [...]tile.Tile{
	{Kind: tile.Kind{In: tile.Float32, Acc: tile.Float32}, Layout: tile.Float32x32, Lanes: 1},
	{Kind: tile.Kind{In: tile.Float64, Acc: tile.Float64}, Layout: tile.Float64x16, Lanes: 1},
	{Kind: tile.Kind{In: tile.BFloat16, Acc: tile.Float32}, Layout: tile.BFloat16x32, Lanes: 1},
}

// vector computes the columns [0, cols). There is no assembly here, so all tiles are in Go.
func vector[T Float](_ *tile.Tile, t *Tile[T], cols int) {
	u := *t
	u.Cols = cols
	portable(&u, 0)
}

// vectorChannels is vector for RunChannels. It returns the number of columns it computed.
func vectorChannels[T Float](*tile.Tile, *Tile[T]) int { return 0 }

// transpose transposes the first columns and returns how many: none here.
func transpose[T Float](_, _ []T, _, _, _, _ int) int { return 0 }

// copyPanel packs a panel of whole rows and returns true, or returns false if it cannot, as here.
func copyPanel[T Float](_, _ []T, _, _ int) bool { return false }

// rowProduct adds x·b to dst and returns true, or returns false if it cannot, as here.
func rowProduct[T Float](_, _, _ []T, _ int) bool { return false }

// rowPanels adds the products of x and whole panels to dst and returns how many columns it computed: none here.
func rowPanels[T Float](_, _, _ []T) int { return 0 }

func rowHalfPanels(_, _ []float32, _ []uint16, _ vec.Half) bool { return false }

func transposeShort[T Float](_, _ []T, _, _, _, _ int) int { return 0 }

// vectorRounded is only for processors with an instruction that rounds to bfloat16.
func vectorRounded(*tile.Tile, *Tile[float32], *Rounding) {}
