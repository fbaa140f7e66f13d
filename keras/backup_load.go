package keras

import (
	"fmt"
	"io"
	"math"
	"os"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/atomicfile"
)

// LoadBackup restores what SaveBackup wrote for the same model and optimizer. If something does not fit, or the file is
// damaged, nothing is changed. Values are read to where they belong, so that a model which fits into memory can be
// restored there.
func (m *Model) LoadBackup(path string) (callbacks.Progress, error) {
	at, err := m.loadBackup(path)
	if err != nil {
		return callbacks.Progress{}, fmt.Errorf("keras: LoadBackup: %w", atomicfile.Named(path, err))
	}
	return at, nil
}

func (m *Model) loadBackup(path string) (at callbacks.Progress, err error) {
	f, err := os.Open(path)
	if err != nil {
		return at, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return at, err
	}
	return m.readBackup(f, info.Size())
}

// backupFile is a backup that is open for reading.
type backupFile struct {
	*data.NPZ
	numbers map[string]int // of its members
	seen    int            // members that were looked for and found
}

// find returns the number of a member, and whether there is one.
func (b *backupFile) find(name string) (int, bool) {
	i, ok := b.numbers[name]
	if ok {
		b.seen++
	}
	return i, ok
}

// read reads a member; the zero Array if there is none.
func (b *backupFile) read(name string) (data.Array, error) {
	i, ok := b.find(name)
	if !ok {
		return data.Array{}, nil
	}
	return b.Read(i)
}

func (m *Model) readBackup(r io.ReaderAt, size int64) (at callbacks.Progress, err error) {
	file, err := data.OpenNPZ(r, size)
	if err != nil {
		return at, err
	}
	b := &backupFile{NPZ: file, numbers: map[string]int{}}
	for i, name := range file.Names {
		b.numbers[name] = i
	}
	numbers, err := b.progress()
	if err != nil {
		return at, err
	}
	names, vars, err := m.backupVariables()
	if err != nil {
		return at, err
	}
	where := make([]int, len(vars))
	for i, v := range vars {
		if where[i], err = b.valueOf(names[i], v); err != nil {
			return at, err
		}
	}
	measured, err := m.backupMeasures(b)
	if err != nil {
		return at, err
	}
	var states []callbackState
	if _, err := b.text(backupCallbacks, &states); err != nil {
		return at, err
	}
	var was runOf
	hasRun, err := b.text(backupRun, &was)
	if err != nil {
		return at, err
	}
	if more := len(b.Names) - b.seen; more > 0 {
		return at, fmt.Errorf("the file has %d variables, the model and its optimizer %d; expected a backup of the same model%s", len(vars)+more, len(vars), sameFrozen)
	}
	at = callbacks.Progress{Epoch: int(numbers[0]), Batch: int(numbers[1]), Done: int(numbers[3])}
	run := m.lastRun()
	if hasRun && run.fit != nil {
		if err := run.fit.checkRun(was, at); err != nil {
			return at, err
		}
	}
	if err := m.readValues(b, vars, where); err != nil {
		return at, err
	}
	m.steps = uint32(numbers[2])
	run.remembered, run.restored, run.measures = states, nil, measured
	if len(numbers) == 6 {
		run.restored = &progress{Epoch: int(numbers[0]), Done: int(numbers[3]), PassEpoch: int(numbers[4]), PassDone: int(numbers[5]), HasPass: true,
			Measured: measured.replicas > 0}
	}
	return at, nil
}

// progress reads how far the run had come.
func (b *backupFile) progress() (numbers []int64, err error) {
	a, err := b.read(backupProgress)
	if err != nil {
		return nil, err
	}
	if !a.IsZero() {
		numbers, _ = a.Elements().([]int64)
	}
	if len(numbers) != 4 && len(numbers) != 6 {
		return nil, fmt.Errorf("the file has no member %q with four or six numbers; expected a file of SaveBackup", backupProgress)
	}
	for _, n := range numbers {
		if n < 0 || n > math.MaxInt32 && n != numbers[2] || n > math.MaxUint32 {
			return nil, fmt.Errorf("the member %q holds %d, which is no count; expected a file of SaveBackup", backupProgress, numbers)
		}
	}
	return numbers, nil
}

// valueOf returns the number of the member that has a variable's value; -1 for one without elements.
func (b *backupFile) valueOf(name string, v *distribute.Variable) (int, error) {
	shape := v.Type().Shape
	if shape.Size() == 0 {
		return -1, nil
	}
	i, ok := b.find(name)
	if !ok {
		return 0, fmt.Errorf("the file has no %q; expected a backup of the same model%s", name, sameFrozen)
	}
	t, err := b.Type(i)
	if err == nil && !t.Shape.Equal(shape) && (len(shape) > 0 || t.Shape.Size() != 1) { // a scalar may be stored as a list of one
		err = fmt.Errorf("%q has shape %v, %s here has shape %v; expected a backup of the same model%s", name, t.Shape, v.Path(), shape, sameFrozen)
	}
	return i, err
}

// backupMeasures returns the metrics of a backup where they are those of this model.
func (m *Model) backupMeasures(b *backupFile) (out measures, err error) {
	a, err := b.read(backupMetrics)
	if err != nil || a.IsZero() {
		return out, err
	}
	bytes, ok := a.Elements().([]uint8)
	if shape := a.Shape(); ok && len(shape) == 2 && shape[0] > 0 && len(bytes) == shape[0]*bytesOf(m.metricVariables()) {
		out = measures{shape[0], bytes}
	}
	return out, nil
}

// readValues gives variables their values. Steps wait meanwhile.
func (m *Model) readValues(b *backupFile, vars distribute.Variables, where []int) error {
	m.values.Lock()
	defer m.values.Unlock()
	var scratch []byte
	for i, v := range vars {
		if where[i] < 0 {
			continue
		}
		t, err := b.Type(where[i])
		if err == nil {
			err = v.ReadValue(t.DType, func(memory []byte) error { return b.ReadInto(where[i], memory) }, &scratch)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sameFrozen is what else must be the same: optimizers have variables for the weights that are trained.
const sameFrozen = " and optimizer, made with the same layers frozen (SetTrainable before Compile)"
