package keras

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Members of a backup beside the weights, which have their paths as names.
const (
	backupOptimizer = "optimizer/%d"      // its variables, in Keras's file order
	backupProgress  = "training/progress" // epoch, batch, steps, batches done; and where it is known the epoch and batches of the pass over the data
	backupMetrics   = "training/metrics"  // (replicas, bytes) the metrics of the epoch so far
)

// SaveBackup writes to a NumPy archive everything that a run needs to resume after a crash: all weights, the
// optimizer's variables, the step count (random layers draw from it), and how far the run has come. The file is written
// under a temporary name and renamed.
func (m *Model) SaveBackup(path string, at callbacks.Progress) error {
	names, vars, err := m.backupVariables()
	if err == nil {
		err = m.settle() // the count of steps is then that of the weights
	}
	if err != nil {
		return prefixed("SaveBackup", err)
	}
	values, err := readAll(vars)
	if err != nil {
		return prefixed("SaveBackup", err)
	}
	progress := []int64{int64(at.Epoch), int64(at.Batch), int64(m.steps), int64(at.Done)}
	run := m.lastRun()
	known := run.at.HasPass && run.at.Epoch == at.Epoch && run.at.Done == at.Done
	if known {
		progress = append(progress, int64(run.at.PassEpoch), int64(run.at.PassDone))
	}
	t := data.Tensors{Names: []string{backupProgress}, Arrays: []data.Array{data.Must(data.ArrayOf(progress, len(progress)))}}
	for i, a := range values {
		if a.Type.Shape.Size() == 0 {
			continue // nothing to keep, and the arrays of the archive cannot be empty
		}
		d := a
		if a.DType().IsHalf() { // which files of NumPy have no type for, or no exact one
			var err error
			if d, err = a.Convert(ir.Float32); err != nil {
				return fmt.Errorf("keras: SaveBackup: %s: %w", names[i], err)
			}
		}
		t.Names, t.Arrays = append(t.Names, names[i]), append(t.Arrays, d)
	}
	if known && at.Done > 0 {
		measured, err := m.measuresSoFar()
		if err != nil {
			return prefixed("SaveBackup", err)
		}
		if len(measured.data) > 0 {
			d := data.Must(data.ArrayOf(measured.data, measured.replicas, len(measured.data)/measured.replicas))
			t.Names, t.Arrays = append(t.Names, backupMetrics), append(t.Arrays, d)
		}
	}
	if run.fit != nil {
		if err := run.fit.addRun(&t); err != nil {
			return prefixed("SaveBackup", err)
		}
	}
	return data.SaveNPZ(path, t)
}

// TakePartInBackup is the counterpart of SaveBackup on workers that write no files. It is needed if the state of the
// optimizer is sharded over the workers, because the chief then needs the pieces of all.
func (m *Model) TakePartInBackup() error {
	if !m.readingMeets() {
		return nil
	}
	_, vars, err := m.backupVariables()
	if err == nil {
		err = m.settle()
	}
	for _, v := range vars {
		if err == nil && (v.Sharded() || m.onManyHosts()) {
			_, err = v.Value()
		}
	}
	if err != nil {
		return prefixed("TakePartInBackup", err)
	}
	return nil
}

// onManyHosts reports whether several processes run the replicas of the model together, on devices of which each has a
// part: variables may lie in parts on all of them.
func (m *Model) onManyHosts() bool { return m.strategy.Placement().Hosts != nil }

// readingMeets reports whether the model, or its optimizer, has state that is divided over several processes, which
// must read it together.
func (m *Model) readingMeets() bool {
	if m.onManyHosts() {
		return true
	}
	if distribute.WorkersOf(m.strategy) == nil || m.compiled == nil {
		return false
	}
	_, vars, err := m.backupVariables()
	return err == nil && slices.ContainsFunc(vars, func(v *distribute.Variable) bool { return v.Sharded() && v.ReadingMeets() })
}

// LoadBackup restores what SaveBackup wrote for the same model and optimizer. If something does not fit, nothing is
// changed.
func (m *Model) LoadBackup(path string) (callbacks.Progress, error) {
	t, err := data.LoadNPZ(path)
	if err != nil {
		return callbacks.Progress{}, err
	}
	fail := func(err error) (callbacks.Progress, error) {
		return callbacks.Progress{}, fmt.Errorf("keras: LoadBackup: %s: %w", path, err)
	}
	var numbers []int64
	if d := t.Get(backupProgress); !d.IsZero() {
		numbers, _ = d.Elements().([]int64)
	}
	if len(numbers) != 4 && len(numbers) != 6 {
		return fail(fmt.Errorf("the file has no member %q with four or six numbers; expected a file of SaveBackup", backupProgress))
	}
	for _, n := range numbers {
		if n < 0 || n > math.MaxInt32 && n != numbers[2] || n > math.MaxUint32 {
			return fail(fmt.Errorf("the member %q holds %d, which is no count; expected a file of SaveBackup", backupProgress, numbers))
		}
	}
	names, vars, err := m.backupVariables()
	if err != nil {
		return fail(err)
	}
	values := make([]kernels.Array, len(vars))
	for i, v := range vars {
		if values[i], err = backupValue(t, names[i], v); err != nil {
			return fail(err)
		}
	}
	extra := 1
	measured, found := m.backupMeasures(t)
	if found {
		extra++
	}
	var states []callbackState
	if found, err = readMember(t, backupCallbacks, &states); err != nil {
		return fail(err)
	} else if found {
		extra++
	}
	at := callbacks.Progress{Epoch: int(numbers[0]), Batch: int(numbers[1]), Done: int(numbers[3])}
	var was runOf
	if found, err = readMember(t, backupRun, &was); err != nil {
		return fail(err)
	} else if found {
		extra++
	}
	if t.Len() > len(vars)+extra {
		return fail(fmt.Errorf("the file has %d variables, the model and its optimizer %d; expected a backup of the same model%s", t.Len()-extra, len(vars), sameFrozen))
	}
	run := m.lastRun()
	if found && run.fit != nil {
		if err := run.fit.checkRun(was, at); err != nil {
			return fail(err)
		}
	}
	if err := m.writeAll(vars, values); err != nil {
		return fail(err)
	}
	m.steps = uint32(numbers[2])
	run.remembered, run.restored, run.measures = states, nil, measured
	if len(numbers) == 6 {
		run.restored = &progress{Epoch: int(numbers[0]), Done: int(numbers[3]), PassEpoch: int(numbers[4]), PassDone: int(numbers[5]), HasPass: true,
			Measured: measured.replicas > 0}
	}
	return at, nil
}

// backupVariables lists all variables of model and optimizer with their names in a backup.
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
	for _, v := range vars { // models inside the model may have paths in common
		names = append(names, uniqueName(v.Path(), taken))
	}
	for i, v := range m.compiled.optimizerVariables() {
		vars, names = append(vars, v), append(names, fmt.Sprintf(backupOptimizer, i))
	}
	return names, vars, nil
}

// backupMeasures returns the metrics of a backup where they are those of this model, and whether the backup has any.
func (m *Model) backupMeasures(t data.Tensors) (out measures, found bool) {
	d := t.Get(backupMetrics)
	if d.IsZero() {
		return out, false
	}
	bytes, ok := d.Elements().([]uint8)
	if shape := d.Shape(); ok && len(shape) == 2 && shape[0] > 0 && len(bytes) == shape[0]*bytesOf(m.metricVariables()) {
		out = measures{shape[0], bytes}
	}
	return out, true
}

func backupValue(t data.Tensors, name string, v *distribute.Variable) (kernels.Array, error) {
	if v.Type().Shape.Size() == 0 {
		return kernels.NewArray(v.Type()), nil
	}
	d := t.Get(name)
	if d.IsZero() {
		return kernels.Array{}, fmt.Errorf("the file has no %q; expected a backup of the same model%s", name, sameFrozen)
	}
	a, err := d, d.Check()
	if err == nil && len(v.Type().Shape) == 0 && a.Type.Shape.Size() == 1 {
		a.Type.Shape = nil // a scalar is stored as a list of one
	}
	if err == nil && !a.Type.Shape.Equal(v.Type().Shape) {
		err = fmt.Errorf("%q has shape %v, %s here has shape %v; expected a backup of the same model%s", name, a.Type.Shape, v.Path(), v.Type().Shape, sameFrozen)
	}
	return a, err
}

// sameFrozen is what else must be the same: optimizers have variables for the weights that are trained.
const sameFrozen = " and optimizer, made with the same layers frozen (SetTrainable before Compile)"
