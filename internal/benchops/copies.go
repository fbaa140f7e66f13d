package main

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
)

// copiesSource has a line for each function and layer: how many copies of the bytes that it reads and writes it took,
// in the second-level cache, when this was last recorded.
//
//go:embed copies.txt
var copiesSource string

// slack is how many times as long as recorded a call may take, and leastBar how many copies any call may take.
// Processor time is measured, the least of several rounds in turn with the copy: with thirty processes on two cores the
// quotient repeats itself within a factor of two, and half of all calls within a twentieth. Processors differ by about
// as much again.
const (
	slack    = 5
	leastBar = 10
)

// recorded returns how many copies a call took.
func recorded(name string) (copies float64, ok bool) {
	for line := range strings.Lines(copiesSource) {
		var of string
		if n, err := fmt.Sscan(line, &of, &copies); n == 2 && err == nil && of == name {
			return copies, true
		}
	}
	return 0, false
}

// compareWithCopies times each call within the second-level cache beside a copy of the same bytes. One that is too slow
// is timed again, longer, before it counts.
func compareWithCopies(only *regexp.Regexp, rounds int, record string) error {
	var failed []error
	var lines []string
	for _, c := range allCases() {
		if !only.MatchString(c.name) {
			continue
		}
		b, err := c.at(sizes[0].n)
		if err != nil {
			return err
		}
		before, known := recorded(c.name)
		bar := max(slack*before, leastBar)
		least := math.Inf(1)
		for try := 1; try <= 3; try++ {
			copies, err := copiesOf(b, try*rounds, false)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			if least = min(least, copies); least <= bar || record != "" {
				break
			}
		}
		fmt.Printf("%-36s %8.1f copies, at most %.0f\n", c.name, least, bar)
		lines = append(lines, fmt.Sprintf("%s %.1f\n", c.name, least))
		if record == "" && (!known || least > bar) {
			failed = append(failed, fmt.Errorf("%s takes as long as %.1f copies of the same bytes; %.1f were recorded, and %.0f are allowed: make it faster, or record it (internal/benchops -copies -record)",
				c.name, least, before, bar))
		}
	}
	if record != "" {
		slices.Sort(lines)
		return os.WriteFile(record, []byte(strings.Join(lines, "")), 0o644)
	}
	return errors.Join(failed...)
}

// copiesOf returns how many copies of the same bytes a call takes.
func copiesOf(b benchmark, rounds int, gradients bool) (float64, error) {
	t, err := newTimer(b, gradients)
	if err != nil {
		return 0, err
	}
	defer t.close()
	from, to := make([]byte, t.bytes/2), make([]byte, t.bytes/2)
	ours, plain := math.Inf(1), math.Inf(1)
	for range rounds {
		d, err := t.measure()
		if err != nil {
			return 0, err
		}
		ours = min(ours, d)
		d, _ = shortest(func() error { copy(to, from); return nil })
		plain = min(plain, d)
	}
	// Small programs take some microseconds whatever they compute.
	return ours / (plain + 2e-6), nil
}
