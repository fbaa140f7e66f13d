package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
)

// modelFlags are the flags of the commands that run a model on data.
type modelFlags struct {
	x, y, sampleWeight, weights string
	batchSize                   int
	strategy                    string
	devices                     []string
}

func (f *modelFlags) register(s *pflag.FlagSet, targets bool) {
	s.StringVar(&f.x, "x", "", "inputs: .npy, .npz, file.npz:key or .csv")
	if targets {
		s.StringVar(&f.y, "y", "", "targets: .npy, .npz, file.npz:key or .csv")
		s.StringVar(&f.sampleWeight, "sample-weight", "", "weight of each example in the loss")
	}
	s.StringVar(&f.weights, "weights", "", "weights that replace those of the model: "+alternatives(".weights.h5", ".weights.json", ".h5"))
	s.IntVar(&f.batchSize, "batch-size", 0, "examples in a batch (default 32)")
	f.registerDevices(s, "default, mirrored, central, tpu, or with fit also multiworker or parameterserver")
}

// registerDevices adds the flags that say where the model runs: on one of the strategies.
func (f *modelFlags) registerDevices(s *pflag.FlagSet, strategies string) {
	s.StringVar(&f.strategy, "strategy", "default", "where the model runs: "+strategies)
	s.StringSliceVar(&f.devices, "devices", nil, "devices of the strategy, one replica each, such as cpu:0,cpu:1")
}

// load reads the model onto the devices.
func (f *modelFlags) load(path string, options ...keras.LoadModelOption) (*keras.Model, error) {
	if f.batchSize < 0 {
		return nil, usagef("--batch-size %d: expected a positive number", f.batchSize)
	}
	s, err := f.chooseStrategy()
	if err != nil {
		return nil, err
	}
	return f.loadOn(s, path, options...)
}

// loadOn reads the model onto the devices of a strategy.
func (f *modelFlags) loadOn(s distribute.Strategy, path string, options ...keras.LoadModelOption) (*keras.Model, error) {
	m, err := loadModel(path, append(options, distribute.Scope(s))...)
	if err != nil {
		return nil, err
	}
	if f.weights != "" {
		err = m.LoadWeights(f.weights)
	}
	return m, err
}

func (f *modelFlags) chooseStrategy() (distribute.Strategy, error) {
	switch {
	case f.strategy == "default" && len(f.devices) == 0:
		return distribute.Default(), nil
	case f.strategy == "default" && len(f.devices) == 1:
		return distribute.NewOneDeviceStrategy(f.devices[0])
	case f.strategy == "default":
		return nil, usagef("--devices %s: the default strategy uses one device; add --strategy mirrored", strings.Join(f.devices, ","))
	case f.strategy == "mirrored":
		return distribute.NewMirroredStrategy(f.devices...)
	case f.strategy == "central":
		return distribute.NewCentralStorageStrategy(f.devices...)
	case f.strategy == "tpu":
		return f.onCores(context.Background(), securityFlags{})
	case f.strategy == "multiworker", f.strategy == onServers:
		return nil, usagef("--strategy %s trains a model; use it with keras fit", f.strategy)
	}
	return nil, usagef("--strategy %q: unknown; expected default, mirrored, central or tpu", f.strategy)
}

// source reads inputs, targets and weights.
func (f *modelFlags) source(m *keras.Model) (*data.ArraySource, error) {
	return readSource(m, f.x, "x", f.y, "y", f.sampleWeight)
}

func readSource(m *keras.Model, x, xFlag, y, yFlag, sampleWeight string) (*data.ArraySource, error) {
	inputs, err := read(x, "x", xFlag, inputNames(m))
	if err != nil {
		return nil, err
	}
	targets, err := read(y, "y", yFlag, m.OutputNames())
	if err != nil {
		return nil, err
	}
	weights, err := read(sampleWeight, "sample_weight", "sample-weight", m.OutputNames())
	if err != nil {
		return nil, err
	}
	var options []data.ArrayOption
	if weights != nil {
		options = append(options, data.SampleWeight(weights))
	}
	s := data.Arrays(inputs, targets, options...)
	return s, s.Err()
}

func inputNames(m *keras.Model) []string {
	var names []string
	for _, in := range m.Inputs() {
		names = append(names, in.Name())
	}
	return names
}

// batchOption returns the batch size, an option of all runs.
func (f *modelFlags) batchOption() keras.LoopOption {
	return keras.BatchSize(f.batchSize)
}

// loadModel reads a model: a file with weights, or the configuration alone, in which case the weights are initialized.
func loadModel(path string, options ...keras.LoadModelOption) (*keras.Model, error) {
	switch {
	case isWeights(path):
		return nil, usagef("%s holds weights and no model; name the model, and the weights with --weights %s", path, path)
	case strings.HasSuffix(path, ".json"):
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var making []keras.Option
		for _, o := range options {
			if o, ok := o.(keras.Option); ok { // a scope or a seed
				making = append(making, o)
			}
		}
		m, err := keras.ModelFromJSON(text, making...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		return m, nil
	}
	return keras.LoadModel(path, options...)
}
