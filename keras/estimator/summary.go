package estimator

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/gokeras/gokeras/internal/tensorboard"
)

// SummarySaverHook writes the loss, the fetches with one element and the steps per second for TensorBoard, after the
// first step and then every SaveSteps steps or SaveSecs seconds. Train adds one according to the [RunConfig].
type SummarySaverHook struct {
	HookBase
	SaveSteps int
	SaveSecs  float64
	// OutputDir is the folder of the event file.
	OutputDir string

	timer  timer
	writer *tensorboard.Writer
}

// Begin checks the fields.
func (h *SummarySaverHook) Begin(s *Session) error {
	if (h.SaveSteps > 0) == (h.SaveSecs > 0) || h.SaveSteps < 0 || h.SaveSecs < 0 || h.OutputDir == "" {
		return fmt.Errorf("estimator: SummarySaverHook: exactly one of SaveSteps and SaveSecs must be positive and OutputDir set, received %d, %v and %q",
			h.SaveSteps, h.SaveSecs, h.OutputDir)
	}
	h.timer = timer{steps: int64(h.SaveSteps), every: time.Duration(h.SaveSecs * float64(time.Second))}
	return nil
}

// AfterRun writes what is due.
func (h *SummarySaverHook) AfterRun(c *RunContext, v *RunValues) error {
	if !h.timer.due(v.GlobalStep) || !c.session.strategy.Extended().ShouldSaveSummary() {
		return nil
	}
	if h.writer == nil {
		w, err := tensorboard.NewWriter(h.OutputDir)
		if err != nil {
			return fmt.Errorf("estimator: %w", err)
		}
		h.writer = w
	}
	elapsed, steps := h.timer.mark(v.GlobalStep)
	err := scalars(h.writer, v.GlobalStep, v.Values)
	if err == nil {
		err = h.writer.Scalar(v.GlobalStep, "loss", v.Loss)
	}
	if err == nil && elapsed > 0 {
		err = h.writer.Scalar(v.GlobalStep, "global_step/sec", float64(steps)/elapsed.Seconds())
	}
	if err == nil {
		err = h.writer.Flush() // if the run fails later, these remain
	}
	if err != nil {
		return fmt.Errorf("estimator: %w", err)
	}
	return nil
}

// End closes the file.
func (h *SummarySaverHook) End(*Session) error {
	if h.writer == nil {
		return nil
	}
	w := h.writer
	h.writer = nil
	if err := w.Close(); err != nil {
		return fmt.Errorf("estimator: %w", err)
	}
	return nil
}

// scalars writes values, sorted by name.
func scalars(w *tensorboard.Writer, step int64, values map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name == globalStepName || name == "loss" {
			continue
		}
		if err := w.Scalar(step, name, values[name]); err != nil {
			return err
		}
	}
	return nil
}

// summarize writes the results of an evaluation.
func (e *Estimator) summarize(name string, step int64, results map[string]float64) error {
	folder := "eval"
	if name != "" {
		folder += "_" + name
	}
	w, err := tensorboard.NewWriter(filepath.Join(e.config.ModelDir, folder))
	if err == nil {
		err = errors.Join(scalars(w, step, results), w.Scalar(step, "loss", results["loss"]), w.Close())
	}
	if err != nil {
		return fmt.Errorf("estimator: %w", err)
	}
	return nil
}
