//go:build !amd64

package micro

const hasGrouped = false

// These are never called: there is no assembly for them here.
func runGrouped[T Float](*Grouped[T])         {}
func runGroupedSums[T Float](*GroupedSums[T]) {}
