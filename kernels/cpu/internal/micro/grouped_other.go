//go:build !amd64

package micro

const hasGrouped = false

// Never called: there is no assembly for these here.
func runGrouped[T Float](*Grouped[T])         {}
func runGroupedSums[T Float](*GroupedSums[T]) {}
