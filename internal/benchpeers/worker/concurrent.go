package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
)

// printConcurrent prints a line for each file: its name, and how many predictions of one example a second its model
// makes for so many goroutines that call it at once, the best of the rounds.
func printConcurrent(w io.Writer, files []string, list string, secs float64, rounds int) error {
	callers, err := numbers(list)
	if err != nil {
		return err
	}
	for _, path := range files {
		m, err := keras.LoadModel(path, keras.WithoutCompile())
		if err != nil {
			return err
		}
		best := make([]float64, len(callers))
		for range rounds {
			for i, n := range callers {
				rate, err := concurrentRate(m, n, secs)
				if err != nil {
					return err
				}
				best[i] = max(best[i], rate)
			}
		}
		fmt.Fprint(w, strings.TrimSuffix(filepath.Base(path), ".keras"))
		for _, rate := range best {
			fmt.Fprintf(w, " %.1f", rate)
		}
		fmt.Fprintln(w)
	}
	return nil
}

// numbers reads a list such as 1,2,8.
func numbers(list string) (all []int, err error) {
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("received %q in %q, expected numbers such as 1,2,8", word, list)
		}
		all = append(all, n)
	}
	return all, nil
}

// concurrentRate is how many predictions of one example a second so many goroutines get.
func concurrentRate(m *keras.Model, callers int, secs float64) (float64, error) {
	x, err := inputsFor(m, 1)
	if err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	var count atomic.Int64
	var over atomic.Bool
	begin, errs := make(chan struct{}), make([]error, callers)
	for i := range callers {
		inputs := data.Arrays(x, nil)
		y, err := m.PredictAll(runs, inputs, keras.BatchSize(1))
		if err != nil {
			return 0, err
		}
		all.Go(func() {
			for <-begin; errs[i] == nil && !over.Load(); count.Add(1) {
				errs[i] = m.PredictOnBatchInto(runs, inputs, y...)
			}
		})
	}
	from := time.Now()
	close(begin)
	time.Sleep(time.Duration(secs * float64(time.Second)))
	over.Store(true)
	all.Wait()
	return float64(count.Load()) / time.Since(from).Seconds(), errors.Join(errs...)
}
