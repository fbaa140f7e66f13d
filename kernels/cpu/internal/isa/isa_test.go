package isa

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		env  string
		best Level
		want Level
		err  string
	}{
		{"", AVX512, AVX512, ""},
		{"", Portable, Portable, ""},
		{"portable", AVX512, Portable, ""},
		{"avx2", AVX512, AVX2, ""},
		{"avx512", AVX512, AVX512, ""},
		{"avx512", AVX2, AVX2, `GOKERAS_CPU=avx512: this processor supports at most "avx2"; unset the variable or lower it`},
		{"avx2", Portable, Portable, `at most "portable"`},
		{"AVX2", AVX512, AVX512, `GOKERAS_CPU="AVX2": unknown value, expected portable, avx2 or avx512`},
	} {
		got, err := choose(c.env, c.best)
		assert.Equal(t, c.want, got, "choose(%q, %v)", c.env, c.best)
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
	assert.Equal(t, "portable avx2 avx512", Portable.String()+" "+AVX2.String()+" "+AVX512.String())
	assert.Equal(t, "Level(7)", Level(7).String())
}
