package quant

// NibblePanels is a matrix of numbers of four or eight bits, for products of float32. It writes panels of the values,
// (number - zero)·scale, which are stored nowhere else. It implements gemm.Panels.
type NibblePanels struct {
	N, K  int
	Block int       // rows that share a scale; 0: there are no scales, and Scale and Zero are nil
	Bytes bool      // numbers have eight bits and are unsigned
	B     []byte    // in panels, as PackNibbles writes them, or PackBytes
	Scale []float32 // a row of N for each block
	Zero  []int8
	// Unsigned says that numbers are unsigned, and that zero points are bytes minus 128.
	Unsigned bool
}

// AsFloats reports whether a product of m rows takes less time with panels of floats than with digits. With floats,
// each number is unpacked once for a few hundred rows; with digits, each row, and each of its blocks, takes time. Both
// times are relative to a product of float32. Blocks whose sums of digits exceed 32 bits are always unpacked, and so
// are bytes where no instruction adds four products.
func AsFloats(m, n, k, block int, bytes bool) bool {
	rows := blockOf(block, k)
	if (block > 0 || bytes) && rows > maxUnsignedRows {
		return true
	}
	if active().inTiles(m, k, block, bytes) {
		return 1.02+6/float64(m) < timeInTiles(m, n, rows, bytes)
	}
	if bytes {
		return !active().dotsBytes() || 1.05+4.5/float64(m) < 0.75+36/float64(rows)+60/float64(n)
	}
	return 1.02+6/float64(m) < active().digitsTime()+35/float64(n)+16/float64(max(rows, 1))
}

// timeInTiles is the time of digits in matrix registers. Joining the sums of a block takes as long as some of its
// products, and longer if zero points are subtracted from the sums.
func timeInTiles(m, n, rows int, bytes bool) float64 {
	join, edge := 28.0, 35.0
	if bytes {
		join, edge = 40, 60
	}
	return 0.4 + 1.5/float64(m) + join/float64(rows) + edge/float64(n)
}

// floatWidth is the number of columns of a panel of float32: half of those of a panel of four bits.
const floatWidth = halfWidth

// unpacking says how numbers are extracted from the words of a column: shift right, mask, subtract the excess.
type unpacking struct {
	shifts       [group]uint32
	mask, excess uint32
}

// ofNibbles is for columns in the low bits, and for columns in the high bits.
var ofNibbles = [2]unpacking{
	{[group]uint32{0, 8, 16, 24}, 15, nibbleZero},
	{[group]uint32{4, 12, 20, 28}, 15, nibbleZero},
}

// ofUnsignedNibbles is the same for numbers whose zero points are bytes.
var ofUnsignedNibbles = [2]unpacking{
	{ofNibbles[0].shifts, 15, zeroByte},
	{ofNibbles[1].shifts, 15, zeroByte},
}

// ofBytes is for numbers of eight bits.
var ofBytes = unpacking{[group]uint32{0, 8, 16, 24}, 255, zeroByte}

// Panel writes rows of the panel that begins at column, from row k on.
func (p *NibblePanels) Panel(memory []float32, k, rows, column int) []float32 {
	share, _, all := nibbleShape(p.K, p.Block)
	var scales [floatWidth]float32
	var zeros [floatWidth]int8
	step := group * halfWidth // bytes from one group to the next
	if p.Bytes {
		step = group * Width
	}
	b := p.B[column/Width*all*step:]
	how, family, columns := &ofNibbles[column%Width/floatWidth], active(), min(floatWidth, p.N-column)
	switch {
	case p.Bytes:
		how, b = &ofBytes, b[column%Width*group:]
	case p.Unsigned:
		how = &ofUnsignedNibbles[column%Width/floatWidth]
	}
	first := k % share % group // rows of its group before row k
	to := first
	for end := k + rows; k < end; {
		block, row := k/share, k%share
		n := min(end-k, share-row)
		scale, zero := unscaled[:floatWidth], centred[:floatWidth]
		if p.Block > 0 {
			at := block*p.N + column
			if scale, zero = p.Scale[at:][:columns], p.Zero[at:][:columns]; columns < floatWidth {
				copy(scales[:], scale)
				copy(zeros[:], zero)
				scale, zero = scales[:], zeros[:]
			}
		}
		count := groups(row+n) - row/group
		w := b[(block*groups(share)+row/group)*step:][:(count-1)*step+group*floatWidth]
		family.unpack(memory[(to-row%group)*floatWidth:][:count*group*floatWidth], w, scale, zero, how, count, step)
		to += n
		k += n
	}
	return memory[first*floatWidth:]
}

// unpackGo writes groups of rows of a panel of float32.
func unpackGo(dst []float32, w []byte, scale []float32, zero []int8, how *unpacking, step int) {
	for i := range dst {
		row, j := i/floatWidth, i%floatWidth
		number := int32(w[row/group*step+j*group+row%group])>>(how.shifts[0])&int32(how.mask) - int32(how.excess)
		dst[i] = float32(float32(number-int32(zero[j])) * scale[j])
	}
}
