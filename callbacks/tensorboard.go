package callbacks

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gokeras/gokeras/internal/tensorboard"
)

// TensorBoard writes the event files that TensorBoard shows, in LogDir/train and LogDir/validation.
//
//   - epoch_<name> at each epoch, counted from 0: losses and metrics, in train/ also epoch_learning_rate; values of validation stand in
//     validation/ under the same names, without "val_".
//   - evaluation_<name>_vs_iterations in validation/, after each evaluation, at the optimizer's number of steps.
//   - batch_<name> in train/ where UpdateFreq asks for it, at the number of batches in this run, counted from 1: the running means.
//   - "keras", the model's configuration, which is shown as the conceptual graph, and what the model computes when it predicts, which is
//     shown as the op graph.
//   - <path of a weight>/histogram and <path of a weight>/image where HistogramFreq asks for them.
//
// A metric with several numbers is written as <name>_0, <name>_1, and so on. Files are flushed after each epoch and
// each evaluation. If UpdateFreq is 0 and nothing is profiled, batches cost nothing.
//
// With an UpdateFreq of 2 or more, Keras omits the values of epochs and evaluations whose last batch number is not a
// multiple of it; here they are always written. ProfileBatch writes a CPU profile of the Go program (for "go tool
// pprof") and no trace for TensorBoard's profile plugin.
//
// With several workers only the chief writes. (In TensorFlow the others write too, to neighbouring folders that are
// removed at the end.)
type TensorBoard struct {
	Base
	// LogDir is the folder of the run; "" is "logs". TensorBoard compares runs whose folders have the same parent.
	LogDir string `keras:"log_dir,default=logs"`
	// HistogramFreq is the number of epochs between two histograms of the weights; 0 is none.
	HistogramFreq int `keras:"histogram_freq"`
	// NoGraph leaves out the model's configuration and its operations.
	NoGraph bool `keras:"write_graph,not"`
	// WriteImages adds pictures of the weights to the histograms.
	WriteImages bool `keras:"write_images"`
	// WriteStepsPerSecond adds epoch_steps_per_second and batch_steps_per_second.
	WriteStepsPerSecond bool `keras:"write_steps_per_second"`
	// UpdateFreq is the number of batches between two values of batches: 0 is Keras's "epoch" (none), 1 is "batch".
	UpdateFreq int `keras:"update_freq,default=epoch"`
	// ProfileBatch is the batch to profile, or the first and the last one, counted from 1; nil is none. The profile is
	// LogDir/train/batches_<first>_<last>.pprof.
	ProfileBatch []int `keras:"profile_batch,default=0"`
	// EmbeddingsFreq is the number of epochs between two tables of embeddings (weights called "embeddings"), which
	// TensorBoard's projector shows; 0 is none. Each table replaces the previous one.
	EmbeddingsFreq int `keras:"embeddings_freq"`
	// EmbeddingsMetadata maps the names of embedding layers to the files that name their rows, seen from LogDir.
	EmbeddingsMetadata map[string]string `keras:"embeddings_metadata,default=null"`

	train, validation *tensorboard.Writer
	training          bool // between OnTrainBegin and OnTrainEnd
	batch             int64
	batchBegin        time.Time
	epochBegin        time.Time
	epochSteps        int64 // of the optimizer when the epoch began
	profile           cpuProfile
	graphed           bool // the graph of operations is written
}

// MigrateConfig reads Keras's update_freq "epoch" and "batch", profile_batch as a number or as a text, and
// embeddings_metadata null.
func (c *TensorBoard) MigrateConfig(keys map[string]json.RawMessage) error {
	switch string(keys["update_freq"]) {
	case `"epoch"`:
		delete(keys, "update_freq")
	case `"batch"`:
		keys["update_freq"] = json.RawMessage("1")
	}
	var one int
	var text string
	switch raw := keys["profile_batch"]; {
	case json.Unmarshal(raw, &one) == nil:
		keys["profile_batch"] = json.RawMessage(fmt.Sprintf("[%d]", one))
		if one == 0 {
			delete(keys, "profile_batch")
		}
	case json.Unmarshal(raw, &text) == nil:
		keys["profile_batch"] = json.RawMessage("[" + text + "]")
	}
	if string(keys["embeddings_metadata"]) == "null" {
		delete(keys, "embeddings_metadata")
	}
	return nil
}

func (c *TensorBoard) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("callbacks: TensorBoard: %w", err)
}

func (c *TensorBoard) dir() string {
	if c.LogDir == "" {
		return "logs"
	}
	return c.LogDir
}

func (c *TensorBoard) check() error {
	for name, v := range map[string]int{"HistogramFreq": c.HistogramFreq, "UpdateFreq": c.UpdateFreq, "EmbeddingsFreq": c.EmbeddingsFreq} {
		if v < 0 {
			return c.wrap(fmt.Errorf("%s is %d; expected 0 for none, or a distance", name, v))
		}
	}
	if n := len(c.ProfileBatch); n > 2 || n > 0 && c.ProfileBatch[0] < 1 || n == 2 && c.ProfileBatch[1] < c.ProfileBatch[0] {
		return c.wrap(fmt.Errorf("ProfileBatch is %v; expected the batch to profile, or the first and the last one, from 1", c.ProfileBatch))
	}
	return nil
}

// writer creates a writer when it is first needed.
func (c *TensorBoard) writer(w **tensorboard.Writer, folder string) (*tensorboard.Writer, error) {
	if *w == nil {
		var err error
		if *w, err = tensorboard.NewWriter(filepath.Join(c.dir(), folder)); err != nil {
			return nil, c.wrap(err)
		}
	}
	return *w, nil
}

func (c *TensorBoard) trainWriter() (*tensorboard.Writer, error) { return c.writer(&c.train, "train") }

func (c *TensorBoard) validationWriter() (*tensorboard.Writer, error) {
	return c.writer(&c.validation, "validation")
}

// close closes the files.
func (c *TensorBoard) close() error {
	var errs []error
	for _, w := range []**tensorboard.Writer{&c.train, &c.validation} {
		if *w != nil {
			errs = append(errs, c.wrap((*w).Close()))
			*w = nil
		}
	}
	return errors.Join(errs...)
}

// OnTrainBegin checks the options and writes the model's configuration.
func (c *TensorBoard) OnTrainBegin() error {
	if err := errors.Join(c.check(), c.close()); err != nil {
		return err
	}
	c.training, c.batch, c.profile, c.graphed = true, 0, cpuProfile{}, false
	if !writesFiles(c.Model()) {
		return nil
	}
	if c.EmbeddingsFreq > 0 {
		if err := c.describeEmbeddings(); err != nil {
			return c.wrap(err)
		}
	}
	if c.NoGraph {
		return nil
	}
	model, ok := c.Model().(DescribedModel)
	if !ok {
		return nil
	}
	document, err := model.ToJSON()
	if err != nil { // a model of user code, say; that is no reason not to train
		fmt.Fprintf(c.Model().Output(), "TensorBoard: the graph of the model is left out: %v\n", err)
		return nil
	}
	w, err := c.trainWriter()
	if err != nil {
		return err
	}
	return c.wrap(errors.Join(w.KerasModel("keras", document), c.graph(), w.Flush()))
}

// scalars writes logs whose names are prefix, the name without cut, and suffix.
func (c *TensorBoard) scalars(w *tensorboard.Writer, step int64, logs *Logs, keep func(string) bool, prefix, cut, suffix string) error {
	for _, name := range logs.Names() {
		if !keep(name) {
			continue
		}
		values := logs.Vector(name)
		tag := prefix + strings.TrimPrefix(name, cut)
		for i, v := range values {
			t := tag
			if len(values) > 1 {
				t += "_" + strconv.Itoa(i)
			}
			if err := w.Scalar(step, t+suffix, v); err != nil {
				return c.wrap(err)
			}
		}
	}
	return logs.Err()
}

func anyName(string) bool { return true }

func ofValidation(name string) bool { return strings.HasPrefix(name, "val_") }

func ofTraining(name string) bool { return !ofValidation(name) }

// OnTrainBatchBegin counts the batch.
func (c *TensorBoard) OnTrainBatchBegin(int) error {
	c.batch++
	if c.WriteStepsPerSecond {
		c.batchBegin = time.Now()
	}
	if !writesFiles(c.Model()) {
		return nil
	}
	return c.wrap(c.startProfile())
}

// OnTrainBatchEnd writes the running means if UpdateFreq says so.
func (c *TensorBoard) OnTrainBatchEnd(_ int, logs *Logs) error {
	if err := c.stopProfile(false); err != nil {
		return c.wrap(err)
	}
	if c.UpdateFreq == 0 || c.batch%int64(c.UpdateFreq) != 0 || !writesFiles(c.Model()) {
		return nil
	}
	w, err := c.trainWriter()
	if err != nil {
		return err
	}
	if c.WriteStepsPerSecond {
		if err := w.Scalar(c.batch, "batch_steps_per_second", 1/time.Since(c.batchBegin).Seconds()); err != nil {
			return c.wrap(err)
		}
	}
	return c.scalars(w, c.batch, logs, anyName, "batch_", "", "")
}

// OnEpochBegin notes the time.
func (c *TensorBoard) OnEpochBegin(int) error {
	if c.WriteStepsPerSecond {
		c.epochBegin, c.epochSteps = time.Now(), c.iterations()
	}
	return nil
}

// iterations returns the number of the optimizer's steps, or 0 if the model does not tell.
func (c *TensorBoard) iterations() int64 {
	n := int64(0)
	if m, ok := c.Model().(CountingModel); ok {
		n, _ = m.Iterations() // 0 where there is no optimizer that counts
	}
	return n
}

// OnEpochEnd writes the values of the epoch, and the weights when HistogramFreq and EmbeddingsFreq ask for them.
func (c *TensorBoard) OnEpochEnd(epoch int, logs *Logs) error {
	histograms, tables := c.HistogramFreq > 0 && epoch%c.HistogramFreq == 0, c.EmbeddingsFreq > 0 && epoch%c.EmbeddingsFreq == 0
	if !writesFiles(c.Model()) {
		return c.wrap(c.readAlong(histograms, tables))
	}
	if err := c.epochValues(epoch, logs); err != nil {
		return err
	}
	if err := c.graph(); err != nil { // of a model whose first batch decided its shapes
		return c.wrap(err)
	}
	if histograms {
		if err := c.weights(int64(epoch)); err != nil {
			return c.wrap(err)
		}
	}
	if tables {
		if err := c.embeddings(); err != nil {
			return c.wrap(err)
		}
	}
	for _, w := range []*tensorboard.Writer{c.train, c.validation} {
		if w != nil {
			if err := w.Flush(); err != nil {
				return c.wrap(err)
			}
		}
	}
	return nil
}

func (c *TensorBoard) epochValues(epoch int, logs *Logs) error {
	names := logs.Names()
	if err := logs.Err(); err != nil || len(names) == 0 {
		return err
	}
	w, err := c.trainWriter()
	if err != nil {
		return err
	}
	step := int64(epoch)
	if err := c.scalars(w, step, logs, ofTraining, "epoch_", "", ""); err != nil {
		return err
	}
	if rate, err := c.Model().LearningRate(); err == nil { // none without an optimizer that has one rate
		if _, logged := logs.Get("learning_rate"); !logged {
			if err := w.Scalar(step, "epoch_learning_rate", rate); err != nil {
				return c.wrap(err)
			}
		}
	}
	if c.WriteStepsPerSecond {
		rate := float64(c.iterations()-c.epochSteps) / time.Since(c.epochBegin).Seconds()
		if err := w.Scalar(step, "epoch_steps_per_second", rate); err != nil {
			return c.wrap(err)
		}
	}
	for _, name := range names {
		if ofValidation(name) {
			if w, err = c.validationWriter(); err != nil {
				return err
			}
			return c.scalars(w, step, logs, ofValidation, "epoch_", "val_", "")
		}
	}
	return nil
}

// OnTestEnd writes the results of an evaluation.
func (c *TensorBoard) OnTestEnd(logs *Logs) error {
	if _, compiled := c.Model().(CountingModel); compiled && len(logs.Names()) > 0 && writesFiles(c.Model()) {
		w, err := c.validationWriter()
		if err != nil {
			return err
		}
		if err := errors.Join(c.scalars(w, c.iterations(), logs, anyName, "evaluation_", "", "_vs_iterations"), c.wrap(w.Flush())); err != nil {
			return err
		}
	}
	if !c.training {
		return c.close()
	}
	return nil
}

// OnTrainEnd closes the files.
func (c *TensorBoard) OnTrainEnd(*Logs) error {
	c.training = false
	return errors.Join(c.wrap(c.stopProfile(true)), c.close())
}

// WantsBatches reports whether values of batches are written or batches are profiled.
func (c *TensorBoard) WantsBatches() bool { return c.UpdateFreq != 0 || len(c.ProfileBatch) > 0 }
