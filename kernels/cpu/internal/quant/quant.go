// Package quant multiplies int8 matrices into int32 sums, which wrap around on overflow:
//
//	C[i, j] = Σ_k A[i, k]·B[k, j]
//
// B is packed into panels of [Width] columns, with four rows side by side, as unsigned bytes: B + 128. The resulting
// excess, 128·Σ_k A[i, k], is subtracted again. One instruction multiplies whole tiles with AMX, and forms 64 products
// with AVX512-VNNI. With AVX2, bytes are widened to 16 bits, so nothing saturates. On arm64 with DotProd, an
// instruction forms 16 products of B without the excess. Elsewhere, plain Go is used. All give the same numbers.
package quant

import (
	"encoding/binary"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/amx"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

const (
	// Width is the number of columns of a panel.
	Width = 64
	group = 4 // rows of B that are side by side
	rows  = 6 // most rows of A at a time
	zero  = 128
)

// groups is the number of groups of k rows.
func groups(k int) int { return (k + group - 1) / group }

// PackedSize returns the number of bytes of k x n numbers in panels.
func PackedSize(k, n int) int { return (n + Width - 1) / Width * groups(k) * group * Width }

// packer packs panels on a pool.
type packer struct {
	dst                  []byte
	b                    []int8
	k, n                 int
	rowStride, colStride int
}

// Pack writes B (k rows, n columns, at b[row·rowStride + column·colStride]) into panels.
func Pack(p *pool.Pool, dst []byte, b []int8, k, n, rowStride, colStride int) {
	t := &packer{dst, b, k, n, rowStride, colStride}
	p.Parallel((n+Width-1)/Width, max(1, 1<<16/max(k*Width, 1)), t)
}

// Run packs the panels [lo, hi).
func (t *packer) Run(_, lo, hi int) {
	size := groups(t.k) * group * Width
	for panel := lo; panel < hi; panel++ {
		dst := t.dst[panel*size : (panel+1)*size]
		columns := min(Width, t.n-panel*Width)
		for k := range groups(t.k) * group {
			line := dst[k/group*group*Width+k%group:]
			for j := range Width {
				v := byte(zero)
				if k < t.k && j < columns {
					v = byte(t.b[k*t.rowStride+(panel*Width+j)*t.colStride]) ^ zero
				}
				line[j*group] = v
			}
		}
	}
}

// Args describes a product. Only one goroutine at a time may use it; it can be reused.
type Args struct {
	M, N, K              int
	A                    []int8 // at A[row·RowStride + k·ColStride]
	RowStride, ColStride int
	B                    []byte  // in panels
	C                    []int32 // M rows, LDC numbers apart
	LDC                  int
	Scratch              []byte // ScratchSize bytes, aligned to 4

	sums   []int32 // -128 times the sum of each row of A; with AMX, each sum 16 times
	x      []byte  // A as the kernels read it
	stride int     // bytes of a row of x
	own    bool    // x is memory of A
	whole  int     // rows of A that x has; the others are in last
	last   []byte
	parts  int // that the rows of a panel are divided into; one worker computes a part
	family family
}

// ScratchSize returns the size of the scratch memory that a product with m rows needs.
func ScratchSize(m, k int) int {
	return m*(amx.StartRow+max(2*group*groups(k), amx.BytesRow(groups(k)))+rowGap) + line
}

const (
	line   = 64 // bytes of a line of the cache
	rowGap = 64 // bytes between rows of A that would compete for the same cache sets otherwise
)

// Run computes the product.
func Run(p *pool.Pool, a *Args) {
	if a.M <= 0 || a.N <= 0 {
		return
	}
	a.family = active()
	if a.family == familyAMX && !worthTiles(a.M, a.K) {
		a.family = familyVNNI
	}
	memory, sums := a.Scratch, a.M
	a.stride = group * groups(a.K)
	switch a.family {
	case familyAVX2:
		if a.stride *= 2; a.stride%1024 == 0 {
			a.stride += rowGap
		}
	case familyAMX: // tiles consist of whole lines
		memory = memory[-uintptr(unsafe.Pointer(&memory[0]))%line:]
		sums *= amx.StartRow / 4
		if a.stride = amx.BytesRow(groups(a.K)); a.stride%1024 == 0 {
			a.stride += rowGap
		}
	}
	a.sums, a.x = unsafe.Slice((*int32)(unsafe.Pointer(&memory[0])), sums), memory[4*sums:]
	a.whole = a.M
	if a.own = a.readsRows(); a.own {
		if a.family == familyVNNI && a.K%group != 0 {
			a.whole, a.last = max(a.M-rows, 0), a.x
		}
		a.x, a.stride = unsafe.Slice((*byte)(unsafe.Pointer(&a.A[0])), len(a.A)), a.RowStride
	}
	p.Parallel(a.M, max(1, 1<<16/max(a.K, 1)), (*byteRows)(a))
	if a.family == familyAMX {
		amx.StartBytes(&amx.Bytes{A: unsafe.Pointer(&a.x[0]), Start: unsafe.Pointer(&a.sums[0]), Rows: a.M, Groups: groups(a.K), ARow: a.stride})
	}
	panels := (a.N + Width - 1) / Width
	a.parts = 1
	if workers := p.Workers(); workers > 1 && panels < minWorkerItems*workers && a.family != familyAMX {
		a.parts = max(min(minWorkerItems*workers/panels, a.M/(4*rows)), 1)
	}
	p.Parallel(panels*a.parts, max(1, 1<<21*a.parts/max(a.M*a.K*Width, 1)), a)
	a.A, a.B, a.C, a.Scratch, a.sums, a.x, a.last = nil, nil, nil, nil, nil, nil, nil
}

// worthTiles reports whether m rows take less time in matrix registers than in vectors. Configuring the tiles takes as
// long as 200 vector instructions, and a product of tiles at least as long as 16, however few its rows.
func worthTiles(m, k int) bool {
	const rowOfStep, stepOfTiles, call = 32, 64, 200
	steps := (k + line - 1) / line
	return k > 0 && m*rowOfStep*steps > (m+15)/16*stepOfTiles*steps+call
}

// readsRows reports whether the kernels read rows of A where they are. If these do not end with a group, the first
// numbers of the next row are read, too: the padding of B has no part in the sums. The last rows, behind which nothing
// may be read, are copied.
func (a *Args) readsRows() bool {
	switch a.family {
	case familyAMX:
		return a.ColStride == 1 && amx.HasWholeSteps(a.K) && a.RowStride%1024 != 0
	case familyVNNI:
		return a.ColStride == 1 && a.K >= group && a.RowStride >= a.K
	}
	return false
}

// byteRows prepares rows of A.
type byteRows Args

// Run prepares the rows [lo, hi).
func (b *byteRows) Run(_, lo, hi int) {
	a := (*Args)(b)
	for i := lo; i < hi && !a.own; i++ {
		a.prepare(a.x[i*a.stride:][:a.stride], i)
	}
	if a.family != familyVNNI {
		return
	}
	if end := min(hi, a.whole); lo < end {
		sumRows(a.sums[lo:end], a.x[lo*a.stride:], a.stride, groups(a.K))
	}
	for i := max(lo, a.whole); i < hi; i++ {
		row := a.last[(i-a.whole)*group*groups(a.K):][:group*groups(a.K)]
		a.prepare(row, i)
		sumRows(a.sums[i:i+1], row, 0, groups(a.K))
	}
}

// rowsFrom returns rows of A as kernels read them, from row i on, before row end, how many these are, and the bytes
// between them.
func (a *Args) rowsFrom(i, end int) (x []byte, count, stride int) {
	if i >= a.whole {
		stride = group * groups(a.K)
		return a.last[(i-a.whole)*stride:], end - i, stride
	}
	return a.x[i*a.stride:], min(end, a.whole) - i, a.stride
}

// prepare copies a row of A, padded with zeros, and computes its sum, unless it is summed with others later.
func (a *Args) prepare(row []byte, i int) {
	sum := int32(0)
	switch {
	case a.family == familyAVX2 && a.ColStride == 1:
		sum = widenBytes(row, a.A[i*a.RowStride:][:a.K])
	case a.family != familyAVX2:
		if a.ColStride == 1 {
			from := a.A[i*a.RowStride:][:a.K]
			copy(row, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(from))), len(from)))
			if a.family != familyAMX && a.family != familyVNNI {
				sum = sumBytes(row[:a.K])
			}
		} else {
			for k := range a.K {
				v := a.A[i*a.RowStride+k*a.ColStride]
				row[k] = byte(v)
				sum += int32(v)
			}
		}
		clear(row[a.K : group*groups(a.K)])
	default:
		clear(row)
		for k := range a.K {
			v := a.A[i*a.RowStride+k*a.ColStride]
			sum += int32(v)
			at := k/group*2*group + k%2*4 + k%group/2*2
			row[at], row[at+1] = byte(v), byte(int16(v)>>8)
		}
	}
	switch a.family {
	case familyDots: // it removes the 128 from the weights instead
		a.sums[i] = 0
	case familyAMX: // it sums the row itself
		amx.PadRow(row, groups(a.K))
	case familyVNNI:
	default:
		a.sums[i] = -zero * sum
	}
}

// widenBytes writes numbers in the order that the kernels of AVX2 read, and returns their sum. From each group it
// writes first the numbers in even places, then the others, widened to 16 bits.
func widenBytes(dst []byte, x []int8) int32 {
	if len(x) == 0 {
		return 0
	}
	from := unsafe.Slice((*byte)(unsafe.Pointer(&x[0])), len(x))
	done, sum := widenVectors(dst, from)
	dst, from = dst[2*done:], from[done:]
	sum += sumBytes(from)
	var last [group]byte
	for ; len(from) > 0; dst = dst[2*group:] {
		four := last[:]
		if len(from) >= group {
			four = from[:group]
			from = from[group:]
		} else {
			copy(four, from)
			from = nil
		}
		const low, sign = 0x00ff00ff00ff00ff, 0x0080008000800080
		v := uint64(binary.LittleEndian.Uint32(four))
		v = (v | v<<24) & low
		binary.LittleEndian.PutUint64(dst, v|(v&sign)<<1*0xff)
	}
	return sum
}

// sumBytes returns the sum of int8 numbers. It adds eight at a time, as unsigned bytes (each plus 128), to two words
// that hold four sums each.
func sumBytes(x []byte) int32 {
	const even, most = 0x00ff00ff00ff00ff, 256 // most: words that 16-bit sums have room for
	total := -zero * int32(len(x))
	for len(x) >= 8 {
		words := min(len(x)/8, most)
		low, high := uint64(0), uint64(0)
		for _, w := range unsafe.Slice((*[8]byte)(unsafe.Pointer(&x[0])), words) {
			v := binary.LittleEndian.Uint64(w[:]) ^ 0x8080808080808080
			low += v & even
			high += v >> 8 & even
		}
		for _, sums := range [2]uint64{low, high} {
			total += int32(sums&0xffff + sums>>16&0xffff + sums>>32&0xffff + sums>>48)
		}
		x = x[8*words:]
	}
	for _, v := range x {
		total += int32(v ^ zero)
	}
	return total
}

// Run computes the panels [lo, hi), or parts of their rows.
func (a *Args) Run(_, lo, hi int) {
	if a.family == familyAMX {
		a.tiles(lo, hi)
		return
	}
	if a.parts > 1 {
		for item := lo; item < hi; item++ {
			part := item % a.parts
			a.panel(item/a.parts, part*a.M/a.parts, (part+1)*a.M/a.parts)
		}
		return
	}
	most := a.M
	if (hi-lo)*groups(a.K)*group*Width <= nearPanels {
		most = nearRows
	}
	for first := 0; first < a.M; first += most {
		for panel := lo; panel < hi; panel++ {
			a.panel(panel, first, min(first+most, a.M))
		}
	}
}

// If the second-level cache holds all panels, they multiply some rows of A at a time. Each row of C is then stored from
// its beginning to its end, and the rows lie in no more pages than the processor looks up at once.
const (
	nearPanels = 1 << 19
	nearRows   = 8 * rows
)

// panel computes the rows [i, end) of a panel.
func (a *Args) panel(panel, i, end int) {
	size := groups(a.K) * group * Width
	b := a.B[panel*size : (panel+1)*size]
	columns := min(Width, a.N-panel*Width)
	var edge [rows * Width]int32
	for i < end {
		x, left, stride := a.rowsFrom(i, end)
		n := a.family.rows(left)
		c, ld, width := a.C[i*a.LDC+panel*Width:], a.LDC, a.family.columns(n, columns)
		if columns < width {
			c, ld = edge[:], Width
		}
		for r := range n {
			if a.K > 0 && a.family.starts() {
				break
			}
			line := c[r*ld:][:width]
			vec.FillRows(unsafe.Slice((*uint32)(unsafe.Pointer(&line[0])), width), unsafe.Pointer(&a.sums[i+r]), width, 4)
		}
		if a.K > 0 {
			a.family.multiply(n, width, c, ld, a.sums[i:i+n], x, stride, b, groups(a.K))
		}
		if columns < width {
			for r := range n {
				copy(a.C[(i+r)*a.LDC+panel*Width:][:columns], edge[r*Width:])
			}
		}
		i += n
	}
}

// tiles computes the panels [lo, hi) in matrix registers. It takes as many rows at a time as leave room for panels in
// the second-level cache.
func (a *Args) tiles(lo, hi int) {
	const cached, least = 3 << 18, 64
	column := lo * Width
	most := max(cached/a.stride, least)
	passes := (a.M + most - 1) / most
	for pass := range passes {
		first, last := pass*a.M/passes, (pass+1)*a.M/passes
		amx.MultiplyBytes(&amx.Bytes{A: unsafe.Pointer(&a.x[first*a.stride]), B: unsafe.Pointer(&a.B[lo*groups(a.K)*group*Width]), C: unsafe.Pointer(&a.C[first*a.LDC+column]),
			Start: unsafe.Pointer(&a.sums[first*(amx.StartRow/4)]), Rows: last - first, Cols: min(hi*Width, a.N) - column, Groups: groups(a.K), ARow: a.stride, CRow: a.LDC})
	}
}

// family is a set of kernels for one kind of processor.
type family int

const (
	familyGo family = iota
	familyAVX2
	familyVNNI
	familyAMX
	familyDots // of arm64
)

var kind = tile.Kind{In: tile.Int8, Acc: tile.Int32}

// active returns the family of the tile in use.
func active() family { return family(tile.Best(tiles[:], kind).Family) }

// Layout is the layout that [Pack] writes and the tile in use reads.
func Layout() tile.Layout { return tile.Best(tiles[:], kind).Layout }

// rows returns how many rows the next kernel takes if n are left.
func (f family) rows(n int) int {
	switch {
	case f == familyDots:
		return min(n, 3)
	case (f == familyAVX2 || f == familyVNNI) && n >= rows:
		return rows
	case f != familyVNNI || n == 1:
		return 1
	case n >= 4:
		return 4
	}
	return 2
}

// columns returns how many of the first columns of a panel the kernel for n rows computes if so many are needed.
func (f family) columns(n, needed int) int {
	const lanes = 16
	if n < rows || f != familyAVX2 && f != familyVNNI {
		return Width
	}
	return (needed + lanes - 1) / lanes * lanes
}

// multiplyGo adds the product of one row of x and a panel to c.
func multiplyGo(c []int32, x, w []byte) {
	c = c[:Width]
	for k, v := range x {
		line := w[k/group*group*Width+k%group:]
		for j := range c {
			c[j] += int32(int8(v)) * int32(line[j*group])
		}
	}
}
