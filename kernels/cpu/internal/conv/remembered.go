package conv

import (
	"sync/atomic"
	"unsafe"
)

// rememberedTiles are correlations that a shape keeps with all that follows from it, so that a run adds its memory
// only. One run at a time may use them; another one at the same time decides for itself.
type rememberedTiles struct {
	busy   atomic.Bool
	list   []correlation[float32] // one, or those of all phases of an input gradient; of any type
	phases [][3]phase             // of the list
}

// rememberedPhases is the most phases that are remembered.
const rememberedPhases = 64

// take reports whether the caller may use what is remembered, and gives it back by release.
func (r *rememberedTiles) take() bool { return r != nil && r.busy.CompareAndSwap(false, true) }

func (r *rememberedTiles) release() {
	for i := range r.list {
		c := &r.list[i]
		c.x, c.y, c.w, c.bias, c.moments, c.local = nil, nil, nil, nil, nil, nil // let go of the caller's memory
		c.wide.weights, c.wide.bias, c.wide.scratch = nil, nil, nil
	}
	r.busy.Store(false)
}

// correlationOf returns a correlation of the list.
func correlationOf[T Float](r *rememberedTiles, i int) *correlation[T] {
	return (*correlation[T])(unsafe.Pointer(&r.list[i]))
}

// rememberForward remembers the correlation of a convolution.
func rememberForward[T Float](d *decisions) *rememberedTiles {
	r := &rememberedTiles{list: make([]correlation[float32], 1)}
	c := correlationOf[T](r, 0)
	setForward(c, d)
	c.keeps = true
	return r
}

// rememberPhases remembers those of the phases of an input gradient. It returns nil if there are too many.
func rememberPhases[T Float](d *decisions) *rememberedTiles {
	g := &d.phases
	if g.count > rememberedPhases {
		return nil
	}
	r := &rememberedTiles{list: make([]correlation[float32], g.count), phases: make([][3]phase, g.count)}
	for i := range g.count {
		c := correlationOf[T](r, i)
		r.phases[i], c.keeps = g.phaseAt(&d.shape, i), true
		setData(c, d)
		setPhase(c, d, &r.phases[i])
	}
	return r
}

// rememberedGradient is the same for a kernel gradient.
type rememberedGradient struct {
	busy     atomic.Bool
	gradient kernelGradient[float32] // of any type
}

func (r *rememberedGradient) take() bool { return r != nil && r.busy.CompareAndSwap(false, true) }

func gradientOf[T Float](r *rememberedGradient) *kernelGradient[T] {
	return (*kernelGradient[T])(unsafe.Pointer(&r.gradient))
}

// rememberGradient remembers the kernel gradient of a shape.
func rememberGradient[T Float](n *Shape) *rememberedGradient {
	r := &rememberedGradient{}
	gradientOf[T](r).set(*n)
	return r
}
