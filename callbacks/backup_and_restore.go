package callbacks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

// BackupAndRestore lets an interrupted run resume. It keeps the latest state of training in a folder; when Fit is
// called again, with the same model, data and options, the state is restored and training continues with the epoch
// after the last backup. When a run ends well, which includes early stopping, the files are removed, and so is the
// folder if it is then empty.
//
// The folder holds latest.weights.npz (weights, optimizer variables, and the count of steps, from which random layers
// draw) and, for people and programs, training_metadata.json: {"epoch": the next epoch, "batch": the last batch}. Both
// are replaced atomically, and the first also records where the run was, so a crash at any moment leaves a consistent
// state. A run that resumes from a backup ends with the same bits as an uninterrupted one, in weights and logs, and its
// History includes the earlier epochs (Keras's does not); other [Stateful] callbacks resume with their state. A backup
// from a run with another batch size or other in-memory data is reported on Model.Output and resumed at its epoch; in
// the middle of an epoch it is an error. A backup in the middle of an epoch continues with the batch after it. (Keras
// repeats the epoch from its beginning with the weights of the backup, so it trains on some batches twice.)
//
// A run that fails keeps its folder. A run whose context ends (Ctrl-C, SIGTERM) makes a last backup where it stops,
// even in the middle of an epoch, so nothing is done twice.
//
// Under a MultiWorkerMirrored strategy the chief writes the folder; all workers read it if they can, and take over the
// state that the chief has restored. With this callback the job survives the loss of workers: the others keep the model
// in memory, wait until a lost worker returns, and give it the state; see distribute.Elastic. The folder is for the
// case that all workers are lost.
type BackupAndRestore struct {
	Base
	// BackupDir is the folder. It must be set, and no other run may use it.
	BackupDir string `keras:"backup_dir"`
	// SaveFreq is the number of batches between two backups, counted on across epochs; 0 is one backup per epoch.
	SaveFreq int `keras:"save_freq,default=epoch"`
	// DoubleCheckpoint also keeps the backup before the latest, with .bkp added to the names, and uses it if the latest
	// cannot be read.
	DoubleCheckpoint bool `keras:"double_checkpoint"`
	// KeepCheckpoint keeps the files when a run ends well.
	KeepCheckpoint bool `keras:"delete_checkpoint,not"`

	counter batchCounter
	at      Progress
	saved   Progress // of the last backup
}

// MigrateConfig reads Keras's save_freq "epoch".
func (c *BackupAndRestore) MigrateConfig(keys map[string]json.RawMessage) error {
	migrateSaveFreq(keys)
	return nil
}

const previous = ".bkp"

// ErrStopped is in the errors of runs that were stopped from outside, for example by a context.
var ErrStopped = errors.New("asked to stop")

func (c *BackupAndRestore) weightsPath() string {
	return filepath.Join(c.BackupDir, "latest.weights.npz")
}

func (c *BackupAndRestore) metadataPath() string {
	return filepath.Join(c.BackupDir, "training_metadata.json")
}

func (c *BackupAndRestore) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("callbacks: BackupAndRestore: %w", err)
}

// OnTrainBegin restores the state in the folder.
func (c *BackupAndRestore) OnTrainBegin() error {
	if c.BackupDir == "" {
		return errors.New("callbacks: BackupAndRestore: BackupDir is empty; name a folder that is used for nothing else")
	}
	if c.SaveFreq < 0 {
		return fmt.Errorf("callbacks: BackupAndRestore: SaveFreq is %d; expected a number of batches, or 0 for each epoch", c.SaveFreq)
	}
	if c.writes() {
		atomicfile.Sweep(c.BackupDir)
	}
	c.counter, c.at, c.saved = batchCounter{every: c.SaveFreq, last: -1}, Progress{}, Progress{Epoch: -1}
	at, err := c.Model().LoadBackup(c.weightsPath())
	if err != nil {
		latest := err
		at, err = c.Model().LoadBackup(c.weightsPath() + previous)
		switch {
		case errors.Is(latest, fs.ErrNotExist) && errors.Is(err, fs.ErrNotExist):
			return nil
		case errors.Is(err, fs.ErrNotExist):
			return c.wrap(latest)
		case err != nil:
			return c.wrap(errors.Join(latest, err))
		}
		fmt.Fprintf(c.Model().Output(), "The latest backup cannot be read (%v); going on with the one before it.\n", latest)
	}
	c.Model().SetInitialEpoch(at.Epoch)
	if m, ok := c.Model().(ResumableModel); ok {
		m.SetInitialBatch(at.Done)
	}
	return nil
}

// OnEpochBegin notes the epoch.
func (c *BackupAndRestore) OnEpochBegin(epoch int) error {
	c.at = Progress{Epoch: epoch}
	return nil
}

// OnTrainBatchEnd makes a backup if SaveFreq is a number of batches.
func (c *BackupAndRestore) OnTrainBatchEnd(batch int, _ *Logs) error {
	c.at.Batch, c.at.Done = batch, batch+1
	if c.SaveFreq == 0 || !c.counter.due(batch) {
		return nil
	}
	return c.save()
}

// OnEpochEnd makes a backup if SaveFreq is 0.
func (c *BackupAndRestore) OnEpochEnd(epoch int, _ *Logs) error {
	c.at = Progress{Epoch: epoch + 1}
	if c.SaveFreq != 0 {
		return nil
	}
	return c.save()
}

// writes reports whether this process keeps the backup. Of several workers only the chief does, and the others take
// over what it restores.
func (c *BackupAndRestore) writes() bool { return writesFiles(c.Model()) }

func (c *BackupAndRestore) save() error {
	if !c.writes() {
		c.saved = c.at
		if m, ok := c.Model().(ShardedModel); ok {
			return c.wrap(m.TakePartInBackup())
		}
		return nil
	}
	if err := os.MkdirAll(c.BackupDir, 0o777); err != nil {
		return c.wrap(err)
	}
	if c.DoubleCheckpoint {
		for _, path := range []string{c.weightsPath(), c.metadataPath()} {
			if err := keepPrevious(path); err != nil {
				return c.wrap(err)
			}
		}
	}
	if err := c.Model().SaveBackup(c.weightsPath(), c.at); err != nil {
		return c.wrap(err)
	}
	c.saved = c.at
	text := fmt.Sprintf(`{"epoch": %d, "batch": %d}`, c.at.Epoch, c.at.Batch)
	return c.wrap(atomicfile.Write(c.metadataPath(), func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}))
}

// keepPrevious copies a file to the same folder.
func keepPrevious(path string) error {
	from, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer from.Close()
	return atomicfile.Write(path+previous, func(w io.Writer) error {
		_, err := io.Copy(w, from)
		return err
	})
}

// saveWhereStopped makes a backup of a run that was asked to stop.
func (c *BackupAndRestore) saveWhereStopped() error {
	m, ok := c.Model().(ResumableModel)
	if !ok || c.BackupDir == "" {
		return nil
	}
	c.at = m.Progress()
	if c.at == c.saved || c.at == (Progress{}) {
		return nil
	}
	return c.save()
}

// OnTrainEnd removes the files after a run that ended well, and makes a last backup of one that was asked to stop.
func (c *BackupAndRestore) OnTrainEnd(*Logs) error {
	if stopped := c.Params().Err; errors.Is(stopped, context.Canceled) || errors.Is(stopped, context.DeadlineExceeded) || errors.Is(stopped, ErrStopped) {
		return c.saveWhereStopped()
	}
	if c.KeepCheckpoint || c.Params().Err != nil || c.BackupDir == "" || !c.writes() {
		return nil
	}
	for _, path := range []string{c.weightsPath(), c.metadataPath()} {
		for _, p := range []string{path, path + previous} {
			if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return c.wrap(err)
			}
		}
	}
	_ = os.Remove(c.BackupDir) // fails where other files are in it, which are not ours to remove
	return nil
}

// WantsBatches reports whether backups are made after batches.
func (c *BackupAndRestore) WantsBatches() bool { return c.SaveFreq != 0 }
