package protocol

import "fmt"

// encode appends a table with its state.
func (t *Table) encode(w *Writer) {
	t.Definition.Encode(w)
	w.Uint(t.Version)
	w.Uint(t.Step)
	if !t.Dynamic {
		w.Floats(t.values[0])
		for _, slot := range t.slots {
			w.Floats(slot[0])
		}
		return
	}
	w.Uint(uint64(len(t.index)))
	for r, key := range t.keys {
		if at, ok := t.index[key]; !ok || at != r {
			continue
		}
		w.Uint(uint64(key))
		w.Uint(uint64(t.counts[r]))
		w.Uint(t.last[r])
		w.Floats(t.row(t.values, r))
		for _, slot := range t.slots {
			w.Floats(t.row(slot, r))
		}
	}
}

// decodeTable reads what encode writes.
func decodeTable(r *Reader) (*Table, error) {
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
	t := newTable(d)
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
		err := take(t.values[0])
		for i := 0; i < len(t.slots) && err == nil; i++ {
			err = take(t.slots[i][0])
		}
		return t, err
	}
	for range r.count(4 * d.Width) {
		key, count, last := int64(r.Uint()), r.Uint(), r.Uint()
		if r.Err() != nil {
			return nil, r.Err()
		}
		n := t.take(key)
		t.counts[n], t.last[n] = uint32(count), last
		if err := take(t.row(t.values, n)); err != nil {
			return nil, err
		}
		for _, slot := range t.slots {
			if err := take(t.row(slot, n)); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// Export calls f with each key of a dynamic table that has been updated, and its row, in the order in which rows were made.
func (t *Table) Export(f func(key int64, row []float32)) {
	for r, key := range t.keys {
		if at, ok := t.index[key]; ok && at == r {
			f(key, t.row(t.values, r))
		}
	}
}
