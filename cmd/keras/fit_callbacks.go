package main

import (
	"math"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/keras"
)

// callbackFlags are the flags of fit that control training by the results of epochs.
type callbackFlags struct {
	learningRate                           float64
	earlyStopping, checkpoint, tensorBoard string
}

func (f *callbackFlags) register(s *pflag.FlagSet) {
	s.Float64Var(&f.learningRate, "learning-rate", 0, "learning rate, in place of the one that the model was compiled with or has reached")
	s.StringVar(&f.earlyStopping, "early-stopping", "", "stop after PATIENCE epochs without a better value of MONITOR, with the weights of the best one:\nPATIENCE or PATIENCE:MONITOR, such as 3:val_accuracy (default the validation loss, or the loss)")
	s.StringVar(&f.checkpoint, "checkpoint", "", "file for the model of the best epoch, by the validation loss or the loss, or with {epoch} in its name for each: .keras or .weights.h5")
	s.StringVar(&f.tensorBoard, "tensorboard", "", "folder for what TensorBoard shows")
}

// check refuses flags that could have no effect.
func (f *callbackFlags) check(s *pflag.FlagSet) error {
	if s.Changed("learning-rate") && !(f.learningRate > 0 && !math.IsInf(f.learningRate, 1)) {
		return usagef("--learning-rate %v: expected a positive number", f.learningRate)
	}
	if f.earlyStopping != "" {
		if _, err := f.stopping(false); err != nil {
			return err
		}
	}
	if f.checkpoint != "" && !strings.HasSuffix(f.checkpoint, ".keras") && !strings.HasSuffix(f.checkpoint, ".weights.h5") {
		return usagef("--checkpoint %s: unknown kind of file; expected .keras or .weights.h5", f.checkpoint)
	}
	return nil
}

// options returns the callbacks, and sets the learning rate.
func (f *callbackFlags) options(m *keras.Model, validated bool) (all []callbacks.Callback, err error) {
	if f.learningRate != 0 {
		if err := m.SetLearningRate(f.learningRate); err != nil {
			return nil, err
		}
	}
	if f.checkpoint != "" { // before the one that puts older weights back
		each := strings.Contains(filepath.Base(f.checkpoint), "{epoch")
		all = append(all, &callbacks.ModelCheckpoint{FilePath: f.checkpoint, Monitor: loss(validated), SaveBestOnly: !each, SaveWeightsOnly: strings.HasSuffix(f.checkpoint, ".weights.h5")})
	}
	if f.earlyStopping != "" {
		stopping, err := f.stopping(validated)
		if err != nil {
			return nil, err
		}
		all = append(all, stopping)
	}
	if f.tensorBoard != "" {
		all = append(all, &callbacks.TensorBoard{LogDir: f.tensorBoard})
	}
	return all, nil
}

// stopping reads PATIENCE:MONITOR.
func (f *callbackFlags) stopping(validated bool) (*callbacks.EarlyStopping, error) {
	count, monitor, given := strings.Cut(f.earlyStopping, ":")
	patience, err := strconv.Atoi(count)
	if err != nil || patience < 0 || given && monitor == "" {
		return nil, usagef("--early-stopping %s: expected PATIENCE or PATIENCE:MONITOR, a number of epochs and the name of a value, such as 3:val_accuracy", f.earlyStopping)
	}
	if !given {
		monitor = loss(validated)
	}
	return &callbacks.EarlyStopping{Monitor: monitor, Patience: patience, RestoreBestWeights: true}, nil
}

// loss is the name of the loss by which models are compared.
func loss(validated bool) string {
	if validated {
		return "val_loss"
	}
	return "loss"
}
