package micro

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// toHalf rounds to the nearest bfloat16, ties to even.
func toHalf(x float64) float64 {
	bits := math.Float32bits(float32(x))
	return float64(math.Float32frombits((bits + 0x7fff + bits>>16&1) &^ 0xffff))
}

// TestPairsRounded: rounded sums of any tile, with bias and relu, agree with float64, and nothing around them changes.
// Each step is monotonic, so a result is between those of the smallest and of the largest sum that float32 may give.
func TestPairsRounded(t *testing.T) {
	if !Rounds() {
		t.Skip("needs matrix registers (AMX), or an emulator of them (make amx)")
	}
	testPairsRounded(t, false)
}

// TestPairsRoundedByVectors is the same for tiles that use vectors instead of matrix registers.
func TestPairsRoundedByVectors(t *testing.T) {
	defer isa.Override(isa.Executable())()
	if !RoundsVectors() {
		t.Skip("needs a processor with AVX512-BF16")
	}
	testPairsRounded(t, true)
}

func testPairsRounded(t *testing.T, vectors bool) {
	r := rand.New(rand.NewPCG(17, 28))
	for try := range 150 {
		tile := randomPairTile(r)
		tile.Vectors, tile.ReLU, tile.Bias, tile.BiasLine = vectors, false, nil, 0
		if vectors {
			tile.Lines, tile.Accumulate, tile.C = 1, false, nil
		}
		if tile.AK != 1 && !vectors {
			tile.ARow, tile.AK = tile.K, 1
		}
		if try%3 == 0 && !vectors { // whole steps, whose sums are never in memory
			tile.K = tile.K/16*16 + 16
			tile.ARow, tile.Segments, tile.Outer, tile.Accumulate = tile.K, 1, 1, false
			tile.ALine, tile.BLine = tile.Rows*tile.ARow, tile.K*tile.BK
			tile.A, tile.B = randomPairs(r, max(tile.Lines, 1)*tile.ALine, 0), randomPairs(r, max(tile.Lines, 1)*tile.BLine, 32)
		}
		lines := max(tile.Lines, 1)
		to := &Rounding{Row: tile.Cols + r.IntN(9), ReLU: r.IntN(3) == 0}
		to.Line = tile.Rows*to.Row + r.IntN(9)
		to.C = make([]uint16, lines*to.Line+40)
		for i := range to.C {
			to.C[i] = 0x7fc1
		}
		if r.IntN(2) == 0 {
			to.BiasLine = r.IntN(2) * 40
			to.Bias = random[float32](r, (lines-1)*to.BiasLine+tile.Cols, 32)
		}
		was := *tile
		was.C = append([]float32{}, tile.C...)
		RunRounded(tile, to)
		result := func(line, c int, sum float64) float64 {
			if sum = toHalf(sum); to.Bias != nil {
				sum = toHalf(float64(float32(sum) + to.Bias[line*to.BiasLine+c]))
			}
			if to.ReLU {
				sum = max(sum, 0)
			}
			return sum
		}
		for line := range lines {
			for row := range tile.Rows {
				for c := range tile.Cols {
					sum, size := wantPairs(&was, line, row, c)
					least, most := result(line, c, sum-size*0x1p-22), result(line, c, sum+size*0x1p-22)
					at := &to.C[line*to.Line+row*to.Row+c]
					if got := float64(math.Float32frombits(uint32(*at) << 16)); !(least <= got && got <= most) {
						t.Fatalf("tile %d, line %d, row %d, column %d: %v, want %v to %v", try, line, row, c, got, least, most)
					}
					*at = 0x7fc1
				}
			}
		}
		for i, v := range to.C {
			if v != 0x7fc1 {
				t.Fatalf("tile %d: element %d around the result has changed", try, i)
			}
		}
	}
}

// TestPairsRoundedPanics covers tiles that RunRounded cannot compute, and memory that is too short.
func TestPairsRoundedPanics(t *testing.T) {
	if !Rounds() {
		t.Skip("needs matrix registers (AMX), or an emulator of them (make amx)")
	}
	tile := func() *Tile[float32] {
		return &Tile[float32]{Rows: 3, Cols: 4, K: 5, Segments: 1, Outer: 1, ARow: 5, AK: 1, BK: 32, CRow: 4, Pairs: true,
			A: make([]float32, 15), B: make([]float32, 160), C: make([]float32, 12)}
	}
	to := &Rounding{C: make([]uint16, 12), Row: 4}
	require.NotPanics(t, func() { RunRounded(tile(), to) })
	for name, change := range map[string]func(*Tile[float32], *Rounding){
		"numbers":       func(x *Tile[float32], _ *Rounding) { x.Pairs = false },
		"bias of tile":  func(x *Tile[float32], _ *Rounding) { x.Bias = make([]float32, 4) },
		"relu of tile":  func(x *Tile[float32], _ *Rounding) { x.ReLU = true },
		"short result":  func(_ *Tile[float32], r *Rounding) { r.C = r.C[:11] },
		"negative row":  func(_ *Tile[float32], r *Rounding) { r.Row = -1 },
		"short bias":    func(_ *Tile[float32], r *Rounding) { r.Bias = make([]float32, 3) },
		"negative bias": func(_ *Tile[float32], r *Rounding) { r.Bias, r.BiasLine = make([]float32, 4), -1 },
	} {
		x, y := tile(), *to
		change(x, &y)
		require.Panics(t, func() { RunRounded(x, &y) }, name)
	}
}

// TestPairsRoundedByVectorsPanics covers tiles that vectors cannot round, and memory that is too short.
func TestPairsRoundedByVectorsPanics(t *testing.T) {
	defer isa.Override(isa.Executable())()
	if !RoundsVectors() {
		t.Skip("needs a processor with AVX512-BF16")
	}
	tile := func() *Tile[float32] {
		return &Tile[float32]{Rows: 3, Cols: 4, K: 5, Segments: 1, Outer: 1, ARow: 5, AK: 1, BK: 32, Pairs: true, Vectors: true,
			A: make([]float32, 15), B: make([]float32, 160)}
	}
	to := &Rounding{C: make([]uint16, 12), Row: 4, Bias: make([]float32, 4, 16)}
	require.NotPanics(t, func() { RunRounded(tile(), to) })
	for name, change := range map[string]func(*Tile[float32], *Rounding){
		"numbers":          func(x *Tile[float32], _ *Rounding) { x.Pairs = false },
		"accumulate":       func(x *Tile[float32], _ *Rounding) { x.Accumulate = true },
		"lines":            func(x *Tile[float32], _ *Rounding) { x.Lines = 2 },
		"no sums":          func(x *Tile[float32], _ *Rounding) { x.K = 0 },
		"bias of tile":     func(x *Tile[float32], _ *Rounding) { x.Bias = make([]float32, 4) },
		"relu of tile":     func(x *Tile[float32], _ *Rounding) { x.ReLU = true },
		"short A":          func(x *Tile[float32], _ *Rounding) { x.A = x.A[:14] },
		"part of B":        func(x *Tile[float32], _ *Rounding) { x.B = x.B[:132:132] },
		"short result":     func(_ *Tile[float32], r *Rounding) { r.C = r.C[:11] },
		"negative row":     func(_ *Tile[float32], r *Rounding) { r.Row = -1 },
		"short bias":       func(_ *Tile[float32], r *Rounding) { r.Bias = r.Bias[:3] },
		"a part of a bias": func(_ *Tile[float32], r *Rounding) { r.Bias = r.Bias[:4:4] },
	} {
		x, y := tile(), *to
		change(x, &y)
		require.Panics(t, func() { RunRounded(x, &y) }, name)
	}
}
