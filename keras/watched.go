package keras

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/optimizers"
)

// This file is what callbacks see of a model.
var _ callbacks.Model = (*Model)(nil)

// Optimizer returns the compiled optimizer, or nil.
func (m *Model) Optimizer() optimizers.Optimizer {
	if m.compiled == nil {
		return nil
	}
	return m.compiled.optimizer
}

// OptimizerArrays returns copies of the optimizer's variables in Keras's file order.
func (m *Model) OptimizerArrays() ([]kernels.Array, error) {
	if m.compiled == nil {
		return nil, m.errNotCompiled("OptimizerArrays")
	}
	m.values.RLock()
	defer m.values.RUnlock()
	return readAll(m.compiled.optimizer.Variables())
}

// SetOptimizerArrays replaces the optimizer's variables.
func (m *Model) SetOptimizerArrays(values []kernels.Array) error {
	if m.compiled == nil {
		return m.errNotCompiled("SetOptimizerArrays")
	}
	if err := m.prepareOptimizer(); err != nil {
		return prefixed("SetOptimizerArrays", err)
	}
	vars := m.compiled.optimizer.Variables()
	if len(values) != len(vars) {
		return fmt.Errorf("keras: the optimizer has %d variables, received %d; use values of the same optimizer and model", len(vars), len(values))
	}
	return prefixed("SetOptimizerArrays", m.writeAll(vars, values))
}

// LearningRate returns the learning rate of the next step.
func (m *Model) LearningRate() (float64, error) {
	if m.compiled == nil {
		return 0, m.errNotCompiled("LearningRate")
	}
	return m.compiled.optimizer.Rate()
}

// SetLearningRate changes the learning rate; it fails where a schedule drives it.
func (m *Model) SetLearningRate(rate float64) error {
	if m.compiled == nil {
		return m.errNotCompiled("SetLearningRate")
	}
	return m.compiled.optimizer.SetLearningRate(rate)
}

// Direction says whether the named result is better when larger ("max") or smaller ("min"); "" where that is not known.
func (m *Model) Direction(name string) string {
	if m.compiled == nil {
		return ""
	}
	name = strings.TrimPrefix(name, "val_")
	if name == "loss" || strings.HasSuffix(name, "_loss") {
		return "min"
	}
	for _, metric := range m.compiled.metrics {
		if metric.name == name {
			return metric.metric.Direction()
		}
	}
	return ""
}

// SwapEMA exchanges the weights with the optimizer's moving averages of them.
func (m *Model) SwapEMA() error {
	if m.compiled == nil {
		return m.errNotCompiled("SwapEMA")
	}
	averages := m.compiled.optimizer.Averages()
	if averages == nil {
		return fmt.Errorf("keras: SwapEMA: the optimizer keeps no moving averages; set UseEMA in its options")
	}
	m.values.Lock()
	defer m.values.Unlock()
	for i, v := range m.compiled.trainable {
		weight, err := v.Value()
		if err != nil {
			return err
		}
		average, err := averages[i].Value()
		if err != nil {
			return err
		}
		if err := v.SetValue(average); err != nil {
			return err
		}
		if err := averages[i].SetValue(weight); err != nil {
			return err
		}
	}
	return nil
}

// SetInitialEpoch makes the Fit that is about to begin start with the given epoch, from 0; callbacks call it in OnTrainBegin.
func (m *Model) SetInitialEpoch(epoch int) { m.resume = &place{Epoch: epoch} }

// SetInitialBatch makes that Fit leave out the first batches of the epoch it begins with; callbacks call it in OnTrainBegin.
func (m *Model) SetInitialBatch(batch int) {
	if m.resume == nil {
		return
	}
	m.resume.Done = batch
	if p := m.restored; p != nil && p.Epoch == m.resume.Epoch && p.Done == batch {
		m.resume = p
	}
}

// Progress returns how far Fit has come, for a backup.
func (m *Model) Progress() callbacks.Progress {
	return callbacks.Progress{Epoch: m.at.Epoch, Batch: max(m.at.Done-1, 0), Done: m.at.Done}
}

// Output returns where messages of the current run go.
func (m *Model) Output() io.Writer {
	if m.output == nil {
		return os.Stdout
	}
	return m.output
}
