package isa

import "golang.org/x/sys/cpu"

// detect reads CPUID; the cpu package counts a feature only if the operating system saves its registers.
func detect() []Level {
	x := &cpu.X86
	if !x.HasAVX2 || !x.HasFMA || !x.HasF16C {
		return []Level{Portable}
	}
	if x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL {
		return []Level{Portable, AVX2, AVX512}
	}
	return []Level{Portable, AVX2}
}
