//go:build !amd64

package micro

const hasSlide = false

// These are never called: there is no assembly for them here.
func runSlide[T Float](*Slide[T])         {}
func runSlideSums[T Float](*SlideSums[T]) {}
