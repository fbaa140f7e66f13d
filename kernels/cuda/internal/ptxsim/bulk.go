package ptxsim

import (
	"encoding/binary"
	"fmt"
)

// TensorMap describes a matrix in global memory, or a batch of them, with 16-bit elements. Lists begin with the
// innermost axis. The driver's encoding is opaque; here it is simply these numbers.
type TensorMap struct {
	Address uint64
	Rank    int
	Lengths [3]int
	Strides [2]int // bytes
	Box     [3]int
}

// mapWords is the size of a tensor map argument in words; mapMark is its first word.
const (
	mapWords = 16
	mapMark  = 0x70616d20736e6574
)

// Words encodes the map as a kernel argument.
func (m TensorMap) Words() (w [mapWords]uint64) {
	w[0], w[1], w[2] = mapMark, m.Address, uint64(m.Rank)
	for i := range 3 {
		w[3+i], w[6+i] = uint64(m.Lengths[i]), uint64(m.Box[i])
	}
	w[9], w[10] = uint64(m.Strides[0]), uint64(m.Strides[1])
	return w
}

func mapOf(w []uint64) (m TensorMap, err error) {
	if w[0] != mapMark {
		return m, fmt.Errorf("an argument is no tensor map")
	}
	m.Address, m.Rank = w[1], int(w[2])
	for i := range 3 {
		m.Lengths[i], m.Box[i] = int(w[3+i]), int(w[6+i])
	}
	m.Strides = [2]int{int(w[9]), int(w[10])}
	return m, nil
}

// addressOfMap is the address of tensor map parameter number i.
func addressOfMap(i int) uint64 { return 1<<62 | uint64(i)<<8 }

// barrierWord is an mbarrier: it counts, in shared memory, the threads that arrive and the bytes that copies deliver.
// When all have come, its phase ends and the next begins.
type barrierWord struct {
	expected, pending, bytes int
	phase                    int
	by                       int   // the thread that initialized it,
	epoch                    int32 // and when
	fenced                   bool  // a fence made it visible to copies
}

func (b *barrierWord) settle() {
	if b.pending == 0 && b.bytes == 0 {
		b.phase++
		b.pending = b.expected
	}
}

// over reports whether the phase of the given parity has ended, that is, precedes the current phase.
func (b *barrierWord) over(parity uint64) bool { return uint64(b.phase&1) != parity&1 }

// bulkCopy is a bulk copy in flight. It happens as late as hardware may do it: when nothing else can continue.
type bulkCopy struct {
	from  TensorMap
	at    [3]int // first element of the box
	to    uint64
	tells *barrierWord
}

// polls is a thread's wait for a phase.
type polls struct {
	on     *barrierWord
	parity uint64
	pc     int32
	failed int // number of failures in a row
}

func init() {
	instructions["cvta.param.u64"] = func(t *thread, in *instruction) { t.regs[in.d] = t.regs[in.a] }
	instructions["mbarrier.init.shared::cta.b64"] = func(t *thread, in *instruction) {
		at := t.regs[in.d]
		if t.local(at, 8, true) != nil && t.err == nil {
			n := int(t.regs[in.a])
			t.block.barriers[at] = &barrierWord{expected: n, pending: n, by: t.id, epoch: t.block.epoch}
		}
	}
	instructions["mbarrier.arrive.shared::cta.b64"] = func(t *thread, in *instruction) { t.arriveAt(t.regs[in.a], 0) }
	instructions["mbarrier.arrive.expect_tx.shared::cta.b64"] = func(t *thread, in *instruction) { t.arriveAt(t.regs[in.a], int(t.regs[in.b])) }
	instructions["mbarrier.try_wait.parity.shared::cta.b64"] = func(t *thread, in *instruction) {
		b := t.barrierAt(t.regs[in.a])
		if b == nil {
			return
		}
		if b.over(t.regs[in.b]) {
			t.regs[in.d], t.polls = 1, polls{}
			return
		}
		t.regs[in.d] = 0
		if t.polls.pc != t.pc {
			t.polls = polls{pc: t.pc}
		}
		t.polls.on, t.polls.parity = b, t.regs[in.b]
		t.polls.failed++ // the first wait times out; a second one at the same instruction blocks until the phase ends
	}
	for rank := 2; rank <= 3; rank++ {
		instructions[fmt.Sprintf("cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes", rank)] = func(t *thread, in *instruction) {
			t.copyBulk(in, rank)
		}
	}
}

// barrierAt returns the mbarrier at an address. It is known to the thread that initialized it, and to the others after
// a barrier.
func (t *thread) barrierAt(at uint64) *barrierWord {
	b := t.block.barriers[at]
	switch {
	case b == nil:
		t.err = fmt.Errorf("shared address %d holds no mbarrier", at)
		return nil
	case b.epoch == t.block.epoch && b.by != t.id:
		t.err = fmt.Errorf("thread %d has made the mbarrier at shared address %d, and no barrier is in between", b.by, at)
		return nil
	}
	return b
}

// arriveAt counts the arrival of a thread, and the bytes that it expects. What the thread has read may be overwritten
// from now on.
func (t *thread) arriveAt(at uint64, bytes int) {
	b := t.barrierAt(at)
	if b == nil {
		return
	}
	if b.pending == 0 {
		t.err = fmt.Errorf("more than %d arrivals in a phase of the mbarrier at shared address %d", b.expected, at)
		return
	}
	t.release()
	b.pending--
	b.bytes += bytes
	b.settle()
}

// release lets copies overwrite what the thread has read.
func (t *thread) release() {
	for _, w := range t.read {
		t.block.words[w].reading--
	}
	t.read = t.read[:0]
}

// copyBulk starts a copy [to], [map, {x, y, ...}], [mbarrier].
func (t *thread) copyBulk(in *instruction, rank int) {
	value := func(i int) uint64 { return t.regs[in.list[i]] }
	b := t.block
	var c bulkCopy
	number := -1
	for i := range b.maps {
		if value(1) == addressOfMap(i) {
			number = i
		}
	}
	if number < 0 || len(in.list) != rank+3 {
		t.err = fmt.Errorf("%#x is not the address of a tensor map, or there are %d operands", value(1), len(in.list))
		return
	}
	c.from, c.to = b.maps[number], value(0)
	for i := range rank {
		c.at[i] = int(int32(value(2 + i)))
	}
	if c.tells = t.barrierAt(value(2 + rank)); c.tells == nil {
		return
	}
	if !c.tells.fenced {
		t.err = fmt.Errorf("copies do not see the mbarrier yet that thread %d has made: there is no %s after it", c.tells.by, fenceForGroups)
		return
	}
	if c.from.Rank != rank || c.to%1024 != 0 || c.to+uint64(c.bytes()) > uint64(len(b.shared)) {
		t.err = fmt.Errorf("a copy of a box of rank %d and %d bytes to shared address %d of %d", c.from.Rank, c.bytes(), c.to, len(b.shared))
		return
	}
	for w := c.to / 4; w < (c.to+uint64(c.bytes()))/4; w++ {
		u := &b.words[w]
		switch {
		case u.copied:
			t.err = fmt.Errorf("a copy to shared address %d is under way already", w*4)
		case u.reading > 0:
			t.err = fmt.Errorf("shared address %d is still read, by a product or a thread that has not arrived anywhere since", w*4)
		case u.dirty:
			t.err = fmt.Errorf("thread %d has written shared address %d, and there is no %s after it", u.writer, w*4, fenceForGroups)
		}
		u.copied = true
	}
	b.bulk = append(b.bulk, c)
}

func (c *bulkCopy) lines() int { return c.from.Box[1] * max(1, c.from.Box[2]) }
func (c *bulkCopy) bytes() int { return c.from.Box[0] * 2 * c.lines() }

// deliver completes one of the copies in flight, the first or the last; it returns false if there is none.
func (b *block) deliver(o Order) (bool, error) {
	if len(b.bulk) == 0 {
		return false, nil
	}
	i := 0
	if o == Down {
		i = len(b.bulk) - 1
	}
	c := b.bulk[i]
	b.bulk = append(b.bulk[:i], b.bulk[i+1:]...)
	at := c.to
	for line := range c.lines() {
		y, z := c.at[1]+line%c.from.Box[1], c.at[2]+line/c.from.Box[1]
		for i := range c.from.Box[0] {
			x := c.at[0] + i
			var v uint16
			inside := x >= 0 && x < c.from.Lengths[0] && y >= 0 && y < c.from.Lengths[1] && (c.from.Rank < 3 || z >= 0 && z < c.from.Lengths[2])
			if inside {
				m := b.memory.at(c.from.Address + uint64(2*x+y*c.from.Strides[0]+z*c.from.Strides[1]))
				if len(m) < 2 {
					return false, fmt.Errorf("a tensor map reaches beyond its allocation, at %d, %d, %d", x, y, z)
				}
				v = binary.LittleEndian.Uint16(m)
			}
			binary.LittleEndian.PutUint16(b.shared[at^at>>7&7<<4:], v)
			at += 2
		}
	}
	for w := c.to / 4; w < at/4; w++ {
		b.words[w] = word{written: true, bulk: true}
	}
	if c.tells.bytes -= c.bytes(); c.tells.bytes < 0 {
		return false, fmt.Errorf("%d bytes have come that the mbarrier does not expect", -c.tells.bytes)
	}
	c.tells.settle()
	return true, nil
}
