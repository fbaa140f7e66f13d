package exec

import (
	"container/list"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// A function keeps the programs of the shapes that it saw last. A training run needs two (full and last batch) for each
// of train and test; serving and sequences of different lengths need more. leastShapes are always kept. Up to
// mostShapes are as long as they hold less than mostBytes, because making a program again takes from a tenth of a
// millisecond to tens of them.
const (
	leastShapes = 16
	mostShapes  = 1024
	mostBytes   = 256 << 20
)

// nodeBytes is about what a program keeps for each of its nodes.
const nodeBytes = 4 << 10

// shapeCache finds programs by the types of their inputs.
type shapeCache struct {
	byKey map[uint64]*compiled
	order list.List // of *compiled, most recently used last
	idle  int       // instances
	bytes int       // that all instances hold
}

// find returns the programs for the given inputs and makes them the most recently used, or returns nil.
func (s *shapeCache) find(key uint64, types [][]ir.Type, all []int, first int, filled bool) *compiled {
	c := s.byKey[key]
	for c != nil && !c.takes(types, all, first, filled) {
		c = c.next
	}
	if c != nil {
		s.order.MoveToBack(c.place)
	}
	return c
}

// add keeps programs that find has not found.
func (s *shapeCache) add(key uint64, c *compiled) {
	if s.byKey == nil {
		s.byKey = map[uint64]*compiled{}
	}
	c.key, c.next, c.place = key, s.byKey[key], s.order.PushBack(c)
	s.byKey[key] = c
}

// shrink closes the programs that were not used for the longest time, if there are too many.
func (s *shapeCache) shrink(most int) {
	for n := s.order.Len(); n > leastShapes && (n > most || s.bytes > mostBytes); n-- {
		s.remove(s.order.Front().Value.(*compiled))
	}
}

func (s *shapeCache) remove(c *compiled) {
	s.order.Remove(c.place)
	if s.byKey[c.key] == c {
		s.byKey[c.key] = c.next
	} else {
		other := s.byKey[c.key]
		for other.next != c {
			other = other.next
		}
		other.next = c.next
	}
	if s.byKey[c.key] == nil {
		delete(s.byKey, c.key)
	}
	s.closeIdle(c, func(*Instance) bool { return true })
	c.close()
}

// closeIdle closes those idle instances of c of which which is true.
func (s *shapeCache) closeIdle(c *compiled, which func(inst *Instance) bool) {
	c.idle = slices.DeleteFunc(c.idle, func(inst *Instance) bool {
		if !which(inst) {
			return false
		}
		s.idle--
		s.bytes -= inst.counted
		inst.close()
		return true
	})
}

// put makes an instance idle.
func (s *shapeCache) put(inst *Instance) {
	inst.owner.idle = append(inst.owner.idle, inst)
	s.idle++
	s.bytes += inst.bytes - inst.counted
	inst.counted = inst.bytes
}

// take removes an idle instance of c whose lot is free, or returns nil.
func (s *shapeCache) take(c *compiled) *Instance {
	best := -1
	for i, inst := range c.idle {
		if !inst.lot.busy && (best < 0 || inst.lot.number < c.idle[best].lot.number) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	inst := c.idle[best]
	c.idle = slices.Delete(c.idle, best, best+1)
	s.idle--
	inst.lot.busy = true
	return inst
}

// clear closes all programs.
func (s *shapeCache) clear() {
	for s.order.Len() > 0 {
		s.remove(s.order.Front().Value.(*compiled))
	}
}

// each calls do for all programs, the least recently used first.
func (s *shapeCache) each(do func(c *compiled)) {
	for e := s.order.Front(); e != nil; e = e.Next() {
		do(e.Value.(*compiled))
	}
}

// keyOf returns a number that equal inputs share, and few others.
func keyOf(types [][]ir.Type, all []int, filled bool) uint64 {
	h := uint64(1)
	mix := func(n int) { h = ir.MixHash(h, uint64(n)) }
	if filled {
		mix(-1)
	}
	for _, n := range all {
		mix(n)
	}
	for _, list := range types {
		mix(len(list))
		for _, t := range list {
			mix(int(t.DType))
			for _, n := range t.Shape {
				mix(n)
			}
		}
	}
	return h
}
