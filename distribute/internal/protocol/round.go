package protocol

import (
	"fmt"
	"maps"
	"slices"
)

// round is what has come of a round of synchronous training. Its parts are kept, and applied when the coordinator
// settles the round, which it does when enough of them are on all servers. Until then a part may be computed again, of
// the same values as before: a server that applied the round as soon as it was complete there would give later values
// than one that still waits for a part, and the part would be that of neither.
type round struct {
	settled uint64           // the last one that was applied
	counted []int            // its parts that were
	parts   map[int][]Update // of the round after it
}

// maxParts bounds the closures of a round.
const maxParts = 1 << 12

// Settled is a round that was applied, and the parts that counted.
type Settled struct {
	Round uint64
	Parts []int
}

// Settle applies a round: the mean of the parts with these numbers, summed in their order. Other parts are dropped.
type Settle struct {
	Term uint64
	Settled
}

func (*Settle) kind() commandKind { return settleKind }

func (c *Settle) encode(w *Writer) {
	w.Uint(c.Term)
	c.Settled.Encode(w)
}

func (c *Settle) decode(r *Reader) {
	c.Term = r.Uint()
	c.Settled.Decode(r)
}

// Encode appends the round.
func (s *Settled) Encode(w *Writer) {
	w.Uint(s.Round)
	w.Uint(uint64(len(s.Parts)))
	for _, part := range s.Parts {
		w.Uint(uint64(part))
	}
}

// Decode reads what Encode writes.
func (s *Settled) Decode(r *Reader) {
	s.Round, s.Parts = r.Uint(), nil
	for range r.count(1) {
		s.Parts = append(s.Parts, r.Int())
	}
}

func (c *Settle) check(s *State) error {
	if err := s.checkTerm(c.Term); err != nil {
		return err
	}
	switch r := &s.round; {
	case c.Round == r.settled:
		return nil // it will be answered as it was
	case c.Round < r.settled:
		return fmt.Errorf("%w: round %d is over, round %d was settled last", ErrStale, c.Round, r.settled)
	case c.Round > r.settled+1 || len(c.Parts) == 0:
		return fmt.Errorf("parameterserver: round %d with %d parts cannot be settled after round %d", c.Round, len(c.Parts), r.settled)
	}
	for i, part := range c.Parts {
		if i > 0 && c.Parts[i-1] >= part {
			return fmt.Errorf("parameterserver: round %d: parts %d and %d: expected increasing numbers", c.Round, c.Parts[i-1], part)
		}
		if _, known := s.round.parts[part]; !known {
			return fmt.Errorf("parameterserver: round %d cannot be settled: part %d is not on this server", c.Round, part)
		}
	}
	return nil
}

func (c *Settle) execute(s *State) Reply {
	if c.Round == s.round.settled {
		return Reply{Repeated: true}
	}
	for _, u := range s.round.merge(c.Parts) {
		s.apply(&u)
	}
	s.round = round{settled: c.Round, counted: slices.Clone(c.Parts)}
	return Reply{}
}

// Unsettled decides what a coordinator that takes over settles. One server may have applied a round and another not
// have heard of it: then all parts that counted are there too, for the coordinator that died had them all acknowledged.
// false: the servers agree.
func Unsettled(servers []Settled) (Settled, bool) {
	var last Settled
	agree := true
	for i, s := range servers {
		agree = agree && s.Round == servers[0].Round
		if i == 0 || s.Round > last.Round {
			last = s
		}
	}
	return last, !agree
}

func (r *round) check(c *Push) error {
	switch {
	case c.Part == 0 && c.Round == 0:
		return nil
	case c.Part < 0 || c.Part >= maxParts || c.Round == 0:
		return fmt.Errorf("parameterserver: part %d of round %d; expected parts below %d, and rounds from 1", c.Part, c.Round, maxParts)
	case c.Round <= r.settled:
		return fmt.Errorf("%w: round %d is over, round %d is under way", ErrStale, c.Round, r.settled+1)
	case c.Round > r.settled+1:
		return fmt.Errorf("parameterserver: a part of round %d; round %d is under way", c.Round, r.settled+1)
	}
	return nil
}

// add keeps a part.
func (r *round) add(c *Push) {
	if r.parts == nil {
		r.parts = map[int][]Update{}
	}
	own := make([]Update, len(c.Updates))
	for i, u := range c.Updates {
		u.IDs, u.Values = slices.Clone(u.IDs), slices.Clone(u.Values) // they are views of a message
		own[i] = u
	}
	r.parts[c.Part] = own
}

// merge returns the mean of what the parts add, gradients and others, in the order of the parts.
func (r *round) merge(parts []int) []Update {
	var out []Update
	place := map[uint32]int{}
	scale := 1 / float32(len(parts))
	for _, part := range parts {
		for _, u := range r.parts[part] {
			if u.Op == Assign || u.Op == Naming {
				out = append(out, u)
				continue
			}
			for i := range u.Values {
				u.Values[i] *= scale
			}
			at, known := place[u.Table]
			if u.Op != Gradient || !known {
				if u.Op == Gradient {
					place[u.Table] = len(out)
				}
				out = append(out, u)
				continue
			}
			switch o := &out[at]; {
			case o.Sparse && u.Sparse:
				o.IDs, o.Values = mergeRows(*o, u)
			case o.Sparse:
				addRows(u.Values, *o)
				*o = u
			case u.Sparse:
				addRows(o.Values, u)
			default:
				combine(Add, o.Values, u.Values)
			}
		}
	}
	return out
}

// addRows adds a sparse gradient to a dense one.
func addRows(all []float32, rows Update) {
	if len(rows.IDs) == 0 {
		return
	}
	width := len(rows.Values) / len(rows.IDs)
	for i, id := range rows.IDs {
		combine(Add, all[int(id)*width:(int(id)+1)*width], rows.Values[i*width:(i+1)*width])
	}
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
	(&Settled{r.settled, r.counted}).Encode(w)
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
	var s Settled
	s.Decode(d)
	r.settled, r.counted = s.Round, s.Parts
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
