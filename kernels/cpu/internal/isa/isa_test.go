package isa

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChoose(t *testing.T) {
	x86, arm := []Level{Portable, AVX2, AVX512}, []Level{Portable, NEON}
	for _, c := range []struct {
		env  string
		have []Level
		want Level
		err  string
	}{
		{"", x86, AVX512, ""},
		{"", []Level{Portable}, Portable, ""},
		{"", arm, NEON, ""},
		{"portable", x86, Portable, ""},
		{"portable", arm, Portable, ""},
		{"avx2", x86, AVX2, ""},
		{"avx512", x86, AVX512, ""},
		{"neon", arm, NEON, ""},
		{"avx512", x86[:2], AVX2, `GOKERAS_CPU=avx512: this processor supports [portable avx2]; unset the variable or name one of them`},
		{"avx2", arm, NEON, `supports [portable neon]`},
		{"neon", x86, AVX512, `supports [portable avx2 avx512]`},
		{"AVX2", x86, AVX512, `GOKERAS_CPU="AVX2": unknown value, expected portable, neon, avx2 or avx512`},
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
	restore = Override(AVX512 + 1)
	require.Equal(t, Best(), Active(), "a level above the processor's best is lowered to it")
	restore()
	require.Equal(t, Portable, Levels()[0])
	require.Equal(t, Best(), Levels()[len(Levels())-1])
}

func TestString(t *testing.T) {
	assert.Equal(t, "portable neon avx2 avx512", fmt.Sprint(Portable, NEON, AVX2, AVX512))
	assert.Equal(t, "Level(7)", Level(7).String())
}
