package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// stepModels are small models, whose steps measure the overhead of a step rather than its arithmetic.
var stepModels = []string{"dense", "mlp", "lstm"}

// stepPaths are the contestants that train.
var stepPaths = []string{"shared", "tcp", "tensorflow"}

// stepBatch is the number of examples of a replica.
const stepBatch = 16

// stepName returns the name of the contestant that trains a model on the given number of replicas of each worker.
func stepName(path, model string, replicas int) string {
	return strings.Join([]string{path, model, strconv.Itoa(replicas)}, ":")
}

// stepParts is the inverse of stepName.
func stepParts(name string) (path, model string, replicas int, err error) {
	words := strings.Split(name, ":")
	if len(words) != 3 {
		return "", "", 0, fmt.Errorf("received %q, expected PATH:MODEL:REPLICAS", name)
	}
	replicas, err = strconv.Atoi(words[2])
	return words[0], words[1], replicas, err
}

// stepModel returns a compiled model and data for so many examples.
func stepModel(name string, s distribute.Strategy, examples int) (*keras.Model, *data.ArraySource, error) {
	shape, optimizer := []int{32}, "adam"
	var list []layers.Layer
	switch name {
	case "dense":
		shape, optimizer, list = []int{8}, "sgd", []layers.Layer{&layers.Dense{Units: 1}}
	case "mlp":
		list = []layers.Layer{&layers.Dense{Units: 32, Activation: "relu"}, &layers.Dense{Units: 32, Activation: "relu"}, &layers.Dense{Units: 1}}
	case "lstm":
		shape, list = []int{10, 8}, []layers.Layer{&layers.LSTM{Units: 16}, &layers.Dense{Units: 1}}
	default:
		return nil, nil, fmt.Errorf("%q is not a model; there are %v", name, stepModels)
	}
	m, err := keras.NewSequential(list, distribute.Scope(s), keras.InputShape(shape...))
	if err != nil {
		return nil, nil, err
	}
	if err := m.Compile(keras.CompileConfig{Optimizer: optimizer, Loss: "mse"}); err != nil {
		return nil, nil, err
	}
	size := 1
	for _, n := range shape {
		size *= n
	}
	x, y := make([]float32, examples*size), make([]float32, examples)
	for i := range x {
		x[i] = float32(i%13) / 13
	}
	for i := range y {
		y[i] = float32(i%3) / 3
	}
	a, err := data.ArrayOf(x, append([]int{examples}, shape...)...)
	if err != nil {
		return nil, nil, err
	}
	b, err := data.ArrayOf(y, examples, 1)
	return m, data.Arrays(a, b), err
}

// stepWork is a worker that trains: each sample is the mean time of the steps of an epoch.
func stepWork(name string) error {
	path, model, replicas, err := stepParts(name)
	if err != nil {
		return err
	}
	devices := make([]string, replicas)
	for i := range devices {
		devices[i] = fmt.Sprintf("cpu:%d", i)
	}
	stop, err := profile(name)
	if err != nil {
		return err
	}
	s, err := multiworker.NewStrategy(context.Background(), multiworker.Options{Devices: devices, NoSharedMemory: path == "tcp"})
	if err != nil {
		return err
	}
	batch := stepBatch * replicas * s.Workers()
	var last time.Duration
	train := func(count int) error {
		m, source, err := stepModel(model, s, batch*count)
		if err != nil {
			return err
		}
		var begun time.Time
		epoch := &callbacks.LambdaCallback{
			EpochBegin: func(int) error { begun = time.Now(); return nil },
			EpochEnd:   func(int, *callbacks.Logs) error { last = time.Since(begun); return nil },
		}
		_, err = m.Fit(context.Background(), source, keras.BatchSize(batch), keras.Shuffle(false), keras.Callbacks(epoch))
		return err
	}
	err = serve(func(_, count int) (*sample, error) {
		if err := train(count); err != nil {
			return nil, err
		}
		return &sample{Micros: []float64{micros(last) / float64(count)}}, nil
	})
	stop()
	return errors.Join(err, s.Close())
}

// measureSteps prints, for each model, the steps of so many workers.
func (b *bench) measureSteps(workers, replicas []int, steps int) error {
	fmt.Printf("Steps of small models, %d examples a replica: median (best) microseconds; microseconds of processor time of all processes together\n\n", stepBatch)
	for _, n := range workers {
		for _, r := range replicas {
			for _, model := range stepModels {
				if err := b.measureModel(n, r, model, steps); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (b *bench) measureModel(n, replicas int, model string, steps int) error {
	var all []*contestant
	defer func() {
		for _, c := range all {
			c.stop()
		}
	}()
	for _, path := range b.only {
		kind, build, _ := strings.Cut(path, "@")
		if kind == "tcp" && n == 1 || kind == "tensorflow" && replicas > 1 {
			continue // the same as shared; its processors are one device
		}
		name := stepName(kind, model, replicas)
		if build != "" {
			name += "@" + build
		}
		c, err := launch(name, n, b.peers)
		if err != nil {
			return err
		}
		if c == nil {
			fmt.Fprintf(os.Stderr, "benchcollective: no Python for %s, it is left out\n", path)
			continue
		}
		all = append(all, c)
	}
	samples := make([][]*sample, len(all))
	for round := range b.rounds + 1 {
		for i := range all {
			at := (i + round) % len(all)
			s, err := all[at].measure(4, steps)
			if err != nil {
				return err
			}
			if round > 0 { // the first one compiles
				samples[at] = append(samples[at], s)
			}
		}
	}
	fmt.Printf("%d workers, %d replicas each, %-6s", n, replicas, model)
	for i, c := range all {
		middle, best, cpu := figures(samples[i])
		fmt.Printf("  %s %s (%s) %s", c.name, number(middle), number(best), number(cpu))
	}
	fmt.Println()
	return nil
}
