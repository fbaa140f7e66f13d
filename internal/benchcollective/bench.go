package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
)

type bench struct {
	rounds  int
	seconds float64
	peers   string
	only    []string
	sizes   []int
	out     *json.Encoder
}

// run measures n processes of every contestant and prints a table.
func (b *bench) run(n int) error {
	var all []*contestant
	defer func() {
		for _, c := range all {
			c.stop()
		}
	}()
	for _, name := range b.only {
		c, err := launch(name, n, b.peers)
		if err != nil {
			return err
		}
		if c == nil {
			fmt.Fprintf(os.Stderr, "benchcollective: no Python for %s, it is left out\n", name)
			continue
		}
		all = append(all, c)
	}
	fmt.Printf("\nAll-reduce of float32 between %d processes: median (best) microseconds; microseconds of processor time of all processes together\n\n", n)
	fmt.Printf("%-8s", "bytes")
	for _, c := range all {
		fmt.Printf("  %-24s", c.name)
	}
	fmt.Println()
	var ratios []string
	for _, size := range b.sizes {
		samples, err := b.measure(all, size)
		if err != nil {
			return err
		}
		fmt.Printf("%-8s", human(size))
		for i := range all {
			median, best, cpu := figures(samples[i])
			fmt.Printf("  %-24s", fmt.Sprintf("%s (%s) %s", number(median), number(best), number(cpu)))
			if b.out != nil {
				if err := b.out.Encode(map[string]any{"contestant": all[i].name, "workers": n, "bytes": size, "rounds": samples[i]}); err != nil {
					return err
				}
			}
		}
		fmt.Println()
		ratios = append(ratios, compare(all, samples, n, size))
	}
	fmt.Printf("\nHow many times faster (medians over the rounds; above 1 is faster), and bytes on the wire\n\n%s\n", strings.Join(ratios, "\n"))
	return nil
}

// measure returns the samples of one size, by contestant and round.
func (b *bench) measure(all []*contestant, size int) ([][]*sample, error) {
	counts := make([]int, len(all))
	for i, c := range all {
		for range 2 { // the first time makes buffers and programs
			s, err := c.measure(size, 5)
			if err != nil {
				return nil, err
			}
			counts[i] = min(max(int(b.seconds*1e6/median(s.Micros)), 3), 1000)
		}
	}
	samples := make([][]*sample, len(all))
	for round := range b.rounds {
		for i := range all {
			at := (i + round) % len(all) // nobody always follows the same one
			s, err := all[at].measure(size, counts[at])
			if err != nil {
				return nil, err
			}
			samples[at] = append(samples[at], s)
		}
	}
	return samples, nil
}

func median(values []float64) float64 {
	list := slices.Clone(values)
	slices.Sort(list)
	return list[len(list)/2]
}

// figures are the median over the rounds of their medians, the best time of all, and the median processor time.
func figures(rounds []*sample) (middle, best, cpu float64) {
	var middles, cpus []float64
	best = rounds[0].Micros[0]
	for _, s := range rounds {
		middles, cpus = append(middles, median(s.Micros)), append(cpus, s.CPU)
		best = min(best, slices.Min(s.Micros))
	}
	return median(middles), best, median(cpus)
}

// compare returns a line that compares our two paths with the others.
func compare(all []*contestant, samples [][]*sample, n, size int) string {
	var words []string
	index := func(name string) int {
		return slices.IndexFunc(all, func(c *contestant) bool { return c.name == name })
	}
	for i, c := range all {
		ours, _, _ := strings.Cut(c.name, "@")
		if ours != "tcp" && ours != "shared" {
			continue
		}
		for _, other := range []string{"gloo", "tensorflow", "raw"} {
			j := index(other)
			if j < 0 {
				continue
			}
			var ratios, cpus []float64
			for round, s := range samples[i] {
				ratios = append(ratios, median(samples[j][round].Micros)/median(s.Micros))
				cpus = append(cpus, samples[j][round].CPU/s.CPU)
			}
			_, ourBest, _ := figures(samples[i])
			_, theirBest, _ := figures(samples[j])
			words = append(words, fmt.Sprintf("%s/%s %.2f (best %.2f, cpu %.2f)", c.name, other, median(ratios), theirBest/ourBest, median(cpus)))
		}
		if ours == "tcp" {
			least := 2 * float64(n-1) / float64(n) * float64(size)
			words = append(words, fmt.Sprintf("wire %.3f x 2(n-1)/n", samples[i][0].Sent/least))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return fmt.Sprintf("%-10s", human(size)) + strings.Join(words, "; ")
}

func human(bytes int) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%g MB", float64(bytes)/(1<<20))
	case bytes >= 1<<10:
		return fmt.Sprintf("%g KB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%d B", bytes)
}

// number shows three figures, or all before the point.
func number(x float64) string {
	switch {
	case x < 10:
		return fmt.Sprintf("%.2f", x)
	case x < 100:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.0f", x)
}
