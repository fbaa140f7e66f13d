package isa

import "golang.org/x/sys/cpu"

// detect asks the operating system, except for NEON, which is part of the architecture.
func detect() Features {
	f := NEON
	if cpu.ARM64.HasASIMDDP {
		f |= DotProd
	}
	if cpu.ARM64.HasI8MM {
		f |= I8MM
	}
	if hasBF16() { // the cpu package does not report it
		f |= BF16
	}
	return f
}

// detectSlow finds nothing here.
func detectSlow(Features) Features { return 0 }

// detectHalfUnits finds nothing here.
func detectHalfUnits() bool { return false }

func detectStorePages() int { return 0 }

// detectNearCache finds nothing here.
func detectNearCache() bool { return false }
