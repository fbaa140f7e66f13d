package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/internal/philox"
	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

var inf = math.Inf(1)

func buildIota(b *build) (func(), error) {
	out := b.out(0)
	a := b.n.Attrs.(ir.IotaAttrs)
	g := lines(out.Typ.Shape, a.Axis)
	d := out.Typ.DType
	size := d.Size()
	fill := block.Convert(ir.Int64, d)
	// The numbers are converted one by one: an iota is computed once, when the program is compiled, unless it is huge.
	var index, converted, rounded int64
	p := unsafe.Pointer(&converted)
	var narrow block.Func
	if d.IsHalf() {
		p, narrow = unsafe.Pointer(&rounded), block.Narrow(d)
	}
	return func() {
		for k := range g.Length {
			index = int64(k)
			fill(unsafe.Pointer(&converted), unsafe.Pointer(&index), nil, nil, 1)
			if narrow != nil {
				narrow(p, unsafe.Pointer(&converted), nil, nil, 1)
			}
			for o := range g.Outer {
				if g.Inner > 0 {
					fillElement(unsafe.Add(out.Ptr(), (o*g.Length+k)*g.Inner*size), p, size, g.Inner)
				}
			}
		}
	}, nil
}

// wordBlock is the number of words that a generator makes at a time.
const wordBlock = 1024

// generator makes the words of one stream: word i is word i%4 of Philox4x32-10 (package philox) with the counter (i/4,
// stream, step, replica) and the key (seed low, seed high), where seed low, seed high, step and replica are the random
// state.
type generator struct {
	key     [2]uint32
	counter [4]uint32
}

func newGenerator(state []uint32, stream uint32) generator {
	return generator{key: [2]uint32{state[0], state[1]}, counter: [4]uint32{0, stream, state[2], state[3]}}
}

// words fills dst with the words from 4·first on. Two blocks are computed side by side, since a single one leaves the
// multiplier idle most of the time.
func (g *generator) words(dst []uint32, first int) {
	const multiplier0, multiplier1, weyl0, weyl1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
	i := uint32(first)
	for ; len(dst) >= 8; dst, i = dst[8:], i+2 {
		a0, a1, a2, a3 := i, g.counter[1], g.counter[2], g.counter[3]
		b0, b1, b2, b3 := i+1, a1, a2, a3
		k0, k1 := g.key[0], g.key[1]
		for range 10 {
			p, q := uint64(a0)*multiplier0, uint64(a2)*multiplier1
			r, s := uint64(b0)*multiplier0, uint64(b2)*multiplier1
			a0, a1, a2, a3 = uint32(q>>32)^a1^k0, uint32(q), uint32(p>>32)^a3^k1, uint32(p)
			b0, b1, b2, b3 = uint32(s>>32)^b1^k0, uint32(s), uint32(r>>32)^b3^k1, uint32(r)
			k0 += weyl0
			k1 += weyl1
		}
		dst[0], dst[1], dst[2], dst[3] = a0, a1, a2, a3
		dst[4], dst[5], dst[6], dst[7] = b0, b1, b2, b3
	}
	for ; len(dst) > 0; i++ {
		g.counter[0] = i
		words := philox.Block(g.counter, g.key)
		dst = dst[copy(dst, words[:]):]
	}
}

func buildRngBits(b *build) (func(), error) {
	state, out := b.in(0), b.out(0)
	stream := b.n.Attrs.(ir.RngAttrs).Stream
	return b.rt().parallel((out.N+wordBlock-1)/wordBlock, 4, func(_ *worker, lo, hi int) {
		g := newGenerator(plan.Data[uint32](state), stream)
		g.words(plan.Data[uint32](out)[lo*wordBlock:min(hi*wordBlock, out.N)], lo*wordBlock/4)
	}), nil
}

func buildDropout(b *build) (func(), error) {
	return byFloat(b, dropout[float64], dropout[float32])
}

// dropout keeps element i where word i of the stream, as a number in [0, 1) of 24 bits, is at least the rate.
func dropout[T block.Float](b *build) func() {
	in, state, out := b.in(0), b.in(1), b.out(0)
	a := b.n.Attrs.(ir.DropoutAttrs)
	scale := T(1 / (1 - a.Rate))
	threshold := uint64(math.Ceil(a.Rate*(1<<24))) << 8 // the smallest word that keeps; its low 8 bits do not matter
	b.rt().need(wordBlock * 4)
	return b.rt().parallel((out.N+wordBlock-1)/wordBlock, 4, func(w *worker, lo, hi int) {
		g := newGenerator(plan.Data[uint32](state), a.Stream)
		scratch := scratchOf[uint32](w, wordBlock)
		for k := lo; k < hi; k++ {
			first, last := k*wordBlock, min((k+1)*wordBlock, out.N)
			x, y := plan.Data[T](in)[first:last], plan.Data[T](out)[first:last]
			words := scratch[:len(x)]
			g.words(words, first/4)
			vec.Scale(y, x, scale)
			clearBelow(y, words, threshold)
		}
	})
}

// clearBelow sets y[i] to 0 where words[i] is below the threshold, without branches, which nobody could predict.
func clearBelow[T block.Float](y []T, words []uint32, threshold uint64) {
	if bits, ok := any(y).([]float32); ok {
		v := block.View[uint32](unsafe.Pointer(unsafe.SliceData(bits)), len(bits))
		for i := range v {
			v[i] &= ^uint32(int64(uint64(words[i])-threshold) >> 63)
		}
		return
	}
	v := block.View[uint64](unsafe.Pointer(unsafe.SliceData(y)), len(y))
	for i := range v {
		v[i] &= ^uint64(int64(uint64(words[i])-threshold) >> 63)
	}
}
