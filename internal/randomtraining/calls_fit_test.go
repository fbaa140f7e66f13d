package randomtraining

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

func (r *caller) fit(a *callArguments, want *callAnswer) (string, error) {
	folder := r.t.TempDir()
	before, err := r.m.ToJSON()
	if err != nil {
		return "", err
	}
	f := &fit{Callbacks: a.Callbacks}
	f.Fit = a.fitArguments
	interrupted, backup := false, a.Backup
	if r.other {
		backup = nil
	}
	for {
		if f.Interrupt = nil; backup != nil {
			f.Backup, f.Interrupt = backup, &a.Interrupt
		}
		var more []callbacks.Callback
		if backup != nil && !interrupted {
			more = append(more, &interruptBacked{interrupt: interrupt{at: a.Interrupt}, folder: folder})
		}
		options, err := f.options(r.t, r.m, folder, more...)
		if err != nil {
			return "", err
		}
		if a.Validation != nil {
			options = append(options, keras.ValidationData(r.source(*a.Validation, a.WeightsInSets)))
		}
		if a.ClassWeight != nil {
			options = append(options, keras.ClassWeight(classes(a.ClassWeight)))
		}
		h, err := r.m.Fit(context.Background(), r.source(a.Data, a.Weights), options...)
		if errors.Is(err, errInterrupted) {
			interrupted = true
			r.m = r.read(before) // as a program does that starts again
			continue
		}
		if err != nil {
			return "", err
		}
		if interrupted { // what was before is in the history of the first run
			n := max(0, len(want.Epochs)-len(h.Epoch))
			want.Epochs = want.Epochs[n:]
			for name, v := range want.History {
				want.History[name] = v[len(v)-min(len(v), len(h.Logs[name])):]
			}
		}
		if text := r.history(h, want.History); text != "" {
			return "history: " + text, nil
		}
		if !slices.Equal(h.Epoch, want.Epochs) {
			return fmt.Sprintf("epochs %v, not %v", h.Epoch, want.Epochs), nil
		}
		return "", nil
	}
}

// interruptBacked interrupts once there is a backup.
type interruptBacked struct {
	interrupt
	folder string
}

func (i *interruptBacked) OnTrainBatchEnd(batch int, logs *callbacks.Logs) error {
	if _, err := os.Stat(filepath.Join(i.folder, "backup", "latest.weights.npz")); err != nil {
		return nil
	}
	return i.interrupt.OnTrainBatchEnd(batch, logs)
}

func (r *caller) history(h *keras.History, want map[string][][]number) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		got := h.Logs[name]
		if v := h.Vectors[name]; v != nil {
			got = slices.Concat(v...)
		}
		if text := near(got, slices.Concat(want[name]...), r.tolerance()); text != "" {
			all = append(all, name+": "+text)
		}
	}
	if all != nil {
		return strings.Join(all, "; ")
	}
	if len(h.Logs)+len(h.Vectors) < len(want) {
		return "names are missing"
	}
	return ""
}

// file writes the model or its weights, changes the weights, and goes on from the file.
func (r *caller) file(a *callArguments) error {
	path := filepath.Join(r.t.TempDir(), "m."+a.Kind)
	if a.Kind == "keras" {
		if err := r.m.Save(path); err != nil {
			return err
		}
		var options []keras.LoadModelOption
		if r.strategy != nil {
			options = append(options, distribute.Scope(r.strategy))
		}
		m, err := keras.LoadModel(path, options...)
		r.m = m
		return err
	}
	save := r.m.SaveWeights
	if a.Kind == "weights.json" {
		save = func(path string) error { return r.m.SaveShardedWeights(path, 10000) }
	}
	if err := save(path); err != nil {
		return err
	}
	if err := setWeights(r.m, a.Seed); err != nil {
		return err
	}
	return r.m.LoadWeights(path)
}

// lora enables LoRA with the same first matrix as Keras.
func (r *caller) lora(a *callArguments) error {
	l, ok := r.layer(a.Layer).(interface {
		EnableLora(rank int, options ...layers.LoraOptions) error
	})
	if !ok {
		return fmt.Errorf("layer %s has no EnableLora", a.Layer)
	}
	if err := l.EnableLora(a.Rank, layers.LoraOptions{Alpha: a.Alpha}); err != nil {
		return err
	}
	arrays, err := r.m.GetWeights()
	if err != nil {
		return err
	}
	for i, w := range r.m.Weights() {
		if strings.HasSuffix(w.Path(), a.Layer+"/lora_kernel_a") {
			arrays[i], err = kernels.FromFloat64s(ir.Float32, w.Type().Shape, spec{Kind: "grid", Seed: a.Seed, Shape: w.Type().Shape}.values())
			if err != nil {
				return err
			}
		}
	}
	return r.m.SetWeights(arrays)
}
