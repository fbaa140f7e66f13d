// Benchdata measures what stands before a network: layers that are adapted to data and turn text and numbers into
// numbers, and datasets of files and arrays. It prints processor time; its twin peer.py prints that of Keras on
// TensorFlow for the same cases and files, which this program makes.
package main

import (
	"fmt"
	"math"
	"os"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: benchdata make|measure FOLDER [part of a name]")
		os.Exit(2)
	}
	var err error
	switch folder := os.Args[2]; os.Args[1] {
	case "make":
		err = makeFiles(folder)
	default:
		err = measure(folder, strings.Join(os.Args[3:], " "))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func measure(folder, only string) error {
	list, err := cases(folder)
	if err != nil {
		return err
	}
	for _, c := range list {
		if !strings.Contains(c.name, only) {
			continue
		}
		if c.prepare != nil {
			if err := c.prepare(); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
		best := time.Duration(math.MaxInt64)
		for range 3 {
			before, err := processorTime()
			if err == nil {
				err = c.run()
			}
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			after, err := processorTime()
			if err != nil {
				return err
			}
			best = min(best, after-before)
		}
		fmt.Printf("%s\t%.1f\n", c.name, float64(best.Microseconds())/1e3)
	}
	return nil
}
