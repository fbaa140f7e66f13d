package ptxsim

import (
	"fmt"
	"math"
)

// copying is an asynchronous copy from global to shared memory. It happens as late as hardware may do it: when it is
// waited for.
type copying struct {
	to    uint64
	from  []byte // may be shorter than size: the rest is filled with zeros
	size  int
	group int
}

func init() {
	for size, name := range map[int]string{4: "cp.async.ca.shared.global", 16: "cp.async.cg.shared.global"} {
		instructions[name] = func(t *thread, in *instruction) { t.copyAsync(in, size) }
	}
	instructions["cp.async.commit_group"] = func(t *thread, _ *instruction) { t.groups++ }
	instructions["cp.async.wait_group"] = func(t *thread, in *instruction) { t.arrive(int(t.regs[in.d])) }
	instructions["ex2.approx.f32"] = func(t *thread, in *instruction) {
		t.regs[in.d] = bits32(float32(math.Exp2(float64(f32(t.regs[in.a])))))
	}
	instructions["cvt.rn.f16x2.f32"] = func(t *thread, in *instruction) {
		t.regs[in.d] = toHalf(t.regs[in.a])<<16 | toHalf(t.regs[in.b])
	}
	instructions["cvt.rn.bf16x2.f32"] = func(t *thread, in *instruction) {
		t.regs[in.d] = toBFloat16(t.regs[in.a])<<16 | toBFloat16(t.regs[in.b])
	}
	instructions["cvt.rna.tf32.f32"] = func(t *thread, in *instruction) { t.regs[in.d] = toTF32(t.regs[in.a]) }
}

// toBFloat16 rounds to the nearest bfloat16, ties to even.
func toBFloat16(x uint64) uint64 {
	if f := f32(x); f != f {
		return 0x7fff
	}
	return uint64(uint32(x)+0x7fff+uint32(x)>>16&1) >> 16
}

// toTF32 rounds the mantissa to 10 bits, ties away from zero. It clears the other bits of NaN, which may become
// infinite.
func toTF32(x uint64) uint64 {
	if f := f32(x); f != f || math.IsInf(float64(f), 0) {
		return x &^ 0x1fff
	}
	return uint64(uint32(x+0x1000)) &^ 0x1fff
}

// copyAsync starts a copy [to], [from], size, bytes: after the bytes copied come zeros.
func (t *thread) copyAsync(in *instruction, size int) {
	to, given := t.regs[in.list[0]]+uint64(in.offset), int(uint32(t.regs[in.list[3]]))
	if n := int(t.regs[in.list[2]]); n != size || given > size {
		t.err = fmt.Errorf("%d of %d bytes: the instruction copies %d", given, n, size)
		return
	}
	c := copying{to: to, size: size, group: t.groups}
	if from := t.regs[in.list[1]]; from%uint64(size) != 0 {
		t.err = fmt.Errorf("address %#x is not a multiple of %d", from, size)
	} else if given > 0 {
		if c.from = t.global(from, given, false); c.from != nil {
			c.from = c.from[:given]
		}
	}
	if t.err == nil && t.local(to, size, true) != nil && t.err == nil {
		t.copies = append(t.copies, c)
		t.mark(c, true)
	}
}

func (t *thread) mark(c copying, underWay bool) {
	for w := c.to / 4; w < (c.to+uint64(c.size))/4; w++ {
		t.block.words[w].copied = underWay
	}
}

// arrive completes all copies except those of the last groups; left is the number of those groups.
func (t *thread) arrive(left int) {
	kept := t.copies[:0]
	for _, c := range t.copies {
		if c.group >= t.groups-left {
			kept = append(kept, c)
			continue
		}
		t.mark(c, false)
		to := t.local(c.to, c.size, true)
		clear(to[:c.size])
		copy(to, c.from)
	}
	t.copies = kept
}
