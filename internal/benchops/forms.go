package main

import (
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Calls of every family of the random calls with operands of one type, in each form that has its own code path.

// forms are shapes of about n elements: rows, short last axes, few columns, and an axis before others.
var forms = []func(n int) []int{
	func(n int) []int { return []int{n / 256, 256} },
	func(n int) []int { return []int{n / 5, 5} },
	func(n int) []int { return []int{64, n / 64} },
	func(n int) []int { return []int{n / (16 * 33), 16, 33} },
}

// formCalls lists the calls of all functions with operands of the type that -dtype names, and about as many bytes as n
// elements of float32 have. Axes and other arguments are drawn, the same ones each time.
func formCalls(n int, only *regexp.Regexp) (calls []benchmark) {
	d, _ := ir.ParseDType(precision)
	for _, f := range slices.Concat(families, computed, more) {
		for _, name := range strings.Fields(f.names) {
			if !only.MatchString(name) {
				continue
			}
			for _, shape := range forms {
				h := fnv.New64()
				s := shape(4 * n / d.Size())
				h.Write([]byte(name + nameOf([]argument{value(s)})))
				b := benchmark{Function: name, Arguments: f.args(rand.New(rand.NewPCG(h.Sum64(), 19)), precision, s)}
				b.Name = name + " " + nameOf(b.Arguments)
				calls = append(calls, b)
			}
		}
	}
	return calls
}
