package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/cpu"
)

// opTimes are the times of a program's steps in microseconds, by the ops of a step.
type opTimes map[string]float64

// total is the time of the program.
func (o opTimes) total() (sum float64) {
	for _, t := range o {
		sum += t
	}
	return sum
}

// profiled measures the program that the job spends most time in, a run of it: steps of the same ops together.
func (j *job) profiled(secs float64) (opTimes, error) {
	m, err := cpu.StartMeasurement(runs)
	if err != nil {
		return nil, err
	}
	measured, err := j.measure(secs)
	programs := m.Stop()
	if err != nil || len(programs) == 0 {
		return nil, err
	}
	times := make([]opTimes, len(programs))
	for i, p := range programs {
		times[i] = opTimes{}
		for _, op := range p.Ops {
			times[i][op.Name] += float64(op.Time) / float64(time.Microsecond) / float64(measured.Steps)
		}
	}
	return slices.MaxFunc(times, func(a, b opTimes) int { return cmp.Compare(a.total(), b.total()) }), nil
}

// opsCompared is how a network's ops are compared between float32 and another policy.
type opsCompared struct {
	policy string
	most   float64 // an op that takes more than so many times as long is printed,
	share  float64 // unless it is less than this part of its step
	secs   float64
	rounds int
}

// compareOps draws networks of the given numbers, in float32 and under a policy, trains them and predicts with them, 8
// examples at a time, in turns, and prints the ops that take longer than they may, then how the ratios of whole steps
// are distributed.
func (c opsCompared) compareOps(w io.Writer, first uint64, count int) error {
	runs = cpu.Measurable(runs)
	ratios := map[string][]float64{}
	fmt.Fprintf(w, "| network | step | ops | float32 us | %s us | times | of the step |\n|---|---|---|---|---|---|---|\n", c.policy)
	for number := first; number < first+uint64(count); number++ {
		for _, key := range []string{"train8", "8"} {
			single, other, err := c.times(number, key)
			if err != nil {
				return fmt.Errorf("drawn-%d, %s: %w", number, key, err)
			}
			for _, name := range slices.SortedFunc(keysOf(other), func(a, b string) int { return cmp.Compare(other[b], other[a]) }) {
				before, known := single[name]
				if share := other[name] / other.total(); known && share >= c.share && other[name] > c.most*before {
					fmt.Fprintf(w, "| drawn-%d | %s | %s | %.1f | %.1f | %.1f | %.1f %% |\n", number, key, name, before, other[name], other[name]/before, 100*share)
				}
			}
			ratios[key] = append(ratios[key], other.total()/single.total())
		}
	}
	fmt.Fprintf(w, "\n| step | networks | least | median | most |\n|---|---|---|---|---|\n")
	for _, key := range []string{"train8", "8"} {
		x := ratios[key]
		slices.Sort(x)
		fmt.Fprintf(w, "| %s | %d | %.2f | %.2f | %.2f |\n", key, len(x), x[0], x[len(x)/2], x[len(x)-1])
	}
	return nil
}

func keysOf(times opTimes) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name := range times {
			if !yield(name) {
				return
			}
		}
	}
}

// times returns the least times of the ops of a network's step in float32 and under the policy.
func (c opsCompared) times(number uint64, key string) (single, other opTimes, err error) {
	var jobs [2]*job
	for i, more := range [][]keras.Option{nil, {keras.DTypePolicy(c.policy)}} {
		d, err := draw(number, more...)
		if err == nil {
			jobs[i], err = d.job(key)
		}
		if err != nil {
			return nil, nil, err
		}
		for range 3 { // compiles, and keeps what is kept
			if _, _, err := jobs[i].run(); err != nil {
				return nil, nil, err
			}
		}
	}
	var best [2]opTimes
	for range c.rounds {
		for i, j := range jobs {
			times, err := j.profiled(c.secs)
			if err != nil {
				return nil, nil, err
			}
			if best[i] == nil {
				best[i] = times
			}
			for name, t := range times {
				best[i][name] = least(best[i][name], t)
			}
		}
	}
	return best[0], best[1], nil
}
