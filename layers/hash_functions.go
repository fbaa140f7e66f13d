package layers

import (
	"encoding/binary"
	"math/bits"
)

// Constants of FarmHash.
const (
	farmK0 = 0xc3a5c85c97cb3127
	farmK1 = 0xb492b66fbe98f273
	farmK2 = 0x9ae16a3b2f90404f
)

func load64(s string, at int) uint64 { return binary.LittleEndian.Uint64([]byte(s[at : at+8])) }
func load32(s string, at int) uint64 {
	return uint64(binary.LittleEndian.Uint32([]byte(s[at : at+4])))
}
func rotateRight(v uint64, by int) uint64 { return bits.RotateLeft64(v, -by) }
func shiftMix(v uint64) uint64            { return v ^ v>>47 }

// fingerprint64 is FarmHash Fingerprint64 (farmhashna::Hash64), the hash of TensorFlow's string_to_hash_bucket_fast.
// Source: Pike and Alakuijala, github.com/google/farmhash, 2014; it never changes.
func fingerprint64(s string) uint64 {
	n := len(s)
	switch {
	case n <= 16:
		return farmUpTo16(s)
	case n <= 32:
		mul := farmK2 + uint64(n)*2
		a, b := load64(s, 0)*farmK1, load64(s, 8)
		c, d := load64(s, n-8)*mul, load64(s, n-16)*farmK2
		return farmMix(rotateRight(a+b, 43)+rotateRight(c, 30)+d, a+rotateRight(b+farmK2, 18)+c, mul)
	case n <= 64:
		return farmUpTo64(s)
	}
	return farmLong(s)
}

// farmMix folds 128 bits into 64.
func farmMix(u, v, mul uint64) uint64 {
	a := shiftMix((u ^ v) * mul)
	return shiftMix((v^a)*mul) * mul
}

func farmUpTo16(s string) uint64 {
	n := len(s)
	mul := farmK2 + uint64(n)*2
	switch {
	case n >= 8:
		a, b := load64(s, 0)+farmK2, load64(s, n-8)
		return farmMix(rotateRight(b, 37)*mul+a, (rotateRight(a, 25)+b)*mul, mul)
	case n >= 4:
		return farmMix(uint64(n)+load32(s, 0)<<3, load32(s, n-4), mul)
	case n > 0:
		y := uint32(s[0]) + uint32(s[n>>1])<<8
		z := uint32(n) + uint32(s[n-1])<<2
		return shiftMix(uint64(y)*farmK2^uint64(z)*farmK0) * farmK2
	}
	return farmK2
}

func farmUpTo64(s string) uint64 {
	n := len(s)
	mul := farmK2 + uint64(n)*2
	a, b := load64(s, 0)*farmK2, load64(s, 8)
	c, d := load64(s, n-8)*mul, load64(s, n-16)*farmK2
	y := rotateRight(a+b, 43) + rotateRight(c, 30) + d
	z := farmMix(y, a+rotateRight(b+farmK2, 18)+c, mul)
	e, f := load64(s, 16)*mul, load64(s, 24)
	g, h := (y+load64(s, n-32))*mul, (z+load64(s, n-24))*mul
	return farmMix(rotateRight(e+f, 43)+rotateRight(g, 30)+h, e+rotateRight(f+a, 18)+g, mul)
}

// farmWeak hashes 32 bytes with two seeds.
func farmWeak(s string, at int, a, b uint64) (uint64, uint64) {
	w, x, y, z := load64(s, at), load64(s, at+8), load64(s, at+16), load64(s, at+24)
	a += w
	b = rotateRight(b+a+z, 21)
	c := a
	a += x + y
	b += rotateRight(a, 44)
	return a + z, b + c
}

func farmLong(s string) uint64 {
	seed := uint64(81)
	y := seed*farmK1 + 113
	z := shiftMix(y*farmK2+113) * farmK2
	x := seed*farmK2 + load64(s, 0)
	var v0, v1, w0, w1 uint64
	round := func(at int, mul, scale uint64) {
		x = rotateRight(x+y+v0+load64(s, at+8), 37) * mul
		y = rotateRight(y+v1+load64(s, at+48), 42) * mul
		x ^= w1 * scale
		y += v0*scale + load64(s, at+40)
		z = rotateRight(z+w0, 33) * mul
		v0, v1 = farmWeak(s, at, v1*mul, x+w0)
		w0, w1 = farmWeak(s, at+32, z+w1, y+load64(s, at+16))
		z, x = x, z
	}
	rest := (len(s) - 1) & 63
	end := (len(s) - 1) / 64 * 64
	for at := 0; at < end; at += 64 {
		round(at, farmK1, 1)
	}
	mul := farmK1 + z&0xff<<1
	w0 += uint64(rest)
	v0 += w0
	w0 += v0
	round(end+rest-63, mul, 9)
	return farmMix(farmMix(v0, w0, mul)+shiftMix(y)*farmK0+z, farmMix(v1, w1, mul)+x, mul)
}

// joinFingerprints combines two hashes into one, like TensorFlow's FingerprintCat64.
func joinFingerprints(a, b uint64) uint64 {
	const mul = 0xc6a4a7935bd1e995
	r := a ^ mul
	r ^= shiftMix(b*mul) * mul
	r *= mul
	return shiftMix(shiftMix(r) * mul)
}

// sipHash is SipHash-2-4 with a key of two words, the hash of TensorFlow's string_to_hash_bucket_strong. Source:
// Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
func sipHash(s string, key [2]uint64) uint64 {
	v0, v1 := key[0]^0x736f6d6570736575, key[1]^0x646f72616e646f6d
	v2, v3 := key[0]^0x6c7967656e657261, key[1]^0x7465646279746573
	round := func() {
		v0 += v1
		v1 = bits.RotateLeft64(v1, 13) ^ v0
		v0 = bits.RotateLeft64(v0, 32)
		v2 += v3
		v3 = bits.RotateLeft64(v3, 16) ^ v2
		v0 += v3
		v3 = bits.RotateLeft64(v3, 21) ^ v0
		v2 += v1
		v1 = bits.RotateLeft64(v1, 17) ^ v2
		v2 = bits.RotateLeft64(v2, 32)
	}
	absorb := func(m uint64) {
		v3 ^= m
		round()
		round()
		v0 ^= m
	}
	n := len(s)
	at := 0
	for ; at+8 <= n; at += 8 {
		absorb(load64(s, at))
	}
	last := uint64(n) << 56
	for i := at; i < n; i++ {
		last |= uint64(s[i]) << (8 * (i - at))
	}
	absorb(last)
	v2 ^= 0xff
	for range 4 {
		round()
	}
	return v0 ^ v1 ^ v2 ^ v3
}

// bucket returns the bin of a text among n: by fingerprint64, or by sipHash with a salt of one or two numbers.
func bucket(s string, n int, salt []int) int64 {
	if len(salt) == 0 {
		return int64(fingerprint64(s) % uint64(n))
	}
	return int64(sipHash(s, [2]uint64{uint64(salt[0]), uint64(salt[len(salt)-1])}) % uint64(n))
}
