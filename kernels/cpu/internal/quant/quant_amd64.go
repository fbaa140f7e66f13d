package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
)

// tiles lists the tiles for products of int8, the best ones first.
var tiles = [...]tile.Tile{
	{Kind: kind, Needs: isa.Vectors512 | isa.AVX512VNNI | isa.AMXTile | isa.AMXInt8, Layout: tile.Int8x64, Lanes: 16, Family: int(familyAMX)},
	{Kind: kind, Needs: isa.Vectors512 | isa.AVX512VNNI, Layout: tile.Int8x64, Lanes: 16, Family: int(familyVNNI)},
	{Kind: kind, Needs: isa.Vectors256, Layout: tile.Int8x64, Lanes: 8, Family: int(familyAVX2)},
	{Kind: kind, Layout: tile.Int8x64, Lanes: 1, Family: int(familyGo)},
}

// starts reports whether multiply begins with the given numbers, not with what c holds.
func (f family) starts() bool { return f == familyVNNI || f == familyAMX }

// multiply adds the product of rows of x and the first columns of a panel to c, as many as the method columns says; or
// to start, one number for each row.
func (f family) multiply(n, columns int, c []int32, ldc int, start []int32, x []byte, ldx int, w []byte, groups int) {
	_, _, _, _ = start[n-1], c[(n-1)*ldc+columns-1], x[(n-1)*ldx+groups*group-1], w[groups*group*Width-1]
	cs, from, xs, ws := unsafe.Pointer(&c[0]), unsafe.Pointer(&start[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&w[0])
	g, lc, lx := uintptr(groups), uintptr(4*ldc), uintptr(ldx)
	switch {
	case f == familyGo:
		multiplyGo(c, x[:ldx], w)
	case f == familyAVX2:
		multiplyAVX2(n, columns, cs, xs, ws, g, lc, lx)
	case n == rows && columns == 16:
		rows6x16VNNI(cs, from, xs, ws, g, lc, lx)
	case n == rows && columns == 32:
		rows6x32VNNI(cs, from, xs, ws, g, lc, lx)
	case n == rows && columns == 48:
		rows6x48VNNI(cs, from, xs, ws, g, lc, lx)
	case n == rows:
		rows6VNNI(cs, from, xs, ws, g, lc, lx)
	case n == 4:
		rows4VNNI(cs, from, xs, ws, g, lc, lx)
	case n == 2:
		rows2VNNI(cs, from, xs, ws, g, lc, lx)
	default:
		rows1VNNI(cs, from, xs, ws, g, lc, lx)
	}
}

// multiplyAVX2 adds the product of one or six rows of x and a panel to c. Six rows go through the panel in blocks, so
// that the part of x that all columns read stays in the first-level cache.
func multiplyAVX2(n, columns int, c, x, w unsafe.Pointer, groups, ldc, ldx uintptr) {
	const block, bytes = 256, 64 // the columns of a call, as words
	if n == 1 {
		rowAVX2(c, x, w, groups)
		return
	}
	for first := uintptr(0); first < groups; first += block {
		for column := uintptr(0); column < uintptr(4*columns); column += bytes {
			rows6AVX2(unsafe.Add(c, column), unsafe.Add(x, 2*group*first), unsafe.Add(w, group*Width*first+column), min(block, groups-first), ldc, ldx)
		}
	}
}

//go:noescape
func rows1VNNI(c, start, x, w unsafe.Pointer, groups, ldc, ldx uintptr)

//go:noescape
func rows2VNNI(c, start, x, w unsafe.Pointer, groups, ldc, ldx uintptr)

//go:noescape
func rows4VNNI(c, start, x, w unsafe.Pointer, groups, ldc, ldx uintptr)

//go:noescape
func rows6VNNI(c, start, x, w unsafe.Pointer, groups, ldc, ldx uintptr)

//go:noescape
func rows6x16VNNI(c, start, x, w unsafe.Pointer, groups, ldc, ldx uintptr)

//go:noescape
func rows6x32VNNI(c, start, x, w unsafe.Pointer, groups, ldc, ldx uintptr)

//go:noescape
func rows6x48VNNI(c, start, x, w unsafe.Pointer, groups, ldc, ldx uintptr)

//go:noescape
func rowAVX2(c, x, w unsafe.Pointer, groups uintptr)

//go:noescape
func rows6AVX2(c, x, w unsafe.Pointer, groups, ldc, ldx uintptr)

// widenVectors is widenBytes for the first numbers of x, and returns how many these are.
func widenVectors(dst, x []byte) (done int, sum int32) {
	const lanes = 16
	if done = len(x) / lanes * lanes; done == 0 {
		return 0, 0
	}
	_ = dst[2*done-1]
	var sums [4]int32
	widenRowAVX2(unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&sums), uintptr(done))
	return done, sums[0] + sums[1] + sums[2] + sums[3]
}

//go:noescape
func widenRowAVX2(to, x, sums unsafe.Pointer, n uintptr)

// sumRows sets sums to -128 times the sums of rows of groups of bytes. For familyVNNI.
func sumRows(sums []int32, x []byte, stride, groups int) {
	if len(sums) == 0 || groups == 0 {
		clear(sums)
		return
	}
	_ = x[(len(sums)-1)*stride+groups*group-1]
	const step = line / group
	rest := groups % step
	sumRowsVNNI(unsafe.Pointer(&sums[0]), unsafe.Pointer(&x[0]), uintptr(len(sums)), uintptr(groups/step), uintptr(rest), 1<<rest-1, uintptr(stride))
}

//go:noescape
func sumRowsVNNI(sums, x unsafe.Pointer, rows, steps, rest, mask, stride uintptr)

// bytesRowOf adds the products of x and a block of a panel of bytes to y. For familyAVX2.
func bytesRowOf(y, x []float32, w []byte, scale []float32, zero []int8, excess int32, groups int) {
	_, _, _, _, _ = y[Width-1], x[groups*group-1], w[groups*group*Width-1], scale[Width-1], zero[Width-1]
	bytesRowAVX2(unsafe.Pointer(&y[0]), unsafe.Pointer(&x[0]), unsafe.Pointer(&w[0]), unsafe.Pointer(&scale[0]), unsafe.Pointer(&zero[0]), unsafe.Pointer(&excess), uintptr(groups))
}

//go:noescape
func bytesRowAVX2(y, x, w, scale, zero, excess unsafe.Pointer, groups uintptr)
