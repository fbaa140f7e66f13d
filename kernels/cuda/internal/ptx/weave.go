package ptx

import (
	"slices"
	"strings"
)

// Weave appends what body writes for the numbers 0, 1, ..., for at most the given count of them, and returns for how
// many. It interleaves their instructions, one of each in turn, so that all loads are in flight before anything waits
// for the first. The bodies must be independent. A body that jumps is written once, and so is one that is too long:
// together the bodies have at most the given number of instructions.
func (k *Kernel) Weave(most, instructions int, body func(i int)) int {
	first := k.capture(func() { body(0) })
	if jumps(first) {
		most = 1
	}
	for most > 1 && most*len(first) > instructions {
		most /= 2
	}
	all := [][]string{first}
	alike := true
	for i := 1; i < most; i++ {
		lines := k.capture(func() { body(i) })
		alike = alike && len(lines) == len(first)
		for j := 0; alike && j < len(first); j++ {
			alike = operation(lines[j]) == operation(first[j])
		}
		all = append(all, lines)
	}
	if !alike {
		for _, lines := range all {
			k.text().WriteString(strings.Join(lines, ""))
		}
		return len(all)
	}
	for j := range first {
		for _, lines := range all {
			k.text().WriteString(lines[j])
		}
	}
	return len(all)
}

// Later captures the instructions that body writes, and returns a function that appends them.
func (k *Kernel) Later(body func()) (write func()) {
	lines := k.capture(body)
	return func() { k.text().WriteString(strings.Join(lines, "")) }
}

// capture returns the lines that body writes.
func (k *Kernel) capture(body func()) []string {
	outside := k.woven
	var own strings.Builder
	k.woven = &own
	body()
	k.woven = outside
	lines := strings.SplitAfter(own.String(), "\n")
	return lines[:len(lines)-1]
}

// jumps reports whether the lines contain labels, jumps or barriers.
func jumps(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		return !strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "\tbar.") || strings.Contains(line, "bra L")
	})
}

// operation returns the name of the instruction.
func operation(line string) string {
	name, _, _ := strings.Cut(line, " ")
	return name
}
