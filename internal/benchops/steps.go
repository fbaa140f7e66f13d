package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/gokeras/gokeras/kernels/cpu"
)

// printSteps prints what every call runs, step by step, with the time of each: where a row's time goes.
func printSteps(only, some *regexp.Regexp) error {
	cases, err := timedCases()
	if err != nil {
		return err
	}
	for _, size := range sizes {
		for _, c := range cases {
			if !only.MatchString(c.name) || !some.MatchString(size.name) {
				continue
			}
			for _, gradients := range []bool{false, true} {
				if err := stepsOf(c, size.name, size.n, gradients); err != nil && !errors.Is(err, errNoGradient) {
					return fmt.Errorf("%s: %w", c.name, err)
				}
			}
		}
	}
	return nil
}

// printRandomSteps prints what random calls run, those that a chapter of the document is about.
func printRandomSteps(seed uint64, count, n int, only *regexp.Regexp) error {
	return eachRandomCall(seed, count, n, func(b benchmark, gradients bool) error {
		if !only.MatchString(b.Name) {
			return nil
		}
		if err := callSteps(b, drawnSize, gradients); err != nil && !errors.Is(err, errNoGradient) {
			fmt.Fprintf(os.Stderr, "%s: %v\n", b.Name, err)
		}
		return nil
	})
}

func stepsOf(c callCase, size string, n int, gradients bool) error {
	b, err := c.at(n)
	if err != nil {
		return err
	}
	if b, ok := b.in(precision); ok {
		return callSteps(b, size, gradients)
	}
	return nil
}

func callSteps(b benchmark, size string, gradients bool) error {
	t, err := newTimer(b, gradients)
	if err != nil {
		return err
	}
	defer t.close()
	seconds, err := t.measure()
	if err != nil {
		return err
	}
	fmt.Printf("%s\n", row{Name: b.Name, Size: size, Gradients: gradients, Ours: seconds})
	ctx := cpu.Measurable(context.Background())
	m, err := cpu.StartMeasurement(ctx)
	if err != nil {
		return err
	}
	for range 20 {
		if err := t.e.Run(ctx, t.in, t.out); err != nil {
			return err
		}
	}
	for _, p := range m.Stop() {
		for _, s := range p.Ops {
			fmt.Printf("%12.1f us  %6.2f MB  %s\n", s.Time.Seconds()*1e6/float64(s.Calls), float64(s.Bytes)/1e6, s.Name)
		}
	}
	return nil
}
