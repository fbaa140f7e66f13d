//go:build !linux

package guard

import (
	"slices"
	"testing"
)

// Copy returns a copy of x. On other systems than Linux what lies beside it can be touched.
func Copy[T any](_ testing.TB, x []T, _ bool) []T { return slices.Clone(x) }
