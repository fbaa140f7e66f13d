package keras

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels/ir"
)

// binderPool keeps the binders of predictions for later ones, so that batches of known shapes are predicted without
// allocations. It is guarded by Model.mu.
type binderPool struct {
	held   []*binder            // those of the last calls, with their instances; the last one used is at the end
	parked map[uint64][]*binder // those without, whose memory others use, by the shapes of their batches; see shapeKey
	count  int                  // of parked ones
}

// mostParked bounds the number of parked binders. An arbitrary one makes room for another.
const mostParked = 1024

// take removes a binder for n examples, with an instance or without, and returns it, or nil. If no binder with an
// instance fits, it also removes the one that was unused the longest: the caller releases its instance, whose memory
// serves for the next one.
func (s *binderPool) take(fn *distribute.Function, p *parts, n, rows int, pads bool) (f, unused *binder) {
	for i := len(s.held) - 1; i >= 0; i-- {
		f := s.held[i]
		f.pads = f.pads || pads
		if f.fn == fn && f.fits(p, n) {
			s.remove(i)
			return f, nil
		}
	}
	if len(s.held) > 0 {
		unused = s.remove(0)
	}
	key := shapeKey(p, rows)
	list := s.parked[key]
	for i := len(list) - 1; i >= 0; i-- {
		f := list[i]
		f.pads = f.pads || pads
		if f.fn == fn && f.matches(p, n) {
			list[i] = list[len(list)-1]
			list[len(list)-1] = nil
			s.parked[key] = list[:len(list)-1]
			s.count--
			return f, unused
		}
	}
	return nil, unused
}

// remove removes a binder from those with instances.
func (s *binderPool) remove(i int) *binder {
	f := s.held[i]
	copy(s.held[i:], s.held[i+1:])
	s.held[len(s.held)-1] = nil
	s.held = s.held[:len(s.held)-1]
	return f
}

// hold keeps a binder with an instance. If there are more than limit, it returns the one that was unused the longest,
// whose instance the caller releases.
func (s *binderPool) hold(f *binder, limit int) (unused *binder) {
	s.held = append(s.held, f)
	if len(s.held) > limit {
		return s.remove(0)
	}
	return nil
}

// park keeps a binder without an instance.
func (s *binderPool) park(f *binder) {
	if s.parked == nil {
		s.parked = map[uint64][]*binder{}
	}
	if s.count >= mostParked {
		s.drop()
	}
	s.parked[f.key] = append(s.parked[f.key], f)
	s.count++
}

func (s *binderPool) drop() {
	for key, list := range s.parked {
		n := len(list)
		if n <= 1 {
			delete(s.parked, key)
		} else {
			list[n-1] = nil
			s.parked[key] = list[:n-1]
		}
		if n > 0 {
			s.count--
			return
		}
	}
}

// shapeKey returns a number that batches share whose arrays have equal types but for the number of examples, of which
// the program has rows.
func shapeKey(p *parts, rows int) uint64 {
	h := uint64(rows)
	for i := range p.len() {
		t := &p.at(i).Type
		h = ir.MixHash(h, uint64(t.DType))
		for k, n := range t.Shape {
			if k > 0 {
				h = ir.MixHash(h, uint64(n))
			}
		}
	}
	return h
}

// shapeKey is the key of the batches that the binder's program was compiled for.
func (f *binder) shapeKey() uint64 {
	h := uint64(f.rows)
	for i := range f.columns {
		h = ir.MixHash(h, uint64(f.columns[i].host))
		for _, n := range f.columns[i].shape {
			h = ir.MixHash(h, uint64(n))
		}
	}
	return h
}

// programRows returns how many rows the program has that predicts n examples. Model.mu is held.
func (m *Model) programRows(n int) (rows int, pads bool) {
	known := &m.predictions
	if known.rows == nil || !*known.rows || n < ir.LeastPaddedRows {
		return n, false
	}
	if n == known.first {
		return n, true
	}
	return ir.PaddedRows(n), true
}
