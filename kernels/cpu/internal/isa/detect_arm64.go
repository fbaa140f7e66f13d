package isa

// detect returns NEON: it is a part of the architecture.
func detect() []Level { return []Level{Portable, NEON} }
