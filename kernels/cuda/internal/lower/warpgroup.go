package lower

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
)

// patternBytes is the size of eight lines of 128 bytes whose chunks are swizzled. The swizzle is a function of address
// bits, so a pattern begins at a multiple of its size.
const patternBytes = 8 * groupLineBytes

// patternStart is the next address at which a pattern may begin.
func (g *gen) patternStart(base ptx.Operand) ptx.Operand {
	up := g.k.Op(ptx.B32, "add.s32", base, ptx.Int32(patternBytes-1))
	return g.k.Op(ptx.B32, "and.b32", up, ptx.Int32(-patternBytes))
}

// descriptor describes a matrix in shared memory to warp-group products, without its start address: the 128-byte
// swizzle, and two distances in units of 16 bytes. One is from eight lines to the next eight. The other, for operands
// whose lines do not run along k, is from one column of lines to the next; it is unused otherwise, and then 1.
func (p *panel) descriptor() uint64 {
	const exchangedIn128 = 1
	columns := 1
	if !p.fast {
		columns = p.depth * groupLineBytes / chunkBytes
	}
	return exchangedIn128<<62 | patternBytes/chunkBytes<<32 | uint64(columns)<<16
}

// startOf is the offset of the elements from an outer index, a multiple of 64 or 0, and a step of k on.
func (p *panel) startOf(outer, step int) int {
	if p.fast {
		return outer*groupLineBytes + step*16*p.size
	}
	return outer/64*p.depth*groupLineBytes + step*16*groupLineBytes
}

// groupProducts is products for warp groups. Each multiplies 64 rows of A at a time by all columns of B, 16 of k per
// instruction.
func (t *tensor) groupProducts() func(stage ptx.Operand) {
	g, k := t.gen, t.k
	typ := map[bool]string{true: "bf16", false: "f16"}[strings.Contains(t.unit.instruction, ".bf16.")]
	name := fmt.Sprintf("wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s", t.n, typ, typ)
	turned := map[bool]int{true: 0, false: 1}
	// All threads of a warp have the same group number; the shuffle tells the assembler.
	number := k.Reg(ptx.B32)
	k.Line("shfl.sync.idx.b32 %v, %v, 0, 31, -1", number, g.mov(ptx.B32, g.over(t.warp, 4)))
	rows := g.times(number, t.warpM)
	perRow := groupLineBytes
	if !t.a.fast {
		perRow = t.a.depth * groupLineBytes / 64
	}
	own := g.mov(ptx.B32, g.add(g.times(rows, perRow), t.base))
	always := g.compare("eq", "s32", g.mov(ptx.B32, ptx.Int32(0)), ptx.Int32(0))
	return func(stage ptx.Operand) {
		begin := func(base ptx.Operand, p *panel) ptx.Operand {
			at := k.Op(ptx.B32, "add.s32", base, stage)
			at = k.Op(ptx.B32, "add.s32", at, ptx.Int32(int64(p.offset)))
			units := k.Op(ptx.B32, "shr.u32", at, ptx.Int32(4))
			return k.Op(ptx.B64, "or.b64", k.Op(ptx.B64, "cvt.u64.u32", units), ptx.Int64(int64(p.descriptor())))
		}
		left, right := begin(own, &t.a), begin(t.base, &t.b)
		from := func(matrix ptx.Operand, bytes int) ptx.Operand {
			if bytes == 0 {
				return matrix
			}
			return k.Op(ptx.B64, "add.s64", matrix, ptx.Int64(int64(bytes/chunkBytes)))
		}
		k.Line("wgmma.fence.sync.aligned")
		sums := t.n / 2
		for step := range t.depth / t.unit.step {
			b := from(right, t.b.startOf(0, step))
			for i := range t.warpM / 64 {
				a := from(left, t.a.startOf(64*i, step))
				var list strings.Builder
				for j, d := range t.sums[i*sums : (i+1)*sums] {
					if j > 0 {
						list.WriteString(", ")
					}
					list.WriteString(d.String())
				}
				k.Line("%s {%s}, %v, %v, %v, 1, 1, %d, %d", name, list.String(), a, b, always, turned[t.a.fast], turned[t.b.fast])
			}
		}
		k.Line("wgmma.commit_group.sync.aligned")
	}
}
