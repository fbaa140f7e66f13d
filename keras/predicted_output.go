package keras

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// predictedOutput concatenates the results for one output, batch by batch and replica by replica, along axis 0.
type predictedOutput struct {
	dtype ir.DType
	row   ir.Shape   // without axis 0
	array data.Array // the result; longer if fewer examples came than expected
	rows  int        // number written so far
	given bool       // array is the caller's
	lent  bool       // the instance writes the next rows in place; see predicted_in_place.go
	whole []byte     // a whole buffer, read for some of its rows
}

// add appends the first rows of a buffer of output i; rows = -1 means all. expected is the final number of rows, if
// known.
func (o *predictedOutput) add(i int, b kernels.Buffer, rows, expected int) error {
	t := b.Type()
	n := rows
	if n < 0 && len(t.Shape) > 0 {
		n = t.Shape[0]
	}
	into, err := o.room(i, t, n, expected)
	switch {
	case err != nil:
		return err
	case len(into) == 0 || o.lent:
	case n == t.Shape[0]:
		if err := b.Read(into); err != nil {
			return err
		}
	default:
		memory := b.Bytes()
		if memory == nil {
			if cap(o.whole) < t.Bytes() {
				o.whole = make([]byte, t.Bytes())
			}
			memory = o.whole[:t.Bytes()]
			if err := b.Read(memory); err != nil {
				return err
			}
		}
		copy(into, memory)
	}
	o.rows += n
	return nil
}

// room returns the memory for the next n rows of output i. t is the type of its batch.
func (o *predictedOutput) room(i int, t ir.Type, n, expected int) ([]byte, error) {
	if len(t.Shape) == 0 {
		return nil, fmt.Errorf("output %d is a scalar; Predict joins outputs along the axis of examples, which it lacks", i)
	}
	if o.row == nil {
		o.dtype, o.row = t.DType, t.Shape[1:]
	}
	if !t.Shape[1:].Equal(o.row) || t.DType != o.dtype {
		return nil, fmt.Errorf("output %d has shape %v in one batch and %v in another; they cannot be joined", i, append(ir.Shape{o.rows}, o.row...), t.Shape)
	}
	if o.given && o.rows == 0 {
		if err := o.checkGiven(i); err != nil {
			return nil, err
		}
	}
	size := o.row.Size() * o.dtype.Size()
	if n == 0 || size == 0 {
		return nil, nil
	}
	if err := o.grow(i, o.rows+n, expected); err != nil {
		return nil, err
	}
	return o.array.Data[o.rows*size : (o.rows+n)*size], nil
}

// grow makes room for a number of rows.
func (o *predictedOutput) grow(i, rows, expected int) error {
	if !o.array.IsZero() && o.array.Shape()[0] >= rows {
		return nil
	}
	if o.given {
		return fmt.Errorf("the array for output %d has shape %s, the output more than %d rows", i, layers.ShapeString(o.array.Type.Shape), o.array.Shape()[0])
	}
	if !o.array.IsZero() {
		expected = 2 * o.rows
	}
	old := o.array
	var err error
	if o.array, err = newResult(o.dtype, o.row, max(rows, expected)); err != nil {
		return fmt.Errorf("output %d: %w", i, err)
	}
	if !old.IsZero() {
		copy(o.array.Data, old.Data)
	}
	return nil
}

// checkGiven checks an array of the caller's before the first value is written to it.
func (o *predictedOutput) checkGiven(i int) error {
	shape := o.array.Shape()
	if o.array.DType() != o.dtype || len(shape) != 1+len(o.row) || !slices.Equal(shape[1:], []int(o.row)) {
		return fmt.Errorf("the array for output %d is of %v and shape %s; expected %v and shape %s", i, o.array.DType(), layers.ShapeString(shape), o.dtype, layers.ShapeString(append(ir.Shape{layers.Unknown}, o.row...)))
	}
	if err := o.array.Check(); err != nil {
		return fmt.Errorf("the array for output %d: %w", i, err)
	}
	return nil
}

// dense returns the concatenated result.
func (o *predictedOutput) dense() (data.Array, error) {
	if o.rows*o.row.Size() == 0 {
		return newResult(o.dtype, o.row, o.rows)
	}
	if o.array.Shape()[0] == o.rows {
		return o.array, nil
	}
	exact, err := newResult(o.dtype, o.row, o.rows)
	if err != nil {
		return data.Array{}, err
	}
	copy(exact.Data, o.array.Data)
	return exact, nil
}

// checkRoom fails, before the first batch is computed, if there is no memory for the results.
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

// noticedResult is the size in bytes from which on checking the free memory pays: below, the check would take longer
// than allocating the result.
const noticedResult = 64 << 20

// newResult returns an array with arbitrary contents.
func newResult(dtype ir.DType, row ir.Shape, rows int) (data.Array, error) {
	if bytes := ir.MulLengths(ir.MulLengths(rows, row.Size()), dtype.Size()); bytes > noticedResult {
		if err := memory.Check("a result of shape "+layers.ShapeString(append(ir.Shape{rows}, row...)), bytes); err != nil {
			return data.Array{}, err
		}
	}
	shape := make(ir.Shape, 1+len(row))
	shape[0] = rows
	copy(shape[1:], row)
	t := ir.Type{DType: dtype, Shape: shape}
	return kernels.Array{Type: t, Data: memory.Unset(t.Bytes())}, nil
}

// takeResults makes the results be written to the caller's arrays.
func (p *prediction) takeResults(into []data.Array) error {
	if len(into) == 0 {
		return fmt.Errorf("received no array to write to; expected one for each output of the model")
	}
	p.given = true
	for i, a := range into {
		if a.IsZero() {
			return fmt.Errorf("the array for output %d is the zero Array; make it with the shape that PredictOnBatch returns", i)
		}
		p.results = append(p.results, predictedOutput{array: a, given: true})
	}
	return nil
}

// checkResults returns an error for an array of the caller's that is longer than the result.
func (p *prediction) checkResults() error {
	if !p.given {
		return nil
	}
	for i := range p.results {
		if o := &p.results[i]; o.rows != o.array.Shape()[0] {
			return fmt.Errorf("the array for output %d has shape %s, the output %d rows", i, layers.ShapeString(o.array.Type.Shape), o.rows)
		}
	}
	return nil
}
