package ptxsim

import (
	"encoding/binary"
	"fmt"
)

// access says which thread last accessed a byte of global memory, and between which barriers.
type access struct {
	block  int
	thread int32
	epoch  int32
	many   bool // other threads of the block have too
	blocks bool // threads of other blocks have too
}

// conflicts reports whether two accesses are unordered: the blocks of a launch run in any order, and barriers alone
// order the threads of a block.
func (a access) conflicts(b access) bool {
	return a.block != b.block || a.blocks || a.epoch == b.epoch && (a.thread != b.thread || a.many)
}

// races finds unordered accesses to global memory in a launch, at least one of which is a write.
type races struct {
	wrote, read map[uint64]access
	arrived     map[uint64][]arrival // by the ticket's address
}

func newRaces() *races {
	return &races{map[uint64]access{}, map[uint64]access{}, map[uint64][]arrival{}}
}

// arrival is a block that has drawn a ticket, after a fence. Blocks that draw later see what its threads wrote before
// their last barrier.
type arrival struct {
	block int
	epoch int32
}

// acquired says up to which barrier a block has seen another one's writes, in which thread and when; its other threads
// see them after a barrier.
type acquired struct {
	theirs, mine int32
	thread       int
}

// ordered reports whether a block made an access before it drew a ticket that the thread's block has seen.
func (t *thread) ordered(a access) bool {
	s, ok := t.block.sees[a.block]
	return ok && !a.blocks && a.epoch < s.theirs && (t.block.epoch > s.mine || t.id == s.thread)
}

func init() {
	instructions["fence.acq_rel.gpu"] = func(t *thread, _ *instruction) {
		t.fenced = t.block.epoch
		for _, a := range t.drawn {
			t.block.sees[a.block] = acquired{a.epoch, t.block.epoch, t.id}
		}
		t.drawn = nil
	}
	instructions["atom.global.inc.u32"] = func(t *thread, in *instruction) {
		address := t.regs[in.a] + uint64(in.offset)
		r := t.block.races
		t.block.races = nil // atomic operations do not race with each other
		m := t.global(address, 4, true)
		t.block.races = r
		if m == nil {
			return
		}
		before, most := binary.LittleEndian.Uint32(m), uint32(t.regs[in.b])
		next := before + 1
		if before >= most {
			next = 0
		}
		binary.LittleEndian.PutUint32(m, next)
		t.regs[in.d] = uint64(before)
		if r == nil {
			return
		}
		if t.fenced == t.block.epoch {
			r.arrived[address] = append(r.arrived[address], arrival{t.block.number, t.block.epoch})
		}
		t.drawn = r.arrived[address]
	}
}

// touch records a thread's access.
func (r *races) touch(t *thread, address uint64, size int, write bool) error {
	me := access{block: t.block.number, thread: int32(t.id), epoch: t.block.epoch}
	for a := address; a < address+uint64(size); a++ {
		if w, ok := r.wrote[a]; ok && w.conflicts(me) && !t.ordered(w) {
			return fmt.Errorf("thread %d of block %d touches address %#x, which thread %d of block %d has written, and nothing orders them", t.id, me.block, a, w.thread, w.block)
		}
		before, known := r.read[a]
		if write {
			if known && before.conflicts(me) && !t.ordered(before) {
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
