// Command benchcollective measures the all-reduce between processes of this machine beside torch's gloo, TensorFlow's
// RING and a bare TCP exchange.
//
// All contestants are started at once and stay idle; in each round they are measured one right after another, so that
// all see the same machine. Ratios are medians over the rounds of the ratios of times within a round.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

var names = []string{"tcp", "shared", "gloo", "tensorflow", "raw"}

func main() {
	worker := flag.String("worker", "", "be a worker of this contestant (used by the program itself)")
	workers := flag.String("workers", "2,4", "numbers of processes")
	sizes := flag.String("sizes", "4096,65536,1048576,16777216,67108864", "sizes of the tensor in bytes")
	only := flag.String("only", strings.Join(names, ","), "contestants; NAME@PROGRAM is that of another build of this program")
	rounds := flag.Int("rounds", 7, "rounds for each size")
	seconds := flag.Float64("seconds", 0.3, "about how long one contestant is measured in one round")
	peers := flag.String("peers", "internal/benchcollective/peers", "folder of the scripts of the others")
	steps := flag.Int("steps", 0, "measure so many steps of small models instead")
	replicas := flag.String("replicas", "1,2", "numbers of replicas of each worker, for -steps")
	out := flag.String("out", "", "file that all times are appended to, as lines of JSON")
	flag.Parse()
	err := func() error {
		if *worker != "" {
			return work(*worker)
		}
		b := &bench{rounds: *rounds, seconds: *seconds, peers: *peers, only: strings.Split(*only, ",")}
		for _, name := range b.only {
			if kind, _, _ := strings.Cut(name, "@"); !slices.Contains(names, kind) {
				return fmt.Errorf("%q is not a contestant; there are %v", name, names)
			}
		}
		var err error
		if b.sizes, err = numbers(*sizes, 64); err != nil {
			return err
		}
		if *steps > 0 {
			return b.trainings(*workers, *replicas, *steps)
		}
		list, err := numbers(*workers, 2)
		if err != nil {
			return err
		}
		if *out != "" {
			f, err := os.OpenFile(*out, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }() // every line was written
			b.out = json.NewEncoder(f)
		}
		for _, n := range list {
			if err := b.run(n); err != nil {
				return err
			}
		}
		return nil
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, "benchcollective:", err)
		os.Exit(1)
	}
}

// trainings measures steps; contestants that do not train are left out.
func (b *bench) trainings(workers, replicas string, steps int) error {
	b.only = slices.DeleteFunc(b.only, func(name string) bool {
		kind, _, _ := strings.Cut(name, "@")
		return !slices.Contains(stepPaths, kind)
	})
	counts, err := numbers(workers, 1)
	if err != nil {
		return err
	}
	each, err := numbers(replicas, 1)
	if err != nil {
		return err
	}
	return b.measureSteps(counts, each, steps)
}

func numbers(text string, least int) ([]int, error) {
	var list []int
	for word := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < least {
			return nil, fmt.Errorf("received %q, expected numbers of at least %d with commas between", text, least)
		}
		list = append(list, n)
	}
	return list, nil
}
