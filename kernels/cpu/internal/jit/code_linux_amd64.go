package jit

import (
	"runtime"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// enter goes to the code, which returns to enter's caller and finds its arguments there.
//
//go:noescape
func enter(code uintptr, pointers unsafe.Pointer, n, lines uintptr, steps unsafe.Pointer)

// Code is compiled steps.
type Code struct {
	mapped []byte
	avx2   bool
}

// mostCode is how many pieces of code there may be at a time: each is a mapping of its own, and systems allow some ten
// thousands of them.
const mostCode = 1 << 13

var (
	pieces  atomic.Int64
	refused atomic.Bool // the system gives no memory that can be executed
)

// Usable reports whether code can be made here now.
func Usable() bool { return isa.Active().Has(isa.Vectors256) && !refused.Load() }

// Roomy reports whether so few pieces of code exist that some may be spent where they save little.
func Roomy() bool { return pieces.Load() < mostCode/2 }

// Usable reports whether the code can run here now: whether it was made for the instructions in force.
func (c *Code) Usable() bool { return Usable() && c.avx2 != isa.Active().Has(isa.Vectors512) }

// Run computes n elements at the pointers.
func (c *Code) Run(pointers unsafe.Pointer, n int) { c.RunLines(pointers, n, 1, nil) }

// RunLines computes so many lines, one at least, of n elements each. Between two of them every pointer moves by the
// bytes that steps, a table like that of the pointers, has for it; the pointers to numbers may move too. The steps must
// not have lookups.
func (c *Code) RunLines(pointers unsafe.Pointer, n, lines int, steps unsafe.Pointer) {
	enter(uintptr(unsafe.Pointer(unsafe.SliceData(c.mapped))), pointers, uintptr(n), uintptr(lines), steps)
	runtime.KeepAlive(c)
}

// executable returns the code in memory that can be executed, or nil.
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
	_ = syscall.Munmap(m) // of memory that nothing refers to any more: there is nobody to tell
}
