package cpu

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Extremes of integers of one and two bytes, and of bools.

// smallExtreme returns the loops for the largest or smallest element, if T has one or two bytes.
func smallExtreme[T block.Number](kind ir.Kind) (r reduction[T], ok bool) {
	var loops any
	switch any(T(0)).(type) {
	case int8:
		loops = extremeOfSmalls[int8](kind, math.MinInt8, math.MaxInt8)
	case uint8:
		loops = extremeOfSmalls[uint8](kind, 0, math.MaxUint8)
	case int16:
		loops = extremeOfSmalls[int16](kind, math.MinInt16, math.MaxInt16)
	case uint16:
		loops = extremeOfSmalls[uint16](kind, 0, math.MaxUint16)
	}
	r, ok = loops.(reduction[T])
	return r, ok
}

//go:noinline
func extremeOfSmalls[T vec.Small](kind ir.Kind, lowest, highest T) reduction[T] {
	if kind == ir.Max {
		return reduction[T]{lowest, smallRow(vec.SmallMax, lowest), smallRows[T](vec.SmallMax), true, maxShortSmalls[T], nil, nil, nil}
	}
	return reduction[T]{highest, smallRow(vec.SmallMin, highest), smallRows[T](vec.SmallMin), true, minShortSmalls[T], nil, nil, nil}
}

// wideSmalls is the number of elements that are combined at a time.
const wideSmalls = 512

// smallRows combines rows, several at a time where they are short.
func smallRows[T vec.Small](op vec.SmallOp) func(acc, x []T) {
	return func(acc, x []T) {
		n := len(acc)
		if n == 0 {
			return
		}
		var several [wideSmalls]T
		width := wideSmalls / n * n
		if n <= wideSmalls/2 && len(x) >= 2*width {
			part := several[:width]
			copy(part, x)
			for x = x[width:]; len(x) >= width; x = x[width:] {
				vec.Smalls(op, part, part, x[:width])
			}
			for rows := width / n; rows > 1; rows -= rows / 2 { // the last half joins the first one
				half := rows / 2 * n
				vec.Smalls(op, part[:half], part[:half], part[rows*n-half:rows*n])
			}
			eachSmallRow(op, acc, part[:n])
		}
		eachSmallRow(op, acc, x)
	}
}

// fewSmalls is the number of columns up to which a call for each row takes longer than a loop.
const fewSmalls = 16

func eachSmallRow[T vec.Small](op vec.SmallOp, acc, x []T) {
	n := len(acc)
	if n <= fewSmalls {
		for i, v := range acc {
			m := int(v)
			for j := i; j < len(x); j += n {
				if op == vec.SmallMax {
					m = max(m, int(x[j]))
				} else {
					m = min(m, int(x[j]))
				}
			}
			acc[i] = T(m)
		}
		return
	}
	for ; len(x) >= n; x = x[n:] {
		vec.Smalls(op, acc, acc, x[:n])
	}
}

// smallRow combines consecutive elements.
func smallRow[T vec.Small](op vec.SmallOp, identity T) func(x []T) T {
	rows := smallRows[T](op)
	return func(x []T) T {
		const lane = 64
		var all [lane]T
		acc := all[:lane]
		if len(x) < 2*lane {
			acc = all[:8]
		}
		for i := range acc {
			acc[i] = identity
		}
		whole := len(x) &^ (len(acc) - 1)
		rows(acc, x[:whole])
		for _, v := range x[whole:] {
			if op == vec.SmallMax {
				acc[0] = T(max(int(acc[0]), int(v)))
			} else {
				acc[0] = T(min(int(acc[0]), int(v)))
			}
		}
		if op == vec.SmallMax {
			return maxSmall(acc)
		}
		return minSmall(acc)
	}
}

// maxSmall and minSmall work on int, for which the processor needs no branch.
func maxSmall[T vec.Small](x []T) T {
	m := int(x[0])
	for _, v := range x[1:] {
		m = max(m, int(v))
	}
	return T(m)
}

func minSmall[T vec.Small](x []T) T {
	m := int(x[0])
	for _, v := range x[1:] {
		m = min(m, int(v))
	}
	return T(m)
}

func maxShortSmalls[T vec.Small](acc, x []T) {
	n := len(x) / max(len(acc), 1)
	for i := range acc {
		acc[i] = maxSmall(x[i*n : i*n+n])
	}
}

func minShortSmalls[T vec.Small](acc, x []T) {
	n := len(x) / max(len(acc), 1)
	for i := range acc {
		acc[i] = minSmall(x[i*n : i*n+n])
	}
}
