//go:build !amd64

package micro

const hasSlide = false

// Never called: there is no assembly for these here.
func runSlide[T Float](*Slide[T])         {}
func runSlideSums[T Float](*SlideSums[T]) {}
