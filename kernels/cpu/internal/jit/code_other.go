//go:build !amd64 || !linux

package jit

import "unsafe"

// Code is compiled steps.
type Code struct{}

// Usable reports whether code can run here now.
func Usable() bool { return false }

// Run is never called here.
func (*Code) Run(unsafe.Pointer, int) {}

// Compile returns nil.
func Compile([]Step, int, func(uint8) bool) *Code { return nil }
