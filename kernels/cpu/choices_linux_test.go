package cpu_test

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/cpu/internal/choice"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

var (
	firstChoice = flag.Uint64("choices-first", 0, "the first seed of TestRandomChoices and TestChoiceTimes")
	manyChoices = flag.Uint64("choices", 0, "how many programs they draw; 0: TestRandomChoices draws the usual number, TestChoiceTimes none")
	choiceTime  = flag.Duration("choices-budget", 2*time.Millisecond, "processor time for each side of each choice, three times over")
	choiceOnly  = flag.String("choices-only", "", "TestChoiceTimes looks only at choices whose name contains this")
	showChoices = flag.Float64("choices-show", 1.1, "TestChoiceTimes lists programs that take at least so many times as long as without a choice")
)

// without compiles and runs a program without a choice, or with all of them if that is nil.
func without(c *choice.Choice, f func()) {
	if c != nil {
		defer c.Without()()
	}
	f()
}

// keepsSecond reports whether the second operand of the program that a number draws stays as it is between runs, as
// kernels and weights do in predictions: programs keep what they derive from it, such as panels.
func keepsSecond(seed uint64, p *ir.Program) bool {
	return seed%2 == 0 && len(p.Inputs) == 2 && p.Nodes[0].Op != ir.ConvKernelGrad
}

// newChoiceSession makes a session of that program.
func newChoiceSession(t *testing.T, seed uint64, p *ir.Program) *session {
	s := newSession(t, p)
	if keepsSecond(seed, p) {
		b, err := cpu.Backend{}.NewBuffer(device, s.inputs[1].Type())
		require.NoError(t, err)
		require.NoError(t, b.Write(s.inputs[1].Bytes()))
		s.inputs[1] = b
	}
	return s
}

// results runs a program twice and returns its outputs.
func results(t *testing.T, seed uint64, p *ir.Program) []reference.Value {
	s := newChoiceSession(t, seed, p)
	defer s.e.Close()
	s.run(t)
	s.run(t) // with what the first run kept
	var values []reference.Value
	for _, b := range s.outputs {
		v, err := reference.FromBytes(b.Type(), b.Bytes())
		require.NoError(t, err)
		values = append(values, v)
	}
	return values
}

// TestRandomChoices draws operations and computes each once more without each of the ways that estimates chose for it.
// Both must give the same numbers, but for rounding, with every instruction set. So each way is tested with shapes for
// which the estimates do not choose it.
func TestRandomChoices(t *testing.T) {
	count := *manyChoices
	if count == 0 {
		if count = 1200; testing.Short() {
			count = 150
		}
	}
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			for i := range count {
				if p := drawChoice(*firstChoice+i, 1<<20); p != nil {
					checkChoices(t, *firstChoice+i, p)
				}
			}
		})
	}
}

func checkChoices(t *testing.T, seed uint64, p *ir.Program) {
	var want []reference.Value
	for _, c := range choice.Record(func() { want = results(t, seed, p) }) {
		without(c, func() {
			for i, got := range results(t, seed, p) {
				require.NoError(t, near(got, want[i]), "seed %d without %q, output %d of\n%v", seed, c, i, p)
			}
		})
	}
}

// near compares numbers that were computed in two ways, relative to the largest.
func near(got, want reference.Value) error {
	for i := range want.I {
		if got.I[i] != want.I[i] {
			return fmt.Errorf("element %d is %d and %d", i, got.I[i], want.I[i])
		}
	}
	scale := 0.0
	for _, v := range want.F {
		if !math.IsInf(v, 0) {
			scale = max(scale, math.Abs(v))
		}
	}
	unit := map[ir.DType]float64{ir.Float64: 1e-11, ir.Float32: 1e-4, ir.BFloat16: 0.02, ir.Float16: 0.003}[want.Type.DType]
	for i, w := range want.F {
		g := got.F[i]
		if g != w && !(g != g && w != w) && !(math.Abs(g-w) <= unit*scale) {
			return fmt.Errorf("element %d is %g and %g", i, g, w)
		}
	}
	return nil
}

// choiceTimes are the ratios of the time with a choice to that without it.
type choiceTimes struct {
	name   string
	ratios []float64
	slow   []string // programs that take longer with it
}

// TestChoiceTimes measures whether the estimates are right on this processor: it draws operations and times each with
// and without each of the ways that were chosen for it, in turns.
func TestChoiceTimes(t *testing.T) {
	if *manyChoices == 0 {
		t.Skip("measures only with -choices N: make bench-choices")
	}
	defer isa.Override(isa.Active())()
	times := map[string]*choiceTimes{}
	for i := range *manyChoices {
		if p := drawChoice(*firstChoice+i, 1<<25); p != nil {
			timeChoices(t, times, *firstChoice+i, p)
		}
	}
	printChoices(t, times)
}

func timeChoices(t *testing.T, times map[string]*choiceTimes, seed uint64, p *ir.Program) {
	var with *session
	taken := choice.Record(func() {
		with = newChoiceSession(t, seed, p)
		with.run(t)
	})
	defer with.e.Close()
	for _, c := range taken {
		if !strings.Contains(c.String(), *choiceOnly) {
			continue
		}
		a, b := math.Inf(1), math.Inf(1)
		var other *session
		without(c, func() { other = newChoiceSession(t, seed, p) })
		for turn := 0; turn < 3 || turn < 9 && a/b >= *showChoices; turn++ { // more turns for what another process may have disturbed
			a = min(a, fastest(*choiceTime, func() { with.run(t) }))
			without(c, func() { b = min(b, fastest(*choiceTime, func() { other.run(t) })) })
		}
		other.e.Close()
		s := times[c.String()]
		if s == nil {
			s = &choiceTimes{name: c.String()}
			times[c.String()] = s
		}
		s.ratios = append(s.ratios, a/b)
		if a/b >= *showChoices {
			line := fmt.Sprintf("%.2f, %8.1f µs: %d %s", a/b, a*1e6, seed, describe(p))
			if keepsSecond(seed, p) {
				line += ", the second kept"
			}
			s.slow = append(s.slow, line)
		}
	}
}

// describe returns the operations of a program in one line.
func describe(p *ir.Program) string {
	var b strings.Builder
	for _, n := range p.Nodes {
		fmt.Fprintf(&b, "%v", n.Op)
		for _, v := range n.Inputs {
			fmt.Fprintf(&b, " %v", p.Type(v))
		}
		if n.Attrs != nil {
			fmt.Fprintf(&b, " %+v", n.Attrs)
		}
		b.WriteString("; ")
	}
	return strings.TrimSuffix(b.String(), "; ")
}

func printChoices(t *testing.T, times map[string]*choiceTimes) {
	var all []*choiceTimes
	for _, s := range times {
		slices.Sort(s.ratios)
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *choiceTimes) int { return cmp.Compare(b.ratios[len(b.ratios)-1], a.ratios[len(a.ratios)-1]) })
	fmt.Printf("time with the choice by that without it\n%-55s %5s %6s %6s %6s %6s  above 1.05\n", "choice", "n", "least", "median", "a tenth", "worst")
	for _, s := range all {
		n := len(s.ratios)
		above, _ := slices.BinarySearch(s.ratios, 1.05)
		fmt.Printf("%-55s %5d %6.2f %6.2f %6.2f %6.2f  %d\n", s.name, n, s.ratios[0], s.ratios[n/2], s.ratios[n*9/10], s.ratios[n-1], n-above)
	}
	for _, s := range all {
		slices.Sort(s.slow)
		slices.Reverse(s.slow)
		for _, line := range s.slow {
			fmt.Printf("%s: %s\n", s.name, line)
		}
	}
	for _, c := range choice.All() {
		if times[c.String()] == nil && strings.Contains(c.String(), *choiceOnly) {
			fmt.Printf("not met: %v\n", c)
		}
	}
}
