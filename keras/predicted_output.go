package keras

import (
	"fmt"
	"slices"
	"sync"

	"gorgonia.org/tensor"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// predictedOutput joins what a model computes for one output, batch by batch and replica by replica, along axis 0.
type predictedOutput struct {
	dtype ir.DType
	row   ir.Shape      // without axis 0
	array *tensor.Dense // the result, or longer where more examples were expected than came
	rows  int           // written so far
	given bool          // array is the caller's
	whole []byte        // of a buffer that was read for some of its rows
}

// add appends the first rows of a buffer of output i, all of them for -1. expected is the number of rows that all of it will have, as far
// as that is known.
func (o *predictedOutput) add(i int, b kernels.Buffer, rows, expected int) error {
	t := b.Type()
	if len(t.Shape) == 0 {
		return fmt.Errorf("output %d is a scalar; Predict joins outputs along the axis of examples, which it lacks", i)
	}
	if o.row == nil {
		o.dtype, o.row = t.DType, t.Shape[1:]
	}
	if !t.Shape[1:].Equal(o.row) || t.DType != o.dtype {
		return fmt.Errorf("output %d has shape %v in one batch and %v in another; they cannot be joined", i, append(ir.Shape{o.rows}, o.row...), t.Shape)
	}
	if o.given && o.rows == 0 {
		if err := o.checkGiven(i); err != nil {
			return err
		}
	}
	n := t.Shape[0]
	if rows >= 0 {
		n = rows
	}
	size := o.row.Size() * o.dtype.Size()
	if n == 0 || size == 0 {
		o.rows += n
		return nil
	}
	if err := o.grow(i, o.rows+n, expected); err != nil {
		return err
	}
	into := o.array.Raw[o.rows*size : (o.rows+n)*size]
	if memory := b.Bytes(); n < t.Shape[0] && memory != nil {
		copy(into, memory)
	} else if n < t.Shape[0] {
		if cap(o.whole) < t.Bytes() {
			o.whole = make([]byte, t.Bytes())
		}
		if err := b.Read(o.whole[:t.Bytes()]); err != nil {
			return err
		}
		copy(into, o.whole)
	} else if err := b.Read(into); err != nil {
		return err
	}
	o.rows += n
	return nil
}

// grow makes room for a number of rows.
func (o *predictedOutput) grow(i, rows, expected int) error {
	if o.array != nil && o.array.Shape()[0] >= rows {
		return nil
	}
	if o.given {
		return fmt.Errorf("the array for output %d has shape %v, the output more than %d rows", i, o.array.Shape(), o.array.Shape()[0])
	}
	if o.array != nil {
		expected = 2 * o.rows
	}
	old := o.array
	var err error
	if o.array, err = newResult(o.dtype, o.row, max(rows, expected)); err != nil {
		return fmt.Errorf("output %d: %w", i, err)
	}
	if old != nil {
		copy(o.array.Raw, old.Raw)
	}
	return nil
}

// checkGiven looks at an array of the caller's before the first value is written to it.
func (o *predictedOutput) checkGiven(i int) error {
	shape := o.array.Shape()
	if o.array.Dtype() != denseTypes[o.dtype] || len(shape) != 1+len(o.row) || !slices.Equal([]int(shape[1:]), []int(o.row)) {
		return fmt.Errorf("the array for output %d is of %v and shape %v; expected %v and shape %v", i, o.array.Dtype(), shape, denseTypes[o.dtype], layers.ShapeString(append(ir.Shape{layers.Unknown}, o.row...)))
	}
	if !rowMajor(o.array) {
		return fmt.Errorf("the array for output %d is a view with gaps or in another order; expected a dense row-major array", i)
	}
	return nil
}

// dense returns the joined result.
func (o *predictedOutput) dense() (*tensor.Dense, error) {
	if o.rows*o.row.Size() == 0 {
		t, ok := denseTypes[o.dtype]
		if !ok {
			return nil, fmt.Errorf("keras: no Go type for %v", o.dtype)
		}
		return data.Empty(t, append(ir.Shape{o.rows}, o.row...)...)
	}
	if o.array.Shape()[0] == o.rows {
		return o.array, nil
	}
	exact, err := newResult(o.dtype, o.row, o.rows)
	if err != nil {
		return nil, err
	}
	copy(exact.Raw, o.array.Raw)
	return exact, nil
}

// emptyResults are what results begin as: an array of each element type that has one.
var emptyResults = sync.OnceValue(func() *[256]*tensor.Dense {
	empty := new([256]*tensor.Dense)
	for d, t := range denseTypes {
		empty[d] = tensor.New(tensor.Of(t), tensor.WithShape(1))
	}
	return empty
})

// checkRoom refuses results that there is no memory for before the first batch is computed.
func (p *prediction) checkRoom(inst *distribute.Instance, n int) error {
	rows, total, most, largest := max(n, p.parts.rows()), 0, 0, 0
	for i := range p.m.outputTypes {
		t := inst.Output(0, i).Type()
		if len(t.Shape) == 0 {
			continue
		}
		bytes := ir.MulLengths(rows, t.Shape[1:].Size(), t.DType.Size())
		if total = ir.AddLengths(total, bytes); bytes > most {
			most, largest = bytes, i
		}
	}
	if total <= noticedResult {
		return nil
	}
	row := inst.Output(0, largest).Type()
	return memory.Check(fmt.Sprintf("the result, whose largest part is output %d of shape %s and type %v,", largest, layers.ShapeString(append(ir.Shape{rows}, row.Shape[1:]...)), row.DType), total)
}

// noticedResult is the size in bytes from which on it is worth looking whether there is memory for a result: below, looking would take longer than making it.
const noticedResult = 64 << 20

// newResult makes an array of zeros, as [tensor.New] does, but in three allocations instead of seven: a whole prediction may take twenty
// microseconds, and New takes more than one.
func newResult(dtype ir.DType, row ir.Shape, rows int) (*tensor.Dense, error) {
	empty := emptyResults()[dtype]
	if empty == nil {
		return nil, fmt.Errorf("keras: no Go type for %v", dtype)
	}
	if bytes := ir.MulLengths(ir.MulLengths(rows, row.Size()), dtype.Size()); bytes > noticedResult {
		if err := memory.Check("a result of shape "+layers.ShapeString(append(ir.Shape{rows}, row...)), bytes); err != nil {
			return nil, err
		}
	}
	result := *empty
	axes := 1 + len(row)
	both := make([]int, 2*axes) // not beside the array: the package keeps old shapes for later arrays, and with them what they lie in
	shape, strides := both[:axes:axes], both[axes:]
	shape[0] = rows
	copy(shape[1:], row)
	step := 1
	for i := axes - 1; i >= 0; i-- {
		strides[i] = step
		step *= shape[i]
	}
	result.Init(shape, strides)
	result.Raw = make([]byte, step*dtype.Size())
	return &result, nil
}

// takeResults makes arrays of the caller's the ones that results are written to.
func (p *prediction) takeResults(into []*tensor.Dense) error {
	if len(into) == 0 {
		return fmt.Errorf("received no array to write to; expected one for each output of the model")
	}
	p.given = true
	for i, a := range into {
		if a == nil {
			return fmt.Errorf("the array for output %d is nil; make it with the shape that PredictOnBatch returns", i)
		}
		p.results = append(p.results, predictedOutput{array: a, given: true})
	}
	return nil
}

// checkResults reports an array of the caller's that is longer than the result.
func (p *prediction) checkResults() error {
	if !p.given {
		return nil
	}
	for i := range p.results {
		if o := &p.results[i]; o.rows != o.array.Shape()[0] {
			return fmt.Errorf("the array for output %d has shape %v, the output %d rows", i, o.array.Shape(), o.rows)
		}
	}
	return nil
}
