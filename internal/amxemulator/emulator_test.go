package main

import (
	"encoding/binary"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// Encodings from the manual, and what they stand for.
func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		code []byte
		want instruction
	}{
		"ldtilecfg [rax]":             {[]byte{0xc4, 0xe2, 0x78, 0x49, 0x00}, instruction{name: "LDTILECFG", op: loadConfig, length: 5, base: 0, index: none}},
		"ldtilecfg [rsp+8]":           {[]byte{0xc4, 0xe2, 0x78, 0x49, 0x44, 0x24, 0x08}, instruction{name: "LDTILECFG", op: loadConfig, length: 7, a: 4, base: 4, index: none, displacement: 8}},
		"ldtilecfg [rip-16]":          {[]byte{0xc4, 0xe2, 0x78, 0x49, 0x05, 0xf0, 0xff, 0xff, 0xff}, instruction{name: "LDTILECFG", op: loadConfig, length: 9, a: 5, base: ripBase, index: none, displacement: -16}},
		"sttilecfg [rdi]":             {[]byte{0xc4, 0xe2, 0x79, 0x49, 0x07}, instruction{name: "STTILECFG", op: storeConfig, length: 5, a: 7, base: 7, index: none}},
		"tilerelease":                 {[]byte{0xc4, 0xe2, 0x78, 0x49, 0xc0}, instruction{name: "TILERELEASE", op: release, length: 5, base: none, index: none}},
		"tilezero tmm5":               {[]byte{0xc4, 0xe2, 0x7b, 0x49, 0xe8}, instruction{name: "TILEZERO", op: zeroTile, length: 5, tile: 5, base: none, index: none}},
		"tileloadd tmm4, [rax+rdx]":   {[]byte{0xc4, 0xe2, 0x7b, 0x4b, 0x24, 0x10}, instruction{name: "TILELOADD", op: loadTile, length: 6, tile: 4, a: 4, base: 0, index: 2}},
		"tileloadd tmm1, [r8+rcx]":    {[]byte{0xc4, 0xc2, 0x7b, 0x4b, 0x0c, 0x08}, instruction{name: "TILELOADD", op: loadTile, length: 6, tile: 1, a: 4, base: 8, index: 1}},
		"tileloadd tmm0, [rax+r9*4]":  {[]byte{0xc4, 0xa2, 0x7b, 0x4b, 0x04, 0x88}, instruction{name: "TILELOADD", op: loadTile, length: 6, a: 4, base: 0, index: 9, scale: 2}},
		"tileloadd tmm0, [rsi*1+256]": {[]byte{0xc4, 0xe2, 0x7b, 0x4b, 0x04, 0x35, 0, 1, 0, 0}, instruction{name: "TILELOADD", op: loadTile, length: 10, a: 4, base: none, index: 6, displacement: 256}},
		"tilestored [rcx+rdx], tmm3":  {[]byte{0xc4, 0xe2, 0x7a, 0x4b, 0x1c, 0x11}, instruction{name: "TILESTORED", op: storeTile, length: 6, tile: 3, a: 4, base: 1, index: 2}},
		"tdpbf16ps tmm0, tmm4, tmm6":  {[]byte{0xc4, 0xe2, 0x4a, 0x5c, 0xc4}, instruction{name: "TDPBF16PS", op: bfloat16Products, length: 5, a: 4, b: 6, base: none, index: none}},
		"tdpbssd tmm3, tmm5, tmm7":    {[]byte{0xc4, 0xe2, 0x43, 0x5e, 0xdd}, instruction{name: "TDPBSSD", op: int8Products, length: 5, tile: 3, a: 5, b: 7, signedA: true, signedB: true, base: none, index: none}},
		"tdpbsud tmm1, tmm2, tmm3":    {[]byte{0xc4, 0xe2, 0x62, 0x5e, 0xca}, instruction{name: "TDPBSUD", op: int8Products, length: 5, tile: 1, a: 2, b: 3, signedA: true, base: none, index: none}},
		"tdpbusd tmm1, tmm2, tmm3":    {[]byte{0xc4, 0xe2, 0x61, 0x5e, 0xca}, instruction{name: "TDPBUSD", op: int8Products, length: 5, tile: 1, a: 2, b: 3, signedB: true, base: none, index: none}},
		"tdpbuud tmm1, tmm2, tmm3":    {[]byte{0xc4, 0xe2, 0x60, 0x5e, 0xca}, instruction{name: "TDPBUUD", op: int8Products, length: 5, tile: 1, a: 2, b: 3, base: none, index: none}},
	} {
		got, ok, err := decode(append(c.code, 0x90, 0x90))
		require.True(t, ok, name)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, code := range map[string][]byte{
		"tdpbf16ps tmm0, tmm4, tmm4": {0xc4, 0xe2, 0x5a, 0x5c, 0xc4},
		"tdpbf16ps tmm4, tmm4, tmm6": {0xc4, 0xe2, 0x4a, 0x5c, 0xe4},
		"tileloadd without index":    {0xc4, 0xe2, 0x7b, 0x4b, 0x20},
		"256 bits":                   {0xc4, 0xe2, 0x7f, 0x4b, 0x24, 0x10},
		"VEX.W":                      {0xc4, 0xe2, 0xfb, 0x4b, 0x24, 0x10},
		"tile 8":                     {0xc4, 0x62, 0x7b, 0x4b, 0x24, 0x10},
	} {
		_, ok, err := decode(code)
		require.True(t, ok, name)
		require.ErrorContains(t, err, "#UD", name)
	}
	for name, code := range map[string][]byte{"ud2": {0x0f, 0x0b}, "vpshufb": {0xc4, 0xe2, 0x71, 0x00, 0xc2}, "cut off": {0xc4, 0xe2, 0x7b, 0x4b, 0x24}, "nothing": nil} {
		_, ok, _ := decode(code)
		require.False(t, ok, name)
	}
}

// flat is memory from address 0 on.
type flat []byte

func (m flat) read(address uint64, data []byte) error {
	if address+uint64(len(data)) > uint64(len(m)) {
		return violation("outside")
	}
	copy(data, m[address:])
	return nil
}

func (m flat) write(address uint64, data []byte) error {
	if address+uint64(len(data)) > uint64(len(m)) {
		return violation("outside")
	}
	copy(m[address:], data)
	return nil
}

// config describes tiles by rows and bytes of a row.
func config(sizes ...[2]int) (c [64]byte) {
	c[0] = 1
	for i, s := range sizes {
		binary.LittleEndian.PutUint16(c[16+2*i:], uint16(s[1]))
		c[48+i] = byte(s[0])
	}
	return c
}

func TestMisuse(t *testing.T) {
	product := instruction{name: "TDPBSSD", op: int8Products, a: 1, b: 2}
	for name, c := range map[string]struct {
		config [64]byte
		i      instruction
		want   string
	}{
		"no configuration": {[64]byte{}, instruction{name: "TILEZERO", op: zeroTile}, "#UD: TILEZERO without a configuration"},
		"no such tile":     {config([2]int{16, 64}), instruction{name: "TILEZERO", op: zeroTile, tile: 1}, "#UD: TILEZERO of tile 1, which has 0 rows"},
		"odd bytes":        {config([2]int{16, 62}), instruction{name: "TILEZERO", op: zeroTile}, "#UD"},
		"K":                {config([2]int{4, 64}, [2]int{4, 32}, [2]int{16, 64}), product, "#UD: TDPBSSD of 4 x 8 and 16 x 16"},
		"M":                {config([2]int{4, 64}, [2]int{5, 64}, [2]int{16, 64}), product, "#UD"},
		"N":                {config([2]int{4, 64}, [2]int{4, 64}, [2]int{16, 60}), product, "#UD"},
		"outside":          {config([2]int{16, 64}), instruction{name: "TILELOADD", op: loadTile}, "#GP: outside"},
	} {
		var r registers
		require.NoError(t, r.configure(c.config), name)
		require.ErrorContains(t, r.execute(c.i, make(flat, 1000), 0, 64), c.want, name)
	}
	var r registers
	for name, c := range map[string][64]byte{"palette": {2}, "start row": {1, 3}, "reserved": {1, 0, 7}, "17 rows": config([2]int{17, 64}), "65 bytes": config([2]int{1, 65}),
		"rows without bytes": config([2]int{1, 0})} {
		require.ErrorContains(t, r.configure(c), "#GP", name)
	}
	require.NoError(t, r.configure(config([2]int{1, 4})))
	require.ErrorContains(t, r.configure(config([2]int{1, 4})), "has not released them")
	require.Equal(t, config([2]int{1, 4}), r.configuration())
	require.NoError(t, r.execute(instruction{op: release}, nil, 0, 0))
	require.Equal(t, [64]byte{}, r.configuration())
	require.NoError(t, r.configure(config([2]int{1, 4})))
}

// multiplyAdd rounds once, by arithmetic without rounding.
func TestMultiplyAdd(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	half := func() float32 {
		x := uint32(r.IntN(1<<16)) << 16
		if r.IntN(2) == 0 {
			x = x&^(0xff<<23) | uint32(120+r.IntN(14))<<23
		}
		return flush(math.Float32frombits(x))
	}
	for range 200000 {
		x, y := half(), half()
		sum := flush(math.Float32frombits(r.Uint32()))
		if r.IntN(2) == 0 {
			sum = x * y * (1 + float32(r.IntN(9)-4)/float32(int(1)<<r.IntN(26)))
		}
		if wide := []float64{float64(x), float64(y), float64(sum)}; math.IsNaN(wide[0]*wide[1]+wide[2]) || math.IsInf(wide[0]+wide[1]+wide[2], 0) {
			continue
		}
		exact := new(big.Float).SetPrec(2000).SetFloat64(float64(x))
		exact.Mul(exact, big.NewFloat(float64(y)))
		exact.Add(exact, big.NewFloat(float64(sum)))
		want, _ := exact.Float32()
		if math.Abs(float64(want)) <= 0x1p-126 { // whether it is tiny is decided after rounding
			continue
		}
		if got := multiplyAdd(x, y, sum); got != want {
			t.Fatalf("%x * %x + %x = %x, want %x", x, y, sum, got, want)
		}
	}
	require.Zero(t, multiplyAdd(0x1p-100, 0x1p-30, 0), "a denormal result")
}

// Rows and columns that a tile does not have become zeros.
func TestLoadClears(t *testing.T) {
	var r registers
	memory := make(flat, 4096)
	for i := range memory {
		memory[i] = 1
	}
	require.NoError(t, r.configure(config([2]int{3, 8})))
	require.NoError(t, r.execute(instruction{op: loadTile}, memory, 100, 64))
	require.Equal(t, byte(1), r.data[0][2][7])
	require.Zero(t, r.data[0][2][8])
	require.Zero(t, r.data[0][3][0])
}
