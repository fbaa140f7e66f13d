package keras

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels/cpu/rows"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
)

// RefuseNaN makes Fit, Evaluate, Predict, TrainOnBatch and TestOnBatch fail at the first batch whose inputs, targets or
// sample weights hold a NaN, with the number of the batch, the name of the array and the position in it. Without it
// they report this once per call, TrainOnBatch and TestOnBatch once per model, on their ProgressOutput, and Fit checks
// only the batches of its first epoch.
func RefuseNaN() CallOption {
	return callOption(func(c *fitConfig) { c.refuseNaN = true })
}

// inputCheck is the state of Fit's checks of its data.
type inputCheck struct {
	epoch, step int  // of the current batch
	labels      bool // the labels of a batch have been checked
	nan         nanCheck
}

// nanCheck looks for NaN in the batches of a call.
type nanCheck struct {
	refuse bool
	told   bool
	output io.Writer // nil is standard output

	toldCut bool // reported sample weights that a metric truncates
}

func (c *fitConfig) nanCheck() nanCheck { return nanCheck{refuse: c.refuseNaN, output: c.output} }

// look finds the first NaN of a batch, and returns an error or prints one line: where says which batch it is, then what
// follows from it. It reads memory that is about to be copied anyway, and allocates nothing unless there is a NaN.
func (k *nanCheck) look(m *Model, p *parts, where func() string, then string) error {
	k.lookAtWeights(m, p, where)
	if k.told && !k.refuse || p.prepared != nil && p.prepared.clean {
		return nil
	}
	for i := range p.len() {
		at, err := firstNaN(*p.at(i))
		if err != nil {
			return fmt.Errorf("%s: %w", p.label(i), err)
		}
		if at >= 0 {
			return k.tell(fmt.Sprintf("%s has a NaN (element %d of %v)", m.nameOf(p, i), at, layers.ShapeString(p.at(i).Shape())), where(), then)
		}
	}
	return nil
}

func (k *nanCheck) tell(what, where, then string) error {
	if k.refuse {
		return fmt.Errorf("%s; leave such examples out, or put numbers in their place", what)
	}
	k.told = true
	fmt.Fprintf(k.lines(), "%s: %s: %s; keras.RefuseNaN makes this an error\n", where, what, then)
	return nil
}

// lines returns the writer for notices.
func (k *nanCheck) lines() io.Writer {
	if k.output != nil {
		return k.output
	}
	return os.Stdout
}

// What a NaN leads to.
const (
	spoilsTraining   = "the loss and all weights will be NaN"
	spoilsScores     = "the loss will be NaN"
	spoilsPrediction = "what is predicted for this example will be NaN"
)

// lookAtBatch finds numbers in a batch that could only spoil training.
func (t *trainer) lookAtBatch() error {
	if !t.check.labels {
		t.check.labels = true
		if err := t.m.checkLabels(&t.parts); err != nil {
			return err
		}
	}
	if !t.c.refuseNaN && (t.check.nan.told || t.check.epoch != t.c.initialEpoch) {
		looksForNaN(t.source, false)
		return nil
	}
	return t.check.nan.look(t.m, &t.parts, t.where, spoilsTraining)
}

func (t *trainer) where() string {
	return fmt.Sprintf("epoch %d: batch %d", t.check.epoch+1, t.check.step)
}

// nameOf returns the name of array i of a batch.
func (m *Model) nameOf(p *parts, i int) string {
	if fed := m.fed(); i < len(p.x) && len(fed) == len(p.x) && fed[i].Name() != "" {
		return fmt.Sprintf("input %q", fed[i].Name())
	}
	if at := i - len(p.x); at >= 0 && at < len(p.y) && m.compiled != nil {
		for _, o := range m.compiled.outputs {
			if o.target == at {
				return fmt.Sprintf("the target of output %q", o.name)
			}
		}
	}
	return p.label(i)
}

// firstNaN returns the index of the first NaN, or -1.
func firstNaN(a data.Array) (int, error) {
	if a.IsZero() || a.DType() != ir.Float32 && a.DType() != ir.Float64 {
		return -1, nil
	}
	raw := a.Data
	long := len(raw) > 512 // comparing a few numbers one by one is faster than adding them up
	if a.DType() == ir.Float32 {
		if long && rows.NoNaN(raw, 4) || !holdsNaN32(raw) {
			return -1, nil
		}
		return placeOfNaN(a), nil
	}
	if long && rows.NoNaN(raw, 8) || !holdsNaN64(raw) {
		return -1, nil
	}
	return placeOfNaN(a), nil
}

// placeOfNaN returns the index of the first element that is not equal to itself.
func placeOfNaN(a data.Array) int {
	for i := range a.Len() {
		if v := a.Element(i); v != v {
			return i
		}
	}
	return -1
}

// holdsNaN32 checks two numbers at a time. It clears the signs and adds the largest fraction: for NaN, whose bits are
// above those of infinity, the sum carries into the sign bit.
func holdsNaN32(raw []byte) bool {
	const size, fraction, sign = 0x7fffffff7fffffff, 0x007fffff007fffff, 0x8000000080000000
	var found uint64
	for ; len(raw) >= 32; raw = raw[32:] {
		found |= binary.LittleEndian.Uint64(raw)&size + fraction
		found |= binary.LittleEndian.Uint64(raw[8:])&size + fraction
		found |= binary.LittleEndian.Uint64(raw[16:])&size + fraction
		found |= binary.LittleEndian.Uint64(raw[24:])&size + fraction
	}
	for ; len(raw) >= 4; raw = raw[4:] {
		found |= uint64(binary.LittleEndian.Uint32(raw))&(size>>32) + fraction>>32
	}
	return found&sign != 0
}

// holdsNaN64 is holdsNaN32 for numbers of 64 bits.
func holdsNaN64(raw []byte) bool {
	const size, fraction, sign = 1<<63 - 1, 1<<52 - 1, 1 << 63
	var found uint64
	for ; len(raw) >= 8; raw = raw[8:] {
		found |= binary.LittleEndian.Uint64(raw)&size + fraction
	}
	return found&sign != 0
}

// checkLabels finds labels of -1 and +1 for losses that expect 0 and 1: training would run, but learn nothing useful.
func (m *Model) checkLabels(p *parts) error {
	for _, o := range m.compiled.outputs {
		switch o.loss.(type) {
		case *losses.BinaryCrossentropy, *losses.BinaryFocalCrossentropy:
		default:
			continue
		}
		if o.target < 0 || o.target >= len(p.y) || p.y[o.target].IsZero() {
			continue
		}
		signs := false
		switch y := p.y[o.target].Elements().(type) {
		case []float32:
			signs = areSigns(y)
		case []float64:
			signs = areSigns(y)
		case []int:
			signs = areSigns(y)
		case []int8:
			signs = areSigns(y)
		case []int32:
			signs = areSigns(y)
		case []int64:
			signs = areSigns(y)
		}
		if signs {
			return fmt.Errorf("the labels of output %q are -1 and +1, and %s takes 0 and 1; turn them into (y+1)/2, or use the loss \"hinge\"", o.name, o.loss.LossName())
		}
	}
	return nil
}

// areSigns reports whether all numbers are -1 or 1, with at least one -1.
func areSigns[T int | int8 | int32 | int64 | float32 | float64](values []T) bool {
	negative := false
	for _, v := range values {
		if v != 1 && v != -1 {
			return false
		}
		negative = negative || v < 0
	}
	return negative
}
