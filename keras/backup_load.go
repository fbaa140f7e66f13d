package keras

import (
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/atomicfile"
)

// LoadBackup restores what SaveBackup wrote for the same model and optimizer. If something does not fit, or the file is
// damaged, nothing is changed. Values are read directly into the variables, so a model that fits into memory can be
// restored.
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
	numbers map[string]int // index of each member
	seen    int            // number of members that were looked for and found
}

// find returns the index of a member, and whether it exists.
func (b *backupFile) find(name string) (int, bool) {
	i, ok := b.numbers[name]
	if ok {
		b.seen++
	}
	return i, ok
}

// read reads a member. It returns the zero Array if there is none.
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
	measured, why, err := m.backupMeasures(b)
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
	if why != "" {
		_, err = fmt.Fprintf(m.Output(), "The backup's metrics of epoch %d so far are not those of this program: %s; the logs of that epoch will be of its remaining batches alone. Give the same losses and metrics to Compile to have all.\n", at.Epoch, why)
	}
	return at, err
}

// progress reads the position in the run.
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

// valueOf returns the index of the member that holds a variable's value, or -1 for a variable without elements.
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

// backupMeasures returns the metrics of a backup if they are this model's metrics; otherwise it says why not.
func (m *Model) backupMeasures(b *backupFile) (out measures, why string, err error) {
	a, err := b.read(backupMetrics)
	if err != nil || a.IsZero() {
		return out, "", err
	}
	var was []string
	is := m.measuredVariables()
	named, err := b.text(backupMeasured, &was) // older files do not have it
	if err != nil {
		return out, "", err
	}
	bytes, ok := a.Elements().([]uint8)
	shape := a.Shape()
	if !ok || len(shape) != 2 || shape[0] == 0 {
		return out, "", fmt.Errorf("the member %q has type %v; expected bytes of each replica, as SaveBackup writes them", backupMetrics, a.Type)
	}
	switch {
	case named && !slices.Equal(was, is):
		why = fmt.Sprintf("those of %s, and this program has %s", list(was), list(is))
	case len(bytes) != shape[0]*bytesOf(m.metricVariables()):
		why = fmt.Sprintf("%d bytes for each replica, and those of this program have %d", shape[1], bytesOf(m.metricVariables()))
	default:
		return measures{shape[0], bytes}, "", nil
	}
	return out, why, nil
}

// list formats names for messages.
func list(of []string) string {
	if len(of) == 0 {
		return "none"
	}
	return strings.Join(of, ", ")
}

// readValues reads the values of variables. Steps wait meanwhile.
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

// sameFrozen says what else must be equal: optimizers have variables only for the weights that are trained.
const sameFrozen = " and optimizer, made with the same layers frozen (SetTrainable before Compile)"
