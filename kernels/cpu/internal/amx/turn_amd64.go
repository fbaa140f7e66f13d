package amx

import "unsafe"

// mostTurned bounds the numbers that a call moves, to some ten microseconds: see maxCallProducts.
const mostTurned = 1 << 17

// TurnPairs makes rows of A of a matrix that is stored the other way: pairs of its rows, from bytes apart, become parts
// of [Words] pairs of all columns, one part after the other. Behind the last row are zeros, up to a whole part.
func TurnPairs(dst, src unsafe.Pointer, columns, rows, from int) {
	const part = 2 * Words
	if columns <= 0 {
		return
	}
	each := max(mostTurned/columns/part, 1) * part
	for first := 0; first < rows; first += each {
		turnPairs(unsafe.Add(dst, first/2*columns*word), unsafe.Add(src, first*from), columns, min(each, rows-first), from)
	}
}

// TurnRows makes a panel of B of a matrix that is stored the other way: up to 32 rows of so many numbers, from bytes
// apart, become columns of pairs, the last of which may be one number and zero.
func TurnRows(dst, src unsafe.Pointer, rows, numbers, from int) {
	const each = mostTurned / (2 * Words)
	for first := 0; first < numbers && rows > 0; first += each {
		turnRows(unsafe.Add(dst, first/2*2*Words*word), unsafe.Add(src, first*half), rows, min(each, numbers-first), from)
	}
}

// CopyRows copies rows of so many numbers, from bytes apart, to rows of so many words that are to bytes apart. Words
// are no more than the steps of [Words] that the numbers begin; behind the numbers are zeros.
func CopyRows(dst, src unsafe.Pointer, rows, numbers, words, to, from int) {
	if numbers <= 0 {
		return
	}
	each := max(mostTurned/numbers, 1)
	for first := 0; first < rows; first += each {
		copyRows(unsafe.Add(dst, first*to), unsafe.Add(src, first*from), min(each, rows-first), numbers, words, to, from)
	}
}

//go:noescape
func turnPairs(dst, src unsafe.Pointer, columns, rows, from int)

//go:noescape
func turnRows(dst, src unsafe.Pointer, rows, numbers, from int)

//go:noescape
func copyRows(dst, src unsafe.Pointer, rows, numbers, words, to, from int)
