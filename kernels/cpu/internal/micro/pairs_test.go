package micro

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// randomPairs returns n pairs of bfloat16, with extra capacity after them.
func randomPairs(r *rand.Rand, n, slack int) []float32 {
	x := make([]uint32, n, n+slack)
	for i := range x {
		half := func() uint32 { return math.Float32bits(float32(r.NormFloat64())) >> 16 }
		x[i] = half() | half()<<16
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&x[0])), n+slack)[:n]
}

// randomPairTile draws a tile of pairs of any layout, with any bias and relu.
func randomPairTile(r *rand.Rand) *Tile[float32] {
	t := &Tile[float32]{Rows: 1 + r.IntN(40), Cols: 1 + r.IntN(32), K: 1 + r.IntN(70), Segments: 1 + r.IntN(3), Outer: 1 + r.IntN(2), Pairs: true,
		Accumulate: r.IntN(2) == 0, ReLU: r.IntN(2) == 0, Lines: r.IntN(3), BK: 32}
	if t.Vectors = r.IntN(4) == 0; r.IntN(4) == 0 {
		t.K = 1 + r.IntN(6)
	}
	gap := func() int { return r.IntN(2) * r.IntN(9) }
	if t.ARow, t.AK = t.K+gap(), 1; r.IntN(3) == 0 { // the rows of A are columns
		t.ARow, t.AK = 1, t.Rows+gap()
	}
	t.ASegment = t.Rows*t.ARow + t.K*t.AK + gap()
	t.AOuter = t.Segments*t.ASegment + gap()
	t.ALine = t.Outer*t.AOuter + gap()
	t.BSegment = t.K * t.BK
	t.BOuter = t.Segments*t.BSegment + 32*gap()
	if r.IntN(2) == 0 {
		t.BLine = t.Outer*t.BOuter + 32*gap()
	}
	t.CRow = t.Cols + gap()
	t.CLine = t.Rows*t.CRow + gap()
	lines := max(t.Lines, 1)
	t.A, t.B = randomPairs(r, lines*t.ALine, 0), randomPairs(r, lines*max(t.Outer*t.BOuter, t.BLine), 32)
	t.C = random[float32](r, lines*t.CLine, 0)
	if r.IntN(2) == 0 {
		t.BiasLine = r.IntN(2) * 40
		t.Bias = random[float32](r, (lines-1)*t.BiasLine+t.Cols, 0)
	}
	return t
}

// wantPairs is want for a line of a tile of pairs.
func wantPairs(t *Tile[float32], line, r, c int) (sum, size float64) {
	add := func(x float64) { sum, size = sum+x, size+math.Abs(x) }
	for o := range t.Outer {
		for s := range t.Segments {
			for k := range t.K {
				x := math.Float32bits(t.A[line*t.ALine+o*t.AOuter+s*t.ASegment+r*t.ARow+k*t.AK])
				y := math.Float32bits(t.B[line*t.BLine+o*t.BOuter+s*t.BSegment+k*t.BK+c])
				add(float64(math.Float32frombits(x<<16)) * float64(math.Float32frombits(y<<16)))
				add(float64(math.Float32frombits(x&^0xffff)) * float64(math.Float32frombits(y&^0xffff)))
			}
		}
	}
	if t.Bias != nil {
		add(float64(t.Bias[line*t.BiasLine+c]))
	}
	if t.Accumulate {
		add(float64(t.C[line*t.CLine+r*t.CRow+c]))
	}
	if t.ReLU {
		sum = max(sum, 0)
	}
	return sum, size
}

// TestPairsAgainstFloat64 draws tiles of pairs for every kernel that multiplies them. Nothing between the rows of C
// changes, and a row has the same bits alone.
func TestPairsAgainstFloat64(t *testing.T) {
	seen := false
	for _, path := range append(isa.Paths(), isa.Executable()&^isa.AMXBF16) {
		restore := isa.Override(path)
		if Pairs() {
			seen = true
			testPairs(t, path)
		}
		restore()
	}
	if !seen {
		t.Skip("needs a processor with AVX512-BF16, AMX or the BF16 of arm64, or an emulator of one (make amx, make arm64)")
	}
}

func testPairs(t *testing.T, path isa.Features) {
	r := rand.New(rand.NewPCG(11, 12))
	tries := 60
	if testing.Short() {
		tries = 20
	}
	for try := range tries {
		tile := randomPairTile(r)
		before := append([]float32{}, tile.C...)
		after := tile.C
		was := *tile
		was.C = before
		Run(tile)
		inside := make([]bool, len(after))
		for line := range max(tile.Lines, 1) {
			for row := range tile.Rows {
				for c := range tile.Cols {
					at := line*tile.CLine + row*tile.CRow + c
					sum, size := wantPairs(&was, line, row, c)
					inside[at] = true
					if math.Abs(sum-float64(after[at])) > size*0x1p-22+1e-30 {
						was.A, was.B, was.C = nil, nil, nil
						t.Fatalf("%v, tile %d, line %d, row %d, column %d of %+v: %v, want %v", path, try, line, row, c, was, after[at], sum)
					}
				}
			}
		}
		for i := range after {
			if !inside[i] && before[i] != after[i] {
				t.Fatalf("%v, tile %d: element %d between rows has changed", path, try, i)
			}
		}
		one := was
		row := r.IntN(one.Rows)
		one.Rows, one.Lines, one.A, one.C = 1, 1, was.A[row*was.ARow:], append([]float32{}, before[row*was.CRow:][:was.Cols]...)
		Run(&one)
		require.Equal(t, after[row*was.CRow:][:was.Cols], one.C, "%v, tile %d: row %d alone", path, try, row)
	}
}
