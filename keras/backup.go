package keras

import (
	"fmt"
	"io"
	"slices"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/keras/saving"
)

// Members of a backup besides the weights, whose names are their paths.
const (
	backupOptimizer = "optimizer/%d"      // its variables, in Keras's file order
	backupProgress  = "training/progress" // epoch, batch, steps, batches done; if known, also the epoch and batches of the pass over the data
	backupMetrics   = "training/metrics"  // (replicas, bytes) the metrics of the epoch so far
	backupMeasured  = "training/measured" // JSON: the metrics that these numbers belong to
)

// SaveBackup writes to a NumPy archive everything that a run needs to resume after a crash: all weights, the
// optimizer's variables, the step count (random layers draw from it), and the position in the run. The file is written
// under a temporary name and renamed.
func (m *Model) SaveBackup(path string, at callbacks.Progress) error {
	names, vars, err := m.backupVariables()
	if err == nil {
		err = m.settle() // afterwards the step count matches the weights
	}
	if err != nil {
		return prefixed("SaveBackup", err)
	}
	progress := []int64{int64(at.Epoch), int64(at.Batch), int64(m.steps), int64(at.Done)}
	run := m.lastRun()
	known := run.at.HasPass && run.at.Epoch == at.Epoch && run.at.Done == at.Done
	if known {
		progress = append(progress, int64(run.at.PassEpoch), int64(run.at.PassDone))
	}
	members := []saving.Member{{Name: backupProgress, Array: data.Must(data.ArrayOf(progress, len(progress)))}}
	if members, err = m.backupMembers(members, names, vars); err != nil {
		return prefixed("SaveBackup", err)
	}
	if known && at.Done > 0 {
		measured, err := m.measuresOfRun(run)
		if err != nil {
			return prefixed("SaveBackup", err)
		}
		if len(measured.data) > 0 {
			d := data.Must(data.ArrayOf(measured.data, measured.replicas, len(measured.data)/measured.replicas))
			members = append(members, saving.Member{Name: backupMetrics, Array: d})
			if members, err = addText(members, backupMeasured, m.measuredVariables()); err != nil {
				return prefixed("SaveBackup", err)
			}
		}
	}
	if run.fit != nil {
		if members, err = run.fit.addRun(members); err != nil {
			return prefixed("SaveBackup", err)
		}
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { return saving.WriteMembers(w, members) }); err != nil {
		return prefixed("SaveBackup", atomicfile.Named(path, err))
	}
	return nil
}

// measuresOfRun returns the metrics of the epoch so far. During a validation they are those that were set aside.
func (m *Model) measuresOfRun(run *fitRun) (measures, error) {
	if run.validating != nil {
		return *run.validating, nil
	}
	return m.measuresSoFar()
}

// backupMembers adds variables to the members of a backup. Most are read when the file is written, so no memory is
// needed for a copy of all. Variables that several processes must read together are read now, because a full disk ends
// the writing in this process alone.
func (m *Model) backupMembers(to []saving.Member, names []string, vars distribute.Variables) ([]saving.Member, error) {
	for i, v := range vars {
		if v.Size() == 0 {
			continue // nothing to store, and arrays of the archive cannot be empty
		}
		// NumPy files have no type, or no exact type, for some of the smaller floats.
		member := saving.Member{Name: names[i], Variable: v, Widen: v.Type().DType.IsHalf()}
		if v.ReadingMeets() {
			a, err := v.Value()
			if err != nil {
				return nil, err
			}
			member.Variable, member.Array = nil, a
		}
		to = append(to, member)
	}
	return to, nil
}

// TakePartInBackup is the counterpart of SaveBackup on workers that write no files. It is needed if the optimizer's
// state is sharded over the workers: the chief then needs the shards of all.
func (m *Model) TakePartInBackup() error {
	if !m.readingMeets() {
		return nil
	}
	_, vars, err := m.backupVariables()
	if err == nil {
		err = m.settle()
	}
	for _, v := range vars {
		if err == nil && v.ReadingMeets() {
			_, err = v.Value()
		}
	}
	if err != nil {
		return prefixed("TakePartInBackup", err)
	}
	return nil
}

// onManyHosts reports whether several processes run the model's replicas together, each on some of the devices.
// Variables may then be divided among all processes.
func (m *Model) onManyHosts() bool { return m.strategy.Placement().Hosts != nil }

// readingMeets reports whether the model or its optimizer has state that is divided over several processes, so that
// they must read it together.
func (m *Model) readingMeets() bool {
	if m.onManyHosts() {
		return true
	}
	if distribute.WorkersOf(m.strategy) == nil || m.compiled == nil {
		return false
	}
	_, vars, err := m.backupVariables()
	return err == nil && slices.ContainsFunc(vars, (*distribute.Variable).ReadingMeets)
}

// backupVariables lists all variables of the model and optimizer with their names in a backup.
func (m *Model) backupVariables() ([]string, distribute.Variables, error) {
	if m.compiled == nil {
		return nil, nil, m.errNotCompiled("a backup")
	}
	if err := m.prepareOptimizer(); err != nil {
		return nil, nil, err
	}
	vars := append(distribute.Variables{}, m.Weights()...)
	if len(vars) == 0 {
		return nil, nil, fmt.Errorf("model %q has no weights; build it first, with InputShape, Build or Fit", m.Name())
	}
	names, taken := make([]string, 0, len(vars)), map[string]bool{}
	for _, v := range vars { // nested models may have equal paths
		names = append(names, uniqueName(v.Path(), taken))
	}
	for i, v := range m.compiled.optimizerVariables() {
		vars, names = append(vars, v), append(names, fmt.Sprintf(backupOptimizer, i))
	}
	return names, vars, nil
}
