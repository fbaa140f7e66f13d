// Command micro writes the assembly of package kernels/cpu/internal/micro and the Go file that declares and dispatches it.
//
// Every function computes whole register tiles for the contract in that package's documentation. There is one per processor
// family, element type, number of vectors in a row of the tile, and number of rows.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets in the argument block, which is the struct call of the package.
const (
	argA = 8 * iota
	argB
	argC
	argBias
	argK
	argSegments
	argOuter
	argARow
	argAK
	argASegment
	argAOuter
	argBK
	argBSegment
	argBOuter
	argCRow
	argTiles
	argATile
	argCTile
	argMask
	argMaskTable
	argFlags
	argLines
	argALine
	argCLine
	argNext
	argNextStep
	argPair
)

const (
	flagAccumulate = 1 << iota
	flagReLU
	flagMasked
	flagFetchC
)

// kernel is one function.
type kernel struct {
	wide     bool // AVX-512, else AVX2
	double   bool // float64, else float32
	channels bool // A is a vector like B, else a scalar
	vectors  int
	rows     int
	windows  int // of 2x2 rows whose maxima are stored, see pooled.go; 0: the rows are
}

func (k kernel) family() string {
	name := "f32"
	if k.double {
		name = "f64"
	}
	if k.wide {
		name += "AVX512"
	} else {
		name += "AVX2"
	}
	if k.channels {
		name += "Channels"
	}
	if k.windows > 0 {
		name += "Pooled"
	}
	return fmt.Sprintf("%sV%d", name, k.vectors)
}

func (k kernel) name() string {
	if k.windows > 0 {
		return fmt.Sprintf("%sW%d", k.family(), k.windows)
	}
	return fmt.Sprintf("%sR%d", k.family(), k.rows)
}

// number tells the functions of a family apart.
func (k kernel) number() int {
	if k.windows > 0 {
		return k.windows
	}
	return k.rows
}

func (k kernel) vectorBytes() int {
	if k.wide {
		return 64
	}
	return 32
}

func (k kernel) vector() reg.VecVirtual {
	if k.wide {
		return ZMM()
	}
	return YMM()
}

// rowsPerBase is how many rows one base register reaches with the strides 1, 3 and 5 in registers.
const rowsPerBase = 7

// perBase returns the number of rows that one base register reaches.
func (k kernel) perBase() int {
	if k.windows > 0 && !k.inLines() {
		return 2 * k.windows
	}
	return rowsPerBase
}

// rowAddress returns the address of row r, given the base registers and 1, 3 and 5 times the row stride.
func (k kernel) rowAddress(bases []reg.GPVirtual, strides [3]reg.GPVirtual, r int) Mem {
	m := Mem{Base: bases[r/k.perBase()]}
	switch r % k.perBase() {
	case 1:
		return m.Idx(strides[0], 1)
	case 2:
		return m.Idx(strides[0], 2)
	case 3:
		return m.Idx(strides[1], 1)
	case 4:
		return m.Idx(strides[0], 4)
	case 5:
		return m.Idx(strides[2], 1)
	case 6:
		return m.Idx(strides[1], 2)
	}
	return m
}

func (k kernel) emit() {
	TEXT(k.name(), NOSPLIT, "func(c uintptr)")
	Doc(fmt.Sprintf("%s computes tiles of %d rows and %d vectors.", k.name(), k.rows, k.vectors))
	args := Load(Param("c"), GP64())
	arg := func(offset int) Mem { return Mem{Base: args, Disp: offset} }
	local := AllocLocal(12*8 + k.waitingBytes())
	lineA, lineC, linesLeft := local.Offset(56), local.Offset(64), local.Offset(72)
	second, rest, waiting := local.Offset(80), local.Offset(88), local.Offset(96) // rest: products with which C is fetched
	runA, runC, tilesLeft := local.Offset(0), local.Offset(8), local.Offset(16)
	outerA, outerB, outerLeft, segmentsLeft := local.Offset(24), local.Offset(32), local.Offset(40), local.Offset(48)
	move := func(dst, src Mem) {
		r := GP64()
		MOVQ(src, r)
		MOVQ(r, dst)
	}
	move(lineA, arg(argA))
	move(lineC, arg(argC))
	move(linesLeft, arg(argLines))
	var mask reg.OpmaskVirtual
	if k.wide {
		mask = K()
		if k.double {
			KMOVB(arg(argMask), mask)
		} else {
			KMOVW(arg(argMask), mask)
		}
	}
	var strides [3]reg.GPVirtual
	for i := range strides {
		strides[i] = GP64()
	}
	MOVQ(arg(argARow), strides[0])
	LEAQ(Mem{Base: strides[0]}.Idx(strides[0], 2), strides[1])
	LEAQ(Mem{Base: strides[0]}.Idx(strides[0], 4), strides[2])
	stepA, stepB := GP64(), GP64()
	MOVQ(arg(argAK), stepA)
	MOVQ(arg(argBK), stepB)

	next := GP64() // walks over the rows of the vector operand of the next call, during the first tile
	if k.windows == 0 {
		MOVQ(arg(argNext), next)
	}

	Label("line")
	move(runA, lineA)
	move(runC, lineC)
	move(tilesLeft, arg(argTiles))

	Label("tile")
	if k.inLines() {
		MOVQ(U32(0), second)
		Label("half")
	}
	sums := k.start(arg, mask)
	move(outerA, runA)
	move(outerB, arg(argB))
	move(outerLeft, arg(argOuter))

	Label("outer")
	segmentA, segmentB := GP64(), GP64()
	MOVQ(outerA, segmentA)
	MOVQ(outerB, segmentB)
	move(segmentsLeft, arg(argSegments))

	Label("segment")
	bases := make([]reg.GPVirtual, (k.rows+k.perBase()-1)/k.perBase())
	for i := range bases {
		bases[i] = GP64()
		switch {
		case i == 0:
			MOVQ(segmentA, bases[0])
			continue
		case k.windows > 0 && !k.inLines(): // the second line of the windows
			MOVQ(segmentA, bases[1])
			ADDQ(arg(argPair), bases[1])
			continue
		}
		LEAQ(Mem{Base: bases[i-1]}.Idx(strides[1], 2), bases[i])
		ADDQ(strides[0], bases[i])
	}
	b, left := GP64(), GP64()
	MOVQ(segmentB, b)
	MOVQ(arg(argK), left)
	if k.fetches() {
		flags := GP64()
		MOVQ(U32(0), rest)
		MOVQ(arg(argFlags), flags)
		TESTQ(U32(flagFetchC), flags)
		JE(LabelRef("product"))
		MOVQ(U32(k.fetchSums()), rest)
		SUBQ(U32(k.fetchSums()), left)
	}

	Label("product")
	k.products(sums, bases, strides, b)
	for _, base := range bases {
		ADDQ(stepA, base)
	}
	ADDQ(stepB, b)
	if k.fetches() {
		for line := 0; line < k.vectors*k.vectorBytes(); line += 64 {
			PREFETCHT1(Mem{Base: next, Disp: line})
		}
		ADDQ(arg(argNextStep), next)
	}
	DECQ(left)
	JNE(LabelRef("product"))
	if k.fetches() {
		MOVQ(rest, left)
		MOVQ(U32(0), rest)
		TESTQ(left, left)
		JE(LabelRef("summed"))
		k.fetchC(arg, runC)
		JMP(LabelRef("product"))
		Label("summed")
	}

	ADDQ(arg(argASegment), segmentA)
	ADDQ(arg(argBSegment), segmentB)
	DECQ(segmentsLeft)
	JNE(LabelRef("segment"))
	advance := func(dst, by Mem) {
		r := GP64()
		MOVQ(by, r)
		ADDQ(r, dst)
	}
	advance(outerA, arg(argAOuter))
	advance(outerB, arg(argBOuter))
	DECQ(outerLeft)
	JNE(LabelRef("outer"))

	switch {
	case k.inLines():
		k.pairs(sums, arg, runA, runC, second, waiting)
	case k.windows > 0:
		k.maxima(sums, arg, runC, mask)
	default:
		k.epilogue(sums, arg, runC, mask)
	}
	if k.fetches() {
		MOVQ(U32(0), arg(argNextStep))
	}

	advance(runA, arg(argATile))
	advance(runC, arg(argCTile))
	DECQ(tilesLeft)
	JNE(LabelRef("tile"))
	advance(lineA, arg(argALine))
	advance(lineC, arg(argCLine))
	DECQ(linesLeft)
	JNE(LabelRef("line"))
	VZEROUPPER()
	RET()
}

// fetches reports whether the kernel fetches ahead: those for products of large matrices do.
func (k kernel) fetches() bool { return !k.channels && k.vectors == 2 && k.rows > 2 && k.windows == 0 }

// fetchSums is the number of products that remain when C is fetched: enough for it to arrive, too few for it to be driven out again. They take
// 28 cycles each with AVX-512, 6 with AVX2.
func (k kernel) fetchSums() int {
	if k.wide {
		return 20
	}
	return 36
}

// fetchC fetches the tile of C, so that it is there when the sums are ready.
func (k kernel) fetchC(arg func(int) Mem, runC Mem) {
	c, row := GP64(), GP64()
	MOVQ(runC, c)
	MOVQ(arg(argCRow), row)
	for r := range k.rows {
		for line := 0; line < k.vectors*k.vectorBytes(); line += 64 {
			PREFETCHT0(Mem{Base: c, Disp: line})
		}
		if r < k.rows-1 {
			ADDQ(row, c)
		}
	}
}

// products adds the products of one k to the sums.
func (k kernel) products(sums [][]reg.VecVirtual, bases []reg.GPVirtual, strides [3]reg.GPVirtual, b reg.GPVirtual) {
	vectors := make([]reg.VecVirtual, k.vectors)
	for i := range vectors {
		vectors[i] = k.vector()
		k.load(Mem{Base: b, Disp: i * k.vectorBytes()}, vectors[i])
	}
	for r := range sums {
		a := k.rowAddress(bases, strides, r)
		switch {
		case k.channels:
			for i, v := range vectors {
				k.multiplyAdd(a.Offset(i*k.vectorBytes()), v, sums[r][i])
			}
		case k.wide:
			for i, v := range vectors {
				if k.double {
					VFMADD231PD_BCST(a, v, sums[r][i])
				} else {
					VFMADD231PS_BCST(a, v, sums[r][i])
				}
			}
		default:
			scalar := k.vector()
			if k.double {
				VBROADCASTSD(a, scalar)
			} else {
				VBROADCASTSS(a, scalar)
			}
			for i, v := range vectors {
				k.multiplyAdd(scalar, v, sums[r][i])
			}
		}
	}
}

// families lists the kernels, all rows of a family together.
func families() [][]kernel {
	var all [][]kernel
	for _, double := range []bool{false, true} {
		for _, wide := range []bool{false, true} {
			for _, channels := range []bool{false, true} {
				for _, vectors := range []int{1, 2} {
					var family []kernel
					for rows := 1; rows <= maxRows(wide, channels, vectors); rows++ {
						family = append(family, kernel{wide: wide, double: double, channels: channels, vectors: vectors, rows: rows})
					}
					all = append(all, family)
				}
			}
		}
	}
	return all
}

// maxRows is bounded by the registers: 16 with AVX2, 32 with AVX-512; a tile needs one per vector, B's vectors, and one or two
// more. Depthwise kernels need two loads per product and gain nothing from more rows.
func maxRows(wide, channels bool, vectors int) int {
	switch {
	case channels:
		return 4
	case wide:
		return 14
	case vectors == 1:
		return 12
	}
	return 6
}

func main() {
	dispatch := flag.String("dispatch", "", "Go file to write with the declarations and the dispatch")
	flag.Parse()
	var calls, stubs strings.Builder
	for _, family := range append(families(), pooledFamilies()...) {
		name, count := family[0].family(), "rows"
		if family[0].windows > 0 {
			count = "windows"
		}
		fmt.Fprintf(&calls, "\n//go:noinline\nfunc call%s(%s int, c *call) {\n\tswitch %[2]s {\n", strings.ToUpper(name[:1])+name[1:], count)
		for _, k := range family {
			k.emit()
			fmt.Fprintf(&calls, "\tcase %d:\n\t\t%s(c)\n", k.number(), k.name())
			fmt.Fprintf(&stubs, "\n//go:noescape\nfunc %s(c *call)\n", k.name())
		}
		calls.WriteString("\t}\n}\n")
	}
	emitTranspose()
	emitCopyRows()
	emitRowProducts()
	slideCalls, slideStubs := emitSlides()
	calls.WriteString(slideCalls)
	stubs.WriteString(slideStubs)
	groupedCalls, groupedStubs := emitGrouped()
	calls.WriteString(groupedCalls)
	stubs.WriteString(groupedStubs)
	groupedCalls, groupedStubs = emitGroupedSums()
	calls.WriteString(groupedCalls)
	stubs.WriteString(groupedStubs)
	stubs.WriteString(transposeStub)
	stubs.WriteString(rowStubs())
	text := "// Code generated by internal/asmgen/micro; DO NOT EDIT.\n\npackage micro\n\nimport \"unsafe\"\n" +
		"\n// The functions call... run one assembly function each. They are neither inlined nor leaves: assembly cannot be preempted,\n" +
		"// and a loop that calls nothing else would hold up the garbage collector until it ends.\n" + calls.String() + stubs.String()
	if err := os.WriteFile(*dispatch, []byte(text), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	Generate()
}
