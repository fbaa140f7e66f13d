package keras

import (
	"io"
	"os"
	"strings"

	"github.com/gokeras/gokeras/callbacks"
)

// This file is what callbacks see of a model.
var (
	_ callbacks.Model          = (*Model)(nil)
	_ callbacks.ModelSaver     = (*Model)(nil)
	_ callbacks.WorkerModel    = (*Model)(nil)
	_ callbacks.ResumableModel = (*Model)(nil)
	_ callbacks.CountingModel  = (*Model)(nil)
	_ callbacks.DescribedModel = (*Model)(nil)
	_ callbacks.TracedModel    = (*Model)(nil)
	_ callbacks.WeightedModel  = (*Model)(nil)
)

// Direction says whether the named result is better when larger ("max") or smaller ("min"), or "" if that is unknown.
// As in Keras, a metric's name without the output's name is enough.
func (m *Model) Direction(name string) string {
	if m.compiled == nil {
		return ""
	}
	name = strings.TrimPrefix(name, "val_")
	if name == "loss" || strings.HasSuffix(name, "_loss") {
		return "min"
	}
	outputs, direction := m.OutputNames(), ""
	for _, metric := range m.compiled.allMetrics() {
		if metric.name == name {
			return metric.metric.Direction()
		}
		if direction == "" && metric.output >= 0 && metric.output < len(outputs) && metric.name == outputs[metric.output]+"_"+name {
			direction = metric.metric.Direction()
		}
	}
	return direction
}

// SetInitialEpoch makes the Fit that is about to begin start with the given epoch, counted from 0; callbacks call it in
// OnTrainBegin.
func (m *Model) SetInitialEpoch(epoch int) { m.lastRun().resume = &progress{Epoch: epoch} }

// SetInitialBatch makes Fit skip the first batches of the epoch it begins with; callbacks call it in OnTrainBegin.
func (m *Model) SetInitialBatch(batch int) {
	r := m.lastRun()
	if r.resume == nil {
		return
	}
	r.resume.Done = batch
	if p := r.restored; p != nil && p.Epoch == r.resume.Epoch && p.Done == batch {
		r.resume = p
	}
}

// Progress returns the position of Fit, for a backup.
func (m *Model) Progress() callbacks.Progress {
	at := m.lastRun().at
	return callbacks.Progress{Epoch: at.Epoch, Batch: max(at.Done-1, 0), Done: at.Done}
}

// Output returns the writer for messages of the current run.
func (m *Model) Output() io.Writer {
	if output := m.lastRun().output; output != nil {
		return output
	}
	return os.Stdout
}
