package isa

import (
	"fmt"
	"math/bits"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChoose(t *testing.T) {
	const (
		x86   = Vectors512 | AVX512VNNI | AMXTile | AMXInt8
		older = Vectors256
		apple = NEON | DotProd
	)
	for _, c := range []struct {
		env        string
		have, want Features
		err        string
	}{
		{"", x86, x86, ""},
		{"", Portable, Portable, ""},
		{"", apple, apple, ""},
		{"portable", x86, Portable, ""},
		{"portable", apple, Portable, ""},
		{"avx2", x86, Vectors256, ""},
		{"avx512", x86, x86, ""},
		{"neon", apple, apple, ""},
		{"avx512", older, older, `GOKERAS_CPU=avx512: this processor supports [portable avx2]; unset the variable or name one of them`},
		{"avx512", older | AVX512F | AVX512VNNI, older | AVX512F | AVX512VNNI, `supports [portable avx2]`},
		{"avx2", apple, apple, `supports [portable neon]`},
		{"neon", x86, x86, `supports [portable avx2 avx512]`},
		{"AVX2", x86, x86, `GOKERAS_CPU="AVX2": unknown value, expected portable, neon, avx2 or avx512`},
	} {
		got, err := choose(c.env, c.have)
		assert.Equal(t, c.want, got, "choose(%q, %v)", c.env, c.have)
		if c.err == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.err)
		}
	}
}

func TestOverride(t *testing.T) {
	before := Active()
	restore := Override(Portable)
	require.Equal(t, Portable, Active())
	restore()
	require.Equal(t, before, Active())
	restore = Override(everything)
	require.Equal(t, Executable(), Active(), "features that the processor lacks are left out")
	restore()
	restore = Override(AVX2)
	require.Equal(t, Portable, Active(), "AVX2 without FMA is of no use")
	restore()
	require.Equal(t, Portable, Paths()[0])
	require.Equal(t, Detected(), Paths()[len(Paths())-1])
}

func TestString(t *testing.T) {
	assert.Equal(t, "portable neon avx2 avx512 avx512+avx512vnni+amxtile neon+dotprod+i8mm",
		fmt.Sprint(Portable, NEON, Vectors256, Vectors512, Vectors512|AVX512VNNI|AMXTile, NEON|DotProd|I8MM))
	assert.Equal(t, "portable+avx2", AVX2.String(), "AVX2 alone is no path")
	assert.Equal(t, "neon+0x80000000", (NEON | 1<<31).String())
	assert.Equal(t, bits.Len32(uint32(AVX512BF16Round)), len(featureNames), "each feature has a name")
}

// Each architecture has its own features, and on amd64 kernels get all of a family of vectors or none.
func TestDetected(t *testing.T) {
	switch f := Detected(); runtime.GOARCH {
	case "arm64":
		require.True(t, f.Has(NEON))
		require.Zero(t, f&^arm)
	case "amd64":
		require.Zero(t, f&arm)
		require.True(t, f == Portable || f.Has(Vectors256), "%v", f)
	default:
		require.Equal(t, Portable, f)
	}
}
