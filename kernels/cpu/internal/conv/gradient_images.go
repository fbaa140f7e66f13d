package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// A kernel gradient sums over the pixels of all images. Where images are small, a call for a tap and an image has less
// to compute than a call costs, so that one sums over several images, as many as stay in the second-level cache while
// all taps go through them.

const (
	cacheLine   = 64
	leastPixels = 32 // of a sum, if there are so many: with fewer pixels an image, what it has in the cache is hardly read again
)

// imagesTogether is how many of the images [first, end) are in a block of the sum of so many rows of outputs and
// channels. The last image of all is on its own where vectors would reach beyond it: such columns are computed number
// by number.
func (c *kernelGradient[T]) imagesTogether(block, cols, first, end int) int {
	if block < c.out[1] || c.slides || c.turned || c.copies.local() > 0 {
		return 1
	}
	s, size := &c.shape, int(unsafe.Sizeof(c.x[0]))
	inputs := s.InChannels / s.Groups
	if s.depthwise() {
		inputs = cols
	}
	lines := s.In[1]*s.In[2]*ceil(inputs*size, cacheLine) + c.out[1]*c.out[2]*ceil(cols*size, cacheLine)
	fit := sumBytes / cacheLine / max(lines, 1)
	images := min(max(fit, ceil(leastPixels, max(c.out[1]*c.out[2], 1))), end-first)
	if first+images == s.Batch && (c.few || cols%micro.PadColumns[T](1) != 0) {
		images--
	}
	return max(images, 1)
}

// longestInside makes the longest of the three axes that a tile sums over the innermost one, where that is short.
func longestInside[T Float](t *micro.Tile[T]) {
	if t.K >= shortRun {
		return
	}
	if t.K < t.Segments && t.Segments >= t.Outer {
		t.K, t.AK, t.BK, t.Segments, t.ASegment, t.BSegment = t.Segments, t.ASegment, t.BSegment, t.K, t.AK, t.BK
	} else if t.K < t.Outer {
		t.K, t.AK, t.BK, t.Outer, t.AOuter, t.BOuter = t.Outer, t.AOuter, t.BOuter, t.K, t.AK, t.BK
	}
}
