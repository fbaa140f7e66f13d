package isa

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// pretend replaces the processor by one with these features, which have not been queried yet.
func pretend(t *testing.T, f Features) {
	had, slowBefore, was, asked, refusedBefore := detected, slow, active.Load(), permission.Load(), denied.Load()
	t.Cleanup(func() {
		detected, slow = had, slowBefore
		active.Store(was)
		permission.Store(asked)
		denied.Store(refusedBefore)
	})
	detected, slow = f, 0
	active.Store(uint32(f))
	permission.Store(unasked)
	denied.Store(0)
}

// If the operating system refuses the matrix registers, kernels are not told about them, and it is asked only once.
func TestMatrixRegistersRefused(t *testing.T) {
	if assumed != "" {
		t.Skip("this test binary was linked to assume the permission (internal/test-amx.sh); any other runs the test")
	}
	pretend(t, Vectors512|AVX512BF16|matrices)
	askOnce(func() bool { return false })
	require.False(t, MatrixRegisters())
	require.Equal(t, Vectors512|AVX512BF16, Active())
	require.Equal(t, Vectors512|AVX512BF16, Detected())
	restore := Override(Vectors512 | matrices)
	require.Equal(t, Vectors512, Active(), "no override brings them back")
	restore()
	require.NotContains(t, Paths()[len(Paths())-1].String(), "amx")
}

// Features that pay only together with the matrix registers are dropped without them, but tests may still use them.
func TestSlowWithoutMatrixRegisters(t *testing.T) {
	findSlow = func(have Features) Features { return slowFeatures(true, have) }
	defer func() { findSlow = detectSlow }()
	require.Equal(t, AVX512BF16, findSlow(Vectors512|AVX512BF16|AVX512FP16))
	require.Zero(t, slowFeatures(false, Vectors512|AVX512BF16|AVX512FP16), "AMD's are fast")
	require.Zero(t, findSlow(Vectors512|AVX512BF16), "and so are Intel's before")
	pretend(t, Vectors512|AVX512BF16|AVX512FP16|matrices)
	require.Zero(t, findSlow(detected))
	askOnce(func() bool { return false })
	require.Equal(t, Vectors512|AVX512FP16, Active())
	require.Equal(t, Vectors512|AVX512FP16, Detected())
	require.Equal(t, Vectors512|AVX512BF16|AVX512FP16, Executable())
}

// A path without the features asks for nothing: the process would need larger signal stacks.
func TestMatrixRegistersAskedWhenWanted(t *testing.T) {
	pretend(t, Vectors512)
	require.False(t, MatrixRegisters())
	require.EqualValues(t, unasked, permission.Load())

	pretend(t, Vectors512|matrices)
	askOnce(func() bool { return true })
	require.True(t, MatrixRegisters())
	require.Equal(t, Vectors512|matrices, Active())
}

// The emulator's tests name features as String does.
func TestNamed(t *testing.T) {
	require.Equal(t, matrices, named("amxtile+amxint8+amxbf16"))
	require.Equal(t, AMXTile, named("amxtile"))
	require.Equal(t, Portable, named(""))
	require.Equal(t, AVX512F, named("avx512f+nonsense"), "and not those whose names begin alike")
}
