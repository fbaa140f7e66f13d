package protocol

import (
	"fmt"
	"maps"
	"slices"
)

// round holds the parts of a round of synchronous training that have arrived. They are kept until the coordinator
// settles the round, when enough of them are on all servers. Until then a part may be recomputed, from the same values
// as before. If a server applied the round as soon as it was complete there, a recomputed part would mix its new values
// with old ones of servers that still wait.
type round struct {
	settled uint64           // the last one that was applied
	counted []int            // its parts that were
	parts   map[int][]Update // of the round after it
}

// maxParts bounds the closures of a round.
const maxParts = 1 << 12

// Settled is a round that was applied, and the parts that were used.
type Settled struct {
	Round uint64
	Parts []int
}

// Settle applies a round: the mean of the parts with these numbers, in their order, as merge says. It drops the other
// parts.
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
	for _, u := range s.round.merge(c.Parts, s.tables) {
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
