package protocol

import (
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/internal/memory"
)

// Table is the rows of a table with the optimizer's state. Rows of a dynamic table lie in pages, so that it grows without being copied; another
// table is one page.
type Table struct {
	Definition
	Version uint64 // counts changes
	Step    uint64 // counts updates from gradients

	pageRows int
	values   [][]float32   // pages
	slots    [][][]float32 // pages of each slot
	index    map[int64]int // row of each key, of a dynamic table
	keys     []int64       // of each row
	counts   []uint32      // updates of each row
	last     []uint64      // Step of the last update of each row
	free     []int         // rows without a key
}

const dynamicPage = 1 << 10

func newTable(d Definition) *Table {
	t := &Table{Definition: d, pageRows: max(d.Rows, 1)}
	t.slots = make([][][]float32, len(d.Rule.SlotNames()))
	if d.Dynamic {
		t.pageRows, t.index = dynamicPage, map[int64]int{}
		return t
	}
	t.addPage(d.Rows)
	for r := range d.Rows {
		if d.Init.Kind == Constant && d.Init.A == 0 {
			break
		}
		d.Init.Fill(int64(r), t.row(t.values, r))
	}
	return t
}

func (t *Table) addPage(rows int) {
	t.values = append(t.values, memory.Floats(rows*t.Width))
	for i := range t.slots {
		page := memory.Floats(rows * t.Width)
		if v := t.Rule.slotValue(i); v != 0 {
			for j := range page {
				page[j] = v
			}
		}
		t.slots[i] = append(t.slots[i], page)
	}
}

func (t *Table) row(pages [][]float32, r int) []float32 {
	at := r % t.pageRows * t.Width
	return pages[r/t.pageRows][at : at+t.Width : at+t.Width]
}

// Len is the number of rows; of a dynamic table of those that have been updated.
func (t *Table) Len() int {
	if t.Dynamic {
		return len(t.index)
	}
	return t.Rows
}

// checkIDs reports rows that are not there. Rows must be in increasing order, each once.
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

// Read appends the values of rows, or of all where ids is nil. Rows of a dynamic table that nobody has updated have their first value.
func (t *Table) Read(out []float32, ids []int64) ([]float32, error) {
	if ids == nil {
		if t.Dynamic {
			return nil, fmt.Errorf("parameterserver: table %s is dynamic: ask for rows, or export it", t.Name)
		}
		return append(out, t.values[0]...), nil
	}
	if err := t.checkIDs(ids); err != nil {
		return nil, err
	}
	out = slices.Grow(out, len(ids)*t.Width)
	for _, id := range ids {
		r := int(id)
		if t.Dynamic {
			var known bool
			if r, known = t.index[id]; !known {
				n := len(out)
				out = out[:n+t.Width]
				t.Init.Fill(id, out[n:])
				continue
			}
		}
		out = append(out, t.row(t.values, r)...)
	}
	return out, nil
}

// Slot returns the state of an optimizer for all rows of a table that is not dynamic.
func (t *Table) Slot(i int) []float32 { return t.slots[i][0] }

// take returns the row of a key of a dynamic table, made where there is none.
func (t *Table) take(key int64) int {
	r, known := t.index[key]
	if known {
		return r
	}
	if n := len(t.free); n > 0 {
		r, t.free = t.free[n-1], t.free[:n-1]
		for i := range t.slots {
			v, row := t.Rule.slotValue(i), t.row(t.slots[i], r)
			for j := range row {
				row[j] = v
			}
		}
		t.keys[r], t.counts[r], t.last[r] = key, 0, t.Step
	} else {
		r = len(t.keys)
		if r == len(t.values)*t.pageRows {
			t.addPage(t.pageRows)
		}
		t.keys, t.counts, t.last = append(t.keys, key), append(t.counts, 0), append(t.last, t.Step)
	}
	t.index[key] = r
	t.Init.Fill(key, t.row(t.values, r))
	return r
}

// use counts an update of a row of a dynamic table.
func (t *Table) use(r int) {
	if t.counts[r] < math.MaxUint32 {
		t.counts[r]++
	}
	t.last[r] = t.Step
}

// evict makes room in a dynamic table: rows that are too old go, then those that were updated least, longest ago. A tenth of the rows goes at a time.
func (t *Table) evict() {
	if t.MaxRows == 0 || len(t.index) <= t.MaxRows {
		return
	}
	rows := make([]int, 0, len(t.index))
	for r, key := range t.keys {
		if at, ok := t.index[key]; ok && at == r {
			rows = append(rows, r)
		}
	}
	old := func(r int) bool { return t.MaxAge > 0 && t.Step-t.last[r] > t.MaxAge }
	slices.SortFunc(rows, func(a, b int) int {
		switch {
		case old(a) != old(b):
			if old(a) {
				return -1
			}
			return 1
		case t.counts[a] != t.counts[b]:
			return int(int64(t.counts[a]) - int64(t.counts[b]))
		case t.last[a] != t.last[b]:
			if t.last[a] < t.last[b] {
				return -1
			}
			return 1
		case t.keys[a] < t.keys[b]:
			return -1
		}
		return 1
	})
	n := len(rows) - t.MaxRows + t.MaxRows/10
	for i, r := range rows {
		if i >= n && !old(r) {
			break
		}
		delete(t.index, t.keys[r])
		t.free = append(t.free, r)
	}
}

// ReadTo is Read into a message.
func (t *Table) ReadTo(w *Writer, ids []int64) error {
	if ids == nil && !t.Dynamic {
		w.Floats(t.values[0])
		return nil
	}
	if err := t.checkIDs(ids); err != nil {
		return err
	}
	w.Uint(uint64(len(ids) * t.Width))
	w.pad(4)
	first := make([]float32, t.Width)
	for _, id := range ids {
		r, known := int(id), true
		if t.Dynamic {
			r, known = t.index[id]
		}
		if known {
			w.B = append(w.B, bytesOf(t.row(t.values, r))...)
			continue
		}
		t.Init.Fill(id, first)
		w.B = append(w.B, bytesOf(first)...)
	}
	return nil
}
