package lower

import (
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// float32 attention works like that of 16-bit floats, with the same numbers in the same lanes: of each 16 by 8 tile, a
// lane has two adjacent elements of a row, and two of the row eight further down. Only the multiplication of tiles
// differs: it uses float32 multiplications and additions, or, if TF32 is allowed, tensor cores, which take eight of the
// inner index at a time. Their order does not matter, so weights need not move to other lanes. The block's own rows
// stay in shared memory, rounds are shorter, and exp is our own function.

// isFloat reports whether elements are float32.
func (f *flash) isFloat() bool { return f.dtype == ir.Float32 }

// dots computes own·otherᵀ for tiles of eight other rows each. The addresses are those of the block's own rows and of a
// stage's rows.
func (f *flash) dots(own, other ptx.Operand, ownPitch, otherPitch, size, tiles int) [][]ptx.Operand {
	g, k := f.gen, f.gen.k
	sums := f.zeros(tiles)
	own = k.Op(ptx.B32, "add.s32", own, g.mov(ptx.B32, g.times(g.add(g.times(f.warp, 16), f.group), ownPitch)))
	if f.options.TF32 {
		quarter := g.mov(ptx.B32, g.times(g.mod(f.lane, 4), 4))
		own = k.Op(ptx.B32, "add.s32", own, quarter)
		other = k.Op(ptx.B32, "add.s32", k.Op(ptx.B32, "add.s32", other, quarter), g.mov(ptx.B32, g.times(f.group, otherPitch)))
		f.along(size, 32, own, other, func(own, other ptx.Operand) {
			a := []ptx.Operand{f.tf32(own, 0), f.tf32(own, 8*ownPitch), f.tf32(own, 16), f.tf32(own, 16+8*ownPitch)}
			for j, d := range sums {
				f.multiply(d, a, []ptx.Operand{f.tf32(other, 8*j*otherPitch), f.tf32(other, 16+8*j*otherPitch)})
			}
		})
		return sums
	}
	other = k.Op(ptx.B32, "add.s32", other, g.mov(ptx.B32, g.times(f.column, otherPitch)))
	f.along(size, 16, own, other, func(own, other ptx.Operand) {
		rows := [2][]ptx.Operand{f.words(4, own, 0), f.words(4, own, 8*ownPitch)}
		for j, d := range sums {
			for e := range 2 {
				x := f.words(4, other, (8*j+e)*otherPitch)
				for r, row := range rows {
					for i := range x {
						k.To(d[2*r+e], "fma.rn.f32", row[i], x[i], d[2*r+e])
					}
				}
			}
		}
	})
	return sums
}

// along writes a loop along rows of a length, a number of bytes at a time: unrolled, the text would take the assembler
// long.
func (f *flash) along(size, bytes int, own, other ptx.Operand, body func(own, other ptx.Operand)) {
	k := f.gen.k
	f.gen.loop(ptx.Int32(0), ptx.Int32(int64(padded(size)*4)), bytes, func(at ptx.Operand) {
		body(k.Op(ptx.B32, "add.s32", own, at), k.Op(ptx.B32, "add.s32", other, at))
	})
}

// weightedFloat adds weights times the rows that begin at an address.
func (f *flash) weightedFloat(out, weights [][]ptx.Operand, from ptx.Operand, pitch int) {
	g, k := f.gen, f.gen.k
	if f.options.TF32 {
		from = k.Op(ptx.B32, "add.s32", from, g.mov(ptx.B32, g.add(g.times(f.column, pitch), g.times(f.group, 4))))
		for j, w := range weights {
			a := make([]ptx.Operand, 4)
			for i, e := range []int{0, 2, 1, 3} { // keys 2c and 2c+1 of each four belong to the lane
				a[i] = k.Op(ptx.B32, "cvt.rna.tf32.f32", w[e])
			}
			for t, d := range out {
				f.multiply(d, a, []ptx.Operand{f.tf32(from, 8*j*pitch+32*t), f.tf32(from, (8*j+1)*pitch+32*t)})
			}
		}
		return
	}
	from = k.Op(ptx.B32, "add.s32", from, g.mov(ptx.B32, g.times(f.column, 4)))
	first := k.Op(ptx.B32, "and.b32", g.mov(ptx.B32, f.lane), ptx.Int32(28))
	g.loop(ptx.Int32(0), ptx.Int32(4), 1, func(c ptx.Operand) {
		lane := k.Op(ptx.B32, "add.s32", first, c)
		from := k.Op(ptx.B32, "mad.lo.s32", c, ptx.Int32(int64(2*pitch)), from)
		for j, w := range weights {
			for e := range 2 {
				rows := [2]ptx.Operand{f.ofLane(w[e], lane), f.ofLane(w[2+e], lane)}
				for t, d := range out {
					x := f.words(2, from, (8*j+e)*pitch+32*t)
					for i := range d {
						k.To(d[i], "fma.rn.f32", rows[i/2], x[i%2], d[i])
					}
				}
			}
		}
	})
}

// ofLane returns another lane's operand.
func (f *flash) ofLane(x, lane ptx.Operand) ptx.Operand {
	return f.gen.k.Op(ptx.F32, "shfl.sync.idx.b32", x, lane, ptx.Int32(31), ptx.Int32(-1))
}

// words loads two or four adjacent words of shared memory.
func (f *flash) words(n int, from ptx.Operand, offset int) []ptx.Operand {
	k := f.gen.k
	r := make([]ptx.Operand, n)
	for i := range r {
		r[i] = k.Reg(ptx.F32)
	}
	if n == 2 {
		k.Line("ld.shared.v2.f32 {%v, %v}, [%v+%d]", r[0], r[1], from, offset)
	} else {
		k.Line("ld.shared.v4.f32 {%v, %v, %v, %v}, [%v+%d]", r[0], r[1], r[2], r[3], from, offset)
	}
	return r
}

// tf32 loads a number from shared memory in the form that tensor cores read.
func (f *flash) tf32(from ptx.Operand, offset int) ptx.Operand {
	k := f.gen.k
	x := k.Op(ptx.F32, "ld.shared.f32", ptx.Raw("["+from.String()+"+"+itoa(offset)+"]"))
	return k.Op(ptx.B32, "cvt.rna.tf32.f32", x)
}

// put stores two adjacent elements.
func (f *flash) put(to ptx.Operand, number, low, high ptx.Operand) {
	g, k := f.gen, f.gen.k
	if !f.isFloat() {
		k.To(g.element(to, g.mov(ptx.B32, number), 2), "st.global.b32", f.pack(low, high))
		return
	}
	number = g.mov(ptx.B32, number)
	k.To(g.element(to, number, 4), "st.global.f32", low)
	k.To(g.element(to, g.mov(ptx.B32, g.add(number, ptx.Int32(1))), 4), "st.global.f32", high)
}

// power is exp of a score, or 2^score for 16-bit floats, whose scores are in units of ln 2.
func (f *flash) power(x ptx.Operand) ptx.Operand {
	if f.isFloat() {
		return f.gen.calc(ptx.F32).exp(x)
	}
	return f.exp2(x)
}
