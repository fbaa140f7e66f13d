package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/internal/ports"
)

// scalingKeys are the workloads that replicas and workers are measured on.
var scalingKeys = []string{"W3-mom:fit", "W4-adamw:fit"}

// contestant is one way to train a key: it trains some epochs and returns the units that it trained in a second.
type contestant func(epochs int) (rate float64, err error)

// printScaling measures one replica on one processor, two replicas on two and so many processes of one replica each in
// turn, and prints the medians of the rates and of the ratios of each round. Every replica has as many examples a step
// as the one. The processes share the processors as they do in any job, or are told how many to use.
func printScaling(w io.Writer, secs float64, rounds, workers, threads int) error {
	fmt.Fprintf(w, "| workload | one replica on one core | two replicas | ratio | %d workers | ratio |\n|---|---|---|---|---|---|\n", workers)
	for _, key := range scalingKeys {
		if err := scale(w, key, secs, rounds, workers, threads); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	return nil
}

func scale(w io.Writer, key string, secs float64, rounds, members, threads int) (err error) {
	mirrored, err := distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	if err != nil {
		return err
	}
	one, err := newJob(key)
	if err != nil {
		return err
	}
	two, err := newJobUnder(key, mirrored)
	if err != nil {
		return err
	}
	workers, stop, err := startMembers(key, members, threads)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	all := []contestant{one.on(1), two.on(2), workers}
	epochs := 1
	rates, ratios := make([][]float64, len(all)), make([][]float64, len(all))
	for round := range rounds + 1 {
		var first float64
		for i, train := range all {
			rate, err := train(epochs)
			if err != nil {
				return err
			}
			if i == 0 {
				first = rate
			}
			if round > 0 { // before, to warm up
				rates[i], ratios[i] = append(rates[i], rate), append(ratios[i], rate/first)
			}
		}
		if round == 0 {
			epochs = max(int(math.Ceil(secs*first/(float64(one.work.steps)*one.units))), 1)
		}
	}
	fmt.Fprintf(w, "| %s | %.5g %s/s | %.5g | %.2f | %.5g | %.2f |\n", key, middle(rates[0]), one.work.unit, middle(rates[1]), middle(ratios[1]), middle(rates[2]), middle(ratios[2]))
	return nil
}

func middle(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// on trains in this process on a number of processors.
func (j *job) on(processors int) contestant {
	return func(epochs int) (float64, error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		return j.epochs(epochs)
	}
}

// epochs trains some epochs and returns the rate.
func (j *job) epochs(n int) (float64, error) {
	var steps, wall float64
	for range n {
		k, seconds, err := j.run()
		if err != nil {
			return 0, err
		}
		steps, wall = steps+float64(k), wall+seconds
	}
	return steps * j.units / wall, nil
}

// startMembers starts processes that train one key together.
func startMembers(key string, n, threads int) (contestant, func() error, error) {
	addresses, err := ports.Free(n)
	if err != nil {
		return nil, nil, err
	}
	var processes []*exec.Cmd
	var orders []io.WriteCloser
	var answers []io.Reader
	list, err := json.Marshal(addresses)
	if err != nil {
		return nil, nil, err
	}
	for i := range addresses {
		c := exec.Command(os.Args[0], "--member", key, "--threads", strconv.Itoa(threads))
		c.Env = append(os.Environ(), fmt.Sprintf(`TF_CONFIG={"cluster": {"worker": %s}, "task": {"type": "worker", "index": %d}}`, list, i))
		c.Stderr = os.Stderr
		in, err := c.StdinPipe()
		if err != nil {
			return nil, nil, err
		}
		out, err := c.StdoutPipe()
		if err != nil {
			return nil, nil, err
		}
		if err := c.Start(); err != nil {
			return nil, nil, err
		}
		processes, orders, answers = append(processes, c), append(orders, in), append(answers, out)
	}
	train := func(epochs int) (float64, error) {
		for _, o := range orders {
			fmt.Fprintln(o, epochs) // a process that is gone does not answer either
		}
		least := math.Inf(1)
		for i, a := range answers {
			var rate float64
			if _, err := fmt.Fscanln(a, &rate); err != nil {
				return 0, fmt.Errorf("worker %d: %w", i, err)
			}
			least = min(least, rate)
		}
		return least, nil
	}
	stop := func() error {
		var all error
		for i, c := range processes {
			all = errors.Join(all, orders[i].Close(), c.Wait())
		}
		return all
	}
	return train, stop, nil
}

// beMember is one of the processes of startMembers.
func beMember(in io.Reader, out io.Writer, key string) (err error) {
	s, err := multiworker.NewStrategy(context.Background(), multiworker.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	j, err := newJobUnder(key, s)
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var epochs int
		if _, err := fmt.Sscan(lines.Text(), &epochs); err != nil {
			return fmt.Errorf("received %q, expected a number of epochs: %w", lines.Text(), err)
		}
		rate, err := j.epochs(epochs)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, rate)
	}
	return nil
}
