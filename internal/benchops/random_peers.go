package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
)

// Random calls of functions and layers beside PyTorch. Their rows have a size of their own name, and are a chapter of
// the document.

// drawnSize is the size of rows of random calls.
const drawnSize = "random"

// layerShare is how many of the calls are of layers: one of so many.
const layerShare = 3

// eachRandomCall draws calls, functions and layers, forward and with gradients in turn, and does what it is told with
// each. Layers, whose types are those of policies, are drawn in float32 alone.
func eachRandomCall(seed uint64, count, n int, do func(b benchmark, gradients bool) error) error {
	r := rand.New(rand.NewPCG(seed, 17))
	for i := range count {
		var b benchmark
		if i%layerShare == 0 && precision == "float32" {
			b = drawLayer(r, n)
		} else {
			b = drawCall(r, n, regexp.MustCompile(""))
		}
		if err := do(b, r.IntN(3) == 0); err != nil {
			return err
		}
	}
	return nil
}

// measureRandomCalls draws calls and times them.
func measureRandomCalls(seed uint64, count, n, rounds int, only *regexp.Regexp, peers *peers, results *results) error {
	return eachRandomCall(seed, count, n, func(b benchmark, gradients bool) error {
		return measureCall(b, gradients, rounds, only, peers, results)
	})
}

// measureCall adds the row of a call, if it is asked for and there is none; none of arguments that do not go together.
func measureCall(b benchmark, gradients bool, rounds int, only *regexp.Regexp, peers *peers, results *results) error {
	if !only.MatchString(b.Name) || results.has(b.Name, drawnSize, gradients) {
		return nil
	}
	x, err := measureRow(b, drawnSize, gradients, peers, rounds)
	if errors.Is(err, errNoGradient) {
		return nil
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", b.Name, err)
		return nil
	}
	if _, _, ok := x.ratio(); !ok {
		return nil
	}
	fmt.Fprintln(os.Stderr, x)
	return results.add(x)
}

// randomText is the chapter on random calls.
func randomText(rows []row) string {
	var b strings.Builder
	b.WriteString("\n## Random calls beside PyTorch\n\n" +
		"`make bench-ops-random` draws calls of functions and layers with random types, shapes, axes and configurations, with operands of about 128 KB, and times them\n" +
		"beside PyTorch as above. The whole distribution, of its time by ours:\n\n" +
		"| calls | | number | worst | 1 % below | 5 % below | 10 % below | median | best | behind (below 1) | below 0.5 |\n|---|---|---|---|---|---|---|---|---|---|---|\n")
	var all []row
	for _, layer := range []bool{false, true} {
		for _, gradients := range []bool{false, true} {
			var ratios []float64
			for _, x := range rows {
				if v, _, ok := x.ratio(); ok && x.Size == drawnSize && x.Gradients == gradients && strings.HasPrefix(x.Name, "layers.") == layer {
					ratios, all = append(ratios, v), append(all, x)
				}
			}
			if len(ratios) > 0 {
				what := map[bool]string{false: "functions", true: "layers"}[layer]
				fmt.Fprintf(&b, "| %s | %s %s\n", what, row{Gradients: gradients}.what(), distribution(ratios))
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	slices.SortStableFunc(all, byRatio)
	b.WriteString("\nThe thirty furthest behind:\n\n| call | | ratio | µs |\n|---|---|---|---|\n")
	for _, x := range all[:min(30, len(all))] {
		v, _, _ := x.ratio()
		fmt.Fprintf(&b, "| `%s` | %s | %.2f | %.3g |\n", x.Name, x.what(), v, x.Ours*1e6)
	}
	return b.String()
}

// distribution writes the cells of a table: how many, the least, percentiles, and how many are behind.
func distribution(ratios []float64) string {
	slices.Sort(ratios)
	n := len(ratios)
	below := func(x float64) int { i, _ := slices.BinarySearch(ratios, x); return i }
	return fmt.Sprintf("| %d | %.2f | %.2f | %.2f | %.2f | %.2f | %.1f | %d | %d |", n, ratios[0], ratios[n/100], ratios[n/20], ratios[n/10], ratios[n/2], ratios[n-1],
		below(1), below(0.5))
}
