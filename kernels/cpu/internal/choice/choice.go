// Package choice names the places where kernels choose between two ways to the same result by an estimate of time.
//
// An estimate that was made on one processor, or on a list of shapes, may be wrong elsewhere. So each such place has a
// [Choice]: a test or a benchmark can draw shapes, see which choices they meet, and compute them once more without one
// of them. Both ways must give the same result, up to rounding; which of them is faster is the estimate's business.
package choice

import (
	"slices"
	"sync/atomic"
)

// A Choice is a way to compute something that is taken where an estimate says so. The zero value is not in [All].
type Choice struct {
	name  string
	off   bool
	taken atomic.Bool
}

var (
	all       []*Choice
	recording bool
)

// New returns a choice with a name of its own: "package: what is done". It is called to initialize variables alone.
func New(name string) *Choice {
	c := &Choice{name: name}
	all = append(all, c)
	return c
}

// Taken reports whether the way that the choice names is taken, where the estimate is in favour of it.
func (c *Choice) Taken() bool {
	if recording {
		c.taken.Store(true)
	}
	return !c.off
}

func (c *Choice) String() string { return c.name }

// All returns all choices, sorted by name.
func All() []*Choice {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b *Choice) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	return sorted
}

// Without switches the choice off, until the function that it returns is called. Programs must be compiled and run on
// one side of that: memory and packed weights depend on it. It is for tests and benchmarks; nothing may run meanwhile
// on other goroutines.
func (c *Choice) Without() (restore func()) {
	before := c.off
	c.off = true
	return func() { c.off = before }
}

// Record returns the choices that f takes, sorted by name, for tests and benchmarks.
func Record(f func()) []*Choice {
	for _, c := range all {
		c.taken.Store(false)
	}
	recording = true
	defer func() { recording = false }()
	f()
	var taken []*Choice
	for _, c := range All() {
		if c.taken.Load() {
			taken = append(taken, c)
		}
	}
	return taken
}
