package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// What slows half of all calls by the same is the machine's, up to a factor, and what slows one is the call's.
func TestBars(t *testing.T) {
	var timings []*timing
	for i := range manyCalls {
		timings = append(timings, &timing{known: true, before: float64(1 + i), copies: 1.5 * float64(1+i)})
	}
	assert.InDelta(t, 1.5, slowerThanRecorded(timings), 1e-9)
	assert.InDelta(t, 1, slowerThanRecorded(timings[1:]), 1e-9, "too few")
	dear, cheap := timing{before: 2.3}, timing{before: 0.1}
	assert.Greater(t, dear.bar(1.5), dear.bar(1))
	assert.GreaterOrEqual(t, cheap.bar(1), slack*leastCopies)
	for _, t := range timings {
		t.copies *= 10
	}
	assert.InDelta(t, most, slowerThanRecorded(timings), 1e-9)
}
