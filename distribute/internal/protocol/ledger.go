package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// ClosureID names a closure: the term of the coordinator that made it, from 1, and its number, from 1.
type ClosureID struct{ Term, Sequence uint64 }

// String is "closure 7 of term 2".
func (c ClosureID) String() string { return fmt.Sprintf("closure %d of term %d", c.Sequence, c.Term) }

// ErrStale is the error for messages of a replaced coordinator, or of a closure that has ended.
var ErrStale = errors.New("parameterserver: stale")

// maxOpen bounds how many closures of a term may have been applied while an earlier one has not ended.
const maxOpen = 1 << 20

// Ledger remembers which closures have been applied. It forgets those that have ended.
type Ledger struct {
	term    uint64
	low     uint64 // closures below have ended
	applied map[uint64]struct{}
}

// Admit reports whether a closure is to be applied; false means that it has been applied. ErrStale means that it must
// not be applied any more. Closures below low have ended.
func (l *Ledger) Admit(id ClosureID, low uint64) (bool, error) {
	if err := l.admissible(id, low); err != nil {
		return false, err
	}
	if low > l.low {
		l.low = low
		for s := range l.applied {
			if s < low {
				delete(l.applied, s)
			}
		}
	}
	if _, done := l.applied[id.Sequence]; done {
		return false, nil
	}
	if l.applied == nil {
		l.applied = map[uint64]struct{}{}
	}
	l.applied[id.Sequence] = struct{}{}
	return true, nil
}

// admissible is the part of Admit that changes nothing.
func (l *Ledger) admissible(id ClosureID, low uint64) error {
	switch {
	case id.Term < l.term:
		return fmt.Errorf("%w: %v: a coordinator with term %d has taken over", ErrStale, id, l.term)
	case id.Term > l.term:
		return fmt.Errorf("parameterserver: %v: this server's coordinator has term %d", id, l.term)
	case id.Sequence < max(l.low, 1):
		return fmt.Errorf("%w: %v has ended", ErrStale, id)
	case low > id.Sequence:
		return fmt.Errorf("parameterserver: %v says that closures below %d have ended", id, low)
	case len(l.applied) >= maxOpen:
		return fmt.Errorf("parameterserver: %d closures have been applied and not ended", len(l.applied))
	}
	return nil
}

// take begins a term.
func (l *Ledger) take(term uint64) { *l = Ledger{term: term} }

func (l *Ledger) encode(w *Writer) {
	w.Uint(l.term)
	w.Uint(l.low)
	w.Uint(uint64(len(l.applied)))
	for _, s := range slices.Sorted(maps.Keys(l.applied)) {
		w.Uint(s)
	}
}

func (l *Ledger) decode(r *Reader) {
	l.term, l.low = r.Uint(), r.Uint()
	l.applied = map[uint64]struct{}{}
	for range r.count(1) {
		l.applied[r.Uint()] = struct{}{}
	}
}
