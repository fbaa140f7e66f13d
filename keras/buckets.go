package keras

import (
	"encoding/binary"

	"github.com/gokeras/gokeras/keras/onnx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Predictions and evaluations of many batch sizes share programs. If the examples of a batch do not influence each
// other, a batch is padded to one of a few sizes with copies of its first example, and the results for these copies are
// dropped (ir.PaddedRows). [ir.RowWise] decides by the program whether examples are independent. The first size that a
// model sees has its own program, and so have small sizes, for which other kernels are faster.

// padsRows reports whether a batch of n examples is padded.
func (m *Model) padsRows(n int) bool {
	m.mu.Lock()
	known := &m.predictions
	if known.first == 0 {
		known.first = n
	}
	first, decided, inputs := known.first, known.rows, m.inputTypes
	m.mu.Unlock()
	if n == first || n < ir.LeastPaddedRows || len(m.strategy.Devices()) > 1 {
		return false
	}
	if decided == nil {
		decided = new(m.rowWise(inputs))
		m.mu.Lock()
		m.predictions.rows = decided
		m.mu.Unlock()
	}
	return *decided
}

// rowWise reports whether the examples of a batch are independent of each other when the model predicts.
func (m *Model) rowWise(inputs []ir.Type) bool {
	p := &onnx.Program{}
	r, err := m.traceInference(p, inputs, 0)
	if err != nil || r.Graph().ShapesOnly() != "" || r.AssignsVariables() {
		return false
	}
	return ir.RowWise(p.Trace, "batch") == nil
}

// filling says which batches of Evaluate share programs. Losses and metrics combine the examples of a batch, so the
// program is told how many of its rows are examples, and excludes the others. [ir.FillRows] decides by the program
// whether that is possible. As with predictions, the first size and small sizes have their own programs.
type filling struct {
	first int  // number of examples in the first batch
	never bool // the program cannot exclude rows
}

// wants reports whether a batch of n examples is padded. Model.training is held.
func (f *filling) wants(n int) bool {
	if f == nil || f.never {
		return false
	}
	if f.first == 0 {
		f.first = n
	}
	return n != f.first && n >= ir.LeastPaddedRows
}

// tellRows tells the program how many rows are examples.
func (f *binder) tellRows(n int) error {
	binary.LittleEndian.PutUint32(f.count[:], uint32(n))
	return f.inst.Input(0, len(f.columns)).Write(f.count[:])
}

// newTestBinder returns a binder for test steps. Batches of a user-defined step are not padded, because its code may
// look at the batch size.
func (m *Model) newTestBinder() *binder {
	f := newBinder(m.compiled.test, m.policy.Float())
	if m.compiled.testStep == nil && m.compiled.trainStep == nil {
		f.filling = &m.compiled.filling
	}
	return f
}

// fill returns memory with the given examples of column i, followed by copies of the first one.
func (f *binder) fill(i int, examples []byte) []byte {
	row := f.columns[i].row
	if f.staged[i] == nil {
		f.staged[i] = make([]byte, f.rows*row)
	}
	all := f.staged[i]
	n := copy(all, examples)
	if n < len(all) {
		n += copy(all[n:], examples[:row])
		for begin := len(examples); n < len(all); {
			n += copy(all[n:], all[begin:n])
		}
	}
	return all
}

// fillPart pads a replica's part of column i to the number of rows of the other replicas. The padding consists of
// copies of the example that like begins with.
func (f *binder) fillPart(i, replica int, part, like []byte) []byte {
	row := f.columns[i].row
	size := f.part * row
	if f.staged[i] == nil {
		f.staged[i] = make([]byte, len(f.sizes)*size)
	}
	all := f.staged[i][replica*size : (replica+1)*size]
	for n := copy(all, part); n < size; {
		n += copy(all[n:], like[:row])
	}
	return all
}
