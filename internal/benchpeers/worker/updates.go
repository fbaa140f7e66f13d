package main

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

// updatesKind is the kind of steps that mostly update variables: every optimizer, and what may come with each, on dense
// layers and tables of several sizes.
const updatesKind = "updates"

// updaters are the optimizers that are measured.
var updaters = []struct {
	name string
	make func() optimizers.Optimizer
}{
	{"sgd", func() optimizers.Optimizer { return &optimizers.SGD{} }},
	{"momentum", func() optimizers.Optimizer { return &optimizers.SGD{Momentum: 0.9} }},
	{"nesterov", func() optimizers.Optimizer { return &optimizers.SGD{Momentum: 0.9, Nesterov: true} }},
	{"adam", func() optimizers.Optimizer { return &optimizers.Adam{} }},
	{"amsgrad", func() optimizers.Optimizer { return &optimizers.Adam{AMSGrad: true} }},
	{"adamw", func() optimizers.Optimizer { return &optimizers.AdamW{} }},
	{"rmsprop", func() optimizers.Optimizer { return &optimizers.RMSprop{} }},
	{"rmsprop-centered", func() optimizers.Optimizer { return &optimizers.RMSprop{Momentum: 0.9, Centered: true} }},
	{"adagrad", func() optimizers.Optimizer { return &optimizers.Adagrad{} }},
	{"adadelta", func() optimizers.Optimizer { return &optimizers.Adadelta{} }},
	{"nadam", func() optimizers.Optimizer { return &optimizers.Nadam{} }},
	{"adamax", func() optimizers.Optimizer { return &optimizers.Adamax{} }},
	{"ftrl", func() optimizers.Optimizer { return &optimizers.Ftrl{} }},
	{"lion", func() optimizers.Optimizer { return &optimizers.Lion{} }},
	{"adafactor", func() optimizers.Optimizer { return &optimizers.Adafactor{} }},
	{"lamb", func() optimizers.Optimizer { return &optimizers.Lamb{} }},
	{"muon", func() optimizers.Optimizer { return &optimizers.Muon{NSSteps: 1} }},
	{"schedule-free", func() optimizers.Optimizer { return &optimizers.ScheduleFreeAdamW{} }},
	{"sgd-ema", func() optimizers.Optimizer { return &optimizers.SGD{Options: optimizers.Options{UseEMA: true}} }},
	{"sgd-decay", func() optimizers.Optimizer {
		return &optimizers.SGD{Options: optimizers.Options{WeightDecay: new(0.01)}}
	}},
	{"adam-ema", func() optimizers.Optimizer { return &optimizers.Adam{Options: optimizers.Options{UseEMA: true}} }},
	{"adam-clipnorm", func() optimizers.Optimizer { return &optimizers.Adam{Options: optimizers.Options{ClipNorm: new(1.0)}} }},
	{"adam-global", func() optimizers.Optimizer {
		return &optimizers.Adam{Options: optimizers.Options{GlobalClipNorm: new(1.0)}}
	}},
	{"adam-clipvalue", func() optimizers.Optimizer {
		return &optimizers.Adam{Options: optimizers.Options{ClipValue: new(0.5)}}
	}},
	{"sgd-accumulates", func() optimizers.Optimizer {
		return &optimizers.SGD{Options: optimizers.Options{GradientAccumulationSteps: 4}}
	}},
	{"adam-accumulates", func() optimizers.Optimizer {
		return &optimizers.Adam{Options: optimizers.Options{GradientAccumulationSteps: 4}}
	}},
}

// updatedLayers are the layers: a dense one of a number of inputs and units, or a table of a number of rows, with the
// examples of a step.
var updatedLayers = []struct {
	name                  string
	from, to, batch, rows int
}{
	{"dense-100k", 316, 316, 8, 0},
	{"dense-1m", 1000, 1048, 8, 0},
	{"dense-4m", 2048, 2048, 8, 0},
	{"table-100k", 16, 32, 8, 3125},
	{"table-1m", 16, 64, 8, 16384},
	{"table-4m", 16, 128, 8, 32768},
}

// updates are all of them whose names contain one of the words, or all.
func updates(words []string) []policyWork {
	var list []policyWork
	for _, layer := range updatedLayers {
		for _, u := range updaters {
			name := layer.name + " " + u.name
			named := len(words) == 0
			for _, w := range words {
				named = named || strings.Contains(name+" ", w)
			}
			if named {
				kind, _, _ := strings.Cut(layer.name, "-")
				list = append(list, policyWork{updatesKind + " " + kind, name, func() (*job, error) { return updatesJob(layer.name, u.name) }})
			}
		}
	}
	return list
}

// updatesJob trains a layer with an optimizer.
func updatesJob(layer, updater string) (*job, error) {
	for _, l := range updatedLayers {
		for _, u := range updaters {
			if l.name != layer || u.name != updater {
				continue
			}
			x := keras.Input(keras.Shape(l.from))
			y := layers.Apply(&layers.Dense{Units: l.to}, x)
			if l.rows > 0 {
				x = keras.Input(keras.Shape(l.from), keras.DType("int32"))
				y = layers.Apply(&layers.Embedding{InputDim: l.rows, OutputDim: l.to}, x)
			}
			m, err := keras.NewFunctional(keras.Inputs(x), keras.Outputs(y), options(distribute.Default(), keras.Seed(1))...)
			if err != nil {
				return nil, err
			}
			return trainsWith(m, u.make(), l.batch, l.rows)
		}
	}
	return nil, fmt.Errorf("unknown layer %q or optimizer %q", layer, updater)
}

// trainsWith trains with the mean squared error to predict numbers other than those that the model predicts at first;
// words are below rows.
func trainsWith(m *keras.Model, o optimizers.Optimizer, batch, rows int) (*job, error) {
	inputs, err := inputsFor(m, batch)
	if err != nil {
		return nil, err
	}
	for i := range inputs {
		if rows > 0 {
			words := make([]float64, batch*m.Inputs()[0].Shape()[1])
			for j := range words {
				words[j] = float64(j * 7919 % rows)
			}
			if inputs[i], err = kernels.FromFloat64s(m.Inputs()[0].DType(), []int{batch, m.Inputs()[0].Shape()[1]}, words); err != nil {
				return nil, err
			}
		}
	}
	shape := append([]int{batch}, m.Outputs()[0].Shape()[1:]...)
	size := 1
	for _, n := range shape {
		size *= n
	}
	r, wanted := source(), make([]float64, size)
	for i := range wanted {
		wanted[i] = r.NormFloat64()
	}
	y, err := kernels.FromFloat64s(m.Outputs()[0].DType(), shape, wanted)
	if err != nil {
		return nil, err
	}
	if err := m.Compile(keras.CompileConfig{Optimizer: o, Loss: &losses.MeanSquaredError{}}); err != nil {
		return nil, err
	}
	examples := data.Arrays(inputs, []data.Array{y})
	j := &job{key: updatesKind, work: &workload{units: 1}, batch: batch, units: float64(batch)}
	j.run = func() (int, float64, error) {
		begin := processTime()
		_, err := m.TrainOnBatch(runs, examples)
		return 1, processTime() - begin, err
	}
	return j, nil
}
