package conv

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
)

// A kernel gradient sums over the pixels of all images. If images are small, one image has too few products to pay for
// a call per tap. So a call sums over several images: as many as stay in the second-level cache while all taps use
// them.

const (
	cacheLine   = 64
	leastPixels = 32 // fewest pixels of a sum, if there are as many: images of fewer pixels are hardly read from the cache again
)

// imagesTogether returns how many of the images [first, end) share a block of the sum, for that many rows of outputs
// and channels. The last image of the batch is left out if vectors would reach beyond its end, because such columns are
// computed one number at a time.
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

// longestInside makes the longest of the three axes of a tile's sums the innermost one, if that one is short.
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
