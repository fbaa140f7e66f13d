package estimator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/keras/internal/servers"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Each worker of Train computes with its own ModelFn, and nothing that it sends would reveal another activation or
// loss. So the coordinator notes what its step consists of, and a worker compares that before its first step.

// facts lists, line by line, what the processes of a Train have in common.
func (t *serverTraining) facts() []string {
	lines := []string{fmt.Sprintf("seed %d", t.s.estimator.config.TFRandomSeed), fmt.Sprintf("results %q", t.s.outputs)}
	for _, o := range t.optimizers {
		lines = append(lines, "optimizer "+servers.Fact(o))
	}
	for _, v := range t.all() {
		lines = append(lines, fmt.Sprintf("variable %s %v, trained %v", v.local.Path(), v.local.Type(), slices.Contains(t.trained, v)))
	}
	slices.Sort(lines[2:]) // a ModelFn may iterate over a map
	return lines
}

// operations lists the operations of a step without their operands: the order in a ModelFn that iterates over a map
// differs between processes.
func operations(p *ir.Program) []string {
	count := map[string]int{}
	_, body, _ := strings.Cut(p.String(), "\n")
	for line := range strings.Lines(body) {
		_, line, computes := strings.Cut(strings.TrimSpace(line), " = ")
		if !computes {
			continue
		}
		line, _, _ = strings.Cut(line, " // ") // the name of a layer, which may include a number
		op, rest, _ := strings.Cut(line, "(")
		_, rest, _ = strings.Cut(rest, ")")
		count["operation "+op+rest]++
	}
	var lines []string
	for line, n := range count {
		lines = append(lines, fmt.Sprintf("%s: %d times", line, n))
	}
	slices.Sort(lines)
	return lines
}

// tellFacts notes what the workers' programs must have in common with this one.
func (t *serverTraining) tellFacts(ctx context.Context) error {
	if err := t.job.SetNote(ctx, t.noteName("program"), []byte(servers.Facts(t.facts()))); err != nil {
		return err
	}
	return t.job.SetNote(ctx, t.noteName("operations of "+t.batch), []byte(servers.Facts(t.listed)))
}

// compare checks that this worker runs the coordinator's program. A difference is reported as the error of a step, so
// that all processes learn of it. Operations are compared only if both began with batches of one shape.
func (t *serverTraining) compare(ctx context.Context) error {
	if err := t.compareNote(ctx, "program", t.facts()); err != nil {
		return err
	}
	return t.compareNote(ctx, "operations of "+t.batch, t.listed)
}

func (t *serverTraining) compareNote(ctx context.Context, what string, own []string) error {
	other, err := t.job.Note(ctx, t.noteName(what))
	if err != nil || other == nil {
		return err
	}
	return servers.FactsDiffer(servers.Facts(own), string(other), "the coordinator")
}
