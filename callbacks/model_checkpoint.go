package callbacks

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

// ModelSaver is implemented by models that can be saved completely: configuration, weights and compile configuration.
type ModelSaver interface {
	SaveModel(path string) error
}

// ModelCheckpoint saves the model or its weights at the end of each epoch or after a number of batches.
//
// FilePath may contain fields of Python's str.format for the epoch and batch (counted from 1) and for the values in the
// logs: "weights-{epoch:02d}-{val_loss:.2f}.weights.npz". An unknown field is an error. Missing folders are created.
// Without fields each file replaces the previous one.
//
// With SaveBestOnly a file is written only when the monitored value is better than it was for the last file (or than
// InitialValueThreshold). If the logs lack the value, or if it has several numbers, a file is written anyway, with a
// warning.
//
// The path of a whole model (configuration, weights and compile configuration) ends in ".keras". The path of weights
// ends in ".weights.h5" (Keras's format, with the optimizer's state), ".weights.json" (the same in several files),
// ".safetensors" or ".weights.npz".
//
// Each run resets the best value. To continue another run, set InitialValueThreshold to its Best; Keras keeps the best
// value in the object.
type ModelCheckpoint struct {
	Base
	// FilePath names the files; it must be set.
	FilePath string `keras:"filepath"`
	// Monitor is the name of the value that decides with SaveBestOnly; "" is "val_loss".
	Monitor string `keras:"monitor,default=val_loss"`
	// Verbose 1 prints each decision.
	Verbose int `keras:"verbose"`
	// SaveBestOnly writes a file only for a value better than before.
	SaveBestOnly bool `keras:"save_best_only"`
	// SaveWeightsOnly saves weights instead of the whole model.
	SaveWeightsOnly bool `keras:"save_weights_only"`
	// Mode says what is better: "min", "max", or "auto" (or ""), which depends on the metric.
	Mode MonitorMode `keras:"mode,default=auto"`
	// SaveFreq is the number of batches between two files, counted on across epochs; 0 saves after each epoch.
	SaveFreq int `keras:"save_freq,default=epoch"`
	// InitialValueThreshold is the value that the first file must beat with SaveBestOnly; nil for none.
	InitialValueThreshold *float64 `keras:"initial_value_threshold"`

	monitor monitor
	counter batchCounter
	epoch   int
}

// MigrateConfig reads Keras's save_freq "epoch".
func (c *ModelCheckpoint) MigrateConfig(keys map[string]json.RawMessage) error {
	migrateSaveFreq(keys)
	return nil
}

func migrateSaveFreq(keys map[string]json.RawMessage) {
	if string(keys["save_freq"]) == `"epoch"` {
		delete(keys, "save_freq")
	}
}

// OnTrainBegin checks the options and resets the state of the previous run.
func (c *ModelCheckpoint) OnTrainBegin() error {
	if c.SaveFreq < 0 {
		return fmt.Errorf("callbacks: ModelCheckpoint: SaveFreq is %d; expected a number of batches, or 0 for each epoch", c.SaveFreq)
	}
	if err := c.checkPath(); err != nil {
		return err
	}
	if folder := filepath.Dir(c.FilePath); writesFiles(c.Model()) && !strings.ContainsRune(folder, '{') {
		atomicfile.Sweep(folder)
	}
	c.monitor.start("ModelCheckpoint", c.Monitor, string(c.Mode), 0, c.Model())
	if c.InitialValueThreshold != nil {
		c.monitor.keep(*c.InitialValueThreshold)
	}
	c.counter, c.epoch = batchCounter{every: c.SaveFreq, last: -1}, 0
	return nil
}

func (c *ModelCheckpoint) checkPath() error {
	ends := func(suffixes ...string) bool {
		for _, s := range suffixes {
			if strings.HasSuffix(c.FilePath, s) {
				return true
			}
		}
		return false
	}
	if c.SaveWeightsOnly {
		if !ends(".weights.h5", ".weights.json", ".weights.npz", ".safetensors") {
			return fmt.Errorf("callbacks: ModelCheckpoint: with SaveWeightsOnly the file path must end in \".weights.h5\", received FilePath %q; also possible are \".weights.json\", \".weights.npz\" and \".safetensors\"", c.FilePath)
		}
		return nil
	}
	if !ends(".keras") {
		return fmt.Errorf("callbacks: ModelCheckpoint: the file path of a whole model must end in \".keras\", received FilePath %q; set SaveWeightsOnly for \".weights.h5\"", c.FilePath)
	}
	if _, ok := c.Model().(ModelSaver); !ok {
		return fmt.Errorf("callbacks: ModelCheckpoint: this model cannot be saved whole, as FilePath %q asks for; set SaveWeightsOnly and let the path end in \".weights.h5\"", c.FilePath)
	}
	return nil
}

// OnEpochBegin notes the epoch.
func (c *ModelCheckpoint) OnEpochBegin(epoch int) error {
	c.epoch = epoch
	return nil
}

// OnTrainBatchEnd saves if SaveFreq is a number of batches.
func (c *ModelCheckpoint) OnTrainBatchEnd(batch int, logs *Logs) error {
	if c.SaveFreq == 0 || !c.counter.due(batch) {
		return nil
	}
	if err := c.monitor.resolve(c.Model(), logs); err != nil {
		return err
	}
	return c.save(c.epoch, batch, logs)
}

// OnEpochEnd saves if SaveFreq is 0.
func (c *ModelCheckpoint) OnEpochEnd(epoch int, logs *Logs) error {
	if err := c.monitor.resolve(c.Model(), logs); err != nil || c.SaveFreq != 0 {
		return err
	}
	return c.save(epoch, -1, logs)
}

func (c *ModelCheckpoint) save(epoch, batch int, logs *Logs) error {
	path, err := c.path(epoch, batch, logs)
	if err != nil {
		return err
	}
	wanted, err := c.wanted(epoch, path, logs)
	if err != nil || !wanted {
		return err
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("callbacks: ModelCheckpoint: %s is a folder; let FilePath name a file", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("callbacks: ModelCheckpoint: %w", err)
	}
	if saver, ok := c.Model().(ModelSaver); ok && !c.SaveWeightsOnly {
		err = saver.SaveModel(path)
	} else {
		err = c.Model().SaveWeights(path)
	}
	if err != nil {
		return fmt.Errorf("callbacks: ModelCheckpoint: %w", err)
	}
	c.say("\nEpoch %d: finished saving model to %s\n", epoch+1, path)
	return nil
}

func (c *ModelCheckpoint) say(format string, args ...any) {
	if c.Verbose > 0 {
		fmt.Fprintf(c.Model().Output(), format, args...)
	}
}

// path fills in the fields of FilePath. batch is -1 at the end of an epoch.
func (c *ModelCheckpoint) path(epoch, batch int, logs *Logs) (string, error) {
	path, err := formatTemplate(c.FilePath, func(name string) (any, bool) {
		if v := logs.Vector(name); len(v) == 1 {
			return v[0], true
		} else if len(v) > 1 {
			return v, true
		}
		switch {
		case name == "epoch":
			return epoch + 1, true
		case name == "batch" && batch >= 0:
			return batch + 1, true
		}
		return nil, false
	})
	if logs.Err() != nil {
		return "", logs.Err()
	}
	if err != nil {
		return "", fmt.Errorf("callbacks: ModelCheckpoint: cannot fill in FilePath %q: %w; the values are epoch, batch (with SaveFreq) and %s", c.FilePath, err, strings.Join(logs.Names(), ", "))
	}
	return path, nil
}

// wanted decides whether to save, and prints the decision.
func (c *ModelCheckpoint) wanted(epoch int, path string, logs *Logs) (bool, error) {
	if !c.SaveBestOnly {
		c.say("\nEpoch %d: saving model to %s\n", epoch+1, path)
		return true, nil
	}
	numbers := logs.Vector(c.monitor.name)
	if err := logs.Err(); err != nil {
		return false, err
	}
	if len(numbers) == 0 {
		c.monitor.warn(c.Model(), "Can save best model only with %s available.", c.monitor.name)
		return true, nil
	}
	if len(numbers) > 1 {
		c.monitor.warn(c.Model(), "Can save best model only when `monitor` is a scalar value. Received: %s. Falling back to `save_best_only=False`.", reprList(numbers))
		return true, nil
	}
	best := "None"
	if c.monitor.hasBest {
		best = fixed(c.monitor.best, 5)
	}
	if !c.monitor.improvesBest(numbers[0]) {
		c.say("\nEpoch %d: %s did not improve from %s\n", epoch+1, c.monitor.name, best)
		return false, nil
	}
	c.say("\nEpoch %d: %s improved from %s to %s, saving model to %s\n", epoch+1, c.monitor.name, best, fixed(numbers[0], 5), path)
	c.monitor.keep(numbers[0])
	return true, nil
}

// WantsBatches reports whether files are written after batches.
func (c *ModelCheckpoint) WantsBatches() bool { return c.SaveFreq != 0 }

// Best is the best value of the last run, or InitialValueThreshold; false if there is none.
func (c *ModelCheckpoint) Best() (float64, bool) { return c.monitor.best, c.monitor.hasBest }

// batchCounter counts batches across epochs. With several steps per execution it sees only the last batch of each.
type batchCounter struct {
	every int
	last  int // batch of the epoch that was seen last, -1 before the first
	since int // batches since it was due
}

func (b *batchCounter) due(batch int) bool {
	if batch <= b.last {
		b.last = -1 // a new epoch
	}
	b.since += batch - b.last
	b.last = batch
	if b.since < b.every {
		return false
	}
	b.since = 0
	return true
}
