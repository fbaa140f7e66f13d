//go:build !amd64

package amx

import "unsafe"

// Multiply is not to be called: no other processor has these registers.
func Multiply(*Product) { panic("amx: this processor has no matrix registers") }

// MultiplyBytes is not to be called either.
func MultiplyBytes(*Bytes) { panic("amx: this processor has no matrix registers") }

// MultiplyDigits is not to be called either.
func MultiplyDigits(*Digits) { panic("amx: this processor has no matrix registers") }

// StartBytes is not to be called either.
func StartBytes(*Bytes) { panic("amx: this processor has no matrix registers") }

// TurnPairs is not to be called either.
func TurnPairs(_, _ unsafe.Pointer, _, _, _ int) {
	panic("amx: this processor has no matrix registers")
}

// TurnRows is not to be called either.
func TurnRows(_, _ unsafe.Pointer, _, _, _ int) { panic("amx: this processor has no matrix registers") }

// CopyRows is not to be called either.
func CopyRows(_, _ unsafe.Pointer, _, _, _, _, _ int) {
	panic("amx: this processor has no matrix registers")
}
