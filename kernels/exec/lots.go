package exec

import (
	"slices"

	"github.com/gokeras/gokeras/kernels"
)

// lot is memory that instances of many shapes share, one of which is in use at a time.
type lot struct {
	number  int
	scratch []kernels.Scratch // by replica of this process
	busy    bool
}

// lots are the lots of a function. There are as many as instances were recently in use at the same time.
type lots struct {
	all []*lot
	burst
}

// burst is the largest recent number of instances in use at the same time.
type burst struct {
	now, before int // during the current lookThrough returns, and during those before
	returns     int
}

// lookThrough is the number of returns after which memory that was not needed since is freed.
const lookThrough = 64

func (b *burst) returned(out int) {
	b.now = max(b.now, out)
	if b.returns++; b.returns == lookThrough {
		*b = burst{before: b.now}
	}
}

// take returns a lot that is free, with memory for so many replicas.
func (l *lots) take(replicas int) *lot {
	for _, m := range l.all {
		if !m.busy {
			m.busy = true
			return m
		}
	}
	m := &lot{number: len(l.all), scratch: make([]kernels.Scratch, replicas), busy: true}
	l.all = append(l.all, m)
	return m
}

// trim gives up lots that recent runs did not need, and returns how many are left.
func (l *lots) trim() int {
	n, keep := len(l.all), max(l.now, l.before, 1)
	for n > keep && !l.all[n-1].busy {
		n--
	}
	clear(l.all[n:])
	l.all = l.all[:n]
	return n
}

// shares reports whether the backend keeps intermediate values in the lot, and not in each session.
func (m *lot) shares() bool {
	return !slices.ContainsFunc(m.scratch, func(s kernels.Scratch) bool { return s.Memory == nil })
}

// trim frees memory that recent runs did not need.
func (f *Function) trim() {
	if lots := len(f.lots.all); f.lots.trim() < lots {
		f.shapes.each(func(c *compiled) {
			f.shapes.closeIdle(c, func(inst *Instance) bool { return inst.lot.number >= len(f.lots.all) })
		})
	}
	f.shrink()
}

// trimOwn closes instances whose sessions have memory of their own. It keeps as many as recently ran at the same time,
// and one more for each shape. Among shapes with several idle instances, the one that was unused the longest gives up
// one.
func (f *Function) trimOwn() {
	spare := f.shapes.idle + f.out - max(f.lots.now, f.lots.before, f.shapes.order.Len())
	for e := f.shapes.order.Front(); e != nil && spare > 0; e = e.Next() {
		f.shapes.closeIdle(e.Value.(*compiled), func(*Instance) bool {
			spare--
			return spare >= 0
		})
	}
}
