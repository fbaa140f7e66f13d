package micro

import "fmt"

// Grouped is a part of a convolution in groups that have Size inputs and Size outputs: lines of outputs in a row. It
// computes vectors of channels, each of several whole groups. For the first vector it computes
//
//	C[l·CLine + r·CRow + c] = relu?( bias?[c] + Σ_o Σ_i Σ_s Σ_t A[l·ALine + o·AOuter + s·ASegment + (r+t)·ARow + g·Size + i] · B[o·BOuter + s·BSegment + i·BK + t·Lanes + c] )
//
// for c in [0, Lanes) with g = ⌊c/Size⌋, l in [0, Lines), r in [0, Rows), where o is in [0, Outer), s in [0, Segments),
// i in [0, Size) and t in [0, Taps). Taps is 1 or 3; an input is loaded once for all taps that meet it. The sum is
// added up in the order o, s, i, t. Each next vector is Lanes channels further in A, C and Bias, and BVector further in
// B.
type Grouped[T Float] struct {
	A, B, C []T
	Bias    []T // nil, or a number for each channel

	Size, Lanes            int // channels of a group; channels of a vector, as [GroupedLanes] returns them
	Vectors, BVector       int
	Rows, Taps             int
	Segments, Outer, Lines int
	ARow, ASegment, AOuter int
	BK, BSegment, BOuter   int
	CRow                   int
	ALine, CLine           int
	ReLU                   bool
}

// widestGroups is the largest size of groups that have kernels. If groups are whole vectors, [Run] is as good.
const widestGroups = 8

// GroupedLanes returns the channels of a vector of [RunGrouped] under the active level, for groups of size inputs and
// size outputs. channels is the number of channels of all groups. It returns 0 if there are no kernels for them.
func GroupedLanes[T Float](size, channels int) int {
	for l := lanes[T](); fitsGroups[T](size, l); l /= 2 {
		if channels%l == 0 {
			return l
		}
	}
	return 0
}

// GroupedSumsLanes is [GroupedLanes] for [RunGroupedSums].
func GroupedSumsLanes[T Float](size, channels int) int {
	if l := GroupedLanes[T](size, channels); size < l {
		return l
	}
	return 0
}

// fitsGroups reports whether the active level has kernels for vectors of that many lanes and groups of that size.
func fitsGroups[T Float](size, width int) bool {
	return hasGrouped && PanelWidth[T]() == 32 && width >= 8 && width <= lanes[T]() && size >= 2 && size <= widestGroups && width%size == 0
}

// RunGrouped computes the lines. It panics if there is no kernel for them or an operand is too short.
func RunGrouped[T Float](g *Grouped[T]) {
	if g.Lines <= 0 || g.Rows <= 0 || g.Vectors <= 0 {
		return
	}
	if !fitsGroups[T](g.Size, g.Lanes) {
		panic(fmt.Sprintf("micro: no kernel for groups of %d in vectors of %d", g.Size, g.Lanes))
	}
	if g.Taps != 1 && g.Taps != slideTaps || g.Segments <= 0 || g.Outer <= 0 ||
		g.ARow|g.ASegment|g.AOuter|g.BK|g.BSegment|g.BOuter|g.CRow|g.ALine|g.CLine|g.BVector < 0 {
		panic(fmt.Sprintf("micro: no kernel for %d taps, %d segments, %d times", g.Taps, g.Segments, g.Outer))
	}
	extent("A", len(g.A), g.Vectors*g.Lanes, g.Lines, g.ALine, g.Outer, g.AOuter, g.Segments, g.ASegment, g.Rows+g.Taps-1, g.ARow)
	extent("B", len(g.B), g.Lanes, g.Vectors, g.BVector, g.Outer, g.BOuter, g.Segments, g.BSegment, g.Size, g.BK, g.Taps, g.Lanes)
	extent("C", len(g.C), g.Vectors*g.Lanes, g.Lines, g.CLine, g.Rows, g.CRow)
	if g.Bias != nil {
		extent("bias", len(g.Bias), g.Vectors*g.Lanes)
	}
	runGrouped(g)
}

// GroupedSums is the gradient of [Grouped] with respect to B, for vectors of several groups. It adds, for t in [0,
// Taps), i in [0, Size) and c in [0, Lanes) with g = ⌊c/Size⌋,
//
//	C[t·CTap + i·CInput + c] += Σ_l Σ_p A[l·ALine + (p+t)·APixel + g·Size + i] · B[l·BLine + p·BPixel + c]
//
// with l in [0, Lines) and p in [0, Pixels). Taps is 1, or 3 with Pixels at least 2. With Left, the input at the first
// tap of the first output is missing, and its product is left out; A then begins with the first input that exists. With
// Right, the same holds for the last tap of the last output. Each next vector is Lanes channels further in A, B and C.
type GroupedSums[T Float] struct {
	A, B, C []T

	Size, Lanes, Vectors       int
	Pixels, Lines, Taps        int
	APixel, BPixel             int
	ALine, BLine, CTap, CInput int
	Left, Right                bool // only with three taps
}

// RunGroupedSums adds the sums. It panics if there is no kernel for them or an operand is too short.
func RunGroupedSums[T Float](g *GroupedSums[T]) {
	if g.Lines <= 0 || g.Pixels <= 0 || g.Vectors <= 0 {
		return
	}
	if !fitsGroups[T](g.Size, g.Lanes) || g.Size == g.Lanes {
		panic(fmt.Sprintf("micro: no kernel for sums of groups of %d in vectors of %d", g.Size, g.Lanes))
	}
	if three := g.Taps == slideTaps && g.Pixels >= 2; !three && (g.Taps != 1 || g.Left || g.Right) ||
		g.APixel|g.BPixel|g.ALine|g.BLine|g.CTap|g.CInput < 0 {
		panic(fmt.Sprintf("micro: no kernel for sums of %d taps over %d pixels", g.Taps, g.Pixels))
	}
	extent("A", len(g.A), g.Vectors*g.Lanes, g.Lines, g.ALine, inputs(g.Pixels, g.Taps, g.Left, g.Right), g.APixel)
	extent("B", len(g.B), g.Vectors*g.Lanes, g.Lines, g.BLine, g.Pixels, g.BPixel)
	extent("C", len(g.C), g.Vectors*g.Lanes, g.Taps, g.CTap, g.Size, g.CInput)
	runGroupedSums(g)
}
