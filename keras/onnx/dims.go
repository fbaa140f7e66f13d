package onnx

import (
	"fmt"
	"slices"
	"strings"
)

// Sizes are the lengths that the open axes have in a trace: of the batch, and of all other open axes.
type Sizes struct{ Batch, Length int }

// dim is an axis length as a function of the open ones: constant + batch·B + length·L + both·B·L.
type dim struct {
	constant, batch, length, both int
	odd                           bool // it is none of these
}

func fixed(n int) dim { return dim{constant: n} }

func (d dim) isFixed() bool { return !d.odd && d.batch == 0 && d.length == 0 && d.both == 0 }

func (d dim) at(s Sizes) int {
	return d.constant + d.batch*s.Batch + d.length*s.Length + d.both*s.Batch*s.Length
}

// solveDim finds the function that gives the lengths seen in the traces; all of them, so that a length that just happens to fit the
// first ones is not taken for one that follows.
func solveDim(sizes []Sizes, seen []int) dim {
	base := sizes[0]
	if !slices.ContainsFunc(seen, func(n int) bool { return n != seen[0] }) {
		return fixed(seen[0])
	}
	var d dim
	along := func(other func(s Sizes) bool) (step, rise int) {
		for i, s := range sizes[1:] {
			if other(s) {
				return max(s.Batch-base.Batch, s.Length-base.Length), seen[i+1] - seen[0]
			}
		}
		return 1, 0
	}
	stepB, riseB := along(func(s Sizes) bool { return s.Length == base.Length })
	stepL, riseL := along(func(s Sizes) bool { return s.Batch == base.Batch })
	if riseB%stepB != 0 || riseL%stepL != 0 {
		return dim{odd: true}
	}
	slopeB, slopeL := riseB/stepB, riseL/stepL // batch + both·L0, length + both·B0
	for i, s := range sizes {
		if db, dl := s.Batch-base.Batch, s.Length-base.Length; db != 0 && dl != 0 {
			rest := seen[i] - seen[0] - slopeB*db - slopeL*dl
			if rest%(db*dl) != 0 {
				return dim{odd: true}
			}
			d.both = rest / (db * dl)
			break
		}
	}
	d.batch, d.length = slopeB-d.both*base.Length, slopeL-d.both*base.Batch
	d.constant = seen[0] - d.batch*base.Batch - d.length*base.Length - d.both*base.Batch*base.Length
	for i, s := range sizes {
		if d.at(s) != seen[i] {
			return dim{odd: true}
		}
	}
	return d
}

// String prints the function, for names and error messages.
func (d dim) String() string {
	if d.odd {
		return "?"
	}
	var parts []string
	for _, term := range []struct {
		n    int
		name string
	}{{d.both, "batch*length"}, {d.batch, "batch"}, {d.length, "length"}} {
		switch term.n {
		case 0:
		case 1:
			parts = append(parts, term.name)
		default:
			parts = append(parts, fmt.Sprintf("%d*%s", term.n, term.name))
		}
	}
	if d.constant != 0 || len(parts) == 0 {
		parts = append(parts, fmt.Sprint(d.constant))
	}
	return strings.Join(parts, "+")
}
