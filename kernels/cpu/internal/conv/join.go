package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// In small volumes, only a few neighbouring outputs of an image see the same taps. All weights would be read to fill a
// few rows of a tile. So the rows of a tile are the same output of several images instead. Every output is the same sum
// in the same order either way.

// MatrixRows is the number of images that fill a matrix register where images are joined.
const MatrixRows = 16

const (
	joinRows   = 4       // most outputs along an axis that see the same taps for images to be joined
	joinImages = 28      // most images at a time
	joinBytes  = 1 << 20 // bytes of the images: they stay, or nearly stay, in the second-level cache
	joinLeast  = 6       // fewest images that are joined

	joinWide  = 6        // instead of joinRows, for vectors
	joinLanes = 16       // of that many numbers
	joinPanel = 24 << 10 // and larger panels (bytes)

	matrixRows  = 14      // the same with matrix registers, which take as long for one row as for all rows of a tile
	matrixBytes = 3 << 20 // bytes of the images; less than half are inputs, which stay in a second-level cache of 2 MiB
)

// joined returns how many images are computed together.
func (c *correlation[T]) joined() int {
	if !c.joins || c.slides || c.copies.unit > 0 || c.wide.on || c.lanes > 0 || c.spread.columns > 0 || c.batch < joinLeast {
		return 1
	}
	longest, image := c.longest(), c.imageBytes()
	if images := c.tilesOfImages(matrixBytes / image); images > longest && longest <= matrixRows {
		return images
	}
	if !c.joinsShort() {
		return 1
	}
	return min(joinBytes/image, joinImages, c.batch)
}

// longest returns the most neighbouring outputs along the height or the width that see the same taps.
func (c *correlation[T]) longest() int {
	longest := 0
	for _, spans := range c.spans[1:] {
		for _, s := range spans {
			longest = max(longest, s.end-s.first)
		}
	}
	return longest
}

// imageBytes is the size of an image and its result. Groups are computed one after the other, so if there are several,
// it counts one group's part of each pixel: cache lines that it may share with its neighbours.
func (c *correlation[T]) imageBytes() int {
	var zero T
	size, x, y := int(unsafe.Sizeof(zero)), c.in, c.out
	if c.groups > 1 && !c.depthwise {
		x, y = min(c.inGroup+cacheLine/size, x), min(c.outGroup+cacheLine/size, y)
	}
	return max((c.axes[0].in*c.axes[1].in*c.axes[2].in*x+volume(c.outs)*y)*size, 1)
}

// joinsShort reports whether so few outputs see the same taps that images are joined, given enough images.
func (c *correlation[T]) joinsShort() bool {
	return c.longest() <= c.joinsRows() && c.imageBytes()*joinLeast <= joinBytes
}

// joinsRows is the number of neighbouring outputs seeing the same taps up to which images are joined, because these
// outputs alone fill too little of a tile. On processors with two 512-bit units, a tile of five or six rows multiplies
// weights faster than the second-level cache delivers them, so the number is larger if a panel exceeds the first-level
// one.
func (c *correlation[T]) joinsRows() int {
	var zero T
	panel := c.axes[0].taps * c.axes[1].taps * c.axes[2].taps * c.inGroup * micro.PanelWidth[T]() * int(unsafe.Sizeof(zero))
	if panel > joinPanel && !c.pairs && single[T]() && micro.PadColumns[T](1) == joinLanes && !isa.HalfUnits() {
		return joinWide
	}
	return joinRows
}

// joinedCorners returns for how many images the corners are computed together, in matrix registers, where the rest of
// an image fills tiles alone.
func (c *correlation[T]) joinedCorners() int {
	if !c.joins || c.images > 1 {
		return 1
	}
	return max(c.tilesOfImages(c.batch), 1)
}

// together returns for how many images the outputs of two spans are computed together.
func (c *correlation[T]) together(h, w span, p part) int {
	if p == whole && max(h.end-h.first, w.end-w.first) <= joinRows {
		return max(c.images, c.corners)
	}
	return c.images
}

// tilesOfImages returns how many images, of at most the given number, fill tiles of matrix registers best. It returns 0
// if matrix registers are not used.
func (c *correlation[T]) tilesOfImages(most int) int {
	images := min(most, c.batch, 2*MatrixRows)
	switch {
	case !c.pairs || !micro.Matrices():
		return 0
	case images < MatrixRows:
		return even(c.batch, max(images, 1))
	case images < 2*MatrixRows:
		return MatrixRows
	}
	return images
}

// rowsOfImages is the rest of rectangle for joined images, from image n on: the rows of its tiles are images, their
// lines the outputs along the width. The outputs along the height follow one after the other.
func (c *correlation[T]) rowsOfImages(t *micro.Tile[T], n, lines, startX, startY, xLine, yLine int, empty bool, td, tdEnd int, h, w span, g, col int) {
	t.ARow, t.CRow = c.axes[0].in*c.planeX(), volume(c.outs)*c.out
	for i := range lines {
		line := *t
		line.C = c.y[startY+i*yLine:]
		if empty {
			c.emptyTile(&line)
			continue
		}
		c.tile(&line, startX+i*xLine, td, tdEnd, h, w, g, col)
	}
}
