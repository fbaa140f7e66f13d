package keras

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/saving"
)

// Further members of a backup that Fit makes: the state of its callbacks, and a description of its data.
const (
	backupCallbacks = "training/callbacks" // JSON
	backupRun       = "training/run"       // JSON
)

// runOf describes what a Fit trains on, as far as a backup stores it.
type runOf struct {
	BatchSize int // 0: the dataset yields batches
	Steps     int // per epoch; -1: unknown
	Examples  int // in memory; 0: unknown
	Sample    uint64
}

// String is used in messages.
func (r runOf) String() string {
	text := fmt.Sprintf("%d steps an epoch", r.Steps)
	if r.Steps < 0 {
		text = "epochs of unknown length"
	}
	if r.Examples == 0 {
		return text
	}
	return fmt.Sprintf("%d examples in batches of %d, %s", r.Examples, r.BatchSize, text)
}

// sampledRows is the number of examples by which data of equal size are told apart.
const sampledRows = 64

// runOf describes the current run.
func (t *trainer) runOf() runOf {
	r := runOf{BatchSize: t.c.batchSize, Steps: t.source.steps()}
	if s, ok := t.source.(*loaderSource); ok {
		r.BatchSize, r.Examples, r.Sample = s.batchSize, s.arrays.N(), sampleOf(s.arrays)
	}
	return r
}

// sampleOf returns a digest of some of the examples.
func sampleOf(s *data.ArraySource) uint64 {
	h, b := fnv.New64a(), s.All()
	for _, part := range []data.Tensors{b.X, b.Y, b.SampleWeight} {
		for _, a := range part.Arrays {
			fmt.Fprintln(h, a.DType(), a.Shape())
			if s.N() == 0 {
				continue
			}
			row := len(a.Data) / s.N()
			for i := range min(sampledRows, s.N()) {
				at := i * s.N() / min(sampledRows, s.N()) * row
				h.Write(a.Data[at : at+row])
			}
		}
	}
	return h.Sum64()
}

// addRun adds the run's own members to its backup.
func (t *trainer) addRun(to []saving.Member) ([]saving.Member, error) {
	states, err := t.callbackStates()
	if err != nil {
		return nil, err
	}
	if to, err = addText(to, backupCallbacks, states); err != nil {
		return nil, err
	}
	return addText(to, backupRun, t.runOf())
}

// addText adds a JSON member.
func addText(to []saving.Member, name string, value any) ([]saving.Member, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return append(to, saving.Member{Name: name, Array: data.Must(data.ArrayOf(text, len(text)))}), nil
}

// text decodes a JSON member, and reports whether the backup has it.
func (b *backupFile) text(name string, to any) (bool, error) {
	a, err := b.read(name)
	if err != nil || a.IsZero() {
		return false, err
	}
	text, ok := a.Elements().([]uint8)
	if !ok {
		return true, fmt.Errorf("the member %q is no text", name)
	}
	if err := json.Unmarshal(text, to); err != nil {
		return true, fmt.Errorf("the member %q: %w", name, err)
	}
	return true, nil
}

// checkRun compares the data that a backup was trained on with the data of this run. In the middle of an epoch they
// must be equal, because the rest of the epoch would otherwise consist of other examples. At the end of an epoch a
// difference is only logged.
func (t *trainer) checkRun(was runOf, at callbacks.Progress) error {
	is := t.runOf()
	if was.Steps < 0 || is.Steps < 0 { // one of them has not reached the end of its data yet
		was.Steps, is.Steps = -1, -1
	}
	if was == is {
		return nil
	}
	how := fmt.Sprintf("was made by a run on %v, and this one is on %v", was, is)
	if was.String() == is.String() {
		how = fmt.Sprintf("was made by a run on other data than this one, though they are as many: %v", is)
	}
	if at.Done > 0 {
		return fmt.Errorf("it %s; it is from the middle of epoch %d, which can only continue with the same ones: give the same data and batch size, or remove the backup", how, at.Epoch)
	}
	_, err := fmt.Fprintf(t.m.Output(), "The backup %s; going on from it after %d epochs all the same.\n", how, at.Epoch)
	return err
}

// sayIfDone logs that a run continues from a position after its last epoch, so that nothing is left to train.
func (t *trainer) sayIfDone() error {
	if p := t.now.resume; p == nil || p.Epoch == 0 || p.Epoch < t.c.epochs || t.c.verbose == 0 {
		return nil
	}
	_, err := fmt.Fprintf(t.m.Output(), "Nothing is trained: %d epochs are done already, and this run ends after %d; give more epochs to continue, or remove the backup to start over.\n",
		t.now.resume.Epoch, t.c.epochs)
	return err
}

// restoreCallbacks restores the state that callbacks had in a backup which one of them has loaded. With several workers
// the chief's state counts (takeCallbacks), whatever each worker found itself: another backup, or none.
func (t *trainer) restoreCallbacks() error {
	if t.now.resume == nil {
		t.now.remembered = nil // nobody resumes from what was loaded
	}
	if t.workers != nil {
		return nil
	}
	states := t.now.remembered
	t.now.remembered = nil
	return setCallbackStates(t.all, states)
}

// backupsLast moves callbacks that make backups behind the others, which have then finished their work at the end of an
// epoch.
func backupsLast(list []callbacks.Callback) []callbacks.Callback {
	var others, backups []callbacks.Callback
	for _, c := range list {
		if _, ok := c.(*callbacks.BackupAndRestore); ok {
			backups = append(backups, c)
		} else {
			others = append(others, c)
		}
	}
	return append(others, backups...)
}
