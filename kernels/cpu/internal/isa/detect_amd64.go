package isa

import "golang.org/x/sys/cpu"

// detect reads CPUID. The cpu package counts a feature only if the operating system saves its registers.
func detect() (f Features) {
	x := &cpu.X86
	for feature, has := range map[Features]bool{
		AVX2: x.HasAVX2, FMA: x.HasFMA, F16C: x.HasF16C,
		AVX512F: x.HasAVX512F, AVX512BW: x.HasAVX512BW, AVX512DQ: x.HasAVX512DQ, AVX512VL: x.HasAVX512VL,
		AVX512VNNI: x.HasAVX512VNNI, AVX512BF16: x.HasAVX512BF16, AVX512FP16: x.HasAVX512F && hasFP16(),
		AMXTile: x.HasAMXTile, AMXInt8: x.HasAMXInt8, AMXBF16: x.HasAMXBF16,
		AVX512VBMI: x.HasAVX512VBMI, AVX512BF16Round: x.HasAVX512BF16,
	} {
		if has {
			f |= feature
		}
	}
	return f.usable()
}

// detectSlow returns the features whose kernels are slower than those without them.
func detectSlow(have Features) Features {
	const genu = 'G' | 'e'<<8 | 'n'<<16 | 'u'<<24
	_, vendor, _, _ := cpuid(0, 0)
	return slowFeatures(vendor == genu, have)
}

// detectHalfUnits reports whether CPUID calls 256 bits optimal, but not 512: bits 2 and 3 of leaf 8000001A, which only
// AMD has.
func detectHalfUnits() bool {
	a, _ := extended(0x8000001A, 0)
	return a>>2&3 == 1
}

// detectStorePages returns the entries of the data TLB for pages of 4 KiB: bits 16 to 23 of EBX of leaf 80000005, which
// is 0 on Intel's processors.
func detectStorePages() int {
	_, b := extended(0x80000005, 0)
	return int(b >> 16 & 0xff)
}

// extended reads a part of a leaf from 80000000 on. It returns zeros if the leaf does not exist.
func extended(leaf, part uint32) (a, b uint32) {
	if most, _, _, _ := cpuid(0x80000000, 0); most < leaf || most>>16 != leaf>>16 {
		return 0, 0
	}
	a, b, _, _ = cpuid(leaf, part)
	return a, b
}

// detectNearCache looks for a third-level cache that few cores share, in leaf 8000001D, which only AMD has.
func detectNearCache() bool {
	const third, most = 3, 32
	a, _ := extended(0x8000001D, third)
	return a>>5&7 == third && a>>14&0xfff < most
}

// hasFP16 reads the bit of AVX512_FP16, which the cpu package does not report: leaf 7, bit 23 of EDX.
func hasFP16() bool {
	if most, _, _, _ := cpuid(0, 0); most < 7 {
		return false
	}
	_, _, _, d := cpuid(7, 0)
	return d>>23&1 == 1
}

// cpuid executes the instruction.
func cpuid(leaf, sub uint32) (a, b, c, d uint32)
