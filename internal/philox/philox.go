// Package philox is the counter-based random generator Philox4x32-10.
//
// A counter-based generator is a keyed bijection of a counter: word number i of a stream is a pure function of
// (key, stream, i). Nothing is carried from one number to the next, so a resumed run, another worker or another device
// computes the same numbers without replaying the ones before.
//
// Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011,
// section 4.3; the constants are those of its reference implementation, Random123.
package philox

import "math/bits"

// Multipliers and key increments of the 4x32 variant. The increments are the golden ratio and sqrt(3)-1, in units of
// 2^-32.
const (
	multiplier0 = 0xD2511F53
	multiplier1 = 0xCD9E8D57
	weyl0       = 0x9E3779B9
	weyl1       = 0xBB67AE85
	rounds      = 10
)

// Block maps one 128-bit counter to one 128-bit block under a 64-bit key, with ten rounds.
//
// One round takes (c0, c1, c2, c3) to
//
//	(hi(M1*c2) ^ c1 ^ k0, lo(M1*c2), hi(M0*c0) ^ c3 ^ k1, lo(M0*c0))
//
// and the key grows by (0x9E3779B9, 0xBB67AE85) modulo 2^32 between rounds.
func Block(counter [4]uint32, key [2]uint32) [4]uint32 {
	c0, c1, c2, c3 := counter[0], counter[1], counter[2], counter[3]
	k0, k1 := key[0], key[1]
	for range rounds {
		hi0, lo0 := bits.Mul32(multiplier0, c0)
		hi1, lo1 := bits.Mul32(multiplier1, c2)
		c0, c1, c2, c3 = hi1^c1^k0, lo1, hi0^c3^k1, lo0
		k0 += weyl0
		k1 += weyl1
	}
	return [4]uint32{c0, c1, c2, c3}
}

// Generator reads one stream word by word. The zero value is stream 0 of key 0. It is not safe for concurrent use;
// make one for each goroutine, which is cheap.
type Generator struct {
	key    [2]uint32
	stream [2]uint32
	next   uint64    // number of the block that follows the one in block
	block  [4]uint32 // words not yet handed out are block[used:]
	left   int
}

// New returns a generator at the start of a stream. Different (key, stream) pairs give independent sequences of 2^66
// words: the low and high half of key are the Philox key, and a block's counter is (block number, stream), low word
// first.
func New(key, stream uint64) *Generator {
	return &Generator{
		key:    [2]uint32{uint32(key), uint32(key >> 32)},
		stream: [2]uint32{uint32(stream), uint32(stream >> 32)},
	}
}

// Uint32 returns the next word, uniform over all 2^32 values.
func (g *Generator) Uint32() uint32 {
	if g.left == 0 {
		g.block = Block([4]uint32{uint32(g.next), uint32(g.next >> 32), g.stream[0], g.stream[1]}, g.key)
		g.next++
		g.left = len(g.block)
	}
	word := g.block[len(g.block)-g.left]
	g.left--
	return word
}

// Uint64 returns the next two words, the first one low.
func (g *Generator) Uint64() uint64 {
	low := uint64(g.Uint32())
	return uint64(g.Uint32())<<32 | low
}

// Uint64n returns a number uniform over [0, n); n = 0 means the whole range of uint64.
//
// It multiplies instead of dividing and rejects the few words that would bias the result (D. Lemire, "Fast Random
// Integer Generation in an Interval", ACM TOMACS 29(1), 2019). A bound of at most 2^32 takes one word per attempt, a
// larger one two.
func (g *Generator) Uint64n(n uint64) uint64 {
	switch {
	case n == 0:
		return g.Uint64()
	case n <= 1<<32:
		return g.uint32n(n)
	}
	hi, lo := bits.Mul64(g.Uint64(), n)
	if lo < n {
		for threshold := -n % n; lo < threshold; {
			hi, lo = bits.Mul64(g.Uint64(), n)
		}
	}
	return hi
}

func (g *Generator) uint32n(n uint64) uint64 {
	product := uint64(g.Uint32()) * n
	if low := uint64(uint32(product)); low < n {
		threshold := (1<<32 - n) % n
		for uint64(uint32(product)) < threshold {
			product = uint64(g.Uint32()) * n
		}
	}
	return product >> 32
}

// Float64 returns a number uniform over [0, 1): a multiple of 2^-53, made of the top 53 bits of Uint64.
func (g *Generator) Float64() float64 { return float64(g.Uint64()>>11) * 0x1p-53 }

// Float32 returns a number uniform over [0, 1): a multiple of 2^-24, made of the top 24 bits of Uint32.
func (g *Generator) Float32() float32 { return float32(g.Uint32()>>8) * 0x1p-24 }

// Shuffle permutes n items with the algorithm of Fisher and Yates, from the last item down; swap exchanges two of them.
func (g *Generator) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, int(g.Uint64n(uint64(i)+1)))
	}
}
