package ptxsim

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// groupWarps is the number of warps of a warp group; the first warp's number is a multiple of it.
const groupWarps = 4

// groupInstructions are those that the four warps of a warp group execute together: asynchronous products with operands
// in shared memory. See wgmma in NVIDIA's manual, "PTX ISA".
var groupInstructions = map[string]func(w []thread, in *instruction) error{}

// fenceForGroups makes a thread's writes to shared memory visible to warp-group products.
const fenceForGroups = "fence.proxy.async.shared::cta"

// warpGroup holds a warp group's products in flight.
type warpGroup struct {
	products []product
	closed   int  // number of closed groups of products
	fenced   bool // registers may be used by products, after wgmma.fence
}

// product is a product in flight. It reads its operands when it begins, and they must not change until it ends. Its
// sums appear as late as hardware may produce them: when it is waited for.
type product struct {
	in    *instruction
	a, b  [][groupStep]float64 // rows of A, columns of B
	words []uint32             // words of shared memory that it reads
	group int
}

const groupStep = 16 // columns of A in a product of 16-bit floats

func init() {
	for n := 8; n <= 256; n += 8 {
		for typ, widen := range halves {
			groupInstructions[fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s", n, typ, typ)] = func(w []thread, in *instruction) error {
				return begin(w, in, n, widen)
			}
		}
	}
	groupInstructions["wgmma.fence.sync.aligned"] = func(w []thread, _ *instruction) error {
		w[0].group.fenced = true
		return nil
	}
	groupInstructions["wgmma.commit_group.sync.aligned"] = func(w []thread, _ *instruction) error {
		w[0].group.closed++
		return nil
	}
	groupInstructions["wgmma.wait_group.sync.aligned"] = func(w []thread, in *instruction) error {
		finish(w, int(w[0].regs[in.list[0]]))
		return nil
	}
	instructions[fenceForGroups] = func(t *thread, _ *instruction) {
		b := t.block
		for _, w := range b.barriers {
			w.fenced = w.fenced || w.by == t.id
		}
		for _, at := range t.dirty {
			if u := &b.words[at]; u.writer == int32(t.id) {
				u.dirty, u.fenceEpoch = false, b.epoch
			}
		}
		t.dirty = t.dirty[:0]
	}
}

// meetGroups executes the instruction that a whole warp group has reached, for the first such group in the order of
// threads; one group may get far ahead of the others. Groups some of whose warps have not arrived wait, as long as any
// thread can continue.
func (k *Kernel) meetGroups(threads []thread, down bool) error {
	stuck, progress := -1, false
	const size = groupWarps * warpSize
	for i := 0; i < len(threads) && !progress; i += size {
		first := i
		if down {
			first = (len(threads)-1)/size*size - i
		}
		w := threads[first:min(first+groupWarps*warpSize, len(threads))]
		if !slices.ContainsFunc(w, func(t thread) bool { return t.state == meeting && k.code[t.pc-1].group != nil }) {
			continue
		}
		pc := w[0].pc
		if len(w) < groupWarps*warpSize || slices.ContainsFunc(w, func(t thread) bool { return t.state != meeting || t.pc != pc }) {
			stuck = first
			continue
		}
		if w[0].group == nil {
			g := &warpGroup{}
			for i := range w {
				w[i].group = g
			}
		}
		in := &k.code[pc-1]
		if err := in.group(w, in); err != nil {
			return fmt.Errorf("line %d, %q: %w", in.line, in.text, err)
		}
		for i := range w {
			w[i].state = running
		}
		progress = true
	}
	if stuck >= 0 && !progress && !slices.ContainsFunc(threads, func(t thread) bool { return t.state == polling }) && !slices.ContainsFunc(threads, func(t thread) bool { return t.state == meeting && k.code[t.pc-1].group == nil }) {
		return fmt.Errorf("the four warps from thread %d on do not execute the same instruction of a warp group", stuck)
	}
	return nil
}

// operand is a matrix in shared memory, as given by a 64-bit descriptor: where it begins and the distances between its
// parts, in units of 16 bytes.
type operand struct{ start, leading, stride uint64 }

func describe(descriptor uint64) (operand, error) {
	const swizzled128 = 1
	if descriptor>>62 != swizzled128 || descriptor>>49&7 != 0 {
		return operand{}, fmt.Errorf("the descriptor %#x is not of a matrix in lines of 128 bytes whose pattern begins at a multiple of 1024", descriptor)
	}
	field := func(at int) uint64 { return descriptor >> at & 0x3fff << 4 }
	return operand{field(0), field(16), field(32)}, nil
}

// element returns the address of a 16-bit element, where i is a row of A or a column of B. The elements of a 128-byte
// line are adjacent along k, or along i if turned. Eight lines form a pattern in which each line's 16-byte pieces are
// swizzled by the line's number.
func (o operand) element(i, k int, turned bool) uint64 {
	along, line := k, i // the axis of adjacent elements, and the other one
	if turned {
		along, line = i, k
	}
	at := o.start + uint64(line/8)*o.stride + uint64(line%8*128) + uint64(along/64)*o.leading + uint64(along%64*2)
	return at ^ at>>7&7<<4
}

// begin reads the operands of a product. A has 64 rows, B has n columns.
func begin(w []thread, in *instruction, n int, widen func(uint64) float64) error {
	g := w[0].group
	if !g.fenced {
		return fmt.Errorf("there is no wgmma.fence since the registers may have been used")
	}
	sums := n / 2 // of one thread
	rest := in.list[sums:]
	value := func(i int) uint64 { return w[0].regs[rest[i]] }
	if value(2) == 0 || value(3) != 1 || value(4) != 1 || len(rest) != 7 {
		return fmt.Errorf("only products that are added to sums are known here")
	}
	p := product{in: in, group: g.closed}
	for i, side := range []struct {
		rows   int
		turned bool
		to     *[][groupStep]float64
	}{{64, value(5) != 0, &p.a}, {n, value(6) != 0, &p.b}} {
		o, err := describe(value(i))
		if err != nil {
			return err
		}
		*side.to = make([][groupStep]float64, side.rows)
		for row := range side.rows {
			for k := range groupStep {
				x, err := p.read(&w[0], o.element(row, k, side.turned))
				if err != nil {
					return err
				}
				(*side.to)[row][k] = widen(uint64(x))
			}
		}
	}
	g.products = append(g.products, p)
	return nil
}

// read reads an element, and records that it must not change before the product ends.
func (p *product) read(t *thread, at uint64) (uint16, error) {
	m := t.local(at, 2, false)
	if m == nil || t.err != nil {
		return 0, t.err
	}
	if n := len(t.read); n > 0 && t.read[n-1] == uint32(at/4) { // the product reads it, not the thread
		t.block.words[at/4].reading--
		t.read = t.read[:n-1]
	}
	word := uint32(at / 4)
	u := &t.block.words[word]
	if u.dirty || u.fenceEpoch >= t.block.epoch {
		return 0, fmt.Errorf("shared address %d was written by thread %d, and no %s and barrier after it are between", at, u.writer, fenceForGroups)
	}
	u.reading++
	p.words = append(p.words, word)
	return binary.LittleEndian.Uint16(m), nil
}

// finish completes all products except those of the last groups; left is the number of those groups. Each warp holds 16
// rows of the sums, laid out over its threads as for products of single warps.
func finish(w []thread, left int) {
	g := w[0].group
	kept := g.products[:0]
	for _, p := range g.products {
		if p.group >= g.closed-left {
			kept = append(kept, p)
			continue
		}
		for _, at := range p.words {
			w[0].block.words[at].reading--
		}
		for m, row := range p.a {
			for n, column := range p.b {
				f := fragmentC(m%16, n%8)
				r := &w[m/16*warpSize+f.lane].regs[p.in.list[n/8*4+f.register]]
				sum := float64(f32(*r))
				for k, x := range row {
					sum += x * column[k]
				}
				*r = bits32(float32(sum))
			}
		}
	}
	g.products, g.fenced = kept, false
}
