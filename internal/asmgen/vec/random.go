package main

import (
	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Offsets in the argument of randomWords, in 64-bit numbers.
const (
	randomCounter = 0 // the upper three words of the counter
	randomKey     = 3 // the two words of the key
	randomStep    = 5 // the number of blocks that a vector makes
	randomFirst   = 6 // the lowest word of the counter, for each number in a vector
)

// randomWords emits Philox4x32-10 (package philox): n blocks of four words; n is a multiple of the 64-bit numbers in a
// vector. A block's words are the lower halves of four such numbers; their upper halves do not matter. A vector's
// blocks are in the order in which they are stored when the words are joined: those of the even numbers first.
func (m machine) randomWords() {
	m.begin("", "randomWords", "dst, args unsafe.Pointer, n uintptr", "")
	Float64()
	dst, args, n := param("dst"), param("args"), param("n")
	at := func(i int) Memory { return Memory{Base: args, Offset: 8 * i} }
	counter := m.vector()
	Load(counter, at(randomFirst))
	round := func(name string, sets int) {
		Label(name)
		JumpBelow(n, Number(sets*m.bytes()/8), name+"End")
		k := m.vectors(2)
		k.each(func(i int) { Broadcast(k[i], at(randomKey+i)) })
		blocks := make([]vectors, sets)
		step := m.vector()
		Broadcast(step, at(randomStep))
		for s := range blocks {
			blocks[s] = m.vectors(4)
			Copy(blocks[s][0], counter)
			AddInt(counter, counter, step)
			for i := 1; i < 4; i++ {
				Broadcast(blocks[s][i], at(randomCounter+i-1))
			}
		}
		for r := range 10 {
			if r > 0 {
				AddInt(k[0], k[0], doublePattern(0x9E3779B9))
				AddInt(k[1], k[1], doublePattern(0xBB67AE85))
			}
			for s := range blocks {
				blocks[s] = m.philoxRound(blocks[s], k)
			}
		}
		for s, b := range blocks {
			low, high := m.joined(b[0], b[1]), m.joined(b[2], b[3])
			first, second := m.vector(), m.vector()
			InterleaveLow(first, low, high)
			InterleaveHigh(second, low, high)
			Store(Memory{Base: dst, Offset: 2 * s * m.bytes()}, first)
			Store(Memory{Base: dst, Offset: (2*s + 1) * m.bytes()}, second)
		}
		Increase(dst, Number(2*sets*m.bytes()))
		Decrease(n, Number(sets*m.bytes()/8))
		Jump(name)
		Label(name + "End")
	}
	Unrolled(func() { round("two", 2) })
	round("one", 1)
	End()
}

// philoxRound is one round of the generator with a key.
func (m machine) philoxRound(c, k vectors) vectors {
	mixed := func(product, with, key Vector) Vector {
		high := m.vector()
		ShiftRight(high, product, 32)
		Xor(high, high, with)
		Xor(high, high, key)
		return high
	}
	p, q := m.vector(), m.vector()
	MultiplyLongs(p, c[0], doublePattern(0xD2511F53_D2511F53))
	MultiplyLongs(q, c[2], doublePattern(0xCD9E8D57_CD9E8D57))
	return vectors{mixed(q, c[1], k[0]), q, mixed(p, c[3], k[1]), p}
}

// joined joins the lower halves of two vectors of 64-bit numbers.
func (m machine) joined(low, high Vector) Vector {
	a, b := m.vector(), m.vector()
	And(a, low, doublePattern(0xFFFFFFFF))
	ShiftLeft(b, high, 32)
	Or(a, a, b)
	return a
}

// drop emits dropout: it scales the numbers whose random word, without its low 8 bits, reaches a threshold, and sets
// the others to zero.
func (m machine) drop() {
	m.begin("", "drop", "dst, x, words unsafe.Pointer, n uintptr, scale, threshold unsafe.Pointer", "")
	dst, x, words, n := param("dst"), param("x"), param("words"), param("n")
	scale, threshold := m.broadcast(param("scale"), 0), m.broadcast(param("threshold"), 0)
	m.loop(4, n, []Scalar{dst, x, words}, func(offsets []int) {
		for _, o := range offsets {
			word, y := m.vector(), m.vector()
			LoadInt(word, Memory{Base: words, Offset: o})
			ShiftRight(word, word, 8)
			kept := Not(CompareInt(LessThan, word, threshold))
			Multiply(y, scale, Memory{Base: x, Offset: o})
			Keep(y, kept, y)
			Store(Memory{Base: dst, Offset: o}, y)
		}
	})
	End()
}
