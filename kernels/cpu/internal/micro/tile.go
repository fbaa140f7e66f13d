package micro

import (
	"fmt"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/tile"
)

// Float is the element type of kernels.
type Float interface{ float32 | float64 }

// Tile is one call of the micro-kernel; see the package comment. A, B and C start at the tile's first element. The
// assembly knows the layout of this struct.
type Tile[T Float] struct {
	A, B, C []T
	Bias    []T // nil, or Cols numbers added to each row

	Rows, Cols         int
	K, Segments, Outer int

	ARow, AK, ASegment, AOuter int
	BK, BSegment, BOuter       int
	CRow                       int

	Lines        int // 0 means 1: the tile is repeated with A and C moved on by
	ALine, CLine int // these strides
	BLine        int // B moves by this stride, and
	BiasLine     int // Bias by this one; both for Run alone

	Next     []T // the B of a later call: K rows of it are prefetched into the second-level cache
	NextStep int // from one row of Next to the one after it; 0 means BK

	NextEvery int // products of a row of tiles between two rows of Next; 0: its rows are spread over all products

	FetchC bool // C is not expected to be in the cache
	FarA   bool // neither is A: 512-bit vectors then read more of it ahead, even where 256-bit vectors would do

	Accumulate bool // add to C instead of overwriting it

	ReLU bool // max(·, 0) last; NaN stays NaN

	// Continue says that the sum starts from C, so that the parts of a sum, added one after the other, give the bits of
	// the whole. It requires at least three rows of whole panels, and excludes Bias and Pairs.
	Continue bool

	// Pairs says that each float32 of A and B is a pair of bfloat16, with the lower k in the lower half. Both products
	// are added. C and Bias are float32. It requires that [Pairs] is true and that B has whole vectors of columns.
	Pairs bool

	// Vectors says that pairs must not use matrix registers. It must be the same for all tiles of a sum, as the order
	// differs.
	Vectors bool
}

// panelBytes is the width of a panel of the vector operand: two AVX-512 vectors, four AVX2 vectors or eight NEON
// vectors.
const panelBytes = 128

// PanelWidth is the number of columns of a packed panel: 32 for float32, 16 for float64. It is the same for every
// kernel family, so packed weights stay valid when the family changes.
func PanelWidth[T Float]() int {
	var zero T
	return panelBytes / int(unsafe.Sizeof(zero))
}

// Layout is the layout that [PackPanel] writes and the tile in use reads.
func Layout[T Float]() tile.Layout { return best[T]().Layout }

// best returns the tile in use for products of T.
func best[T Float]() *tile.Tile {
	var zero T
	if unsafe.Sizeof(zero) == 8 {
		return tile.Best(tiles[:], tile.Kind{In: tile.Float64, Acc: tile.Float64})
	}
	return tile.Best(tiles[:], tile.Kind{In: tile.Float32, Acc: tile.Float32})
}

// Pairs reports whether products of pairs of bfloat16 are available.
func Pairs() bool { return pairs().Lanes > 1 }

// PairsLayout is the layout of panels of pairs that the tile in use reads.
func PairsLayout() tile.Layout { return pairs().Layout }

// pairs returns the tile in use for pairs of bfloat16.
func pairs() *tile.Tile { return tile.Best(tiles[:], tile.Kind{In: tile.BFloat16, Acc: tile.Float32}) }

// narrower returns the tile with vectors of half the length, or nil.
func narrower(k *tile.Tile) *tile.Tile {
	for i := range tiles {
		if t := &tiles[i]; t.Kind == k.Kind && t.Layout == k.Layout && 2*t.Lanes == k.Lanes && isa.Active().Has(t.Needs) {
			return t
		}
	}
	return nil
}

// lanes returns the number of elements in a vector of the tile in use; 1 for portable Go.
func lanes[T Float]() int { return best[T]().Lanes }

// PadColumns returns how many numbers of each row of B a tile of cols columns reads.
func PadColumns[T Float](cols int) int {
	l := lanes[T]()
	return (cols + l - 1) / l * l
}

// Run computes the tile. It panics if an operand is too short for its strides, or if Cols exceeds [PanelWidth]: these
// are mistakes of the caller. Negative strides are not supported.
func Run[T Float](t *Tile[T]) {
	if t.Rows <= 0 || t.Cols <= 0 || t.Lines < 0 {
		return
	}
	t.check()
	if t.K <= 0 || t.Segments <= 0 || t.Outer <= 0 {
		t.K, t.Segments, t.Outer = 0, 0, 0
		portable(t, 0)
		return
	}
	k := best[T]()
	if t.Pairs {
		if k = pairs(); k.Needs.Has(isa.AMXTile) && t.fitsMatrices() {
			matrix((*Tile[float32])(unsafe.Pointer(t)))
			return
		}
		if t.BLine|t.BiasLine != 0 && t.Lines > 1 {
			eachLine(t)
			return
		}
	}
	l := k.Lanes
	if l == 1 {
		portable(t, 0)
		return
	}
	full := t.Cols
	if t.Pairs {
		t.checkVectors(l)
	}
	if rest := t.Cols % l; rest != 0 && t.lastB()+t.Cols+l-rest > cap(t.B) {
		if PanelWidth[T]() == 32 && splitsLastProducts((*Tile[float32])(unsafe.Pointer(t))) {
			return
		}
		full -= rest
	}
	if full > 0 {
		vector(k, t, full)
	}
	if full < t.Cols {
		portable(t, full)
	}
}

// minSplitSums is the length of sums from which on it is faster to compute their last products separately.
const minSplitSums = 32

// splitsLastProducts computes the last products separately if B has no whole vectors of columns behind them, so that
// only these are computed one number at a time. It reports whether it did. Sums must be added to C, and nothing else
// may be done to them.
func splitsLastProducts(t *Tile[float32]) bool {
	if t.K*t.Segments*t.Outer < minSplitSums || !t.Accumulate || t.Continue || t.Pairs || t.ReLU || t.Bias != nil || t.Lines > 1 {
		return false
	}
	u := *t
	count, stepA, stepB := &u.K, t.AK, t.BK
	if t.Outer > 1 {
		count, stepA, stepB = &u.Outer, t.AOuter, t.BOuter
	} else if t.Segments > 1 {
		count, stepA, stepB = &u.Segments, t.ASegment, t.BSegment
	}
	if stepB <= 0 {
		return false // no product comes last in memory
	}
	last := *count - 1
	*count = last
	Run(&u)
	*count, u.A, u.B = 1, t.A[last*stepA:], t.B[last*stepB:]
	Run(&u)
	return true
}

// eachLine computes one line after the other.
func eachLine[T Float](t *Tile[T]) {
	one := *t
	one.Lines, one.BLine, one.BiasLine = 0, 0, 0
	for line := range t.Lines {
		one.A, one.B, one.C = t.A[line*t.ALine:], t.B[line*t.BLine:], t.C[line*t.CLine:]
		if t.Bias != nil {
			one.Bias = t.Bias[line*t.BiasLine:]
		}
		Run(&one)
	}
}

// lastB returns the index of the first column of the last row of B.
func (t *Tile[T]) lastB() int {
	return (max(t.Lines, 1)-1)*t.BLine + (t.Outer-1)*t.BOuter + (t.Segments-1)*t.BSegment + (t.K-1)*t.BK
}

// check panics unless all elements that the tile touches exist: assembly does not check bounds.
func (t *Tile[T]) check() {
	t.checkOperands()
	t.checkSums()
}

// checkOperands is check without C and Bias.
func (t *Tile[T]) checkOperands() {
	if t.Cols > PanelWidth[T]() {
		panic(fmt.Sprintf("micro: a tile of %d columns, at most %d are possible", t.Cols, PanelWidth[T]()))
	}
	if t.Continue && (t.Rows < 3 || t.Cols < PanelWidth[T]() || t.Bias != nil || t.Pairs) {
		panic("micro: only three and more rows of whole panels without bias continue a sum")
	}
	t.checkExtents(1)
}

// checkVectors panics unless B has whole vectors of columns.
func (t *Tile[T]) checkVectors(lanes int) {
	if t.lastB()+(t.Cols+lanes-1)/lanes*lanes > cap(t.B) {
		panic("micro: B of pairs has incomplete vectors")
	}
}

// checkChannels is check for RunChannels.
func (t *Tile[T]) checkChannels() {
	t.checkExtents(t.Cols)
	t.checkSums()
}

// checkSums checks the lengths of C and of Bias.
func (t *Tile[T]) checkSums() {
	lines := max(t.Lines, 1) - 1
	if need := lines*t.CLine + (t.Rows-1)*t.CRow + t.Cols; need > len(t.C) {
		panic(fmt.Sprintf("micro: C has %d elements, the tile needs %d", len(t.C), need))
	}
	if need := lines*t.BiasLine + t.Cols; t.Bias != nil && len(t.Bias) < need {
		panic(fmt.Sprintf("micro: bias has %d elements, the tile needs %d", len(t.Bias), need))
	}
}

// checkExtents checks strides and the lengths of operands. A is read in runs of the given number of columns.
func (t *Tile[T]) checkExtents(colsA int) {
	if t.ARow|t.AK|t.ASegment|t.AOuter|t.BK|t.BSegment|t.BOuter|t.CRow|t.ALine|t.BLine|t.BiasLine|t.CLine < 0 {
		panic("micro: negative stride")
	}
	lines := max(t.Lines, 1) - 1
	if t.K <= 0 || t.Segments <= 0 || t.Outer <= 0 {
		return
	}
	if need := lines*t.ALine + (t.Outer-1)*t.AOuter + (t.Segments-1)*t.ASegment + (t.K-1)*t.AK + (t.Rows-1)*t.ARow + colsA; need > len(t.A) {
		panic(fmt.Sprintf("micro: A has %d elements, the tile needs %d", len(t.A), need))
	}
	if need := t.lastB() + t.Cols; need > len(t.B) {
		panic(fmt.Sprintf("micro: B has %d elements, the tile needs %d", len(t.B), need))
	}
}
