package protocol

import (
	"fmt"
	"maps"
	"slices"
)

// round is what has come of a round of synchronous training.
type round struct {
	number uint64
	parts  map[int][]Update
}

// maxParts bounds the closures of a round.
const maxParts = 1 << 12

func (r *round) check(c *Push) error {
	switch {
	case c.Parts == 0 && c.Part == 0 && c.Round == 0:
		return nil
	case c.Parts < 1 || c.Parts > maxParts || c.Part < 0 || c.Part >= maxParts || c.Round == 0:
		return fmt.Errorf("parameterserver: part %d of %d of round %d; expected numbers up to %d, and rounds from 1", c.Part, c.Parts, c.Round, maxParts)
	case c.Round < r.number:
		return fmt.Errorf("%w: round %d is over, round %d is under way", ErrStale, c.Round, r.number)
	}
	return nil
}

// add keeps a part, and applies the round when it is the last one. Parts beyond the first c.Parts that come are too late.
func (r *round) add(s *State, c *Push) {
	if c.Round > r.number {
		*r = round{number: c.Round}
	}
	if r.parts == nil {
		r.parts = map[int][]Update{}
	}
	own := make([]Update, len(c.Updates))
	for i, u := range c.Updates {
		u.IDs, u.Values = slices.Clone(u.IDs), slices.Clone(u.Values) // they are views of a message
		own[i] = u
	}
	r.parts[c.Part] = own
	if len(r.parts) < c.Parts {
		return
	}
	for _, u := range r.merge() {
		s.apply(&u)
	}
	*r = round{number: c.Round + 1}
}

// merge returns the mean of the parts' gradients, and what else they change, in the order of the parts.
func (r *round) merge() []Update {
	var out []Update
	place := map[uint32]int{}
	scale := 1 / float32(len(r.parts))
	for _, part := range slices.Sorted(maps.Keys(r.parts)) {
		for _, u := range r.parts[part] {
			if u.Op != Gradient {
				out = append(out, u)
				continue
			}
			for i := range u.Values {
				u.Values[i] *= scale
			}
			at, known := place[u.Table]
			if !known {
				place[u.Table] = len(out)
				out = append(out, u)
				continue
			}
			o := &out[at]
			if !o.Sparse && !u.Sparse {
				combine(Add, o.Values, u.Values)
			} else {
				o.IDs, o.Values = mergeRows(*o, u)
			}
		}
	}
	return out
}

// mergeRows adds two sparse gradients.
func mergeRows(a, b Update) (ids []int64, values []float32) {
	width := 0
	switch {
	case len(a.IDs) > 0:
		width = len(a.Values) / len(a.IDs)
	case len(b.IDs) > 0:
		width = len(b.Values) / len(b.IDs)
	}
	i, j := 0, 0
	for i < len(a.IDs) || j < len(b.IDs) {
		first := j == len(b.IDs) || i < len(a.IDs) && a.IDs[i] <= b.IDs[j]
		second := i == len(a.IDs) || j < len(b.IDs) && b.IDs[j] <= a.IDs[i]
		n := len(values)
		if first {
			ids, values = append(ids, a.IDs[i]), append(values, a.Values[i*width:(i+1)*width]...)
			i++
		}
		if second {
			row := b.Values[j*width : (j+1)*width]
			if first {
				combine(Add, values[n:], row)
			} else {
				ids, values = append(ids, b.IDs[j]), append(values, row...)
			}
			j++
		}
	}
	return ids, values
}

func (r *round) encode(w *Writer) {
	w.Uint(r.number)
	w.Uint(uint64(len(r.parts)))
	for _, part := range slices.Sorted(maps.Keys(r.parts)) {
		w.Uint(uint64(part))
		w.Uint(uint64(len(r.parts[part])))
		for i := range r.parts[part] {
			r.parts[part][i].encode(w)
		}
	}
}

func (r *round) decode(d *Reader) {
	r.number = d.Uint()
	for range d.count(2) {
		part := d.Int()
		var all []Update
		for range d.count(4) {
			var u Update
			if u.decode(d); d.Err() != nil {
				return
			}
			u.IDs, u.Values = slices.Clone(u.IDs), slices.Clone(u.Values)
			all = append(all, u)
		}
		if r.parts == nil {
			r.parts = map[int][]Update{}
		}
		r.parts[part] = all
	}
}
