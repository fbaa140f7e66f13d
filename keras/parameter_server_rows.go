package keras

import (
	"context"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// serverTable is a dynamic embedding and its table on the servers.
type serverTable struct {
	layer  *layers.Embedding
	rule   parameters.Rule
	remote *parameters.Variable
}

// layoutTables lists the tables that go to the servers.
func (f *serverFit) layoutTables() error {
	f.tables = nil
	for _, l := range f.t.m.dynamicLayers() {
		if !f.t.m.compiled.trains(l) {
			continue
		}
		rule, err := f.t.m.tableRule(l)
		if err != nil {
			return fmt.Errorf("the dynamic embedding %q: %w", layers.Name(l), err)
		}
		f.tables = append(f.tables, &serverTable{layer: l, rule: rule})
	}
	return nil
}

func (f *serverFit) tableName(t *serverTable) string {
	return fmt.Sprintf("%s:%d/%s", f.t.m.Name(), f.t.m.compiled.serverCall, t.layer.Table().Spec().Name)
}

// rowsAtATime is how many rows are transferred at once, in either direction.
const rowsAtATime = 1 << 14

// placeTables creates the tables on the servers, with the rows of this process.
func (f *serverFit) placeTables(ctx context.Context, first bool) error {
	for _, t := range f.tables {
		s := t.layer.Table().Spec()
		v, created, err := f.job.Create(ctx, parameters.Spec{Name: f.tableName(t), Shape: ir.Shape{s.Width}, Rule: t.rule, Init: s.Init, Dynamic: true, MaxRows: s.MaxRows, MaxAge: uint64(s.MaxAge),
			Policy: s.Policy, Text: s.Text})
		if err != nil {
			return err
		}
		t.remote = v
		if !created && first { // an earlier coordinator has trained it
			continue
		}
		if err := f.sendRows(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

func (f *serverFit) sendRows(ctx context.Context, t *serverTable) error {
	table := t.layer.Table()
	state := table.State()
	var rows []parameters.Row
	var failed error
	err := table.Each(func(row parameters.Row) bool {
		row.Values, row.Slots = slices.Clone(row.Values), slices.Clone(row.Slots)
		if rows = append(rows, row); len(rows) == rowsAtATime {
			failed = f.job.PutRows(ctx, t.remote, state, rows)
			rows = rows[:0]
		}
		return failed == nil
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return err
	}
	return f.job.PutRows(ctx, t.remote, state, rows)
}

// findTables finds the tables that the coordinator has created.
func (f *serverFit) findTables(ctx context.Context) error {
	for _, t := range f.tables {
		if t.remote != nil {
			continue
		}
		var err error
		if t.remote, err = f.job.Find(ctx, f.tableName(t)); err != nil {
			return err
		}
	}
	return nil
}

// fetchTables copies the rows from the servers into the tables here.
func (f *serverFit) fetchTables(ctx context.Context) error {
	for _, t := range f.tables {
		table := t.layer.Table()
		err := table.SetRule(t.rule)
		if err == nil {
			err = table.Clear()
		}
		if err != nil {
			return err
		}
		state, err := f.job.Rows(ctx, t.remote, nil)
		if err != nil {
			return err
		}
		var rows []parameters.Row
		var failed error
		put := func() {
			failed = table.Put(state, rows)
			rows = rows[:0]
		}
		_, err = f.job.Rows(ctx, t.remote, func(row parameters.Row) bool {
			if rows = append(rows, row); len(rows) == rowsAtATime {
				put()
			}
			return failed == nil
		})
		if put(); err == nil {
			err = failed
		}
		if err != nil {
			return fmt.Errorf("keras: Fit: the dynamic embedding %q: %w", layers.Name(t.layer), err)
		}
	}
	return nil
}

// remoteRows looks up rows on the servers. One message to each server asks for the rows of all tables.
func (w *serverWorker) remoteRows(ctx context.Context) rowSource {
	return func(batches []rowBatch) ([][]float32, error) {
		out := make([][]float32, len(batches))
		var reads []*parameters.Read
		var of []int
		for i := range batches {
			b := &batches[i]
			at := slices.IndexFunc(w.tables, func(t *serverTable) bool { return t.layer == b.layer })
			if at < 0 { // it is not trained
				rows, err := localRows(batches[i : i+1])
				if err != nil {
					return nil, err
				}
				out[i] = rows[0]
				continue
			}
			reads, of = append(reads, &parameters.Read{Variable: w.tables[at].remote, IDs: b.keys.Keys}), append(of, i)
		}
		if err := w.job.Pull(ctx, reads...); err != nil {
			return nil, err
		}
		for k, r := range reads {
			out[of[k]], batches[of[k]].seen = r.Values, r.Seen
		}
		return out, nil
	}
}

// rowChanges are the changes of tables by a step.
func (w *serverWorker) rowChanges(updates []rowUpdate, rate float64) []parameters.Change {
	var out []parameters.Change
	for _, u := range updates {
		at := slices.IndexFunc(w.tables, func(t *serverTable) bool { return t.layer == u.layer })
		keys := u.keys
		if keys == nil {
			keys = []int64{}
		}
		out = append(out, parameters.Change{Variable: w.tables[at].remote, Op: parameters.Gradient, Rate: rate, IDs: keys, Names: u.names, Values: u.grads, Seen: u.seen})
	}
	return out
}
