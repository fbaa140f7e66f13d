package keras

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// feeder moves batches from host arrays into the memory of a compiled function. It keeps the instance of the last shape, so
// that a run of equal batches asks for nothing.
type feeder struct {
	fn       *distribute.Function
	strategy distribute.Strategy
	float    ir.DType // type that float inputs are converted to

	inst    *distribute.Instance
	columns []column
	sizes   []int // examples on each replica
	rows    int

	onCompile func(*distribute.Instance)
}

// column is one array of the batch.
type column struct {
	dtype tensor.Dtype // of the host array
	shape []int        // of one example
	types ir.Type      // on the device, of one example
	row   int          // bytes of one example in host memory
}

func newFeeder(fn *distribute.Function, float ir.DType) *feeder {
	return &feeder{fn: fn, strategy: fn.Strategy(), float: float}
}

// parts lists the arrays of a batch that a function takes, in its order.
type parts struct{ x, y, w []*tensor.Dense }

func (p *parts) len() int { return len(p.x) + len(p.y) + len(p.w) }

func (p *parts) at(i int) *tensor.Dense {
	if i < len(p.x) {
		return p.x[i]
	}
	if i -= len(p.x); i < len(p.y) {
		return p.y[i]
	}
	return p.w[i-len(p.y)]
}

// load copies a batch in and returns the instance to run.
func (f *feeder) load(p *parts) (*distribute.Instance, error) {
	if !f.fits(p) {
		if err := f.acquire(p); err != nil {
			return nil, err
		}
	}
	for i := range f.columns {
		raw := rawBytes(p.at(i))
		from := 0
		for replica, n := range f.sizes {
			part := raw[from*f.columns[i].row : (from+n)*f.columns[i].row]
			if err := f.columns[i].write(f.inst.Input(replica, i), part); err != nil {
				return nil, err
			}
			from += n
		}
	}
	return f.inst, nil
}

// fits reports whether the batch has the shapes that the instance at hand was compiled for.
func (f *feeder) fits(p *parts) bool {
	if f.inst == nil || p.len() != len(f.columns) {
		return false
	}
	for i := range f.columns {
		a, c := p.at(i), &f.columns[i]
		shape := a.Shape()
		if a.Dtype() != c.dtype || len(shape) != len(c.shape)+1 || shape[0] != f.rows || !slices.Equal(shape[1:], c.shape) {
			return false
		}
	}
	return true
}

func (f *feeder) acquire(p *parts) error {
	f.release()
	rows := p.at(0).Shape()[0]
	columns := make([]column, p.len())
	sizes := f.strategy.Split(rows)
	types := make([][]ir.Type, len(sizes))
	for i := range columns {
		a := p.at(i)
		t, err := deviceType(a, f.float)
		if err != nil {
			return err
		}
		if t.Shape[0] != rows {
			return fmt.Errorf("keras: array %d of the batch has %d examples, array 0 has %d; all need the same number", i, t.Shape[0], rows)
		}
		size := int(a.Dtype().Size()) * t.Shape[1:].Size()
		columns[i] = column{a.Dtype(), t.Shape[1:], ir.Type{DType: t.DType, Shape: t.Shape[1:]}, size}
		for r, n := range sizes {
			types[r] = append(types[r], ir.Type{DType: t.DType, Shape: append(ir.Shape{n}, t.Shape[1:]...)})
		}
	}
	inst, err := f.fn.Acquire(types, sizes)
	if err != nil {
		return err
	}
	f.inst, f.columns, f.sizes, f.rows = inst, columns, sizes, rows
	if f.onCompile != nil && inst.CompileTime > 0 {
		f.onCompile(inst)
	}
	return nil
}

// release gives the instance back.
func (f *feeder) release() {
	if f.inst != nil {
		f.fn.Release(f.inst)
		f.inst = nil
	}
}

// hostTypes are the element types of host arrays and what they are on a device.
var hostTypes = map[tensor.Dtype]ir.DType{
	tensor.Bool: ir.Bool, tensor.Int: ir.Int64, tensor.Int8: ir.Int8, tensor.Int16: ir.Int16, tensor.Int32: ir.Int32,
	tensor.Int64: ir.Int64, tensor.Uint8: ir.Uint8, tensor.Uint16: ir.Uint16, tensor.Uint32: ir.Uint32,
	tensor.Uint64: ir.Uint64, tensor.Uint: ir.Uint64, tensor.Float32: ir.Float32, tensor.Float64: ir.Float64,
}

// deviceType returns the type that an array has in the program: floats take the model's float type, the others stay.
func deviceType(a *tensor.Dense, float ir.DType) (ir.Type, error) {
	d, ok := hostTypes[a.Dtype()]
	if !ok {
		return ir.Type{}, fmt.Errorf("keras: arrays of %v cannot be fed to a model; use floats, integers or bool", a.Dtype())
	}
	if d.IsFloat() {
		d = float
	}
	if len(a.Shape()) == 0 {
		return ir.Type{}, fmt.Errorf("keras: a scalar was given where a batch is needed; axis 0 must count the examples")
	}
	return ir.Type{DType: d, Shape: ir.Shape(a.Shape())}, nil
}

// rawBytes returns the memory of a dense row-major array.
func rawBytes(a *tensor.Dense) []byte { return a.Raw }

// write copies rows into a buffer, converting floats where the types differ.
func (c *column) write(dst kernels.Buffer, src []byte) error {
	from, to := hostTypes[c.dtype], c.types.DType
	if from == to {
		return dst.Write(src)
	}
	memory := dst.Bytes()
	if memory == nil {
		memory = make([]byte, dst.Type().Bytes())
	}
	le := binary.LittleEndian
	if from == ir.Float64 {
		for i := range len(src) / 8 {
			v := math.Float64frombits(le.Uint64(src[8*i:]))
			le.PutUint32(memory[4*i:], math.Float32bits(float32(v)))
		}
	} else {
		for i := range len(src) / 4 {
			v := math.Float32frombits(le.Uint32(src[4*i:]))
			le.PutUint64(memory[8*i:], math.Float64bits(float64(v)))
		}
	}
	if dst.Bytes() == nil {
		return dst.Write(memory)
	}
	return nil
}

// arrange puts the arrays of a batch in the order of the model's inputs and outputs.
func (m *Model) arrange(b *data.Batch, into *parts) error {
	into.x, into.y, into.w = b.X.Arrays, b.Y.Arrays, b.SampleWeight.Arrays
	if b.X.Names == nil && b.Y.Names == nil && b.SampleWeight.Names == nil {
		return nil
	}
	var err error
	if into.x, err = m.byName("input", b.X, m.topology.inputNames()); err != nil {
		return err
	}
	if into.y, err = m.byName("target", b.Y, m.topology.outputNames()); err != nil {
		return err
	}
	into.w, err = m.byName("sample weight", b.SampleWeight, m.topology.outputNames())
	return err
}

func (m *Model) byName(what string, t data.Tensors, names []string) ([]*tensor.Dense, error) {
	if t.Names == nil || names == nil {
		return t.Arrays, nil
	}
	out := make([]*tensor.Dense, 0, len(names))
	for _, name := range names {
		a := t.Get(name)
		if a == nil {
			return nil, fmt.Errorf("keras: model %q needs a %s named %q, the data have %q", m.Name(), what, name, t.Names)
		}
		out = append(out, a)
	}
	if len(t.Arrays) > len(out) {
		return nil, fmt.Errorf("keras: model %q knows the %ss %q, the data have %q", m.Name(), what, names, t.Names)
	}
	return out, nil
}
