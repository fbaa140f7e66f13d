package main

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// copiesSource names the processor on which it was recorded, and then has a line for each function and layer: how many
// copies of the bytes that it reads and writes it took, in the second-level cache, and how many its gradients took,
// where it has any.
//
//go:embed copies.txt
var copiesSource string

// Processor time is measured, the least of several rounds in turn with the copy: with ten processes on two cores the
// quotient repeats itself within a fifth, with few exceptions. What is too slow is timed again after all others,
// longer, since a neighbour may have been busy for a second, and in other memory, since a call whose operands share
// sets of a cache takes about one copy longer for as long as they lie there. So a call may take slack times as long as
// recorded, on another kind of processor otherSlack times, and the same multiples of leastCopies whatever was recorded.
const (
	slack       = 1.75
	otherSlack  = 5
	leastCopies = 1
)

// tries is how often a call is timed, at most, before it counts as too slow.
const tries = 8

// Between two tries of a call passes at least pause, and oddBytes more are in use.
const (
	pause    = 100 * time.Millisecond
	oddBytes = 5<<20 + 3*4096
)

// manyCalls is the number of calls from which on the median tells how much slower than recorded everything currently
// is. most is the largest slowdown that this explains.
const (
	manyCalls = 100
	most      = 2
)

// timing is a call or its gradients, with the copies that it was recorded to take and those that it took.
type timing struct {
	call             benchmark
	gradients, known bool
	before, copies   float64
	time             func(rounds int) (copies float64, err error)
}

func (t *timing) name() string {
	if t.gradients {
		return "the gradients of " + t.call.Name
	}
	return t.call.Name
}

// bar is how many copies it may take, where everything takes slower times as long as recorded.
func (t *timing) bar(slower float64) float64 {
	times := float64(otherSlack)
	if name, _, _ := strings.Cut(copiesSource, "\n"); name == processor() {
		times = slack
	}
	return times * max(slower*t.before, leastCopies)
}

// slow reports whether it takes more copies than it may.
func (t *timing) slow(slower float64) bool { return t.known && t.copies > t.bar(slower) }

// measure times the call again; the smallest of all measured times counts.
func (t *timing) measure(rounds int) error {
	copies, err := t.time(rounds)
	if err == nil {
		t.copies = min(t.copies, copies)
	} else if !errors.Is(err, errNoGradient) {
		err = fmt.Errorf("%s: %w", t.name(), err)
	}
	return err
}

// recorded returns how many copies a call took, or its gradients.
func recorded(name string, gradients bool) (copies float64, ok bool) {
	column := 1
	if gradients {
		column = 2
	}
	for line := range strings.Lines(copiesSource) {
		if fields := strings.Fields(line); len(fields) > column && fields[0] == name {
			copies, err := strconv.ParseFloat(fields[column], 64)
			return copies, err == nil
		}
	}
	return 0, false
}

// compareWithCopies times each call within the second-level cache beside a copy of the same bytes, then its gradients.
func compareWithCopies(only *regexp.Regexp, rounds int, record string) error {
	timings, err := timeAll(only, rounds)
	if err != nil {
		return err
	}
	if record != "" {
		return os.WriteFile(record, []byte(recordOf(timings)), 0o644)
	}
	slower := slowerThanRecorded(timings)
	if err := timeAgain(timings, slower, rounds); err != nil {
		return err
	}
	var failed []error
	for _, t := range timings {
		bar := t.bar(slower)
		fmt.Printf("%-56s %8.1f copies, at most %.1f\n", t.name(), t.copies, bar)
		if !t.known || t.slow(slower) {
			failed = append(failed, fmt.Errorf("%s takes as long as %.1f copies of the same bytes; %.1f were recorded, and %.1f are allowed: make it faster, or record it (internal/benchops -copies -record)",
				t.name(), t.copies, t.before, bar))
		}
	}
	return errors.Join(failed...)
}

// timeAgain times those that are too slow once more, one after the other, until none is or they had their tries.
func timeAgain(timings []*timing, slower float64, rounds int) error {
	var elsewhere [][]byte
	for try := 2; try <= tries; try++ {
		for _, t := range timings {
			if !t.slow(slower) {
				continue
			}
			time.Sleep(pause)
			elsewhere = append(elsewhere, make([]byte, oddBytes)) // what is allocated next lies where nothing lay before
			if err := t.measure(try * rounds); err != nil {
				return err
			}
		}
	}
	runtime.KeepAlive(elsewhere)
	return nil
}

// timeAll times every call, and its gradients where it has any.
func timeAll(only *regexp.Regexp, rounds int) (timings []*timing, err error) {
	for _, c := range allCases() {
		if !only.MatchString(c.name) {
			continue
		}
		b, err := c.at(sizes[0].n)
		if err != nil {
			return nil, err
		}
		for _, gradients := range []bool{false, true} {
			t := &timing{call: b, gradients: gradients, copies: math.Inf(1)}
			t.time = func(rounds int) (float64, error) { return copiesOf(b, rounds, gradients) }
			t.before, t.known = recorded(b.Name, gradients)
			if err := t.measure(rounds); errors.Is(err, errNoGradient) {
				continue
			} else if err != nil {
				return nil, err
			}
			timings = append(timings, t)
		}
	}
	return timings, nil
}

// slowerThanRecorded returns how many times as long as recorded the median call takes.
func slowerThanRecorded(timings []*timing) float64 {
	var quotients []float64
	for _, t := range timings {
		if t.known && t.before > 0 {
			quotients = append(quotients, t.copies/t.before)
		}
	}
	if len(quotients) < manyCalls {
		return 1
	}
	slices.Sort(quotients)
	return min(max(1, quotients[len(quotients)/2]), most)
}

// recordOf is what was measured, as copies.txt has it.
func recordOf(timings []*timing) string {
	var lines []string
	for _, t := range timings {
		if t.gradients {
			lines[len(lines)-1] += fmt.Sprintf(" %.1f", t.copies)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %.1f", t.call.Name, t.copies))
	}
	slices.Sort(lines)
	return processor() + "\n" + strings.Join(lines, "\n") + "\n"
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
	// Small programs take a few microseconds whatever they compute.
	return ours / (plain + 2e-6), nil
}
