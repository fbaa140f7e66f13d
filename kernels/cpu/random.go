package cpu

import (
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/internal/philox"
	"github.com/gokeras/gokeras/kernels/ir"
)

var inf = math.Inf(1)

func buildIota(b *build) (func(), error) {
	out := b.out(0)
	a := b.n.Attrs.(ir.IotaAttrs)
	g := lines(out.typ.Shape, a.Axis)
	d := out.typ.DType
	size := d.Size()
	fill := convertKernel(ir.Int64, d)
	// The numbers are converted one by one: an iota is computed once, when the program is compiled, unless it is huge.
	var index, converted, rounded int64
	p := unsafe.Pointer(&converted)
	var narrow blockFn
	if isHalf(d) {
		p, narrow = unsafe.Pointer(&rounded), narrowBlock(d)
	}
	return func() {
		for k := range g.length {
			index = int64(k)
			fill(unsafe.Pointer(&converted), unsafe.Pointer(&index), nil, nil, 1)
			if narrow != nil {
				narrow(p, unsafe.Pointer(&converted), nil, nil, 1)
			}
			for o := range g.outer {
				if g.inner > 0 {
					fillElement(unsafe.Add(out.ptr(), (o*g.length+k)*g.inner*size), p, size, g.inner)
				}
			}
		}
	}, nil
}

// rngBlock is the number of Philox blocks of a chunk.
const rngBlock = 1 << 10

// generator reads the random state (seed low, seed high, step, replica) and returns word blocks of one stream.
type generator struct {
	key     [2]uint32
	counter [4]uint32
}

func newGenerator(state []uint32, stream uint32) generator {
	return generator{key: [2]uint32{state[0], state[1]}, counter: [4]uint32{0, stream, state[2], state[3]}}
}

// block returns words 4i to 4i+3.
func (g *generator) block(i int) [4]uint32 {
	g.counter[0] = uint32(i)
	return philox.Block(g.counter, g.key)
}

func buildRngBits(b *build) (func(), error) {
	state, out := b.in(0), b.out(0)
	stream := b.n.Attrs.(ir.RngAttrs).Stream
	return b.rt().parallel((out.n+3)/4, rngBlock, func(_ *worker, lo, hi int) {
		g := newGenerator(data[uint32](state), stream)
		y := data[uint32](out)
		for i := lo; i < hi; i++ {
			words := g.block(i)
			copy(y[4*i:], words[:])
		}
	}), nil
}

func buildDropout(b *build) (func(), error) {
	if b.in(0).typ.DType == ir.Float64 {
		return dropout[float64](b), nil
	}
	return dropout[float32](b), nil
}

// dropout keeps element i where word i of the stream, as a number in [0, 1) of 24 bits, is at least the rate.
func dropout[T float](b *build) func() {
	in, state, out := b.in(0), b.in(1), b.out(0)
	a := b.n.Attrs.(ir.DropoutAttrs)
	scale := T(1 / (1 - a.Rate))
	threshold := uint32(math.Ceil(a.Rate * (1 << 24))) // the smallest w with w/2^24 >= rate
	return b.rt().parallel((out.n+3)/4, rngBlock, func(_ *worker, lo, hi int) {
		g := newGenerator(data[uint32](state), a.Stream)
		x, y := data[T](in), data[T](out)
		for i := lo; i < hi; i++ {
			words := g.block(i)
			for j := range min(4, len(y)-4*i) {
				v := x[4*i+j] * scale
				if words[j]>>8 < threshold {
					v = 0
				}
				y[4*i+j] = v
			}
		}
	})
}
