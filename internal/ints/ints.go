// Package ints joins and repeats shapes, axes and places of nodes as package slices does, which programs would have a
// copy of at each of the hundred calls: none of them is in a loop that counts.
package ints

import "slices"

// Concat returns a new slice of the elements of all parts.
//
//go:noinline
func Concat[S ~[]int](parts ...S) S { return slices.Concat(parts...) }

// Repeat returns a new slice of n times x.
//
//go:noinline
func Repeat(x, n int) []int { return slices.Repeat([]int{x}, n) }

// Clone returns a copy of s, nil where s is.
//
//go:noinline
func Clone[S ~[]int](s S) S { return slices.Clone(s) }

// Inverse returns the permutation that undoes another one.
//
//go:noinline
func Inverse(perm []int) []int {
	back := make([]int, len(perm))
	for i, p := range perm {
		back[p] = i
	}
	return back
}
