package quant

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
)

// Products of float32 with a matrix of integers of four bits:
//
//	C[i, j] = Σ_k A[i, k]·(B[k, j] - zero)·scale
//
// where each block of neighbouring k has a scale and a zero point for every column. The numbers of A in a block are
// made integers of 24 bits, three digits of 8 bits with signs, by a power of two that the largest of them decides: each
// is off by 2^-23 of the largest at most, a rounding of float32. Their products with B are added up in integers,
// exactly; B is never anything but four bits in memory. All families compute the same bits.
//
// B is packed into panels of [Width] columns with four rows side by side, as columns 0 to 31 in the low and columns 32
// to 63 in the high half of each byte, and plus 8, which makes them numbers without a sign. Each block begins with a
// new group of rows.

const (
	digits     = 3
	digitBytes = digits * group // of a group of a row
	halfWidth  = Width / 2
	nibbleZero = 8
	largest    = 0x7f7f7f // of three digits
	mostRows   = 1 << 18  // whose sums 32 bits have room for
	headSize   = 4 * (digits + 1)
)

// NibbleArgs describes a product. One value serves one goroutine; it may be used again.
type NibbleArgs struct {
	M, N, K int
	Block   int       // rows of B that share a scale; 0: there are none, and Scale and Zero are nil
	A       []float32 // M rows of K
	B       []byte    // in panels, as PackNibbles writes them
	Scale   []float32 // a row of N for each block
	Zero    []int8
	C       []float32 // M rows of N
	Scratch []byte    // NibbleScratch bytes, aligned to 4

	heads  []head // for each row and block
	x      []byte // digits
	stride int    // bytes of a row of x
	family family
}

// head is what a block of a row of A needs beside its digits.
type head struct {
	sums   digitSums
	factor float32 // what its integers are multiplied with; NaN: a number is infinite or NaN
}

// blockOf returns how many rows a block has.
func blockOf(block, k int) int {
	if block == 0 {
		block = mostRows
	}
	return max(min(block, k), 1)
}

// shape returns the rows of a block, the number of blocks, and the groups of rows of a panel.
func nibbleShape(k, block int) (rows, blocks, all int) {
	rows = blockOf(block, k)
	blocks = (k + rows - 1) / rows
	if blocks > 0 {
		all = (blocks-1)*groups(rows) + groups(k-(blocks-1)*rows)
	}
	return rows, blocks, all
}

// NibbleSize returns the number of bytes of k x n numbers in panels.
func NibbleSize(k, n, block int) int {
	_, _, all := nibbleShape(k, block)
	return (n + Width - 1) / Width * all * group * halfWidth
}

// NibbleScratch returns the size of the scratch memory that a product with m rows needs.
func NibbleScratch(m, k, block int) int {
	_, blocks, all := nibbleShape(k, block)
	return m * (blocks*headSize + all*digitBytes)
}

// NibbleLayout is the layout that [PackNibbles] writes.
const NibbleLayout = tile.Int4x64

// nibblePacker packs panels on a pool.
type nibblePacker struct {
	dst, b      []byte
	k, n, block int
	columns     bool // B is transposed, of numbers without a sign
}

var nibblePackers pool.Recycler[nibblePacker]

// PackNibbles writes B into panels: k rows of (n+1)/2 bytes, each of two neighbouring columns, the first one in the low
// bits.
func PackNibbles(p *pool.Pool, dst, b []byte, k, n, block int) {
	packNibbles(p, &nibblePacker{dst: dst, b: b, k: k, n: n, block: block})
}

// PackNibbleColumns writes B, transposed, into panels: (n+1)/2 rows of k bytes, each of the numbers of two neighbouring
// columns of B plus 8, the first one in the low bits.
func PackNibbleColumns(p *pool.Pool, dst, b []byte, k, n, block int) {
	packNibbles(p, &nibblePacker{dst: dst, b: b, k: k, n: n, block: block, columns: true})
}

func packNibbles(p *pool.Pool, as *nibblePacker) {
	k, n := as.k, as.n
	t := nibblePackers.Get()
	*t = *as
	p.Parallel((n+Width-1)/Width, max(1, 1<<16/max(k*Width, 1)), t)
	*t = nibblePacker{}
	nibblePackers.Put(t)
}

// Run packs the panels [lo, hi).
func (t *nibblePacker) Run(_, lo, hi int) {
	rows, blocks, all := nibbleShape(t.k, t.block)
	bytes := (t.n + 1) / 2
	size := all * group * halfWidth
	for panel := lo; panel < hi; panel++ {
		dst := t.dst[panel*size : (panel+1)*size]
		clear(dst)
		for block := range blocks {
			first := block * rows
			at := dst[block*groups(rows)*group*halfWidth:]
			if t.columns {
				t.packColumns(at, first, min(rows, t.k-first), panel)
				continue
			}
			for k := range min(rows, t.k-first) {
				line := t.b[(first+k)*bytes+panel*halfWidth:][:min(halfWidth, bytes-panel*halfWidth)]
				to := at[k/group*group*halfWidth+k%group:]
				for j, two := range line { // columns 2j and 2j + 1 of the panel
					two ^= nibbleZero<<4 | nibbleZero
					column := 2 * j % halfWidth * group
					if 2*j < halfWidth {
						to[column] |= two & 15
						to[column+group] |= two >> 4
					} else {
						to[column] |= two << 4
						to[column+group] |= two & 0xf0
					}
				}
			}
		}
	}
}

// packColumns packs a block of a panel: so many rows from the first one on.
func (t *nibblePacker) packColumns(at []byte, first, rows, panel int) {
	for j := range min(halfWidth, (t.n+1)/2-panel*halfWidth) {
		line := t.b[(panel*halfWidth+j)*t.k+first:][:rows]
		column, shift := 2*j%halfWidth*group, 2*j/halfWidth*4
		for k, two := range line {
			to := at[k/group*group*halfWidth+k%group+column:][:group+1]
			to[0] |= two & 15 << shift
			to[group] |= two >> 4 << shift
		}
	}
}

// RunNibbles computes the product.
func RunNibbles(p *pool.Pool, a *NibbleArgs) {
	if a.M <= 0 || a.N <= 0 {
		return
	}
	_, blocks, all := nibbleShape(a.K, a.Block)
	if blocks == 0 {
		clear(a.C[:a.M*a.N])
		return
	}
	if need := NibbleScratch(a.M, a.K, a.Block); len(a.Scratch) < need || len(a.B) < NibbleSize(a.K, a.N, a.Block) {
		panic("quant: scratch memory or panels are too short")
	}
	a.family, a.stride = active(), all*digitBytes
	a.heads = unsafe.Slice((*head)(unsafe.Pointer(&a.Scratch[0])), a.M*blocks)
	a.x = a.Scratch[a.M*blocks*headSize:]
	p.Parallel(a.M, max(1, 1<<14/a.K), (*nibbleRows)(a))
	panels := (a.N + Width - 1) / Width
	p.Parallel(panels, max(1, 1<<18/(a.M*a.K*Width)), a)
	a.A, a.B, a.C, a.Scale, a.Zero, a.Scratch, a.heads, a.x = nil, nil, nil, nil, nil, nil, nil, nil
}

// nibbleRows makes digits of rows of A.
type nibbleRows NibbleArgs

// Run makes those of the rows [lo, hi).
func (a *nibbleRows) Run(_, lo, hi int) {
	rows, blocks, _ := nibbleShape(a.K, a.Block)
	for i := lo; i < hi; i++ {
		for block := range blocks {
			first := block * rows
			x := a.A[i*a.K+first:][:min(rows, a.K-first)]
			to := a.x[i*a.stride+block*groups(rows)*digitBytes:][:groups(len(x))*digitBytes]
			a.heads[i*blocks+block].split(to, x)
		}
	}
}

// split writes the digits of x.
func (h *head) split(to []byte, x []float32) {
	const finite, leastExponent, room, most = 0x7f800000, 1, 22, 126
	top := uint32(0)
	for _, v := range x {
		top = max(top, math.Float32bits(v)&0x7fffffff)
	}
	h.sums = digitSums{}
	exponent := int(top >> 23)
	if top >= finite || exponent < leastExponent { // infinite or NaN; or all are 0
		clear(to)
		if h.factor = 0; top >= finite {
			h.factor = float32(math.NaN())
		}
		return
	}
	shift := room + 127 - exponent      // the largest becomes 2^22 to 2^23
	if top&0x7fffff > 2*largest-1<<23 { // more than three digits hold
		shift--
	}
	shift = min(shift, most)
	h.factor = math.Float32frombits(uint32(127-shift) << 23)
	by := math.Float64frombits(uint64(1023+shift) << 52)
	whole := len(x) / group * group
	for k := 0; k < whole; k += group {
		h.sums.add(to[k/group*digitBytes:][:digitBytes], x[k], x[k+1], x[k+2], x[k+3], by)
	}
	if rest := x[whole:]; len(rest) > 0 {
		var last [group]float32
		copy(last[:], rest)
		h.sums.add(to[whole/group*digitBytes:][:digitBytes], last[0], last[1], last[2], last[3], by)
	}
}

// digitSums are sums of digits.
type digitSums [digits]int32

// add writes the digits of a group of numbers, which are multiplied by a power of two first, and adds them to the sums.
func (s *digitSums) add(to []byte, x0, x1, x2, x3 float32, by float64) {
	const (
		nearest = 3 << 51 // a sum with it has the nearest integer in its low bits
		bias    = 0x808080
	)
	// Plus 128 in each digit, whose carries and borrows are in the others then, digits are bytes without a sign.
	u0 := uint32(math.Float64bits(float64(x0)*by+nearest)) + bias
	u1 := uint32(math.Float64bits(float64(x1)*by+nearest)) + bias
	u2 := uint32(math.Float64bits(float64(x2)*by+nearest)) + bias
	u3 := uint32(math.Float64bits(float64(x3)*by+nearest)) + bias
	const even, odd, all = 0xff00ff, 0xff, group * 128
	outer := u0&even + u1&even + u2&even + u3&even // four sums of bytes fit in 16 bits
	s[0] += int32(outer&0xffff) - all
	s[1] += int32(u0>>8&odd+u1>>8&odd+u2>>8&odd+u3>>8&odd) - all
	s[2] += int32(outer>>16) - all
	const signs = 0x80808080
	binary.LittleEndian.PutUint32(to, (u0&0xff|u1&0xff<<8|u2&0xff<<16|u3<<24)^signs)
	binary.LittleEndian.PutUint32(to[group:], (u0>>8&0xff|u1&0xff00|u2&0xff00<<8|u3&0xff00<<16)^signs)
	binary.LittleEndian.PutUint32(to[2*group:], (u0>>16&0xff|u1>>8&0xff00|u2&0xff0000|u3&0xff0000<<8)^signs)
}

var (
	unscaled [Width]float32
	centred  [Width]int8
)

func init() {
	for i := range unscaled {
		unscaled[i] = 1
	}
}

// Run computes the panels [lo, hi).
func (a *NibbleArgs) Run(_, lo, hi int) {
	rows, blocks, all := nibbleShape(a.K, a.Block)
	size, each := all*group*halfWidth, groups(rows)
	var sums [2 * digits * Width]int32
	var y [2][Width]float32
	var scale [Width]float32
	var zero [Width]int8
	for panel := lo; panel < hi; panel++ {
		b := a.B[panel*size : (panel+1)*size]
		columns := min(Width, a.N-panel*Width)
		for i := 0; i < a.M; {
			n := a.family.nibbleRows(a.M - i)
			clear(y[0][:])
			clear(y[1][:])
			for block := range blocks {
				count := groups(min(rows, a.K-block*rows))
				s, z := unscaled[:], centred[:]
				if a.Block > 0 {
					at := block*a.N + panel*Width
					if s, z = a.Scale[at:][:columns], a.Zero[at:][:columns]; columns < Width {
						copy(scale[:], s)
						copy(zero[:], z)
						s, z = scale[:], zero[:]
					}
				}
				x := a.x[i*a.stride+block*each*digitBytes:]
				a.family.nibbles(n, sums[:], x, a.stride, b[block*each*group*halfWidth:], count)
				for r := range n {
					if h := &a.heads[(i+r)*blocks+block]; h.factor == h.factor {
						a.family.combine(y[r][:], sums[r*digits*Width:], z, s, h)
					} else {
						a.infinite(y[r][:columns], i+r, block, panel, z, s)
					}
				}
			}
			for r := range n {
				copy(a.C[(i+r)*a.N+panel*Width:][:columns], y[r][:])
			}
			i += n
		}
	}
}

// infinite adds a block of a row of A that has no digits, because a number of it is infinite or NaN.
func (a *NibbleArgs) infinite(y []float32, row, block, panel int, zero []int8, scale []float32) {
	rows, _, all := nibbleShape(a.K, a.Block)
	first := block * rows
	b := a.B[(panel*all+block*groups(rows))*group*halfWidth:]
	for k, v := range a.A[row*a.K+first:][:min(rows, a.K-first)] {
		for j := range y {
			y[j] += v * (float32(nibble(b, k, j)-nibbleZero-int32(zero[j])) * scale[j])
		}
	}
}

// nibble is a number of a packed panel, plus 8.
func nibble(w []byte, k, column int) int32 {
	two := w[k/group*group*halfWidth+column%halfWidth*group+k%group]
	return int32(two >> (column / halfWidth * 4) & 15)
}

// nibblesGo sets the sums of one row.
func nibblesGo(sums []int32, x, w []byte, groups int) {
	clear(sums[:digits*Width])
	for g := range groups {
		line := w[g*group*halfWidth:][:group*halfWidth]
		for d := range digits {
			low, high := sums[d*Width:][:halfWidth], sums[d*Width+halfWidth:][:halfWidth]
			xs := x[g*digitBytes+d*group:][:group]
			x0, x1, x2, x3 := int32(int8(xs[0])), int32(int8(xs[1])), int32(int8(xs[2])), int32(int8(xs[3]))
			for j := range low {
				two := line[j*group:][:group]
				low[j] += x0*int32(two[0]&15) + x1*int32(two[1]&15) + x2*int32(two[2]&15) + x3*int32(two[3]&15)
				high[j] += x0*int32(two[0]>>4) + x1*int32(two[1]>>4) + x2*int32(two[2]>>4) + x3*int32(two[3]>>4)
			}
		}
	}
}

// combineGo adds what the sums of a block stand for to y.
func combineGo(y []float32, sums []int32, zero []int8, scale []float32, h *head) {
	const base = 256
	for j := range y[:Width] {
		z := int32(zero[j]) + nibbleZero
		total := float32(sums[2*Width+j] - z*h.sums[2])
		total = float32(total*base) + float32(sums[Width+j]-z*h.sums[1])
		total = float32(total*base) + float32(sums[j]-z*h.sums[0])
		y[j] += float32(total * float32(h.factor*scale[j]))
	}
}
