package isa

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMissing(t *testing.T) {
	for _, c := range []struct {
		architecture string
		have         Features
		want         []string
	}{
		{"amd64", Portable, []string{"avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16", "avx512vbmi",
			"amxtile", "amxint8", "amxbf16"}},
		{"amd64", Vectors256, []string{"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16", "avx512vbmi",
			"amxtile", "amxint8", "amxbf16"}},
		{"amd64", Vectors512 | AVX512VNNI | AVX512VBMI | AVX512BF16, []string{"amxtile", "amxint8", "amxbf16"}},
		{"amd64", everything, nil},
		{"arm64", NEON | DotProd, []string{"bf16", "i8mm"}},
		{"riscv64", Portable, nil},
	} {
		assert.Equal(t, c.want, missing(c.architecture, c.have), "%s with %v", c.architecture, c.have)
	}
}

// TestFeaturesOfPaths notices a path that is added without its features.
func TestFeaturesOfPaths(t *testing.T) {
	var known Features
	for _, groups := range kernelFeatures {
		for _, group := range groups {
			known |= group
		}
	}
	for _, p := range paths {
		assert.True(t, known.Has(p.needs), "Missing does not know all features that %s needs", p.name)
	}
	all := Features(1)<<len(featureNames) - 1
	assert.Equal(t, AVX512FP16|AVX512BF16Round, all&^known, "features that Missing does not know: no kernels use the first, AVX512BF16 has the second")
}
