package keras

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// tableLookups are the tables of which a step needs only some rows: those of embeddings that are not read in any other
// way. The needed rows are computed first, from the inputs alone. Then the step runs with these rows, each fetched
// once, and returns gradients of them.
type tableLookups struct {
	w      *serverWorker
	tables map[*distribute.Variable]*lookupTable
	order  []*lookupTable
	ids    *distribute.Function   // computes the ids; nil: none
	found  []*distribute.Variable // the table of each of its results

	updates *serverUpdates // from the trace of a user-defined TrainStep; nil: none
	whole   wholeTables
}

// lookupTable is one table, with the lookups of a step in the order of the trace.
type lookupTable struct {
	weight *serverWeight
	shapes []ir.Shape // of the ids of each lookup, in the last trace
	next   int        // the next lookup in the current trace
}

// findLookups traces the model for the first batch to find its lookups. Tables whose rows decide what else is looked up
// are read as a whole.
func (w *serverWorker) findLookups() (*tableLookups, error) {
	m := w.t.m
	l := &tableLookups{w: w, tables: map[*distribute.Variable]*lookupTable{}}
	own := m.compiled.trainStep != nil
	candidates := map[*distribute.Variable]*serverWeight{}
	for _, one := range w.weights {
		if one.trained && len(one.local.Type().Shape) == 2 && one.local.Spec().Regularizer == nil {
			candidates[one.local] = one
		}
	}
	for len(candidates) > 0 {
		probe := &lookupProbe{l: l, candidates: candidates, rows: 2}
		err := probe.run()
		var dense []*distribute.Variable
		if err == nil && own {
			dense, err = probe.denseGradients()
		}
		if err != nil && own { // such as a step that combines gradients with values of the weights' shapes
			return l, nil
		}
		if err != nil {
			return nil, err
		}
		if probe.deciding != nil { // then others are looked up
			dense = append(dense, probe.deciding)
		}
		if len(dense) > 0 {
			for _, v := range dense {
				delete(candidates, v)
			}
			continue
		}
		for _, v := range l.found {
			if probe.read[v] { // also read as a whole
				delete(candidates, v)
			} else if l.tables[v] == nil {
				l.tables[v] = &lookupTable{weight: candidates[v]}
				l.order = append(l.order, l.tables[v])
			}
		}
		if len(l.order) > 0 {
			l.ids = distribute.NewFunction(m.strategy, "look-ups", (&lookupProbe{l: l, candidates: candidates, rows: 1}).record)
		}
		break
	}
	return l, nil
}

// lookupProbe traces a model with zeros as rows.
type lookupProbe struct {
	l          *tableLookups
	candidates map[*distribute.Variable]*serverWeight
	rows       int // of each table

	program  *ir.Program
	updates  *serverUpdates
	read     map[*distribute.Variable]bool
	deciding *distribute.Variable // a table whose rows decide what is looked up; nil: none
}

// run traces the model for the current batch.
func (p *lookupProbe) run() error {
	fn := distribute.NewFunction(p.l.w.t.m.strategy, "look-ups", p.record)
	defer fn.Close()
	inst, err := p.l.w.load(fn, nil)
	if err == nil {
		fn.Release(inst)
	}
	return err
}

// record returns the ids that are looked up. It traces in training mode, in which layers may mask words or normalize by
// the batch; their assignments are left to the step.
func (p *lookupProbe) record(r *distribute.Replica, in []*ops.Tensor) []*ops.Tensor {
	m := p.l.w.t.m
	p.l.found, p.read, p.deciding = nil, map[*distribute.Variable]bool{}, nil
	var ids []*ops.Tensor
	rows, updates := map[ir.Value]*distribute.Variable{}, newServerUpdates()
	r.SetLookup(func(v *distribute.Variable, x *ops.Tensor) *ops.Tensor {
		if p.candidates[v] == nil || x.Graph() != r.Graph() { // ids inside a loop or branch are known only there
			return nil
		}
		p.l.found, ids = append(p.l.found, v), append(ids, ops.Cast(x, ir.Int64))
		one := updates.tables[v]
		if one == nil {
			one = ops.Zeros(r, ir.Float32, p.rows, v.Type().Shape[1])
			rows[one.Value()], updates.tables[v] = v, one
		}
		return ops.Embedding(one, ops.Zeros(r, ir.Int32, x.Shape()...))
	})
	r.SetRows(func(v *distribute.Variable) *ops.Tensor { return updates.tables[v] })
	x, rest := in[:m.compiled.inputs], in[m.compiled.inputs:]
	if step := m.compiled.trainStep; step != nil {
		y, weights := rest[:m.compiled.targets], rest[m.compiled.targets:]
		weights = m.compiled.applyClassWeights(m.policy.Float(), y, weights)
		m.trace(&Step{Replica: r, X: x, Y: y, SampleWeight: weights, m: m, step: step, servers: updates})
	} else {
		m.outputs(m.context(r, true), x)
	}
	r.DropAssignments()
	program := *r.Graph().Program() // as it is now, whatever is added later
	p.program, p.updates = &program, updates
	for _, v := range r.Variables() {
		p.read[v] = true
	}
	for _, n := range r.Graph().Program().Nodes { // from rows to what is computed from them
		for _, x := range n.Inputs {
			if v := rows[x]; v != nil {
				for _, y := range n.Outputs {
					rows[y] = v
				}
			}
		}
	}
	for _, x := range ids {
		if v := rows[x.Value()]; v != nil {
			p.deciding = v
		}
	}
	return ids
}

// extra is an input of a step besides the arrays of the batch.
type extra struct {
	types ir.Type
	data  []byte
	lent  bool // the input may use data in place until the step has run
}

// load acquires an instance of a function for the current batch and fills in its inputs. The caller releases it.
func (w *serverWorker) load(fn *distribute.Function, extras []extra) (*distribute.Instance, error) {
	p := &w.t.parts
	var types []ir.Type
	for i := range p.len() {
		t, err := deviceType(*p.at(i), w.t.m.policy.Float())
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
		if err := lend(inst.Input(0, p.len()+i), e.data, e.lent); err != nil {
			fn.Release(inst)
			return nil, err
		}
	}
	return inst, nil
}

// release returns an instance after giving it back its own memory.
func (w *serverWorker) release(fn *distribute.Function, inst *distribute.Instance, extras []extra) error {
	var failed error
	for i, e := range extras {
		if e.lent {
			failed = errors.Join(failed, takeBack(inst.Input(0, w.t.parts.len()+i)))
		}
	}
	fn.Release(inst)
	return failed
}

// begin removes the rows of tables from the inputs of a trace, and passes them to the embeddings.
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
			l.whole.note(l.w.t, v)
			return nil
		}
		if t.next >= len(places[t]) {
			ops.Failf(r.Graph(), "the table %s is looked up more often in training than in inference, which parameter servers do not support", v.Path())
		}
		t.next++
		if l.updates != nil && l.updates.gradients[v] != nil {
			l.updates.refuse(ids.Graph(), v)
		}
		return ops.Embedding(table[t], places[t][t.next-1])
	})
	r.SetRows(func(v *distribute.Variable) *ops.Tensor { return table[l.tables[v]] })
	return rest, rows
}

// fetched are the rows of one step.
type fetched struct {
	tables  []fetchedRows
	updates []rowUpdate // of dynamic embeddings
}

// fetchedRows are the rows of one table.
type fetchedRows struct {
	read   *parameters.Read
	weight *serverWeight
	memory *rowMemory
	grad   []float32
}

// changes returns the gradients of the rows.
func (f *fetched) changes(rate float64) []parameters.Change {
	var out []parameters.Change
	for _, t := range f.tables {
		out = append(out, parameters.Change{Variable: t.weight.remote, Op: parameters.Gradient, Rate: rate, IDs: t.read.IDs, Values: t.grad, Room: t.memory.grads, Seen: t.read.Seen})
	}
	return out
}

// fetch finds the rows that the batch needs, and fetches them. It returns them as inputs of the step.
func (l *tableLookups) fetch(ctx context.Context, f *fetched, step uint32, memory *stepMemory) ([]extra, error) {
	if l.ids == nil {
		return nil, nil
	}
	lengths, err := l.find(ctx, step, memory)
	if err != nil {
		return nil, err
	}
	var reads []*parameters.Read
	for i, t := range l.order {
		r := memory.rows[i].read(t.weight.remote)
		f.tables = append(f.tables, fetchedRows{read: r, weight: t.weight, memory: memory.rows[i]})
		reads = append(reads, r)
	}
	if err := l.w.job.Pull(ctx, reads...); err != nil {
		return nil, err
	}
	var out []extra
	for i, t := range l.order {
		out = append(out, memory.rows[i].input(reads[i]))
		places := memory.rows[i].distinct.Places
		for j, n := range lengths[i] {
			out = append(out, extra{types: ir.Type{DType: ir.Int32, Shape: t.shapes[j]}, data: bytesOfPlaces(places[:n])})
			places = places[n:]
		}
	}
	return out, nil
}

// find computes what the batch looks up. It stores the ids of all lookups of each table in memory and returns their
// numbers.
func (l *tableLookups) find(ctx context.Context, step uint32, memory *stepMemory) ([][]int, error) {
	w := l.w
	inst, err := w.load(l.ids, nil)
	if err != nil {
		return nil, err
	}
	defer l.ids.Release(inst)
	if err := inst.Run(ctx, w.t.m.seed, step); err != nil {
		return nil, err
	}
	for len(memory.rows) < len(l.order) {
		memory.rows = append(memory.rows, &rowMemory{})
	}
	for i, t := range l.order {
		t.shapes, memory.rows[i].ids = nil, memory.rows[i].ids[:0]
	}
	lengths := make([][]int, len(l.order))
	for i, v := range l.found {
		t := l.tables[v]
		if t == nil {
			continue // the whole table is here
		}
		at := slices.Index(l.order, t)
		all, b := &memory.rows[at].ids, inst.Output(0, i)
		from, n := len(*all), b.Type().Shape.Size()
		*all = slices.Grow(*all, n)[:from+n]
		ids := (*all)[from:]
		if err := b.Read(bytesOfInts(ids)); err != nil {
			return nil, err
		}
		for _, id := range ids {
			if id < 0 || id >= int64(v.Type().Shape[0]) {
				return nil, fmt.Errorf("the embedding %s has the numbers 0 to %d; the batch has %d", v.Path(), v.Type().Shape[0]-1, id)
			}
		}
		lengths[at] = append(lengths[at], n)
		t.shapes = append(t.shapes, b.Type().Shape.Clone())
	}
	return lengths, nil
}

// run computes the gradients of the next batch.
func (w *serverWorker) run(ctx context.Context, s serverStep, memory *stepMemory) (f *fetched, err error) {
	w.t.parts.rowsFrom = w.remoteRows(ctx)
	memory.watch.lap(&memory.watch.compute)
	if err := w.nextBatch(s); err != nil {
		return nil, err
	}
	memory.watch.lap(&memory.watch.input)
	f = &fetched{}
	extras, err := w.lookup.fetch(ctx, f, uint32(s.Number), memory)
	if err != nil {
		return nil, err
	}
	memory.watch.lap(&memory.watch.communication)
	inst, err := w.load(w.fn, extras)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, w.release(w.fn, inst, extras)) }()
	outputs := slices.Clone(w.roomToMove(memory)) // changes are sent from there
	if !w.inPlace() {
		outputs = append(outputs, memory.grads...)
	}
	for i := range f.tables {
		t := &f.tables[i]
		out := t.memory.output(t.read.Variable)
		outputs, t.grad = append(outputs, out), out[:len(t.read.IDs)*t.read.Variable.Width]
	}
	for i, to := range outputs { // the step writes them there
		if b, ok := inst.Output(0, i).(kernels.Borrower); ok {
			if err := b.Borrow(bytesOfFloats(to)); err != nil {
				return nil, err
			}
			defer b.Borrow(nil) //nolint:errcheck // cannot fail
		}
	}
	if err := inst.Run(ctx, w.t.m.seed, uint32(s.Number)); err != nil {
		return nil, err
	}
	for i, to := range outputs {
		b := inst.Output(0, i)
		if _, ok := b.(kernels.Borrower); ok {
			continue
		}
		if err := b.Read(bytesOfFloats(to)); err != nil {
			return nil, err
		}
	}
	if err := w.gather(memory); err != nil {
		return nil, err
	}
	f.updates, err = w.t.m.rowUpdates(inst, &w.t.parts, len(outputs), []int{w.t.parts.rows()})
	return f, err
}

// gather reads the gradients that a step has left in the weights, from devices with their own memory.
func (w *serverWorker) gather(memory *stepMemory) error {
	for i, one := range w.trained {
		if !w.inPlace() {
			break
		}
		b, err := one.local.Buffer(0)
		if err != nil {
			return err
		}
		if _, ok := b.(kernels.Borrower); ok {
			continue
		}
		if err := b.Read(bytesOfFloats(memory.grads[i])); err != nil {
			return err
		}
	}
	return nil
}

func bytesOfInts(v []int64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 8*len(v))
}

func bytesOfPlaces(v []int32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}
