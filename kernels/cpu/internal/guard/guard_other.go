//go:build !linux

package guard

import (
	"slices"
	"testing"
)

// Copy returns a copy of x. On systems other than Linux, the memory next to it is accessible.
func Copy[T any](_ testing.TB, x []T, _ bool) []T { return slices.Clone(x) }
