package cpu

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/block"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Loops for scatters that do not call a kernel for each update.

func setEach[T any](line, src unsafe.Pointer, at []int64, row, end int) {
	y, x := block.View[T](line, end), block.View[T](src, len(at))
	for i, p := range at {
		if int(p) >= row && int(p) < end { // false if dropped
			y[p] = x[i]
		}
	}
}

func addEach[T block.Number](line, src unsafe.Pointer, at []int64, row, end int) {
	y, x := block.View[T](line, end), block.View[T](src, len(at))
	for i, p := range at {
		if int(p) >= row && int(p) < end {
			y[p] += x[i]
		}
	}
}

// extremeEach keeps the largest or smallest of the numbers that meet, or NaN if any is NaN. Of equal numbers, such as
// zeros of both signs, it keeps the later one, as the kernels for rows and NumPy do.
func extremeEach[T block.Number](largest bool) func(line, src unsafe.Pointer, at []int64, row, end int) {
	return func(line, src unsafe.Pointer, at []int64, row, end int) {
		y, x := block.View[T](line, end), block.View[T](src, len(at))
		for i, p := range at {
			switch {
			case int(p) < row || int(p) >= end:
			case largest && x[i] >= y[p], !largest && x[i] <= y[p], x[i] != x[i]:
				y[p] = x[i]
			}
		}
	}
}

// scatterRowsOf returns the loop that combines rows of updates with the rows in [row, end) at their positions. A row
// has n elements, and rows are inner elements apart. The loop calls combine if there is no special code.
func scatterRowsOf(kind ir.Kind, d ir.DType, combine block.Func) func(base, src unsafe.Pointer, at []int64, row, end, inner, n int) {
	switch {
	case kind == ir.Sum && d == ir.Float32:
		return addRowsAt[float32]
	case kind == ir.Sum && d == ir.Float64:
		return addRowsAt[float64]
	}
	size := d.Size()
	rows := func(base, src unsafe.Pointer, at []int64, row, end, inner, n int) {
		for i, p := range at {
			if int(p) >= row && int(p) < end { // false if dropped
				dst := unsafe.Add(base, int(p)*inner*size)
				combine(dst, dst, unsafe.Add(src, i*inner*size), nil, n)
			}
		}
	}
	switch {
	case kind == ir.Sum && d == ir.Int32:
		return addIntegersAt[int32](rows)
	case kind == ir.Sum && d == ir.Int64:
		return addIntegersAt[int64](rows)
	case kind != ir.Max && kind != ir.Min:
		return rows
	}
	switch d {
	case ir.Float32:
		return extremeRowsAt[float32](kind == ir.Max, rows)
	case ir.Float64:
		return extremeRowsAt[float64](kind == ir.Max, rows)
	case ir.Int32:
		return extremeRowsAt[int32](kind == ir.Max, rows)
	}
	return rows
}

// shortExtreme is the length of a row up to which a loop computes extremes, or sums of integers, faster than a call.
const shortExtreme = 8

// addIntegersAt is scatterRowsOf for sums of integers. Long rows use the given loop.
func addIntegersAt[T int32 | int64](long func(base, src unsafe.Pointer, at []int64, row, end, inner, n int)) func(base, src unsafe.Pointer, at []int64, row, end, inner, n int) {
	return func(base, src unsafe.Pointer, at []int64, row, end, inner, n int) {
		if n > shortExtreme || end == 0 || len(at) == 0 {
			long(base, src, at, row, end, inner, n)
			return
		}
		addShortRowsAt[T](base, src, at, row, end, inner, n)
	}
}

// extremeRowsAt is scatterRowsOf for extremes, with the rules of extremeEach. Long rows use the given loop.
func extremeRowsAt[T block.Number](largest bool, long func(base, src unsafe.Pointer, at []int64, row, end, inner, n int)) func(base, src unsafe.Pointer, at []int64, row, end, inner, n int) {
	return func(base, src unsafe.Pointer, at []int64, row, end, inner, n int) {
		if n > shortExtreme || end == 0 || len(at) == 0 {
			long(base, src, at, row, end, inner, n)
			return
		}
		y, x := block.View[T](base, (end-1)*inner+n), block.View[T](src, (len(at)-1)*inner+n)
		for i, p := range at {
			if int(p) < row || int(p) >= end {
				continue
			}
			to, from := y[int(p)*inner:][:n], x[i*inner:][:n]
			for k, v := range from {
				if largest && v >= to[k] || !largest && v <= to[k] || v != v {
					to[k] = v
				}
			}
		}
	}
}

func addRowsAt[T block.Float](base, src unsafe.Pointer, at []int64, row, end, inner, n int) {
	if end == 0 || len(at) == 0 {
		return
	}
	if n <= shortUpdate || len(at)*n <= fewUpdates {
		addShortRowsAt[T](base, src, at, row, end, inner, n)
		return
	}
	y, x := block.View[T](base, (end-1)*inner+n), block.View[T](src, (len(at)-1)*inner+n)
	var pairs [64][2]int
	count := 0
	for i, p := range at {
		pairs[count] = [2]int{int(p) * inner, i * inner}
		above := p - int64(row)
		below := int64(end-row) - 1 - above
		count += int(^uint64(above|below) >> 63) // 0 if dropped or another worker's, without a branch, because that would be unpredictable
		if count == len(pairs) {
			vec.AddRowsAt(y, x, pairs[:], n)
			count = 0
		}
	}
	vec.AddRowsAt(y, x, pairs[:count], n)
}

// shortUpdate and fewUpdates are the numbers of elements of a row, and of all rows, up to which a loop adds them faster
// than calls.
const (
	shortUpdate = 4
	fewUpdates  = 64
)

// addShortRowsAt is addRowsAt for rows of a few elements.
func addShortRowsAt[T block.Number](base, src unsafe.Pointer, at []int64, row, end, inner, n int) {
	y, x := block.View[T](base, (end-1)*inner+n), block.View[T](src, (len(at)-1)*inner+n)
	for i, p := range at {
		if int(p) < row || int(p) >= end {
			continue
		}
		to, from := y[int(p)*inner:][:n], x[i*inner:][:n]
		switch n {
		case 2:
			to[0], to[1] = to[0]+from[0], to[1]+from[1]
		case 3:
			to[0], to[1], to[2] = to[0]+from[0], to[1]+from[1], to[2]+from[2]
		default:
			for k, v := range from {
				to[k] += v
			}
		}
	}
}
