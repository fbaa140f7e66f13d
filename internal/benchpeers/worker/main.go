// Command worker measures this library on the workloads that other frameworks are measured on, in the same rounds.
//
//	worker --threads N KEY...            speaks the protocol below
//	worker --table [--secs S] [--rounds N] [--profile] [KEY...]   measures the keys and prints a table
//	worker --scaling [--secs S] [--rounds N]   measures two replicas and two workers beside one
//	worker --halves [KEY...]             measures 16-bit floats beside float32
//	worker --halves --drawn N [--seed S] [KIND...]   measures N networks of each kind (dense, convolutions, recurrent, attention, layers, larger, usual)
//	worker --compare-ops POLICY --drawn N [--seed S]   measures the ops of N networks drawn at random under a policy beside float32
//	worker --halves --drawn N [--seed S] quantized   measures N networks in each mode of quantization beside float32; quantized-layers: N single layers
//	worker --lengths FILE...             predicts and trains with batches of many lengths: a line with the times of each file
//	worker --halves updates [WORD...]     measures steps of every optimizer with variables of 16 bits beside float32, or those whose names have one of the words
//	worker --concurrent 1,2,16 FILE...   predicts one example at a time from so many goroutines at once: a line with the rates of each file
//	worker --epoch DIR                   trains one epoch on MNIST from a directory of IDX files: the whole process is timed
//	worker --make DIR NAME...            writes models into a folder for the workers of make bench-models; see makeModels
//	worker --first-step                  trains on one batch and ends: from the start of a process to its first step
//
// A key is WORK-OPTIMIZER:VARIANT for training (W1-sgd:fit) or WORK-bBATCH:VARIANT for prediction (W1-b1:predict).
// FILE@bBATCH:predict and FILE@bBATCH:OPTIMIZER predict with or train the model of a .keras file, FILE@bBATCH:step and
// FILE@bBATCH:evaluate train and evaluate it as it was compiled. small-N:train,
// small-N:1 and small-N:32 are a network that --drawn draws, N = 6·seed and on; usual-N:train8 and so on one of the
// usual kind, N = seed and on, and quantized-N:8+int4 one of the quantized kind in a mode. Variants of training: fit
// (Model.Fit, callbacks and history included, one epoch from its first to its last hook), batch (Model.TrainOnBatch).
// Variant of prediction: predict (Model.PredictOnBatch, arrays in and out).
//
// dispatch:launch launches a program that does nearly nothing.
//
// The protocol: when every key is built and warm, the worker prints {"ready": [keys], "failed": {key: error}, "setup":
// {key: seconds}, "first": {key: [seconds, processor time] of the first run, which compiles}}; then it answers each
// line "KEY SECONDS" of its input with one line {"key", "steps", "wall", "real", "rate", "cpu", "flops", "rss", "peak",
// "allocations"} and, for prediction, "p50" and "p99" in microseconds. rate counts units (images, tokens, sequences,
// steps) in a second, flops the floating-point operations of one unit; cpu is the mean number of busy cores, peak the
// multiply-add kernels' operations in a second measured beside it, rss the largest resident size so far in MB,
// allocations those of Go's heap in a step. Keys of files have "least" besides, the least processor time of a step in
// seconds.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/gokeras/gokeras/kernels/cpu"
)

func main() {
	threads := flag.Int("threads", runtime.NumCPU(), "processors to use")
	table := flag.Bool("table", false, "measure every key once and print a table")
	secs := flag.Float64("secs", 1, "seconds for each key of the table")
	rounds := flag.Int("rounds", 3, "times that every key of the table is measured; the best one is printed")
	first := flag.Bool("first-step", false, "train the convolutional network on one batch and end: time the whole process")
	mnist := flag.String("epoch", "", "train one epoch on the MNIST files of this directory")
	folder := flag.String("make", "", "write the models that the arguments name into this folder")
	scaling := flag.Bool("scaling", false, "print what a second replica and a second worker gain")
	workers := flag.Int("workers", 2, "processes of the workers of --scaling")
	workerThreads := flag.Int("worker-threads", runtime.NumCPU(), "processors that each of them may use")
	member := flag.String("member", "", "be one of the workers that train this key whenever a line with a number of epochs comes")
	flag.StringVar(&device, "device", "", "train and predict on this device, such as xla:0 in a worker built with -tags pjrt")
	profile := flag.Bool("profile", false, "print where the time of the table's keys goes")
	samples := flag.String("cpuprofile", "", "write a profile of the process to this file")
	flag.StringVar(&policy, "policy", "", "the dtype policy of all models, for example mixed_bfloat16")
	halves := flag.Bool("halves", false, "measure the workloads (the keys, or all) in 16-bit floats beside float32")
	ops := flag.String("compare-ops", "", "print the ops of --drawn networks that take more than --most times as long under this policy as in float32")
	most := flag.Float64("most", 2.5, "see --compare-ops")
	small := flag.Int("drawn", 0, "with --compare-ops: so many networks drawn at random; with --halves: so many small networks of each kind, drawn at random, instead of the workloads")
	seed := flag.Uint64("seed", 0, "the first of the numbers that draw them")
	concurrent := flag.String("concurrent", "", "predict with the files that the arguments name from so many goroutines at once: a list such as 1,2,8")
	lengths := flag.Bool("lengths", false, "predict and train with batches of many lengths for the files that the arguments name, whose inputs have open axes")
	flag.Parse()
	if *samples != "" {
		startProfile(*samples)
		defer pprof.StopCPUProfile()
	}
	runtime.GOMAXPROCS(*threads)
	var err error
	if *first {
		err = firstStep()
	} else if *folder != "" {
		err = makeModels(os.Stdout, *folder, flag.Args())
	} else if *concurrent != "" {
		err = printConcurrent(os.Stdout, flag.Args(), *concurrent, *secs, *rounds)
	} else if *lengths {
		err = printLengths(os.Stdout, flag.Args(), *rounds)
	} else if *mnist != "" {
		err = epoch(os.Stdout, *mnist)
	} else if *member != "" {
		err = beMember(os.Stdin, os.Stdout, *member)
	} else if *ops != "" {
		err = opsCompared{*ops, *most, 0.01, *secs, *rounds}.compareOps(os.Stdout, *seed, max(*small, 1))
	} else if *halves {
		err = compareHalves(*seed, *small, *secs, *rounds)
	} else if *scaling {
		err = printScaling(os.Stdout, *secs, *rounds, *workers, *workerThreads)
	} else if *table {
		var measurement *cpu.Measurement
		if *profile {
			runs = cpu.Measurable(runs)
			measurement, err = cpu.StartMeasurement(runs)
		}
		if err == nil {
			err = printTable(os.Stdout, keysOrAll(flag.Args()), *secs, *rounds)
		}
		printProfiles(os.Stdout, measurement.Stop())
	} else {
		err = serve(os.Stdin, os.Stdout, flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// startProfile begins a profile of the process.
func startProfile(path string) {
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

// compareHalves measures the networks or workloads that the arguments name in 16-bit floats, or in the modes of
// quantization, beside float32.
func compareHalves(seed uint64, count int, secs float64, rounds int) error {
	switch {
	case flag.Arg(0) == updatesKind:
		return comparePolicies(os.Stdout, updates(flag.Args()[1:]), []string{"bfloat16", "float16"}, secs, rounds)
	case count == 0:
		return comparePolicies(os.Stdout, policyKeys(flag.Args()), halfPolicies, secs, rounds)
	case slices.Contains(flag.Args(), quantizedKind):
		return comparePolicies(os.Stdout, drawnQuantized(seed, count), quantizedModes, secs, rounds)
	case slices.Contains(flag.Args(), quantizedLayerKind):
		return comparePolicies(os.Stdout, drawnQuantizedLayers(seed, count), quantizedModes, secs, rounds)
	}
	return comparePolicies(os.Stdout, drawnSmall(seed, count, flag.Args()...), halfPolicies, secs, rounds)
}

// device is where everything is measured, unless it is empty.
var device string

// runs is the context of everything that is measured.
var runs = context.Background()

// allKeys are the rows of the table.
var allKeys = []string{"W1-sgd:fit", "W1-adam:fit", "W2-sgd:fit", "W2-adam:fit", "W3-mom:fit", "W4-adamw:fit", "W5-adam:fit", "W10-sgd:fit",
	"W1-b1:predict", "W2-b1:predict", "W1-b256:predict", "W2-b256:predict"}

func keysOrAll(keys []string) []string {
	if len(keys) == 0 {
		return allKeys
	}
	return keys
}

// firstStep builds the convolutional network and trains it on one batch.
func firstStep() error {
	j, err := newJob("W2-sgd:batch")
	if err == nil {
		_, _, err = j.run()
	}
	return err
}

// build makes and warms up the job of a key.
func build(key string) (*job, error) {
	j, err := newJob(key)
	if err != nil {
		return nil, err
	}
	begin, busy := time.Now(), processTime()
	_, _, err = j.run()
	j.first = [2]float64{time.Since(begin).Seconds(), processTime() - busy}
	if err == nil {
		_, err = j.measure(0.1)
	}
	return j, err
}

// serve speaks the protocol.
func serve(in io.Reader, out io.Writer, keys []string) error {
	ready, failed, setup := []string{}, map[string]string{}, map[string]float64{}
	jobs, firsts := map[string]*job{}, map[string][2]float64{}
	for _, key := range keys {
		begin := time.Now()
		j, err := build(key)
		if err != nil {
			failed[key] = err.Error()
			continue
		}
		jobs[key], firsts[key] = j, j.first
		ready = append(ready, key)
		setup[key] = time.Since(begin).Seconds()
	}
	reply := json.NewEncoder(out)
	if err := reply.Encode(map[string]any{"ready": ready, "failed": failed, "setup": setup, "first": firsts, "rss": peakRSS()}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var key string
		var secs float64
		if _, err := fmt.Sscan(lines.Text(), &key, &secs); err != nil {
			return fmt.Errorf("received %q, expected a key and a number of seconds: %w", lines.Text(), err)
		}
		j := jobs[key]
		if j == nil {
			return fmt.Errorf("received key %q, expected one of %s", key, strings.Join(ready, ", "))
		}
		m, err := j.measure(secs)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		m.Peak = cpu.MeasurePeak(2 * time.Millisecond)
		if err := reply.Encode(m); err != nil {
			return err
		}
	}
	return nil
}

// printTable measures the keys in rounds and prints the best of each.
func printTable(w io.Writer, keys []string, secs float64, rounds int) error {
	best, jobs := map[string]*measurement{}, map[string]*job{}
	for _, key := range keys {
		j, err := build(key)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		jobs[key] = j
	}
	for range rounds {
		for _, key := range keys {
			m, err := jobs[key].measure(secs)
			if err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			m.Peak = cpu.MeasurePeak(5 * time.Millisecond)
			if b := best[key]; b != nil {
				m.Peak = max(m.Peak, b.Peak)
				if b.Rate > m.Rate {
					b.Peak, m = m.Peak, b
				}
			}
			best[key] = m
		}
	}
	fmt.Fprintf(w, "| workload | rate | GFLOP/s | %% of peak | ms CPU a step | allocations a step | p50 us | p99 us |\n|---|---|---|---|---|---|---|---|\n")
	for _, key := range keys {
		m, j := best[key], jobs[key]
		flops := m.Rate * m.FLOPs
		fmt.Fprintf(w, "| %s | %.5g %s/s | %.1f | %.0f | %.4g | %.1f | %.1f | %.1f |\n", key, m.Rate, j.work.unit, flops/1e9, 100*flops/m.Peak, m.CPU*m.Real/float64(m.Steps)*1e3, m.Allocations, m.P50, m.P99)
	}
	return nil
}

// printProfiles prints where the time went, steps of the same ops together.
func printProfiles(w io.Writer, profiles []cpu.ProgramProfile) {
	for _, p := range profiles {
		var total time.Duration
		kinds := map[string]*cpu.OpProfile{}
		var list []*cpu.OpProfile
		for _, op := range p.Ops {
			k := kinds[op.Name]
			if k == nil {
				k = &cpu.OpProfile{Name: op.Name}
				kinds[op.Name] = k
				list = append(list, k)
			}
			k.Calls, k.Time, total = k.Calls+op.Calls, k.Time+op.Time, total+op.Time
			k.FLOPs, k.Bytes = k.FLOPs+op.FLOPs*int64(op.Calls), k.Bytes+op.Bytes*int64(op.Calls)
		}
		slices.SortFunc(list, func(a, b *cpu.OpProfile) int { return cmp.Compare(b.Time, a.Time) })
		fmt.Fprintf(w, "\n%s: %v\n", p.Program, total)
		for _, k := range list[:min(len(list), 30)] {
			seconds := k.Time.Seconds()
			fmt.Fprintf(w, "%5.1f %%  %7d x %9.1f us  %6.1f GFLOP/s  %6.1f GB/s  %s\n", 100*seconds/total.Seconds(), k.Calls, seconds/float64(k.Calls)*1e6,
				float64(k.FLOPs)/seconds/1e9, float64(k.Bytes)/seconds/1e9, k.Name)
		}
	}
}
