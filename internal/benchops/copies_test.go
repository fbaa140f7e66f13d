package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// A call is timed again until it was fast enough once, after the others; one that stays slow is not.
func TestTimeAgain(t *testing.T) {
	var order []string
	at := func(name string, copies ...float64) *timing {
		left := &timing{call: benchmark{Name: name}, known: true, before: 1, copies: copies[0]}
		left.time = func(int) (float64, error) {
			order = append(order, name)
			copies = append(copies[1:], copies[len(copies)-1])
			return copies[0], nil
		}
		return left
	}
	const slow = otherSlack + 1
	fast, late, never := at("fast", 1), at("late", slow, slow, 1), at("never", slow)
	require.NoError(t, timeAgain([]*timing{fast, late, never}, 1, 1))
	assert.False(t, fast.slow(1) || late.slow(1))
	assert.True(t, never.slow(1))
	assert.Equal(t, []string{"late", "never", "late", "never", "never"}, order[:5])
	assert.Len(t, order, 2+tries-1)
}
