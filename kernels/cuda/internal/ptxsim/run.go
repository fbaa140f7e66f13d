package ptxsim

import (
	"fmt"
	"slices"
)

// Order is the order in which the threads of a block run between barriers.
type Order uint8

// The orders.
const (
	Up Order = iota
	Down
	Shuffled
	orders
)

// Orders returns all orders.
func Orders() []Order { return []Order{Up, Down, Shuffled} }

// Launch is one run of a kernel.
type Launch struct {
	Grid   [3]int
	Block  int // threads
	Shared int // bytes of dynamic shared memory
	Args   []uint64
	Memory *Memory
	Order  Order
	Races  bool // reports unordered accesses to global memory; slow
}

// maxSteps is the maximum number of a thread's steps, to detect infinite loops.
const maxSteps = 200_000_000

type thread struct {
	regs  []uint64
	block *block
	pc    int32
	id    int
	state state
	steps int
	err   error

	copies []copying // copies started and not waited for
	groups int       // number of closed groups of copies
	fenced int32     // the epoch of its last fence of global memory
	drawn  []arrival // arrivals that it has seen in a ticket, but not acquired by a fence
	dirty  []uint32  // words of shared memory written since its last fence for warp groups
	group  *warpGroup
	read   []uint32 // words of bulk copies that it has read since it last arrived at a barrier
	polls  polls
}

// state is the state of a thread.
type state uint8

const (
	running state = iota
	waiting       // at a barrier
	meeting       // at an instruction that a warp executes together
	polling       // for the phase of an mbarrier
	done
)

// block is the state shared by the threads of a block.
type block struct {
	memory *Memory
	number int
	races  *races // nil: not checked
	shared []byte
	words  []word
	epoch  int32
	sees   map[int]acquired // by block: how far its writes are visible
	fences bool             // there are warp-group products: record which words were written without a fence

	maps     []TensorMap
	barriers map[uint64]*barrierWord // by address
	bulk     []bulkCopy              // in flight
}

// dynamicAfter is the offset of the dynamic shared memory: it is only guaranteed to be a multiple of 16.
func dynamicAfter(declared int) int { return (declared+15)&^15 + 16 }

// word records the accesses to four bytes of shared memory since the last barrier.
type word struct {
	writeEpoch, readEpoch int32
	writer, reader        int32
	many, written         bool
	copied                bool // by an asynchronous copy in flight
	dirty                 bool // written since its writer's last fence for warp groups
	fenceEpoch            int32
	reading               int32 // number of warp-group products reading it, and of threads that have read it and not arrived at a barrier since
	bulk                  bool  // written by a bulk copy
}

// Run runs a kernel to its end.
func (k *Kernel) Run(l Launch) error {
	if len(l.Args) != k.Params+k.Maps*mapWords {
		return fmt.Errorf("ptxsim: kernel %s takes %d parameters and %d tensor maps, received %d words", k.Name, k.Params, k.Maps, len(l.Args))
	}
	l.Memory.mu.RLock()
	defer l.Memory.mu.RUnlock()
	size := k.Shared
	if l.Shared > 0 {
		size = dynamicAfter(k.Shared) + l.Shared
	}
	b := &block{memory: l.Memory, shared: make([]byte, size), words: make([]word, size/4), fences: k.fences, barriers: map[uint64]*barrierWord{}}
	for i := range k.Maps {
		m, err := mapOf(l.Args[k.Params+i*mapWords:])
		if err != nil {
			return fmt.Errorf("ptxsim: kernel %s: %w", k.Name, err)
		}
		b.maps = append(b.maps, m)
	}
	if l.Races {
		b.races, b.sees = newRaces(), map[int]acquired{}
	}
	count := 1
	if k.barriers {
		count = l.Block
	}
	threads := make([]thread, count)
	for i := range threads {
		threads[i].regs = make([]uint64, k.slots)
		threads[i].block = b
	}
	order := sequence(l.Block, l.Order)
	for z := range l.Grid[2] {
		for y := range l.Grid[1] {
			for x := range l.Grid[0] {
				b.number = (z*l.Grid[1]+y)*l.Grid[0] + x
				if err := k.runBlock(b, threads, order, l, [3]int{x, y, z}); err != nil {
					return fmt.Errorf("ptxsim: kernel %s, block %d,%d,%d: %w", k.Name, x, y, z, err)
				}
			}
		}
	}
	return nil
}

func sequence(n int, o Order) []int {
	s := make([]int, n)
	for i := range s {
		switch o {
		case Down:
			s[i] = n - 1 - i
		case Shuffled: // a step coprime to all powers of two
			s[i] = (i*37 + 11) % n
			if n%37 == 0 {
				s[i] = i
			}
		default:
			s[i] = i
		}
	}
	return s
}

func (k *Kernel) prepare(t *thread, id int, l Launch, at [3]int) {
	copy(t.regs, k.initial)
	copy(t.regs, l.Args[:k.Params]) // the first slots are the parameters
	for i, x := range [6]int{id, at[0], at[1], at[2], l.Block, l.Grid[0]} {
		t.regs[k.special[i]] = uint64(x)
	}
	t.pc, t.id, t.state, t.steps, t.err = 0, id, running, 0, nil
	t.copies, t.groups = t.copies[:0], 0
	t.fenced, t.drawn = 0, nil
	t.dirty, t.group = t.dirty[:0], nil
	t.read, t.polls = t.read[:0], polls{}
}

func (k *Kernel) runBlock(b *block, threads []thread, order []int, l Launch, at [3]int) error {
	if !k.barriers {
		t := &threads[0]
		for _, id := range order {
			k.prepare(t, id, l, at)
			if err := k.advance(t); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range b.shared {
		b.shared[i] = 0xff // NaN
	}
	clear(b.words)
	clear(b.barriers)
	b.epoch, b.bulk = 1, b.bulk[:0]
	clear(b.sees)
	for i := range threads {
		k.prepare(&threads[i], i, l, at)
	}
	for {
		if err := k.reach(threads, order); err != nil {
			return err
		}
		released, err := k.release(threads, order)
		if err != nil {
			return err
		}
		if released {
			b.epoch++
			continue
		}
		if len(b.bulk) > 0 && !slices.ContainsFunc(threads, func(t thread) bool { return t.state != done }) {
			return fmt.Errorf("the block ends while bulk copies of its are under way")
		}
		delivered, err := b.deliver(l.Order)
		if err != nil {
			return err
		}
		if !delivered {
			return k.stand(threads, order)
		}
	}
}

// release resumes the threads at a barrier once enough of them have reached it.
func (k *Kernel) release(threads []thread, order []int) (bool, error) {
	at, here := int32(-1), 0
	for _, id := range order {
		t := &threads[id]
		if t.state != waiting {
			continue
		}
		if at >= 0 && at != t.pc {
			return false, fmt.Errorf("threads wait at different barriers, in lines %d and %d", k.code[at-1].line, k.code[t.pc-1].line)
		}
		at = t.pc
		here++
	}
	if at < 0 {
		return false, nil
	}
	count := int(k.code[at-1].offset)
	if count == 0 {
		count = len(threads)
	}
	if here < count {
		return false, nil
	}
	for i := range threads {
		if t := &threads[i]; t.state == waiting {
			t.state = running
			t.release()
		}
	}
	return true, nil
}

// stand returns an error if a block that cannot continue has not reached its end.
func (k *Kernel) stand(threads []thread, order []int) error {
	ended, barrier := 0, int32(-1)
	for _, id := range order {
		switch t := &threads[id]; t.state {
		case done:
			ended++
		case waiting:
			barrier = t.pc
		case polling:
			return fmt.Errorf("thread %d waits forever in line %d, %q", t.id, k.code[t.pc-1].line, k.code[t.pc-1].text)
		case meeting:
			return fmt.Errorf("thread %d waits forever for others in line %d, %q", t.id, k.code[t.pc-1].line, k.code[t.pc-1].text)
		}
	}
	if ended < len(threads) {
		return fmt.Errorf("%d of %d threads do not reach the barrier in line %d", ended, len(threads), k.code[barrier-1].line)
	}
	return nil
}

// reach runs all threads up to the next barrier or to their ends, including the instructions of whole warps on the way.
func (k *Kernel) reach(threads []thread, order []int) error {
	for {
		met, moved := false, false
		for _, id := range order {
			t := &threads[id]
			if t.state == polling && t.polls.on.over(t.polls.parity) {
				t.state = running
			}
			if t.state != running {
				continue
			}
			if err := k.advance(t); err != nil {
				return err
			}
			met, moved = met || t.state == meeting, true
		}
		if !met && !moved {
			return nil
		}
		if err := k.meetGroups(threads, order[0] > 0); err != nil {
			return err
		}
		for first := 0; first < len(threads); first += warpSize {
			if err := k.meet(threads[first:min(first+warpSize, len(threads))]); err != nil {
				return err
			}
		}
	}
}

// advance runs a thread to its end or past the next barrier.
func (k *Kernel) advance(t *thread) error {
	code := k.code
	for {
		in := &code[t.pc]
		t.pc++
		if t.steps++; t.steps > maxSteps {
			return fmt.Errorf("thread %d runs without end", t.id)
		}
		if in.guard >= 0 && (t.regs[in.guard] != 0) == in.negated {
			continue
		}
		switch in.kind {
		case plain:
			in.run(t, in)
			if t.err != nil {
				return fmt.Errorf("thread %d, line %d, %q: %w", t.id, in.line, in.text, t.err)
			}
			if t.polls.failed > 1 && t.polls.pc == t.pc {
				t.state = polling
				return nil
			}
		case branch:
			t.pc = in.target
		case barrier:
			t.state = waiting
			return nil
		case together:
			t.state = meeting
			return nil
		case leave:
			if t.state = done; len(t.copies) > 0 {
				return fmt.Errorf("thread %d ends while a copy of its is under way", t.id)
			}
			if t.group != nil && len(t.group.products) > 0 {
				return fmt.Errorf("thread %d ends while a product of its warp group is under way", t.id)
			}
			return nil
		}
	}
}

// global returns the bytes at an address in global memory.
func (t *thread) global(address uint64, size int, write bool) []byte {
	m := t.block.memory.at(address)
	if r := t.block.races; r != nil && len(m) >= size {
		t.err = r.touch(t, address, size, write)
	}
	switch {
	case t.err != nil:
	case len(m) < size:
		t.err = fmt.Errorf("address %#x is outside of all allocations (%d bytes are left there, %d are accessed)", address, len(m), size)
	case address%uint64(size) != 0:
		t.err = fmt.Errorf("address %#x is not a multiple of %d", address, size)
	default:
		return m
	}
	return nil
}

// local returns the bytes at an address in shared memory.
func (t *thread) local(address uint64, size int, write bool) []byte {
	b := t.block
	if address+uint64(size) > uint64(len(b.shared)) || address%uint64(size) != 0 {
		t.err = fmt.Errorf("shared address %d of %d bytes: the block has %d", address, size, len(b.shared))
		return nil
	}
	me := int32(t.id)
	for w := address / 4; w < (address+uint64(size)+3)/4; w++ {
		u := &b.words[w]
		if u.writeEpoch == b.epoch && u.written && u.writer != me {
			t.err = fmt.Errorf("threads %d and %d touch shared address %d without a barrier in between", u.writer, me, w*4)
		}
		if u.copied {
			t.err = fmt.Errorf("thread %d touches shared address %d, to which a copy is under way", me, w*4)
		}
		if write {
			if u.reading > 0 {
				t.err = fmt.Errorf("thread %d writes shared address %d, which a product of a warp group reads that is under way", me, w*4)
			}
			if b.fences && !(u.dirty && u.written && u.writer == me) {
				u.dirty = true
				t.dirty = append(t.dirty, uint32(w))
			}
			if u.readEpoch == b.epoch && (u.reader != me || u.many) {
				t.err = fmt.Errorf("thread %d writes shared address %d, which thread %d has read, without a barrier in between", me, w*4, u.reader)
			}
			u.writeEpoch, u.writer, u.written, u.bulk = b.epoch, me, true, false
			continue
		}
		if u.bulk {
			u.reading++
			t.read = append(t.read, uint32(w))
			continue
		}
		if !u.written {
			t.err = fmt.Errorf("thread %d reads shared address %d, which nobody has written", me, w*4)
		}
		u.many = u.readEpoch == b.epoch && (u.many || u.reader != me)
		u.readEpoch, u.reader = b.epoch, me
	}
	return b.shared[address:]
}
