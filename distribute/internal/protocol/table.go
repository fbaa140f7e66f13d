package protocol

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/internal/memory"
	"github.com/gokeras/gokeras/kernels/cpu/rows"
)

// Table is the rows of a table with the optimizer's state.
type Table struct {
	Definition
	Version uint64 // counts changes
	Step    uint64 // counts updates from gradients

	values []float32   // of a table that is not dynamic
	slots  [][]float32 // the state of the optimizer
	rows   *rowStore   // of a dynamic table
	rates  Rates       // learning rates, where rows that had no gradient are updated later

	computation Computation // of a [Computed] constraint; nil: not needed yet
	fault       error       // of the computation
}

func newTable(d Definition, l Limits) *Table {
	t := &Table{Definition: d}
	if d.Dynamic {
		t.rows = newRowStore(t, l)
		return t
	}
	t.values = memory.Floats(d.Rows * d.Width)
	for i := range d.Rule.SlotNames() {
		slot := memory.Floats(d.Rows * d.Width)
		if v := d.Rule.slotValue(i); v != 0 {
			for j := range slot {
				slot[j] = v
			}
		}
		t.slots = append(t.slots, slot)
	}
	if d.Width == 0 || d.Init.Kind == Constant && d.Init.A == 0 {
		return t
	}
	for r := range d.Rows {
		d.Init.Fill(int64(r), t.row(r))
	}
	return t
}

// row is a row of a table that is not dynamic.
func (t *Table) row(r int) []float32 {
	return t.values[r*t.Width : (r+1)*t.Width : (r+1)*t.Width]
}

// Len returns the number of rows; in a dynamic table, only those that have been updated and not evicted.
func (t *Table) Len() int {
	if t.Dynamic {
		return t.rows.len()
	}
	return t.Rows
}

// checkIDs returns an error if rows do not exist, or are not in strictly increasing order.
func (t *Table) checkIDs(ids []int64) error {
	for i, id := range ids {
		if i > 0 && ids[i-1] >= id {
			return fmt.Errorf("parameterserver: table %s: rows %d and %d: expected increasing rows, each once", t.Name, ids[i-1], id)
		}
	}
	if n := len(ids); n > 0 && !t.Dynamic && (ids[0] < 0 || ids[n-1] >= int64(t.Rows)) {
		bad := ids[0]
		if bad >= 0 {
			bad = ids[n-1]
		}
		return fmt.Errorf("parameterserver: table %s has rows 0 to %d; received row %d", t.Name, t.Rows-1, bad)
	}
	return nil
}

// Read appends the values of rows, or of all rows if ids is nil. Rows of a dynamic table that were never updated have
// their initial values.
func (t *Table) Read(out []float32, ids []int64) ([]float32, error) {
	w := Writer{}
	if err := t.ReadTo(&w, ids); err != nil {
		return nil, err
	}
	return append(out, NewReader(w.B).Floats()...), nil
}

// Slot returns the state of an optimizer for all rows of a table that is not dynamic.
func (t *Table) Slot(i int) []float32 { return t.slots[i] }

// ReadTo is Read into a message.
func (t *Table) ReadTo(w *Writer, ids []int64) error {
	if ids == nil {
		if t.Dynamic {
			return fmt.Errorf("parameterserver: table %s is dynamic: ask for rows, or export it", t.Name)
		}
		w.Floats(t.values)
		return nil
	}
	if err := t.checkIDs(ids); err != nil {
		return err
	}
	w.Uint(uint64(len(ids) * t.Width))
	w.pad(4)
	if t.Dynamic {
		return t.rows.readTo(w, ids)
	}
	w.B = slices.Grow(w.B, 4*len(ids)*t.Width)
	for i, id := range ids {
		t.ahead(ids, i, false)
		w.B = append(w.B, bytesOf(t.row(int(id)))...)
	}
	return nil
}

// CopyTo is Read for a table that is not dynamic, to memory of exactly the right size.
func (t *Table) CopyTo(out []float32, ids []int64) error {
	if t.Dynamic {
		return fmt.Errorf("parameterserver: table %s is dynamic: its rows come in messages", t.Name)
	}
	count := t.Rows
	if ids != nil {
		count = len(ids)
		if err := t.checkIDs(ids); err != nil {
			return err
		}
	}
	if len(out) != count*t.Width {
		return fmt.Errorf("parameterserver: table %s: room for %d numbers, and %d rows of %d are asked for", t.Name, len(out), count, t.Width)
	}
	if ids == nil {
		copy(out, t.values)
		return nil
	}
	rows.TakeFar(out, t.values, t.Width, ids)
	return nil
}

// ahead prefetches the next rows while row i of ids is processed. They are scattered over more memory than the caches
// hold, so the processor would otherwise wait for each.
func (t *Table) ahead(ids []int64, i int, slots bool) {
	const group = 8 // rows that are asked for together
	if t.Dynamic || i%group != 0 || 4*t.Width > maxAhead {
		return
	}
	first := i + group
	if i == 0 {
		first = 0
	}
	for _, id := range ids[min(first, len(ids)):min(i+2*group, len(ids))] {
		from := int(id) * t.Width
		rows.Fetch(t.values[from : from+t.Width])
		if slots {
			for _, slot := range t.slots {
				rows.Fetch(slot[from : from+t.Width])
			}
		}
	}
}

// maxAhead is the length in bytes from which the processor's own prefetcher covers most of a row.
const maxAhead = 2 << 10
