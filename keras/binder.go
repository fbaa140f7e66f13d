package keras

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// binder moves batches from host arrays into the memory of a compiled function. It keeps the instance for the last
// shape, so a run of equal batches acquires it only once.
type binder struct {
	fn       *distribute.Function
	strategy distribute.Strategy
	float    ir.DType // type that float inputs are converted to

	inst    *distribute.Instance
	types   [][]ir.Type // that it was acquired for, by replica
	all     []int       // number of examples on each replica of all processes
	columns []column
	sizes   []int // number of examples on each replica of this process
	skip    int   // number of examples before them, which other processes take
	rows    int
	pads    bool     // batches are padded to rows; see ir.PaddedRows
	staged  [][]byte // memory of the columns of padded batches
	part    int      // rows of each replica if parts are padded; see distribute.Function.Rows
	filling *filling // which batches are padded with rows that the program excludes; nil: none
	filled  bool     // the current instance is for such batches
	count   [4]byte  // the number of examples in the batch, for the device
	planned bool     // known whether batches can be staged for the instance
	staging *staging // where they are staged then
	sized   bool     // known whether the instance has large outputs; see predicted_in_place.go
	large   bool     // the instance has large outputs
	key     uint64   // see binderPool

	onCompile func(*distribute.Instance)
}

// column is one array of the batch.
type column struct {
	host  ir.DType // of the host array
	shape []int    // of one example
	types ir.Type  // on the device, of one example
	row   int      // bytes of one example in host memory
	other []byte   // examples in the device's type, if its memory is not the host's
}

func newBinder(fn *distribute.Function, float ir.DType) *binder {
	return &binder{fn: fn, strategy: distribute.StrategyOf(fn), float: float}
}

// parts lists the arrays of a batch that a function takes, in the function's order.
type parts struct {
	x, y, w []data.Array
	own     [3][]data.Array // memory for x, y and w if their order is not that of the batch

	keyed    []rowBatch // rows that dynamic embeddings have looked up
	rowsFrom rowSource  // where they are looked up; nil: in this process

	batch    *data.Batch
	ahead    *ahead         // of the batch's source; nil: nobody prepares batches
	prepared *preparedBatch // what was prepared for this batch
}

// label returns the name of array i in errors.
func (p *parts) label(i int) string {
	if i < len(p.x) {
		return fmt.Sprintf("input %d", i)
	}
	if i -= len(p.x); i < len(p.y) {
		return fmt.Sprintf("target %d", i)
	}
	return fmt.Sprintf("sample weight %d", i-len(p.y))
}

func (p *parts) len() int { return len(p.x) + len(p.y) + len(p.w) }

// rows returns the number of examples, or 0 if no array determines it.
func (p *parts) rows() int {
	if p.len() == 0 {
		return 0
	}
	if shape := p.at(0).Type.Shape; len(shape) > 0 {
		return shape[0]
	}
	return 0
}

func (p *parts) at(i int) *data.Array {
	if i < len(p.x) {
		return &p.x[i]
	}
	if i -= len(p.x); i < len(p.y) {
		return &p.y[i]
	}
	return &p.w[i-len(p.y)]
}

// unequalRows is the error for an array of n examples beside an input with another number.
func (p *parts) unequalRows(i, n int) error {
	hint := ""
	if len(p.at(0).Shape()) == 1 {
		hint = " (a dataset of single examples needs Batch)"
	}
	return fmt.Errorf("%s has %d examples and input 0 has %d; all arrays of a batch need the same number%s", p.label(i), n, p.rows(), hint)
}

// types returns the types of inputs and targets in a program.
func (p *parts) types(float ir.DType) (x, y []ir.Type, err error) {
	all := make([]ir.Type, len(p.x)+len(p.y))
	for i := range all {
		if all[i], err = deviceType(*p.at(i), float); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.label(i), err)
		}
	}
	return all[:len(p.x):len(p.x)], all[len(p.x):], nil
}

// loadRows copies n examples, beginning with number first, into the program, and returns the instance to run.
func (f *binder) loadRows(p *parts, first, n int) (*distribute.Instance, error) {
	if !f.fits(p, n) {
		if err := f.acquire(p, n); err != nil {
			return nil, err
		}
	}
	return f.copyRows(p, first, n)
}

// copyRows is loadRows for examples that fit the current instance.
func (f *binder) copyRows(p *parts, first, n int) (*distribute.Instance, error) {
	if f.filled {
		if err := f.tellRows(n); err != nil {
			return nil, err
		}
	}
	for i := range f.columns {
		raw := p.at(i).Data
		if n < f.rows && (f.pads || f.filled) {
			if err := f.columns[i].write(f.inst.Input(0, i), f.fill(i, raw[first*f.columns[i].row:(first+n)*f.columns[i].row])); err != nil {
				return nil, err
			}
			continue
		}
		from := first + f.skip
		for replica, n := range f.sizes {
			part := raw[from*f.columns[i].row : (from+n)*f.columns[i].row]
			if n < f.part {
				part = f.fillPart(i, replica, part, raw[first*f.columns[i].row:])
			}
			if err := f.columns[i].write(f.inst.Input(replica, i), part); err != nil {
				return nil, err
			}
			from += n
		}
	}
	return f.inst, nil
}

// fits reports whether n examples of the batch have the shapes that the current instance was compiled for.
func (f *binder) fits(p *parts, n int) bool {
	return f.inst != nil && f.matches(p, n)
}

// matches is fits for the instance that the binder had last.
func (f *binder) matches(p *parts, n int) bool {
	if p.len() != len(f.columns) || f.filled != f.filling.wants(n) || n != f.rows && !((f.pads || f.filled) && ir.PaddedRows(n) == f.rows) {
		return false
	}
	rows := p.rows()
	for i := range f.columns {
		if !f.columns[i].holds(p.at(i), rows) {
			return false
		}
	}
	return true
}

// holds reports whether an array has the given number of examples of the column's type.
func (c *column) holds(a *data.Array, rows int) bool {
	shape := a.Type.Shape
	return a.Type.DType == c.host && len(a.Data) == rows*c.row && len(shape) == len(c.shape)+1 && shape[0] == rows && slices.Equal(shape[1:], c.shape)
}

// layout describes how a batch is distributed over the replicas.
type layout struct {
	columns []column
	types   [][]ir.Type // of each replica of this process
	all     []int       // number of examples on each replica of all processes
	first   int         // index of the first replica of this process
	sizes   []int       // number of examples on each replica of this process
	rows    []int       // rows that their memory holds
}

// layout computes how n examples are distributed over the replicas.
func (f *binder) layout(p *parts, n int) (*layout, error) {
	if p.len() == 0 || p.at(0).IsZero() || len(p.at(0).Shape()) == 0 {
		return nil, fmt.Errorf("the batch has no input with an axis of examples; expected arrays (batch, ...)")
	}
	l := &layout{columns: make([]column, p.len())}
	l.all, l.first = f.fn.Split(n)
	end := l.first + len(f.strategy.Devices())
	l.sizes, l.rows = l.all[l.first:end], f.fn.Rows(l.all)[l.first:end]
	l.types = make([][]ir.Type, len(l.sizes))
	rows := p.rows()
	for i := range l.columns {
		a := p.at(i)
		t, err := deviceType(*a, f.float)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.label(i), err)
		}
		if t.Shape[0] != rows {
			return nil, p.unequalRows(i, t.Shape[0])
		}
		size := a.DType().Size() * t.Shape[1:].Size()
		l.columns[i] = column{host: a.DType(), shape: t.Shape[1:], types: ir.Type{DType: t.DType, Shape: t.Shape[1:]}, row: size}
		for r, part := range l.rows {
			l.types[r] = append(l.types[r], ir.Type{DType: t.DType, Shape: append(ir.Shape{part}, t.Shape[1:]...)})
		}
	}
	return l, nil
}

// acquire takes an instance for n examples.
func (f *binder) acquire(p *parts, n int) error {
	f.release()
	filled := f.filling.wants(n)
	examples := n
	if f.pads || filled {
		n = ir.PaddedRows(n)
	}
	l, err := f.layout(p, n)
	if err != nil {
		return err
	}
	var inst *distribute.Instance
	if filled {
		inst, err = f.fn.AcquireFilled(l.types[0], n)
		if errors.Is(err, distribute.ErrNotFilled) {
			f.filling.never = true
			return f.acquire(p, examples)
		}
	} else {
		inst, err = f.fn.AcquireSplit(l.types, l.all)
	}
	if err != nil {
		return err
	}
	f.filled, f.types, f.all = filled, l.types, l.all
	f.inst, f.columns, f.sizes, f.rows, f.skip, f.staged = inst, l.columns, l.sizes, n, 0, make([][]byte, len(l.columns))
	f.planned, f.staging, f.sized = false, nil, false
	for _, n := range l.all[:l.first] {
		f.skip += n
	}
	f.part = 0
	if !slices.Equal(l.rows, l.sizes) {
		f.part = l.rows[0]
	}
	if f.onCompile != nil && inst.CompileTime > 0 {
		f.onCompile(inst)
	}
	return nil
}

// acquireAgain takes an instance for the shapes of the one that was released.
func (f *binder) acquireAgain() (err error) {
	f.inst, err = f.fn.AcquireSplit(f.types, f.all)
	return err
}

// release returns the instance.
func (f *binder) release() {
	if f.inst == nil {
		return
	}
	f.forget()
	f.fn.Release(f.inst)
	f.inst = nil
}

// forget drops the references to the last batch's memory.
func (f *binder) forget() {
	for replica := range f.sizes {
		for i := range f.columns {
			if b, ok := f.inst.Input(replica, i).(kernels.Borrower); ok {
				_ = b.Borrow(nil) // cannot fail; batches must not be kept alive
			}
		}
	}
}

// deviceType returns the type of an array in the program: floats take the model's float type, other types stay.
func deviceType(a data.Array, float ir.DType) (ir.Type, error) {
	if err := a.Check(); err != nil {
		return ir.Type{}, err
	}
	d := a.DType()
	if d.IsFloat() {
		d = float
	}
	if len(a.Shape()) == 0 {
		return ir.Type{}, fmt.Errorf("received a scalar where a batch is needed; axis 0 must count the examples (a dataset of single examples needs Batch)")
	}
	return ir.Type{DType: d, Shape: ir.Shape(a.Shape())}, nil
}

// write makes rows the contents of a buffer. The buffer uses them in place, or receives a copy, converted if float
// types differ. So a batch that was prepared during the previous step is in its place already.
func (c *column) write(dst kernels.Buffer, src []byte) error {
	from, to := c.host, c.types.DType
	borrower, inPlace := dst.(kernels.Borrower)
	if from == to && inPlace && len(src) > 0 {
		return borrower.Borrow(src)
	}
	if from == to {
		return dst.Write(src)
	}
	if inPlace {
		if err := borrower.Borrow(nil); err != nil {
			return err
		}
	}
	memory := dst.Bytes()
	if memory == nil {
		if n := dst.Type().Bytes(); len(c.other) < n {
			c.other = make([]byte, n)
		}
		memory = c.other[:dst.Type().Bytes()]
	}
	c.convert(memory, src)
	if dst.Bytes() == nil {
		return dst.Write(memory)
	}
	return nil
}

// convert converts rows to the device's type.
func (c *column) convert(memory, src []byte) {
	le := binary.LittleEndian
	switch {
	case c.host == c.types.DType:
		copy(memory, src)
	case c.host == ir.Float64:
		for i := range len(src) / 8 {
			v := math.Float64frombits(le.Uint64(src[8*i:]))
			le.PutUint32(memory[4*i:], math.Float32bits(float32(v)))
		}
	default:
		for i := range len(src) / 4 {
			v := math.Float32frombits(le.Uint32(src[4*i:]))
			le.PutUint64(memory[8*i:], math.Float64bits(float64(v)))
		}
	}
}

// arrange puts the arrays of a batch into the order of the model's inputs and outputs.
func (m *Model) arrange(b *data.Batch, into *parts) (err error) {
	if err := m.arrangeInputs(b, into); err != nil {
		return err
	}
	into.y, into.w = b.Y.Arrays, b.SampleWeight.Arrays
	if b.Y.Names == nil && b.SampleWeight.Names == nil {
		return nil
	}
	outputs := m.topology.outputNames()
	if outputs == nil {
		return nil
	}
	if b.Y.Names != nil {
		if into.y, err = m.byName("target", b.Y, outputs, &into.own[1]); err != nil {
			return err
		}
	}
	if b.SampleWeight.Names != nil {
		into.w, err = m.byName("sample weight", b.SampleWeight, outputs, &into.own[2])
	}
	return err
}

// arrangeInputs is arrange without targets and weights.
func (m *Model) arrangeInputs(b *data.Batch, into *parts) (err error) {
	into.x, into.y, into.w = b.X.Arrays, nil, nil
	if names := m.topology.inputNames(); names != nil && b.X.Names != nil {
		if into.x, err = m.byName("input", b.X, names, &into.own[0]); err != nil {
			return err
		}
	}
	return m.prepareInputs(into)
}

// byName puts named arrays into the order of names, in reused memory. Outputs without a loss need no targets. Names
// that are not an input's are ignored, as in Keras.
func (m *Model) byName(what string, t data.Tensors, names []string, memory *[]data.Array) ([]data.Array, error) {
	out := (*memory)[:0]
	for _, name := range names {
		a := t.Get(name)
		if a.IsZero() && (what == "input" || m.compiled == nil || m.trains(name, names)) {
			return nil, fmt.Errorf("model %q needs an array for the %s %q; the data have %q", m.Name(), what, name, t.Names)
		}
		if !a.IsZero() && (what == "input" || len(t.Arrays) == len(names) || m.trains(name, names)) {
			out = append(out, a)
		}
	}
	*memory = out
	if what != "input" && len(t.Arrays) > len(out) {
		return nil, fmt.Errorf("model %q has the %ss %q, the data have %q; give arrays of these names, for outputs without a loss all or none", m.Name(), what, names, t.Names)
	}
	return out, nil
}

// trains reports whether the output of the given name has a loss. It is unknown what a user-defined step does with its
// targets.
func (m *Model) trains(name string, names []string) bool {
	c := m.compiled
	if c.trainStep != nil && c.config.Loss == nil {
		return true
	}
	if c.ready {
		return slices.ContainsFunc(c.outputs, func(o *outputLoss) bool { return o.name == name && o.loss != nil })
	}
	specs, err := c.lossSpecs(names, len(names), m.hasDictOutputs())
	return err != nil || specs[slices.Index(names, name)] != nil
}
