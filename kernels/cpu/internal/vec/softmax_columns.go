package vec

import "math"

// Columns is the number of columns of [ScoreColumns]: one for each query of a panel.
const Columns = 32

// ScoreColumns are attention scores in rows of [Columns] numbers: one row for each key, one column for each query. Keys
// may come block by block; the state summarizes the earlier blocks. Only the first Used columns count, in groups of 16;
// the others may be overwritten.
type ScoreColumns struct {
	Used  int
	Scale float32 // positive: what scores are multiplied by
	Ready bool    // scores are already multiplied by Scale·log₂e
	state [3][Columns]float32
}

const (
	columnSums = iota
	columnShifts
	columnFactors
)

// groups is the number of columns that are computed.
func (c *ScoreColumns) groups() int { return min((c.Used+scoreGroup-1)&^(scoreGroup-1), Columns) }

// Begin forgets all blocks.
func (c *ScoreColumns) Begin() {
	for i := range Columns {
		c.state[columnSums][i], c.state[columnShifts][i] = 0, -math.MaxFloat32
	}
}

// Softmax replaces a block of scores by their powers, e^(Scale·x − s). The column's number s keeps all powers at 1 or
// less, also those of earlier blocks. Those, and sums made with them, have to be rescaled by [ScoreColumns.Rescale].
// NaN or +Inf turn their column into NaN; -Inf becomes 0.
func (c *ScoreColumns) Softmax(x []float32) {
	x = x[:len(x)/Columns*Columns]
	if len(x) == 0 {
		return
	}
	scale := c.Scale * math.Log2E
	if c.Ready {
		scale = 1
	}
	if c.softmax32(x, scale) {
		return
	}
	for q := range c.groups() {
		top := float32(math.Inf(-1))
		for i := q; i < len(x); i += Columns {
			top = max(top, x[i])
		}
		shift := max(c.state[columnShifts][q], top*scale)
		factor := float32(math.Exp2(float64(c.state[columnShifts][q] - shift)))
		sum := c.state[columnSums][q] * factor
		for i := q; i < len(x); i += Columns {
			x[i] = float32(math.Exp2(float64(x[i]*scale - shift)))
			sum += x[i]
		}
		c.state[columnSums][q], c.state[columnShifts][q], c.state[columnFactors][q] = sum, shift, factor
	}
}

// Coarse reports whether scores were so large that rounding them may have changed powers by a factor of 2 or more. Then
// columns may be wrong, unless they were Ready.
func (c *ScoreColumns) Coarse() bool {
	for _, shift := range c.state[columnShifts][:c.Used] {
		if Coarse(shift) && shift != -math.MaxFloat32 { // which means no score
			return true
		}
	}
	return false
}

// Rescale multiplies columns of sums made with the powers of earlier blocks, so that those of the last block can be
// added.
func (c *ScoreColumns) Rescale(y []float32) { c.scale(y, c.state[columnFactors][:], false) }

// Finish divides columns by the sums of the powers of all blocks; columns without powers stay 0.
func (c *ScoreColumns) Finish(y []float32) { c.scale(y, c.state[columnSums][:], true) }

// Totals stores the logarithms of the sums of e^(Scale·x): -Inf where there are none.
func (c *ScoreColumns) Totals(total []float32) {
	var logs [Columns]float32
	Log(logs[:len(total)], c.state[columnSums][:len(total)])
	for i, l := range logs[:len(total)] {
		total[i] = c.state[columnShifts][i]*math.Ln2 + l
	}
}

func (c *ScoreColumns) scale(y, by []float32, divide bool) {
	if len(y) < Columns || scaleColumns32(y, by, c.groups(), divide) {
		return
	}
	for i := range y {
		switch f := by[i%Columns]; {
		case divide:
			y[i] *= 1 / max(f, 0x1p-126)
		default:
			y[i] *= f
		}
	}
}

// HideColumns stores -Inf where a key is hidden: where the column's bit in the row's word is 0.
func HideColumns(x []float32, seen []uint32) {
	if len(seen) == 0 || hideColumns32(x[:len(seen)*Columns], seen) {
		return
	}
	for i := range x[:len(seen)*Columns] {
		if seen[i/Columns]>>(i%Columns)&1 == 0 {
			x[i] = float32(math.Inf(-1))
		}
	}
}

// SeenWords converts a mask of bytes, 0 or 1, to words for [HideColumns]: bit q of word k is the byte at q·rowStep +
// k·step, for up to 32 queries.
func SeenWords(seen []uint32, mask []uint8, queries, rowStep, step int) {
	if len(seen) == 0 {
		return
	}
	clear(seen)
	switch {
	case rowStep == 0:
		for k := range seen {
			seen[k] = -uint32(mask[k*step])
		}
		return
	case step != 1:
		for q := range queries {
			for k := range seen {
				seen[k] |= uint32(mask[q*rowStep+k*step]) << q
			}
		}
		return
	}
	var bits [Columns]uint32
	for first := 0; first < len(seen); first += 32 {
		n := min(32, len(seen)-first)
		for q := range queries {
			bits[q] = bitsOf(mask[q*rowStep+first:][:n])
		}
		clear(bits[queries:])
		transposeBits(&bits)
		copy(seen[first:first+n], bits[:])
	}
}

// bitsOf packs bytes, 0 or 1, into bits.
func bitsOf(b []uint8) (bits uint32) {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := uint64(b[i]) | uint64(b[i+1])<<8 | uint64(b[i+2])<<16 | uint64(b[i+3])<<24 | uint64(b[i+4])<<32 | uint64(b[i+5])<<40 | uint64(b[i+6])<<48 | uint64(b[i+7])<<56
		bits |= uint32(w*0x0102040810204080>>56) << i
	}
	for ; i < len(b); i++ {
		bits |= uint32(b[i]) << i
	}
	return bits
}

// transposeBits transposes a matrix of 32 x 32 bits: it exchanges quarters, then those within each quarter, and so on.
func transposeBits(a *[32]uint32) {
	mask := uint32(0x0000ffff)
	for j := 16; j != 0; j, mask = j>>1, mask^mask<<(j>>1) {
		for k := 0; k < 32; k = (k + j + 1) &^ j {
			t := (a[k]>>j ^ a[k+j]) & mask
			a[k] ^= t << j
			a[k+j] ^= t
		}
	}
}
