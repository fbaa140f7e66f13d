package ptxsim

import "fmt"

// access says who touched a byte of global memory last: a thread of a block, between two barriers.
type access struct {
	block  int
	thread int32
	epoch  int32
	many   bool // other threads too
	blocks bool // of other blocks too
}

// conflicts reports whether nothing orders what two threads do: the blocks of a launch run in any order, and threads of
// a block are ordered by barriers alone.
func (a access) conflicts(b access) bool {
	return a.block != b.block || a.blocks || a.epoch == b.epoch && (a.thread != b.thread || a.many)
}

// races finds accesses to global memory in a launch that nothing orders, one of them a write.
type races struct{ wrote, read map[uint64]access }

func newRaces() *races { return &races{map[uint64]access{}, map[uint64]access{}} }

// touch notes an access of a thread.
func (r *races) touch(t *thread, address uint64, size int, write bool) error {
	me := access{block: t.block.number, thread: int32(t.id), epoch: t.block.epoch}
	for a := address; a < address+uint64(size); a++ {
		if w, ok := r.wrote[a]; ok && w.conflicts(me) {
			return fmt.Errorf("thread %d of block %d touches address %#x, which thread %d of block %d has written, and nothing orders them", t.id, me.block, a, w.thread, w.block)
		}
		before, known := r.read[a]
		if write {
			if known && before.conflicts(me) {
				return fmt.Errorf("thread %d of block %d writes address %#x, which thread %d of block %d has read, and nothing orders them", t.id, me.block, a, before.thread, before.block)
			}
			r.wrote[a] = me
			continue
		}
		now := me
		if known {
			now.blocks = before.blocks || before.block != me.block
			now.many = before.block == me.block && before.epoch == me.epoch && (before.many || before.thread != me.thread)
		}
		r.read[a] = now
	}
	return nil
}
