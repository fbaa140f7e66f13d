//go:build !amd64 && !arm64

package isa

// detect returns Portable: there are assembly kernels for amd64 and arm64 only.
func detect() Features { return Portable }

// detectSlow finds nothing here.
func detectSlow(Features) Features { return 0 }

// detectHalfUnits finds nothing here.
func detectHalfUnits() bool { return false }

func detectStorePages() int { return 0 }

// detectNearCache finds nothing here.
func detectNearCache() bool { return false }
