package micro

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// forGroups runs a test with each family that should have kernels for groups, for every available width of vectors and
// size of groups.
func forGroups(t *testing.T, test func(t *testing.T, size, lanes int)) {
	ran := false
	for _, path := range isa.Paths() {
		restore := isa.Override(path)
		there := runtime.GOARCH == "amd64" && path.Has(isa.Vectors256)
		assert.Equal(t, there, GroupedLanes[float32](4, 8) == 8 && GroupedSumsLanes[float32](4, 8) == 8, path)
		assert.Equal(t, there && path.Has(isa.Vectors512), GroupedLanes[float32](4, 16) == 16, path)
		for width := 8; there && width <= lanes[float32](); width *= 2 {
			for _, size := range []int{2, 4, 8} {
				ran = t.Run(fmt.Sprintf("%s/%d of %d", path, size, width), func(t *testing.T) { test(t, size, width) }) || ran
			}
		}
		restore()
	}
	if !ran && !t.Failed() {
		t.Skip("kernels for groups need AVX2 or AVX-512, which this processor does not have")
	}
}

func TestGroupedAgainstFloat64(t *testing.T) {
	forGroups(t, func(t *testing.T, size, lanes int) {
		rng := rand.New(rand.NewPCG(71, uint64(size+lanes)))
		for i := range 150 {
			g := Grouped[float32]{Size: size, Lanes: lanes, Vectors: 1 + rng.IntN(3), Rows: 1 + rng.IntN(33), Taps: 1 + 2*rng.IntN(2), Segments: 1 + rng.IntN(3),
				Outer: 1 + rng.IntN(3), Lines: 1 + rng.IntN(3), ReLU: rng.IntN(2) == 0}
			channels := g.Vectors * lanes
			g.ARow, g.ASegment, g.AOuter, g.ALine = channels+rng.IntN(9), rng.IntN(3*channels), rng.IntN(200), rng.IntN(300)
			g.BK = g.Taps*lanes + rng.IntN(5)
			g.BSegment, g.BOuter, g.BVector = rng.IntN(300), rng.IntN(300), rng.IntN(500)
			g.CRow = channels + rng.IntN(7)
			g.CLine = g.Rows*g.CRow + rng.IntN(7)
			g.A = guard.Copy(t, random[float32](rng, (g.Lines-1)*g.ALine+(g.Outer-1)*g.AOuter+(g.Segments-1)*g.ASegment+(g.Rows+g.Taps-2)*g.ARow+channels, 0), i%4 < 2)
			g.B = guard.Copy(t, random[float32](rng, (g.Vectors-1)*g.BVector+(g.Outer-1)*g.BOuter+(g.Segments-1)*g.BSegment+(size-1)*g.BK+g.Taps*lanes, 0), i%4 < 2)
			g.C = guard.Copy(t, random[float32](rng, (g.Lines-1)*g.CLine+(g.Rows-1)*g.CRow+channels, 0), i%4 < 2)
			if rng.IntN(2) == 0 {
				g.Bias = guard.Copy(t, random[float32](rng, channels, 0), i%4 < 2)
			}
			checkGrouped(t, &g)
		}
	})
}

// checkGrouped runs the kernel. It compares each number of C with the definition, and everything else with its old
// value.
func checkGrouped(t *testing.T, g *Grouped[float32]) {
	t.Helper()
	want, size := map[int]float64{}, map[int]float64{}
	for l := range g.Lines {
		for r := range g.Rows {
			for channel := range g.Vectors * g.Lanes {
				at := l*g.CLine + r*g.CRow + channel
				want[at], size[at] = groupedSum(g, l, r, channel)
			}
		}
	}
	before := append([]float32(nil), g.C...)
	RunGrouped(g)
	for at, v := range g.C {
		if _, written := want[at]; !written {
			require.Equal(t, before[at], v, "a number between the pixels of C changed")
			continue
		}
		diff := math.Abs(float64(v) - want[at])
		require.True(t, diff <= 0x1p-23*80*size[at], "C[%d] is %v, want %v", at, v, want[at])
	}
}

// groupedSum returns one number of the result, and the sum of the absolute values of its terms.
func groupedSum(g *Grouped[float32], line, row, channel int) (sum, size float64) {
	if g.Bias != nil {
		sum = float64(g.Bias[channel])
		size = math.Abs(sum)
	}
	first := channel / g.Size * g.Size
	for o := range g.Outer {
		for s := range g.Segments {
			for i := range g.Size {
				for tap := range g.Taps {
					a := g.A[line*g.ALine+o*g.AOuter+s*g.ASegment+(row+tap)*g.ARow+first+i]
					b := g.B[channel/g.Lanes*g.BVector+o*g.BOuter+s*g.BSegment+i*g.BK+tap*g.Lanes+channel%g.Lanes]
					sum += float64(a) * float64(b)
					size += math.Abs(float64(a) * float64(b))
				}
			}
		}
	}
	if g.ReLU {
		sum = max(sum, 0)
	}
	return sum, size
}

func TestGroupedSumsAgainstFloat64(t *testing.T) {
	forGroups(t, func(t *testing.T, size, lanes int) {
		if GroupedSumsLanes[float32](size, lanes) != lanes && size == lanes {
			require.Panics(t, func() {
				x := make([]float32, 100)
				RunGroupedSums(&GroupedSums[float32]{A: x, B: x, C: x, Size: size, Lanes: lanes, Vectors: 1, Pixels: 2, Lines: 1, Taps: 1})
			})
			return
		}
		rng := rand.New(rand.NewPCG(73, uint64(size+lanes)))
		for i := range 150 {
			g := GroupedSums[float32]{Size: size, Lanes: lanes, Vectors: 1 + rng.IntN(3), Taps: 1 + 2*rng.IntN(2), Lines: 1 + rng.IntN(5)}
			g.Pixels = 1 + rng.IntN(30)
			if i == 0 { // in several calls of the assembly
				g.Vectors, g.Taps, g.Pixels, g.Lines = 3, 3, 200, 5+2000/(size*lanes)*4
			}
			if g.Taps == 3 {
				g.Pixels++
				g.Left, g.Right = rng.IntN(2) == 0, rng.IntN(2) == 0
			}
			channels := g.Vectors * lanes
			g.APixel, g.BPixel, g.CInput = channels+rng.IntN(60), channels+rng.IntN(9), channels+rng.IntN(9)
			g.CTap = size*g.CInput + rng.IntN(9)
			pixels := inputs(g.Pixels, g.Taps, g.Left, g.Right)
			g.ALine, g.BLine = rng.IntN(2*pixels*g.APixel), g.Pixels*g.BPixel+rng.IntN(9)
			g.A = guard.Copy(t, random[float32](rng, (g.Lines-1)*g.ALine+(pixels-1)*g.APixel+channels, 0), i%4 < 2)
			g.B = guard.Copy(t, random[float32](rng, (g.Lines-1)*g.BLine+(g.Pixels-1)*g.BPixel+channels, 0), i%4 < 2)
			g.C = guard.Copy(t, random[float32](rng, (g.Taps-1)*g.CTap+(size-1)*g.CInput+channels, 0), i%4 < 2)
			checkGroupedSums(t, &g)
		}
	})
}

// checkGroupedSums runs the kernel and compares all numbers of C with the definition.
func checkGroupedSums(t *testing.T, g *GroupedSums[float32]) {
	t.Helper()
	want, size := make([]float64, len(g.C)), make([]float64, len(g.C))
	for at, v := range g.C {
		want[at], size[at] = float64(v), math.Abs(float64(v))
	}
	existing(g.Pixels, 1, g.Taps, 1, g.Lines, g.Vectors*g.Lanes, g.Left, g.Right, func(l, _, tap, p, q, c int) {
		for i := range g.Size {
			v := float64(g.A[l*g.ALine+q*g.APixel+c/g.Size*g.Size+i]) * float64(g.B[l*g.BLine+p*g.BPixel+c])
			want[tap*g.CTap+i*g.CInput+c] += v
			size[tap*g.CTap+i*g.CInput+c] += math.Abs(v)
		}
	})
	RunGroupedSums(g)
	for at, v := range g.C {
		diff := math.Abs(float64(v) - want[at])
		require.True(t, diff <= 0x1p-23*float64(g.Pixels*g.Lines+2)*size[at], "C[%d] is %v, want %v", at, v, want[at])
	}
}

// TestGroupedInManyCalls: cutting a convolution into several assembly calls, by lines and by vectors, gives the same
// bits.
func TestGroupedInManyCalls(t *testing.T) {
	forGroups(t, func(t *testing.T, size, lanes int) {
		rng := rand.New(rand.NewPCG(75, 76))
		const rows, lines, vectors = 70, 90, 5
		channels := vectors * lanes
		x, w := random[float32](rng, lines*rows*channels, 0), random[float32](rng, 12*size*lanes*vectors, 0)
		g := Grouped[float32]{A: x, B: w, Size: size, Lanes: lanes, Vectors: vectors, Taps: 3, Rows: rows - 2, Lines: lines - 3, Segments: 1, Outer: 4,
			ARow: channels, AOuter: rows * channels, ALine: rows * channels, BK: 3 * lanes, BOuter: 3 * size * lanes, BVector: 12 * size * lanes,
			CRow: channels, CLine: rows * channels, C: make([]float32, lines*rows*channels)}
		require.Greater(t, 2*channels*g.Taps*size*g.Outer*g.Rows*g.Lines, 8<<20, "more than a call takes")
		RunGrouped(&g)
		apart := make([]float32, len(g.C))
		for line := range g.Lines {
			for v := range vectors {
				one := g
				one.Lines, one.Vectors = 1, 1
				one.A, one.B, one.C = g.A[line*g.ALine+v*lanes:], g.B[v*g.BVector:], apart[line*g.CLine+v*lanes:]
				RunGrouped(&one)
			}
		}
		require.True(t, slices.Equal(apart, g.C), "other bits")
	})
}

func TestGroupedMistakesPanic(t *testing.T) {
	forGroups(t, func(t *testing.T, size, lanes int) {
		x := make([]float32, 1000)
		full := Grouped[float32]{A: x, B: x, C: x, Size: size, Lanes: lanes, Vectors: 1, Rows: 2, Taps: 3, Segments: 1, Outer: 1, Lines: 1,
			ARow: lanes, BK: 3 * lanes, CRow: lanes}
		RunGrouped(&full)
		for i, change := range []func(g *Grouped[float32]){
			func(g *Grouped[float32]) { g.A = x[:4*lanes-1] },
			func(g *Grouped[float32]) { g.B = x[:3*lanes*size-1] },
			func(g *Grouped[float32]) { g.C = x[:2*lanes-1] },
			func(g *Grouped[float32]) { g.Bias = x[:lanes-1] },
			func(g *Grouped[float32]) { g.Vectors, g.BVector = 2, 1000 },
			func(g *Grouped[float32]) { g.Taps = 2 },
			func(g *Grouped[float32]) { g.Outer = 0 },
			func(g *Grouped[float32]) { g.ARow = -1 },
			func(g *Grouped[float32]) { g.Size = 3 },
			func(g *Grouped[float32]) { g.Size = 16 },
			func(g *Grouped[float32]) { g.Lanes = 32 },
		} {
			g := full
			change(&g)
			require.Panics(t, func() { RunGrouped(&g) }, "change %d", i)
		}
		if size == lanes {
			return
		}
		sums := GroupedSums[float32]{A: x, B: x, C: x, Size: size, Lanes: lanes, Vectors: 1, Pixels: 2, Lines: 1, Taps: 3,
			APixel: lanes, BPixel: lanes, CTap: size * lanes, CInput: lanes}
		RunGroupedSums(&sums)
		for i, change := range []func(g *GroupedSums[float32]){
			func(g *GroupedSums[float32]) { g.A = x[:4*lanes-1] },
			func(g *GroupedSums[float32]) { g.B = x[:2*lanes-1] },
			func(g *GroupedSums[float32]) { g.C = x[:3*lanes*size-1] },
			func(g *GroupedSums[float32]) { g.Pixels = 1 },
			func(g *GroupedSums[float32]) { g.Taps, g.Left = 1, true },
			func(g *GroupedSums[float32]) { g.BPixel = -1 },
			func(g *GroupedSums[float32]) { g.Size = 3 },
		} {
			g := sums
			change(&g)
			require.Panics(t, func() { RunGroupedSums(&g) }, "change %d", i)
		}
	})
}
