//go:build !amd64 || !linux

package jit

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Code is compiled steps.
type Code struct{}

// Usable reports whether code can be made here now.
func Usable() bool { return false }

// Roomy reports whether some code may be spent where it saves little.
func Roomy() bool { return false }

// Usable reports whether the code can run here now.
func (*Code) Usable() bool { return false }

// Has reports whether there is code for an operation.
func Has(vec.ChainOp) bool { return false }

// Run is never called here.
func (*Code) Run(unsafe.Pointer, int) {}

// RunLines is never called here.
func (*Code) RunLines(unsafe.Pointer, int, int, unsafe.Pointer) {}

// Compile returns nil.
func Compile([]Step, int, func(uint8) bool) *Code { return nil }
