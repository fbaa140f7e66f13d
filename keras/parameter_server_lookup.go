package keras

import (
	"context"
	"fmt"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// tableLookups are the tables of which a step needs some rows only: those of embeddings that are read in no other way.
// What rows these are is computed first, from the inputs alone; then the step runs with the rows, each fetched once,
// and gives gradients of them.
type tableLookups struct {
	w      *serverWorker
	tables map[*distribute.Variable]*lookupTable
	order  []*lookupTable
	ids    *distribute.Function   // computes what is looked up; nil: nothing
	found  []*distribute.Variable // table of each of its results
}

// lookupTable is one table, with the lookups of a step in the order of the trace.
type lookupTable struct {
	weight *serverWeight
	shapes []ir.Shape // of the ids of each lookup, in the last trace
	next   int        // lookup that the trace comes to
}

// findLookups traces the model for the first batch, to see what it looks up.
func (w *serverWorker) findLookups() (*tableLookups, error) {
	m := w.t.m
	l := &tableLookups{w: w, tables: map[*distribute.Variable]*lookupTable{}}
	candidates := map[*distribute.Variable]*serverWeight{}
	for _, one := range w.weights {
		if one.trained && len(one.local.Type().Shape) == 2 && one.local.Spec().Regularizer == nil {
			candidates[one.local] = one
		}
	}
	if len(candidates) == 0 || m.compiled.trainStep != nil { // who takes gradients takes those of weights
		return l, nil
	}
	read := map[*distribute.Variable]bool{}
	// record traces the model with zeros for rows, and returns the ids.
	record := func(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
		l.found = nil
		var ids []*ops.Tensor
		r.SetLookup(func(v *distribute.Variable, x *ops.Tensor) *ops.Tensor {
			if candidates[v] == nil {
				return nil
			}
			l.found, ids = append(l.found, v), append(ids, ops.Cast(x, ir.Int64))
			return ops.Zeros(r, ir.Float32, append(x.Shape().Clone(), v.Type().Shape[1])...)
		})
		m.outputs(m.context(r, false), in[:m.compiled.inputs])
		for _, v := range r.Variables() {
			read[v] = true
		}
		return ids
	}
	probe := distribute.NewFunction(m.strategy, "look-ups", record)
	if _, err := w.load(probe, nil); err != nil {
		return nil, err
	}
	for _, v := range l.found {
		if read[v] { // also read as a whole
			delete(candidates, v)
		} else if l.tables[v] == nil {
			l.tables[v] = &lookupTable{weight: candidates[v]}
			l.order = append(l.order, l.tables[v])
		}
	}
	probe.Close()
	if len(l.order) > 0 {
		l.ids = distribute.NewFunction(m.strategy, "look-ups", record)
	}
	return l, nil
}

// extra is an input of a step beside the arrays of the batch.
type extra struct {
	types ir.Type
	data  []byte
}

// load takes an instance of a function for the current batch and fills in its inputs. The caller releases it.
func (w *serverWorker) load(fn *distribute.Function, extras []extra) (*distribute.Instance, error) {
	p := &w.t.parts
	var types []ir.Type
	for i := range p.len() {
		t, err := deviceType(p.at(i), w.t.m.policy.Float())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.label(i), err)
		}
		if t.Shape[0] != p.rows() {
			return nil, p.unequalRows(i, t.Shape[0])
		}
		types = append(types, t)
	}
	for _, e := range extras {
		types = append(types, e.types)
	}
	inst, err := fn.Acquire([][]ir.Type{types}, []int{p.rows()})
	if err != nil {
		return nil, err
	}
	for i := range p.len() {
		a := p.at(i)
		c := column{host: a.DType(), types: types[i]}
		if c.host == c.types.DType {
			err = inst.Input(0, i).Write(a.Data)
		} else {
			err = c.write(inst.Input(0, i), a.Data)
		}
		if err != nil {
			fn.Release(inst)
			return nil, fmt.Errorf("%s: %w", p.label(i), err)
		}
	}
	for i, e := range extras {
		if err := inst.Input(0, p.len()+i).Write(e.data); err != nil {
			fn.Release(inst)
			return nil, err
		}
	}
	return inst, nil
}

// begin takes the rows of tables off the inputs of a trace, and lets the embeddings use them.
func (l *tableLookups) begin(r *distribute.Replica, in []*ops.Tensor) (rest, rows []*ops.Tensor) {
	n := 0
	for _, t := range l.order {
		n += 1 + len(t.shapes)
		t.next = 0
	}
	rest, own := in[:len(in)-n], in[len(in)-n:]
	places := map[*lookupTable][]*ops.Tensor{}
	table := map[*lookupTable]*ops.Tensor{}
	for _, t := range l.order {
		rows, table[t] = append(rows, own[0]), own[0]
		places[t] = own[1 : 1+len(t.shapes)]
		own = own[1+len(t.shapes):]
	}
	r.SetLookup(func(v *distribute.Variable, ids *ops.Tensor) *ops.Tensor {
		t := l.tables[v]
		if t == nil {
			return nil
		}
		if t.next >= len(places[t]) {
			ops.Failf(r.Graph(), "the table %s is looked up more often in training than in inference, which parameter servers do not support", v.Path())
		}
		t.next++
		return ops.Embedding(table[t], places[t][t.next-1])
	})
	return rest, rows
}

// fetched is the rows of one step.
type fetched struct {
	tables  []fetchedRows
	updates []rowUpdate // of dynamic embeddings
}

// fetchedRows is those of one table.
type fetchedRows struct {
	read   *parameters.Read
	weight *serverWeight
	grad   []float32
}

// changes are the gradients of the rows.
func (f *fetched) changes(rate float64) []parameters.Change {
	var out []parameters.Change
	for _, t := range f.tables {
		out = append(out, parameters.Change{Variable: t.weight.remote, Op: parameters.Gradient, Rate: rate, IDs: t.read.IDs, Values: t.grad, Seen: t.read.Seen})
	}
	return out
}

// fetch finds out which rows the batch needs, and fetches them. It returns them as inputs of the step.
func (l *tableLookups) fetch(ctx context.Context, f *fetched, step uint32) ([]extra, error) {
	if l.ids == nil {
		return nil, nil
	}
	w := l.w
	inst, err := w.load(l.ids, nil)
	if err != nil {
		return nil, err
	}
	defer l.ids.Release(inst)
	if err := inst.Run(ctx, w.t.m.seed, step); err != nil {
		return nil, err
	}
	all, lengths := map[*lookupTable][]int64{}, map[*lookupTable][]int{}
	for _, t := range l.order {
		t.shapes = nil
	}
	for i, v := range l.found {
		t := l.tables[v]
		if t == nil {
			continue // it is here as a whole
		}
		b := inst.Output(0, i)
		ids := make([]int64, b.Type().Shape.Size())
		if err := b.Read(bytesOfInts(ids)); err != nil {
			return nil, err
		}
		for _, id := range ids {
			if id < 0 || id >= int64(v.Type().Shape[0]) {
				return nil, fmt.Errorf("the embedding %s has the numbers 0 to %d; the batch has %d", v.Path(), v.Type().Shape[0]-1, id)
			}
		}
		all[t], lengths[t] = append(all[t], ids...), append(lengths[t], len(ids))
		t.shapes = append(t.shapes, b.Type().Shape.Clone())
	}
	var reads []*parameters.Read
	var places [][]int32
	for _, t := range l.order {
		distinct, at := parameters.Distinct(all[t])
		r := &parameters.Read{Variable: t.weight.remote, IDs: distinct}
		f.tables = append(f.tables, fetchedRows{read: r, weight: t.weight})
		reads, places = append(reads, r), append(places, at)
	}
	if err := w.job.Pull(ctx, reads...); err != nil {
		return nil, err
	}
	var out []extra
	for i, t := range l.order {
		rows := ir.Type{DType: ir.Float32, Shape: ir.Shape{max(len(all[t]), 1), reads[i].Variable.Width}}
		padded := make([]float32, rows.Shape.Size())
		copy(padded, reads[i].Values)
		out = append(out, extra{rows, bytesOfFloats(padded)})
		for j, n := range lengths[t] {
			out = append(out, extra{ir.Type{DType: ir.Int32, Shape: t.shapes[j]}, bytesOfPlaces(places[i][:n])})
			places[i] = places[i][n:]
		}
	}
	return out, nil
}

// run computes the gradients of the next batch.
func (w *serverWorker) run(ctx context.Context, s serverStep, memory *stepMemory) (*fetched, error) {
	w.t.parts.rowsFrom = w.remoteRows(ctx)
	if err := w.nextBatch(s); err != nil {
		return nil, err
	}
	f := &fetched{}
	extras, err := w.lookup.fetch(ctx, f, uint32(s.Number))
	if err != nil {
		return nil, err
	}
	inst, err := w.load(w.fn, extras)
	if err != nil {
		return nil, err
	}
	defer w.fn.Release(inst)
	inPlace := make([]bool, len(w.trained)) // the step writes its gradients where they are sent from
	for i := range w.trained {
		if b, ok := inst.Output(0, i).(kernels.Borrower); ok {
			if err := b.Borrow(bytesOfFloats(memory.grads[i])); err != nil {
				return nil, err
			}
			inPlace[i] = true
			defer b.Borrow(nil) //nolint:errcheck // it has no way to fail
		}
	}
	if err := inst.Run(ctx, w.t.m.seed, uint32(s.Number)); err != nil {
		return nil, err
	}
	result := func(i int, out []float32) ([]float32, error) {
		b := inst.Output(0, i)
		n := b.Type().Shape.Size()
		out = slices.Grow(out[:0], n)[:n]
		return out, b.Read(bytesOfFloats(out))
	}
	for i := range w.trained {
		if inPlace[i] {
			continue
		}
		if memory.grads[i], err = result(i, memory.grads[i]); err != nil {
			return nil, err
		}
	}
	for i := range f.tables {
		t := &f.tables[i]
		g, err := result(len(w.trained)+i, nil)
		if err != nil {
			return nil, err
		}
		t.grad = g[:len(t.read.IDs)*t.read.Variable.Width]
	}
	f.updates, err = w.t.m.rowUpdates(inst, &w.t.parts, len(w.trained)+len(f.tables), []int{w.t.parts.rows()})
	return f, err
}

func bytesOfInts(v []int64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
}

func bytesOfPlaces(v []int32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}
