package config

import (
	"fmt"
	"slices"
	"strings"
)

// Guess returns `did you mean "adam"? ` for a name that is close to a known one, and "" otherwise. Close means at most
// one wrong, missing, additional or exchanged letter in every four, but one is always allowed. Case and underscores
// count only among names that are equally close without them; then the first one wins.
func Guess(name string, known ...[]string) string {
	best, least, strict := "", max(len(name)/4, 1)+1, 0
	for _, names := range known {
		for _, n := range names {
			d := distance(bare(name), bare(n))
			if s := distance(name, n); d < least || best != "" && d == least && s < strict {
				best, least, strict = n, d, s
			}
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q? ", best)
}

// WithoutNames returns the classes for which none of the names stands.
func WithoutNames(classes []string, names map[string]string) []string {
	named := map[string]bool{}
	for _, class := range names {
		named[class] = true
	}
	return slices.DeleteFunc(slices.Clone(classes), func(class string) bool { return named[class] })
}

func bare(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// distance returns the number of letters to change, add, remove or exchange with their neighbour to get from a to b
// (Damerau, "A technique for computer detection and correction of spelling errors", CACM 1964).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
