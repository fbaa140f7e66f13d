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
	counted := ir.Int32
	if g.Length > math.MaxInt32 {
		counted = ir.Int64
	}
	convert := block.Convert(counted, d)
	store := func(dst, numbers unsafe.Pointer, n int) { convert(dst, numbers, nil, nil, n) }
	if d.IsHalf() {
		narrow := block.Narrow(d)
		var wide [iotaBlock]float32
		store = func(dst, numbers unsafe.Pointer, n int) {
			convert(unsafe.Pointer(&wide), numbers, nil, nil, n)
			narrow(dst, unsafe.Pointer(&wide), nil, nil, n)
		}
	}
	var numbers [iotaBlock]int64
	short := (*[iotaBlock]int32)(unsafe.Pointer(&numbers))
	var stored [iotaBlock]uint64
	var further [iotaBlock]int64 // from one block to the next
	for i := range further {
		if further[i] = iotaBlock; counted == ir.Int32 {
			further[i] |= iotaBlock << 32
		}
	}
	add := block.Binary(ir.Add, counted)
	return func() {
		if out.N == 0 {
			return
		}
		for first := 0; first < g.Length; first += iotaBlock {
			n := min(iotaBlock, g.Length-first)
			if first > 0 {
				add(unsafe.Pointer(&numbers), unsafe.Pointer(&numbers), unsafe.Pointer(&further), nil, n)
			} else if counted == ir.Int32 {
				for i := range short {
					short[i] = int32(i)
				}
			} else {
				for i := range numbers {
					numbers[i] = int64(i)
				}
			}
			store(unsafe.Pointer(&stored), unsafe.Pointer(&numbers), n)
			for o := range g.Outer {
				dst := unsafe.Add(out.Ptr(), (o*g.Length+first)*g.Inner*size)
				if g.Inner == 1 {
					copy(plan.BytesAt(dst, n*size), plan.BytesAt(unsafe.Pointer(&stored), n*size))
					continue
				}
				for i := range n {
					fillElement(unsafe.Add(dst, i*g.Inner*size), unsafe.Add(unsafe.Pointer(&stored), i*size), size, g.Inner)
				}
			}
		}
	}, nil
}

// iotaBlock is how many numbers an iota converts at a time.
const iotaBlock = 256

// wordBlock is how many words a generator computes at a time.
const wordBlock = 1024

// generator computes the words of one stream. Word i is word i%4 of Philox4x32-10 (package philox), with the counter
// (i/4, stream, step, replica) and the key (seed low, seed high). The random state consists of seed low, seed high,
// step and replica.
type generator struct {
	key     [2]uint32
	counter [4]uint32
}

func newGenerator(state []uint32, stream uint32) generator {
	return generator{key: [2]uint32{state[0], state[1]}, counter: [4]uint32{0, stream, state[2], state[3]}}
}

// words fills dst with the words from 4·first on.
func (g *generator) words(dst []uint32, first int) {
	g.counter[0] = uint32(first)
	made := vec.RandomWords(dst, g.counter, g.key)
	dst = dst[made:]
	for i := uint32(first + made/4); len(dst) > 0; i++ {
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

// dropout keeps element i if word i of the stream, as a 24-bit number in [0, 1), is at least the rate.
func dropout[T block.Float](b *build) func() {
	in, state, out := b.in(0), b.in(1), b.out(0)
	a := b.n.Attrs.(ir.DropoutAttrs)
	scale := T(1 / (1 - a.Rate))
	threshold := uint32(math.Ceil(a.Rate * (1 << 24))) // the smallest word that keeps, without its low 8 bits
	b.rt().need(wordBlock * 4)
	return b.rt().parallel((out.N+wordBlock-1)/wordBlock, 4, func(w *worker, lo, hi int) {
		g := newGenerator(plan.Data[uint32](state), a.Stream)
		scratch := scratchOf[uint32](w, wordBlock)
		for k := lo; k < hi; k++ {
			first, last := k*wordBlock, min((k+1)*wordBlock, out.N)
			x, y := plan.Data[T](in)[first:last], plan.Data[T](out)[first:last]
			words := scratch[:len(x)]
			g.words(words, first/4)
			drop(y, x, words, scale, threshold)
		}
	})
}

// drop is [vec.Drop] for either type. It has no branches, because they would be unpredictable.
func drop[T block.Float](y, x []T, words []uint32, scale T, threshold uint32) {
	if y, ok := any(y).([]float32); ok {
		vec.Drop(y, any(x).([]float32), words, float32(scale), threshold)
		return
	}
	vec.Scale(y, x, scale)
	v := block.View[uint64](unsafe.Pointer(unsafe.SliceData(y)), len(y))
	for i := range v {
		v[i] &= ^uint64((int64(words[i]>>8) - int64(threshold)) >> 63)
	}
}
