package exec

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// ErrNotFilled is wrapped by the error of [Function.AcquireFilled] if rows that pad a batch would count.
var ErrNotFilled = errors.New("batches of this function cannot be filled up")

// AcquireFilled returns an instance for batches of up to rows examples. They are padded with copies of their examples,
// which are left out wherever examples meet. types are the types of the inputs with that many rows. The instance has
// one more input, the last one: an int32 with the number of examples, whose rows come first.
//
// Whether this is possible is decided on the program, traced for a batch of any size, see [ir.FillRows]. It is not with
// several replicas, nor if an operation works across the examples in a way that cannot leave out any. Then the error is
// ErrNotFilled, with the reason.
func (f *Function) AcquireFilled(types []ir.Type, rows int) (*Instance, error) {
	if n := f.replicas(); n != 1 || f.group() != nil {
		return nil, fmt.Errorf("distribute: %s: %w: it runs on %d replicas", f.name, ErrNotFilled, n)
	}
	return f.acquire([][]ir.Type{types}, []int{rows}, true)
}

// batchSize is the name of the number of examples in traces for batches of any size.
const batchSize = "batch"

// traceFilled traces the function for a batch of any size, and makes from that the program for the given number of
// rows.
func (f *Function) traceFilled(types []ir.Type, rows int) (list []*tracedProgram, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("distribute: %s: %w: %w", f.name, ErrNotFilled, err)
		}
	}()
	defer ops.Catch(&err)
	open := make([]ir.Type, len(types))
	for i, t := range types {
		if len(t.Shape) == 0 || t.Shape[0] != rows {
			return nil, fmt.Errorf("input %d is %v; expected %d rows", i, t, rows)
		}
		open[i] = ir.Type{DType: t.DType, Shape: t.Shape.Clone()}
		open[i].Shape[0] = dim.Symbol(batchSize)
	}
	r := NewReplica(f.name, 1, dim.Symbol(batchSize), dim.Symbol(batchSize))
	r.strategy = f.strategy
	p := f.traceOn(r, open)
	if where := r.graph.ShapesOnly(); where != "" {
		return nil, fmt.Errorf("%s does other things for other numbers of examples", where)
	}
	if p.program, err = ir.FillRows(p.program, batchSize); err != nil {
		return nil, err
	}
	if p.program, err = ir.Specialize(p.program, map[string]int{batchSize: rows}); err != nil {
		return nil, err
	}
	return []*tracedProgram{p}, nil
}
