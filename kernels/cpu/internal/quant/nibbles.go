package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// These are products of float32 with a matrix of four-bit integers:
//
//	C[i, j] = Σ_k A[i, k]·(B[k, j] - zero)·scale
//
// where each block of consecutive k has a scale and a zero point for every column. The numbers of a row of A become
// 24-bit integers, each of three signed digits of 8 bits. The largest number of the row determines the power of two
// that scales them; each is off by at most 2^-23 of the largest, which is a rounding of float32. Their products with B
// are accumulated as integers, exactly. In memory, B always stays in four bits. All families compute the same bits.
//
// B is packed into panels of [Width] columns with four rows side by side. Columns 0 to 31 are in the low half of each
// byte, columns 32 to 63 in the high half. Signed numbers are stored plus 8, which makes them unsigned. Each block
// begins with a new group of rows.

const (
	digits     = 3
	halfWidth  = Width / 2
	nibbleZero = 8        // added to signed numbers in panels
	zeroByte   = 128      // subtracted from the zero points of unsigned numbers, so that they fit into int8
	largest    = 0x7f7f7f // number that three digits hold
	mostRows   = 1 << 18  // rows whose sums fit into 32 bits
	sumsSize   = 4 * digits

	maxUnsignedRows = 1 << 16 // most rows of a block, whatever its zero points

	minWorkerItems = 4 // fewest items for each of several workers; rows of panels are divided to get them
	leastRows      = 8 // fewest rows of an item then
)

// NibbleArgs describes a product. Only one goroutine at a time may use it; it can be reused.
type NibbleArgs struct {
	M, N, K int
	Block   int // rows of B that share a scale; 0: there are none, and Scale and Zero are nil
	// Unsigned says that numbers are unsigned, as PackNibbleColumns packs them, and that zero points are bytes minus
	// 128.
	Unsigned bool
	Bytes    bool      // numbers have eight bits, as PackBytes packs them, and are Unsigned
	A        []float32 // M rows of K
	B        []byte    // in panels, as PackNibbles writes them
	Scale    []float32 // a row of N for each block
	Zero     []int8
	C        []float32 // M rows of N
	Scratch  []byte    // NibbleScratch bytes, aligned to 4

	Bias       []float32 // nil, or N numbers added to every row
	Accumulate bool      // add to C instead of overwriting it
	ReLU       bool      // max(·, 0) last; NaN stays NaN

	family  family
	factors []float32   // of each row: multiplies its integers; NaN if a number is infinite or NaN
	sums    []digitSums // of the digits of each row and block; unused where panels are unpacked
	x       []byte      // digits: one plane for each digit of each row
	plane   int         // bytes of a plane
	parts   int         // that the rows of a panel are divided into; one worker computes a part
	tiles   bool        // digits are multiplied in matrix registers
	unpacks bool        // each worker unpacks blocks of panels to bytes
	bytes   []byte      // memory of the workers
	room    int         // bytes for each worker's block
	padded  []float32   // A, if it is one row, with each block filled up to whole groups
}

// blockOf returns how many rows a block has.
func blockOf(block, k int) int {
	if block == 0 {
		block = mostRows
	}
	return max(min(block, k), 1)
}

// nibbleShape returns the rows of a block, the number of blocks, and the groups of rows of a panel.
func nibbleShape(k, block int) (rows, blocks, all int) {
	rows = blockOf(block, k)
	blocks = (k + rows - 1) / rows
	if blocks > 0 {
		all = (blocks-1)*groups(rows) + groups(k-(blocks-1)*rows)
	}
	return rows, blocks, all
}

// NibbleSize returns the number of bytes that k x n numbers take in panels.
func NibbleSize(k, n, block int) int {
	_, _, all := nibbleShape(k, block)
	return (n + Width - 1) / Width * all * group * halfWidth
}

// NibbleScratch returns the size of the scratch memory that a product with m rows needs on a pool of the given Size.
func NibbleScratch(m, k, block, workers int) int {
	_, blocks, all := nibbleShape(k, block)
	return m*(4+blocks*sumsSize+digits*planeSize(all)) + line + max(workers, 1)*unpackedRoom(m, k, block)
}

// planeSize returns the number of bytes of a plane of that many groups.
func planeSize(groups int) int {
	size := (groups*group + line - 1) / line * line
	if size%1024 == 0 {
		size += rowGap // so that planes do not compete for the same cache sets
	}
	return size
}

// NibbleLayout is the layout that [PackNibbles] writes.
const NibbleLayout = tile.Int4x64

// nibblePacker packs panels on a pool.
type nibblePacker struct {
	dst, b      []byte
	k, n, block int
	columns     bool // B is transposed, with unsigned numbers
	bytes       bool // b has one number in each byte
	whole       bool // panels have one number in each byte too
}

var nibblePackers pool.Recycler[nibblePacker]

// PackNibbles packs B into panels. b has k rows of (n+1)/2 bytes, each with two neighbouring columns, the first one in
// the low bits.
func PackNibbles(p *pool.Pool, dst, b []byte, k, n, block int) {
	packNibbles(p, &nibblePacker{dst: dst, b: b, k: k, n: n, block: block})
}

// PackNibbleColumns packs the transposed B into panels. b has (n+1)/2 rows of k bytes, each with the unsigned numbers
// of two neighbouring columns of B, the first one in the low bits.
func PackNibbleColumns(p *pool.Pool, dst, b []byte, k, n, block int) {
	packNibbles(p, &nibblePacker{dst: dst, b: b, k: k, n: n, block: block, columns: true})
}

// PackByteColumns is [PackNibbleColumns] for n rows of k bytes, each with one number below 16.
func PackByteColumns(p *pool.Pool, dst, b []byte, k, n, block int) {
	packNibbles(p, &nibblePacker{dst: dst, b: b, k: k, n: n, block: block, columns: true, bytes: true})
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
	stride := t.groupBytes()
	size := all * stride
	for panel := lo; panel < hi; panel++ {
		dst := t.dst[panel*size : (panel+1)*size]
		clear(dst)
		for block := range blocks {
			first := block * rows
			at := dst[block*groups(rows)*stride:]
			if t.bytes {
				t.packBytes(at, first, min(rows, t.k-first), panel)
				continue
			}
			if t.columns {
				t.packColumns(at, first, min(rows, t.k-first), panel)
				continue
			}
			for k := range min(rows, t.k-first) {
				line := t.b[(first+k)*bytes+panel*halfWidth:][:min(halfWidth, bytes-panel*halfWidth)]
				to := at[k/group*stride+k%group:]
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

// packColumns packs rows of a block of a panel, from row first on.
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
		a.multiplyEmpty()
		return
	}
	if need := NibbleScratch(a.M, a.K, a.Block, p.Size()); len(a.Scratch) < need || len(a.B) < NibbleSize(a.K, a.N, a.Block) {
		panic("quant: scratch memory or panels are too short")
	}
	a.family, a.plane = active(), planeSize(all)
	a.factors = unsafe.Slice((*float32)(unsafe.Pointer(&a.Scratch[0])), a.M)
	a.sums = unsafe.Slice((*digitSums)(unsafe.Pointer(&a.Scratch[4*a.M])), a.M*blocks)
	a.x = a.Scratch[a.M*(4+blocks*sumsSize):]
	a.x = a.x[-uintptr(unsafe.Pointer(&a.x[0]))%line:]
	a.x, a.bytes = a.x[:a.M*digits*a.plane], a.x[a.M*digits*a.plane:]
	a.room = unpackedRoom(a.M, a.K, a.Block)
	a.unpacks = a.room > 0 && !a.Bytes && a.family.dotsBytes() && fitBytes(a.Zero, a.excess())
	a.tiles = a.room > 0 && a.family.inTiles(a.M, a.K, a.Block, a.Bytes)
	p.Parallel(a.M, max(1, 1<<16/a.K), (*nibbleRows)(a))
	panels := (a.N + Width - 1) / Width
	a.parts = 1
	if workers := p.Workers(); workers > 1 && panels < minWorkerItems*workers {
		a.parts = max(min(minWorkerItems*workers/panels, a.M/leastRows), 1)
	}
	p.Parallel(panels*a.parts, max(1, 1<<18*a.parts/(a.M*a.K*Width)), a)
	if a.ReLU {
		p.Parallel(a.M, max(1, 1<<14/a.N), (*nibbleRelu)(a))
	}
	a.A, a.B, a.C, a.Scale, a.Zero, a.Scratch, a.factors, a.sums, a.x, a.bytes = nil, nil, nil, nil, nil, nil, nil, nil, nil, nil
	a.Bias = nil
}

// multiplyEmpty computes the product if there is nothing to add up.
func (a *NibbleArgs) multiplyEmpty() {
	for panel := range (a.N + Width - 1) / Width {
		a.beginRows(panel, 0, a.M)
	}
	if a.ReLU {
		(*nibbleRelu)(a).Run(0, 0, a.M)
	}
}

// begin sets y, columns of a panel, to the values that sums start from: the bias.
func (a *NibbleArgs) begin(y []float32, panel int) {
	if a.Bias == nil {
		clear(y)
	} else {
		copy(y, a.Bias[panel*Width:])
	}
}

// nibbleRelu applies max(·, 0) to rows of the result.
type nibbleRelu NibbleArgs

// Run processes the rows [lo, hi).
func (a *nibbleRelu) Run(_, lo, hi int) {
	rows := a.C[lo*a.N : hi*a.N]
	vec.MaxScalar(rows, rows, 0)
}

// nibbleRows splits rows of A into digits.
type nibbleRows NibbleArgs

// Run splits the rows [lo, hi).
func (a *nibbleRows) Run(_, lo, hi int) {
	rows, blocks, _ := nibbleShape(a.K, a.Block)
	apart := rows // numbers that are split at once: a block, or all if sums are not needed and blocks are contiguous
	how := &splitting{flip: 128}
	if a.unpacks {
		if how.flip = 0; rows%group == 0 {
			apart = a.K
		}
	}
	for i := lo; i < hi; i++ {
		x, to := a.A[i*a.K:][:a.K], a.x[i*digits*a.plane:][:digits*a.plane]
		if a.factors[i], how.by = a.family.factorOf(x); how.by == 0 {
			clear(to)
			if !a.unpacks {
				clear(a.sums[i*blocks:][:blocks])
			}
			continue
		}
		for first := 0; first < a.K; first += apart {
			block := first / rows
			var sums *digitSums
			if !a.unpacks {
				sums = &a.sums[i*blocks+block]
				*sums = digitSums{}
			}
			a.family.writeDigits(to[block*groups(rows)*group:], a.plane, x[first:min(first+apart, a.K)], how, sums)
		}
	}
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

// Run computes the items [lo, hi): parts of the rows of a panel.
func (a *NibbleArgs) Run(worker, lo, hi int) {
	for item := lo; item < hi; item++ {
		panel, part := item/a.parts, item%a.parts
		first, last := part*a.M/a.parts, (part+1)*a.M/a.parts
		switch {
		case a.unpacks:
			a.unpackedRows(worker, panel, first, last)
		case a.tiles && a.Bytes:
			a.byteTiles(worker, panel, first, last)
		default:
			a.packedRows(panel, first, last)
		}
	}
}

// groupBytes returns how many bytes a group of rows of a panel takes.
func (a *NibbleArgs) groupBytes() int {
	if a.Bytes {
		return group * Width
	}
	return group * halfWidth
}

// packedRows computes rows of a panel without unpacking it.
func (a *NibbleArgs) packedRows(panel, first, last int) {
	rows, blocks, all := nibbleShape(a.K, a.Block)
	step := a.groupBytes()
	size, each := all*step, groups(rows)
	var sums [2 * digits * Width]int32
	var y [2][Width]float32
	var own ownScales
	b := a.B[panel*size : (panel+1)*size]
	columns := min(Width, a.N-panel*Width)
	for i := first; i < last; {
		n := a.family.nibbleRows(last - i)
		for r := range n {
			a.begin(y[r][:columns], panel)
			if a.Accumulate {
				vec.Add(y[r][:columns], a.C[(i+r)*a.N+panel*Width:][:columns], y[r][:columns])
			}
		}
		for block := range blocks {
			count := groups(min(rows, a.K-block*rows))
			s, z := a.scales(block, panel, &own)
			x := a.x[i*digits*a.plane+block*each*group:]
			if w := b[block*each*step:]; a.Bytes {
				a.family.bytes(n, sums[:n*digits*Width], x, a.plane, w, count)
			} else {
				a.family.nibbles(n, sums[:], x, a.plane, w, count)
			}
			for r := range n {
				if f := a.factors[i+r]; f == f {
					a.family.combine(y[r][:], sums[r*digits*Width:], z, s, &a.sums[(i+r)*blocks+block], joining{f, a.excess()})
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

// joining says how the sums of a block become a number: what they are multiplied by, and what has to be added to zero
// points to get what is subtracted from the numbers in panels.
type joining struct {
	factor float32
	excess int32
}

// excess returns the excess of zero points, see joining.
func (a *NibbleArgs) excess() int32 {
	if a.Unsigned {
		return zeroByte
	}
	return nibbleZero
}

// ownScales holds the scales and zero points of a panel that has fewer columns than others.
type ownScales struct {
	scale [Width]float32
	zero  [Width]int8
}

// scales returns the scales and the zero points of a block of a panel.
func (a *NibbleArgs) scales(block, panel int, own *ownScales) ([]float32, []int8) {
	if a.Block == 0 {
		return unscaled[:], centred[:]
	}
	columns := min(Width, a.N-panel*Width)
	at := block*a.N + panel*Width
	s, z := a.Scale[at:][:columns], a.Zero[at:][:columns]
	if columns == Width {
		return s, z
	}
	copy(own.scale[:], s)
	copy(own.zero[:], z)
	return own.scale[:], own.zero[:]
}

// infinite adds a block of a row of A that has no digits because one of its numbers is infinite or NaN.
func (a *NibbleArgs) infinite(y []float32, row, block, panel int, zero []int8, scale []float32) {
	rows, _, all := nibbleShape(a.K, a.Block)
	first := block * rows
	number, b := nibble, a.B[(panel*all+block*groups(rows))*a.groupBytes():]
	if a.Bytes {
		number = byteOf
	}
	for k, v := range a.A[row*a.K+first:][:min(rows, a.K-first)] {
		for j := range y {
			y[j] += v * (float32(number(b, k, j)-a.excess()-int32(zero[j])) * scale[j])
		}
	}
}

// nibble returns a number of a packed panel, unsigned.
func nibble(w []byte, k, column int) int32 {
	two := w[k/group*group*halfWidth+column%halfWidth*group+k%group]
	return int32(two >> (column / halfWidth * 4) & 15)
}

// nibblesGo computes the sums of one row.
func nibblesGo(sums []int32, x []byte, plane int, w []byte, groups int) {
	clear(sums[:digits*Width])
	for g := range groups {
		line := w[g*group*halfWidth:][:group*halfWidth]
		for d := range digits {
			low, high := sums[d*Width:][:halfWidth], sums[d*Width+halfWidth:][:halfWidth]
			xs := x[d*plane+g*group:][:group]
			x0, x1, x2, x3 := int32(int8(xs[0])), int32(int8(xs[1])), int32(int8(xs[2])), int32(int8(xs[3]))
			for j := range low {
				two := line[j*group:][:group]
				low[j] += x0*int32(two[0]&15) + x1*int32(two[1]&15) + x2*int32(two[2]&15) + x3*int32(two[3]&15)
				high[j] += x0*int32(two[0]>>4) + x1*int32(two[1]>>4) + x2*int32(two[2]>>4) + x3*int32(two[3]>>4)
			}
		}
	}
}

// combineGo turns the sums of a block into numbers and adds them to y.
func combineGo(y []float32, sums []int32, zero []int8, scale []float32, x *digitSums, how joining) {
	const base = 256
	for j := range y[:Width] {
		z := int32(zero[j]) + how.excess
		total := float32(sums[2*Width+j] - z*x[2])
		total = float32(total*base) + float32(sums[Width+j]-z*x[1])
		total = float32(total*base) + float32(sums[j]-z*x[0])
		y[j] += float32(total * float32(how.factor*scale[j]))
	}
}
