package protocol

import "fmt"

// encode appends a table with its state.
func (t *Table) encode(w *Writer) {
	t.Definition.Encode(w)
	w.Uint(t.Version)
	w.Uint(t.Step)
	if !t.Dynamic {
		w.Floats(t.values)
		for _, slot := range t.slots {
			w.Floats(slot)
		}
		return
	}
	t.rates.Encode(w)
	w.Uint(uint64(t.rows.total))
	err := t.rows.each(func(row Row) bool {
		row.Encode(w)
		return true
	})
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("parameterserver: table %s: its rows on disk: %w", t.Name, err)
	}
	t.rows.encodeGone(w)
}

// Encode appends a row.
func (row *Row) Encode(w *Writer) {
	w.Uint(uint64(row.Key))
	w.Uint(uint64(row.Count))
	w.Uint(row.Last)
	w.Uint(row.Step)
	w.String(row.Name)
	w.Floats(row.Values)
	w.Floats(row.Slots)
}

// Decode reads what Encode writes.
func (row *Row) Decode(r *Reader) {
	row.Key, row.Count, row.Last, row.Step = int64(r.Uint()), uint32(r.Uint()), r.Uint(), r.Uint()
	row.Name = r.String()
	row.Values, row.Slots = r.Floats(), r.Floats()
}

// encodeGone appends the evicted rows that may come back.
func (s *rowStore) encodeGone(w *Writer) {
	w.Uint(uint64(len(s.gone)))
	for _, d := range s.leaving {
		if at, went := s.gone[d.key]; went && at == d.version {
			w.Uint(uint64(d.key))
			w.Uint(d.version)
		}
	}
}

func (s *rowStore) decodeGone(r *Reader) error {
	for range r.count(2) {
		d := departure{int64(r.Uint()), r.Uint()}
		s.gone[d.key] = d.version
		s.leaving = append(s.leaving, d)
	}
	if r.Err() == nil && len(s.gone) > s.total {
		return fmt.Errorf("%w: table %s: %d of %d rows were evicted", ErrMessage, s.t.Name, len(s.gone), s.total)
	}
	return r.Err()
}

// put restores a row.
func (s *rowStore) put(row *Row) {
	r := s.take(row.Key, 0)
	s.counts[r], s.last[r], s.steps[r] = row.Count, row.Last, row.Step
	copy(s.row(r), row.Values)
	copy(s.row(r)[s.t.Width:], row.Slots)
	if s.t.Text {
		s.names[r] = row.Name
	}
}

// decodeTable reads what encode writes.
func decodeTable(r *Reader, l Limits) (*Table, error) {
	var d Definition
	d.Decode(r)
	version, step := r.Uint(), r.Uint()
	if r.Err() != nil {
		return nil, r.Err()
	}
	if err := d.Check(); err != nil {
		return nil, err
	}
	if !d.Dynamic && d.Bytes() > r.Left() {
		return nil, fmt.Errorf("%w: table %s has %d bytes, %d are left", ErrMessage, d.Name, d.Bytes(), r.Left())
	}
	t := newTable(d, l)
	t.Version, t.Step = version, step
	take := func(to []float32) error {
		from := r.Floats()
		if r.Err() == nil && len(from) != len(to) {
			return fmt.Errorf("%w: table %s: %d numbers, expected %d", ErrMessage, d.Name, len(from), len(to))
		}
		copy(to, from)
		return r.Err()
	}
	if !d.Dynamic {
		err := take(t.values)
		for i := 0; i < len(t.slots) && err == nil; i++ {
			err = take(t.slots[i])
		}
		return t, err
	}
	if t.rows.fault != nil {
		return nil, t.rows.fault
	}
	t.rates.Decode(r)
	for range r.count(4 * d.Width) {
		var row Row
		if row.Decode(r); r.Err() != nil {
			return nil, r.Err()
		}
		if err := t.checkRows(t.Step, []Row{row}); err != nil {
			return nil, err
		}
		t.rows.put(&row)
	}
	if err := t.rows.decodeGone(r); err != nil {
		return nil, err
	}
	return t, t.rows.fault
}

// Export calls f with the current state of each row of a dynamic table that has been updated and not evicted, until f
// returns false.
func (t *Table) Export(f func(row Row) bool) error {
	scratch := make([]float32, t.rows.length)
	return t.rows.each(func(row Row) bool {
		if _, went := t.rows.gone[row.Key]; went {
			return true
		}
		if row.Step < t.Step && t.Rule.touchesAll() {
			copy(scratch, row.Values)
			copy(scratch[t.Width:], row.Slots)
			t.catchUp(scratch, row.Step, t.Step)
			row.Values, row.Slots, row.Step = scratch[:t.Width], scratch[t.Width:], t.Step
		}
		return f(row)
	})
}

// RowStats are statistics of a dynamic table.
type RowStats struct {
	Rows                    int
	Hits, Misses, Evictions uint64 // keys that were read and had a row, or had none; rows that were evicted
	Memory, Disk            int64  // bytes
}

// RowStats returns the statistics of a dynamic table.
func (t *Table) RowStats() RowStats {
	s := t.rows
	out := RowStats{Rows: s.len(), Hits: s.hits.Load(), Misses: s.misses.Load(), Evictions: s.evictions}
	out.Memory = int64(len(s.pages))*dynamicPage*int64(4*s.length) + int64(len(s.keys))*rowOverhead
	if s.spill != nil {
		out.Memory += s.spill.Memory()
		out.Disk = s.spill.Disk()
	}
	return out
}
