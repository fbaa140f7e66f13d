package jit

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// enter jumps to the code, which returns to enter's caller and finds its arguments there.
//
//go:noescape
func enter(code uintptr, pointers unsafe.Pointer, n, lines uintptr, steps unsafe.Pointer)

// Code is compiled steps.
type Code struct {
	mapped []byte
	avx2   bool
}

// mostCode is the most pieces of code at a time: each is a separate mapping, and systems allow some ten thousand.
const mostCode = 1 << 13

var (
	pieces  atomic.Int64
	refused atomic.Bool // the system provides no executable memory
)

// Usable reports whether code can be made now.
func Usable() bool { return isa.Active().Has(isa.Vectors256) && !refused.Load() }

// Roomy reports whether so few pieces of code exist that more may be made where they save little.
func Roomy() bool { return pieces.Load() < mostCode/2 }

// Usable reports whether the code can run now: whether it was made for the instruction set in use.
func (c *Code) Usable() bool { return Usable() && c.avx2 != isa.Active().Has(isa.Vectors512) }

// Run computes n elements at the pointers.
func (c *Code) Run(pointers unsafe.Pointer, n int) { c.RunLines(pointers, n, 1, nil) }

// RunLines computes the given number of lines, at least one, of n elements each. Between lines, each pointer moves by
// the bytes that steps has for it, a table like that of the pointers; pointers to numbers may move too. The steps must
// not contain lookups.
func (c *Code) RunLines(pointers unsafe.Pointer, n, lines int, steps unsafe.Pointer) {
	enter(uintptr(unsafe.Pointer(unsafe.SliceData(c.mapped))), pointers, uintptr(n), uintptr(lines), steps)
	runtime.KeepAlive(c)
}

// executable returns the code in executable memory, or nil.
func executable(code []byte, avx2 bool) *Code {
	if pieces.Add(1) > mostCode {
		pieces.Add(-1)
		return nil
	}
	m, err := syscall.Mmap(-1, 0, len(code), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err == nil {
		copy(m, code)
		if err = syscall.Mprotect(m, syscall.PROT_READ|syscall.PROT_EXEC); err == nil {
			c := &Code{m, avx2}
			runtime.SetFinalizer(c, func(c *Code) { unmap(c.mapped) })
			return c
		}
		unmap(m)
		pieces.Add(1)
	}
	pieces.Add(-1)
	refused.Store(true)
	return nil
}

func unmap(m []byte) {
	pieces.Add(-1)
	_ = syscall.Munmap(m) // nothing refers to this memory any more, and nobody could handle an error
}
