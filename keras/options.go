package keras

import (
	"fmt"
	"io"
	"math"
	"os"
	"reflect"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
)

type fitConfig struct {
	what                string
	epochs              int
	initialEpoch        int
	batchSize           int
	steps               int
	shuffle             bool
	shuffleInside       bool
	verbose             int
	output              io.Writer
	callbacks           []callbacks.Callback
	validationSplit     float64
	validation          data.Dataset
	validationBatchSize int
	validationSteps     int
	validationEvery     int
	validationEpochs    map[int]bool
	classWeight         map[int]float64
	refuseNaN           bool
	seed                *uint64
}

// Epochs sets the index after the last epoch, which is the number of epochs if training begins at 0; the default is 1.
func Epochs(n int) FitOption {
	return fitOption(func(c *fitConfig) { c.epochs = n })
}

// InitialEpoch sets the epoch to begin with, for a run that continues another; the default is 0.
func InitialEpoch(n int) FitOption {
	return fitOption(func(c *fitConfig) { c.initialEpoch = n })
}

// BatchSize sets the number of examples of a global batch for data in memory; 0 is the default, 32. Datasets define
// their own.
func BatchSize(n int) LoopOption {
	return loopOption(func(c *fitConfig) { c.batchSize = n })
}

// StepsPerEpoch sets the number of batches of an epoch; the next epoch continues in the data where the last one ended.
// 0 is the default: one pass over the data.
func StepsPerEpoch(n int) FitOption {
	return fitOption(func(c *fitConfig) { c.steps = n })
}

// Steps limits the number of batches of Evaluate and Predict; 0 is the default: all.
func Steps(n int) PassOption {
	return passOption(func(c *fitConfig) { c.steps = n })
}

// Shuffle says whether data in memory are reshuffled for each epoch; the default is true. Datasets shuffle themselves.
func Shuffle(on bool) FitOption {
	return fitOption(func(c *fitConfig) { c.shuffle = on })
}

// ShuffleInsideBatches shuffles the examples of a batch only among themselves, Keras's shuffle="batch".
func ShuffleInsideBatches() FitOption {
	return fitOption(func(c *fitConfig) { c.shuffle, c.shuffleInside = true, true })
}

// Verbose sets what is printed: 0 nothing (the default), 1 a progress bar, 2 one line per epoch. If the output is not a
// terminal, the bar becomes a plain line every ten seconds and at the end of an epoch. Notes are printed after an
// epoch's line: a step took a second or more to compile, the data ended early, or nothing is trained.
func Verbose(level int) LoopOption {
	return loopOption(func(c *fitConfig) { c.verbose = level })
}

// ProgressOutput sets where progress and notes are printed; the default, also for nil, is standard output. A writer
// that wraps a terminal is recognized by its method Fd() uintptr, which *os.File has.
func ProgressOutput(w io.Writer) CallOption {
	return callOption(func(c *fitConfig) { c.output = w })
}

// Callbacks adds callbacks, called in this order.
func Callbacks(list ...callbacks.Callback) LoopOption {
	return loopOption(func(c *fitConfig) { c.callbacks = append(c.callbacks, list...) })
}

// ValidationSplit holds out the last part of data in memory, before any shuffling, and evaluates on it after each
// epoch; 0.1 is the last tenth.
func ValidationSplit(fraction float64) FitOption {
	return fitOption(func(c *fitConfig) { c.validationSplit = fraction })
}

// ValidationData evaluates on the given data after each epoch. It takes precedence over ValidationSplit.
func ValidationData(ds data.Dataset) FitOption {
	return fitOption(func(c *fitConfig) { c.validation = ds })
}

// ValidationBatchSize sets the batch size of validation; 0 is the default: that of training.
func ValidationBatchSize(n int) FitOption {
	return fitOption(func(c *fitConfig) { c.validationBatchSize = n })
}

// ValidationSteps limits the number of validation batches; 0 is the default: all.
func ValidationSteps(n int) FitOption {
	return fitOption(func(c *fitConfig) { c.validationSteps = n })
}

// ValidationFrequency validates after every n-th epoch; the default is 1.
func ValidationFrequency(n int) FitOption {
	return fitOption(func(c *fitConfig) { c.validationEvery = n })
}

// ValidationEpochs validates after the given epochs only, counted from 1.
func ValidationEpochs(epochs ...int) FitOption {
	return fitOption(func(c *fitConfig) {
		c.validationEpochs = map[int]bool{}
		for _, e := range epochs {
			c.validationEpochs[e] = true
		}
	})
}

// ClassWeight multiplies the loss of each example by the weight of its class; classes not listed have 1. It needs a
// model with one output and cannot be combined with sample weights.
func ClassWeight(weights map[int]float64) TrainOption {
	return trainOption(func(c *fitConfig) { c.classWeight = weights })
}

// ShuffleSeed sets the seed of shuffling for this call; the default is the model's.
func ShuffleSeed(seed uint64) FitOption {
	return fitOption(func(c *fitConfig) { c.seed = &seed })
}

// newFitConfig collects the options of a call; apply applies an option of its kind.
func newFitConfig[O any](what string, options []O, apply func(O, *fitConfig)) (*fitConfig, error) {
	c := &fitConfig{what: what, epochs: 1, shuffle: what == "Fit", validationEvery: 1, output: os.Stdout}
	for _, o := range options {
		if any(o) != nil {
			apply(o, c)
		}
	}
	if c.output == nil {
		c.output = os.Stdout
	}
	return c, c.check()
}

func (c *fitConfig) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("keras: "+c.what+": "+format, args...)
	}
	steps := "StepsPerEpoch"
	if c.what != "Fit" {
		steps = "Steps"
	}
	for _, o := range []struct {
		name string
		n    int
	}{{"BatchSize", c.batchSize}, {"ValidationBatchSize", c.validationBatchSize}, {steps, c.steps}, {"ValidationSteps", c.validationSteps}} {
		if o.n < 0 {
			return fail("%s is %d; expected at least 1, or 0 for the default", o.name, o.n)
		}
	}
	switch {
	case c.epochs < 0 || c.initialEpoch < 0:
		return fail("Epochs is %d and InitialEpoch %d; neither may be negative", c.epochs, c.initialEpoch)
	case c.validationEvery < 1:
		return fail("ValidationFrequency is %d; expected at least 1", c.validationEvery)
	case !(c.validationSplit >= 0 && c.validationSplit < 1):
		return fail("ValidationSplit is %v; expected a fraction of at least 0 and below 1", c.validationSplit)
	case c.verbose < 0 || c.verbose > 2:
		return fail("Verbose is %d; expected 0 (silent), 1 (progress bar) or 2 (a line each epoch)", c.verbose)
	}
	for epoch := range c.validationEpochs {
		if epoch < 1 {
			return fail("ValidationEpochs: epoch %d; epochs count from 1 here", epoch)
		}
	}
	for class, weight := range c.classWeight {
		if class < 0 || class > 1<<20 {
			return fail("ClassWeight: class %d; expected classes from 0 to %d", class, 1<<20)
		}
		if math.IsNaN(weight) || math.IsInf(weight, 0) {
			return fail("ClassWeight: the weight of class %d is %v; expected a finite number", class, weight)
		}
	}
	for i, callback := range c.callbacks {
		if v := reflect.ValueOf(callback); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return fail("callback %d is nil; leave it out or make it", i)
		}
	}
	return nil
}

// validates reports whether validation is due after the epoch, counted from 0.
func (c *fitConfig) validates(epoch int) bool {
	if c.validation == nil {
		return false
	}
	if c.validationEpochs != nil {
		return c.validationEpochs[epoch+1]
	}
	return (epoch+1)%c.validationEvery == 0
}
