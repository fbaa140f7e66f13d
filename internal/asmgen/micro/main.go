// Command micro writes the assembly of package kernels/cpu/internal/micro and the Go file that declares and dispatches
// it.
//
// Every function computes whole register tiles as specified in that package's documentation. There is one for each
// instruction set, element type, number of vectors in a row of the tile, and number of rows.
package main

import (
	"errors"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"strings"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// Offsets in the argument block, the package's struct call.
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
	argNextEvery
	argPair
	argBLine
	argBiasLine
	argRoundedBias
)

const (
	flagAccumulate = 1 << iota
	flagReLU
	flagMasked
	flagFetchC
	flagContinue
	flagRounded
)

// begin starts a function.
func begin(wide bool, name, parameters string) {
	Begin(Machine{Bytes: kernel{wide: wide}.vectorBytes()}, name, parameters, "")
}

// kernel is one function.
type kernel struct {
	wide     bool // AVX-512, else AVX2
	double   bool // float64, else float32
	halves   bool // pairs of bfloat16, with float32 sums; for AVX-512
	channels bool // A is a vector like B, else a scalar
	vectors  int
	rows     int
	windows  int // rows form 2x2 windows whose maxima are stored, see pooled.go; 0: the rows are stored
}

// tile is the name of the family of tiles: element types and instruction set.
func (k kernel) tile() string {
	name := "f32"
	if k.double {
		name = "f64"
	}
	if k.halves {
		name = "bf16"
	}
	if k.wide {
		return name + "AVX512"
	}
	return name + "AVX2"
}

func (k kernel) family() string {
	name := k.tile()
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

// number identifies a function within its family.
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

func (k kernel) vector() Vector {
	if k.wide {
		return NewVector(64)
	}
	return NewVector(32)
}

// rowsPerBase is how many rows one base register addresses, with 1, 3 and 5 times the stride in registers.
const rowsPerBase = 7

// perBase returns the number of rows that one base register addresses.
func (k kernel) perBase() int {
	if k.windows > 0 && !k.inLines() {
		return 2 * k.windows
	}
	return rowsPerBase
}

// rowAddress returns the address of row r, given the base registers and 1, 3 and 5 times the row stride.
func (k kernel) rowAddress(bases []Scalar, strides [3]Scalar, r int) Memory {
	m := Memory{Base: bases[r/k.perBase()]}
	switch r % k.perBase() {
	case 1:
		return m.Indexed(strides[0], 1)
	case 2:
		return m.Indexed(strides[0], 2)
	case 3:
		return m.Indexed(strides[1], 1)
	case 4:
		return m.Indexed(strides[0], 4)
	case 5:
		return m.Indexed(strides[2], 1)
	case 6:
		return m.Indexed(strides[1], 2)
	}
	return m
}

func (k kernel) emit() {
	begin(k.wide, k.name(), "c uintptr")
	if k.double {
		Float64()
	}
	Doc(fmt.Sprintf("%s computes tiles of %d rows and %d vectors.", k.name(), k.rows, k.vectors))
	args := Parameter("c")
	arg := func(offset int) Memory { return Memory{Base: args, Offset: offset} }
	local := Local(15*8 + k.waitingBytes())
	lineA, lineC, linesLeft := local.Plus(56), local.Plus(64), local.Plus(72)
	second, rest, waiting := local.Plus(80), local.Plus(88), local.Plus(120) // rest: products left when C is fetched
	runA, runC, tilesLeft := local.Plus(0), local.Plus(8), local.Plus(16)
	outerA, outerB, outerLeft, segmentsLeft := local.Plus(24), local.Plus(32), local.Plus(40), local.Plus(48)
	move := func(dst, src Memory) {
		r := NewScalar()
		Assign(r, src)
		Assign(dst, r)
	}
	move(lineA, arg(argA))
	move(lineC, arg(argC))
	move(linesLeft, arg(argLines))
	runB, bias := arg(argB), arg(argBias)
	if k.movesB() {
		runB, bias = local.Plus(104), local.Plus(112)
		move(runB, arg(argB))
		move(bias, arg(argBias))
	}
	var mask Mask
	if k.wide {
		mask = MaskBits(arg(argMask))
	}
	var strides [3]Scalar
	for i := range strides {
		strides[i] = NewScalar()
	}
	Assign(strides[0], arg(argARow))
	Address(strides[1], Memory{Base: strides[0]}.Indexed(strides[0], 2))
	Address(strides[2], Memory{Base: strides[0]}.Indexed(strides[0], 4))
	stepA, stepB := NewScalar(), NewScalar()
	Assign(stepA, arg(argAK))
	Assign(stepB, arg(argBK))

	next, wait := NewScalar(), NewScalar() // prefetch the next call's vector operand; wait counts products
	if k.fetches() {
		Assign(next, arg(argNext))
		Assign(wait, arg(argNextEvery))
	}

	Label("line")
	move(runA, lineA)
	move(runC, lineC)
	move(tilesLeft, arg(argTiles))

	Label("tile")
	if k.inLines() {
		Assign(second, Number(0))
		Label("half")
	}
	sums := k.start(arg, bias, runC, mask)
	if k.halves {
		k.fetchRounded(arg, runC)
	}
	move(outerA, runA)
	move(outerB, runB)
	move(outerLeft, arg(argOuter))

	Label("outer")
	segmentA := NewScalar()
	Assign(segmentA, outerA)
	var segmentB Operand = local.Plus(96)
	if k.fetches() { // the register is needed
		move(local.Plus(96), outerB)
	} else {
		segmentB = NewScalar()
		Assign(segmentB, outerB)
	}
	move(segmentsLeft, arg(argSegments))

	Label("segment")
	bases := make([]Scalar, (k.rows+k.perBase()-1)/k.perBase())
	for i := range bases {
		bases[i] = NewScalar()
		switch {
		case i == 0:
			Assign(bases[0], segmentA)
			continue
		case k.windows > 0 && !k.inLines(): // the second line of the windows
			Assign(bases[1], segmentA)
			Increase(bases[1], arg(argPair))
			continue
		}
		Address(bases[i], Memory{Base: bases[i-1]}.Indexed(strides[1], 2))
		Increase(bases[i], strides[0])
	}
	b, left := NewScalar(), NewScalar()
	Assign(b, segmentB)
	Assign(left, arg(argK))
	if k.fetches() {
		flags := NewScalar()
		Assign(rest, Number(0))
		Assign(flags, arg(argFlags))
		JumpUnless(flags, flagFetchC, "product")
		Assign(rest, Number(k.fetchSums()))
		Decrease(left, Number(k.fetchSums()))
	}

	Label("product")
	k.products(sums, bases, strides, b)
	for _, base := range bases {
		Increase(base, stepA)
	}
	Increase(b, stepB)
	if k.fetches() {
		Countdown(wait, 1, "waits")
		Assign(wait, arg(argNextEvery))
		for line := 0; line < k.vectors*k.vectorBytes(); line += 64 {
			Prefetch(Memory{Base: next, Offset: line})
		}
		Increase(next, arg(argNextStep))
		Label("waits")
	}
	Countdown(left, 1, "product")
	if k.fetches() {
		Assign(left, rest)
		Assign(rest, Number(0))
		JumpZero(left, "summed")
		k.fetchC(arg, runC)
		Jump("product")
		Label("summed")
	}

	advance := func(dst Operand, by Memory) {
		r := NewScalar()
		Assign(r, by)
		Increase(dst, r)
	}
	Increase(segmentA, arg(argASegment))
	advance(segmentB, arg(argBSegment))
	Countdown(segmentsLeft, 1, "segment")
	advance(outerA, arg(argAOuter))
	advance(outerB, arg(argBOuter))
	Countdown(outerLeft, 1, "outer")

	switch {
	case k.inLines():
		k.pairs(sums, arg, runA, runC, second, waiting)
	case k.windows > 0:
		k.maxima(sums, arg, runC, mask)
	default:
		k.epilogue(sums, arg, runC, mask)
	}

	advance(runA, arg(argATile))
	advance(runC, arg(argCTile))
	Countdown(tilesLeft, 1, "tile")
	advance(lineA, arg(argALine))
	advance(lineC, arg(argCLine))
	if k.movesB() {
		advance(runB, arg(argBLine))
		advance(bias, arg(argBiasLine))
	}
	Countdown(linesLeft, 1, "line")
	End()
}

// movesB reports whether each line may have its own B.
func (k kernel) movesB() bool { return !k.channels && k.windows == 0 }

// fetches reports whether the kernel prefetches: those for products of large matrices do.
func (k kernel) fetches() bool {
	return !k.channels && k.windows == 0 && (k.vectors == 2 && k.rows > 2 || k.vectors == wholePanel && k.rows > 1)
}

// fetchSums is the number of remaining products when C is prefetched: enough for it to arrive, too few for it to be
// evicted again. They take 14 to 28 cycles each with AVX-512, 6 with AVX2.
func (k kernel) fetchSums() int {
	if k.wide {
		return 20
	}
	return 36
}

// fetchC prefetches the tile of C, so that it is cached when the sums are ready.
func (k kernel) fetchC(arg func(int) Memory, runC Memory) {
	c, row := NewScalar(), NewScalar()
	Assign(c, runC)
	Assign(row, arg(argCRow))
	for r := range k.rows {
		for line := 0; line < k.vectors*k.vectorBytes(); line += 64 {
			PrefetchNear(Memory{Base: c, Offset: line})
		}
		if r < k.rows-1 {
			Increase(c, row)
		}
	}
}

// products adds the products of one k to the sums.
func (k kernel) products(sums [][]Vector, bases []Scalar, strides [3]Scalar, b Scalar) {
	if k.vectors == wholePanel {
		k.panelProducts(sums, bases, strides, b)
		return
	}
	vectors := make([]Vector, k.vectors)
	for i := range vectors {
		vectors[i] = k.vector()
		Load(vectors[i], Memory{Base: b, Offset: i * k.vectorBytes()})
	}
	for r := range sums {
		a := k.rowAddress(bases, strides, r)
		switch {
		case k.channels:
			for i, v := range vectors {
				AddProduct(sums[r][i], v, a.Plus(i*k.vectorBytes()))
			}
		case k.halves:
			for i, v := range vectors {
				AddHalfPairsOf(sums[r][i], v, a)
			}
		case k.wide && k.vectors == 1:
			AddProductOf(sums[r][0], vectors[0], a)
		default: // one load for two products: a processor with two load units loads only two numbers per cycle
			scalar := k.vector()
			Broadcast(scalar, a)
			for i, v := range vectors {
				AddProduct(sums[r][i], v, scalar)
			}
		}
	}
}

// panelProducts is products for rows of whole panels: only one register is left for vectors of B.
func (k kernel) panelProducts(sums [][]Vector, bases []Scalar, strides [3]Scalar, b Scalar) {
	scalars := make([]Vector, k.rows)
	for r := range scalars {
		scalars[r] = k.vector()
		Broadcast(scalars[r], k.rowAddress(bases, strides, r))
	}
	for i := range k.vectors {
		v := k.vector()
		Load(v, Memory{Base: b, Offset: i * k.vectorBytes()})
		for r, scalar := range scalars {
			AddProduct(sums[r][i], v, scalar)
		}
	}
}

const generator = "internal/asmgen/micro"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: micro DIRECTORY")
		os.Exit(2)
	}
	if err := errors.Join(writeAMD64(os.Args[1]), writeNEON(os.Args[1])); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// writeAMD64 writes the assembly for amd64 and the Go file that declares it.
func writeAMD64(dir string) error {
	p := NewProgram()
	p.ShareLines = true
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
	var functions dispatch
	for _, family := range families() {
		k := family[0]
		functions.add(k.tile(), k.channels, k.vectors, k.family(), len(family))
	}
	calls.WriteString(functions.goText())
	emitTranspose()
	emitTranspose4()
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
	if err := p.AMD64(filepath.Join(dir, "tile_amd64.s"), generator, "micro"); err != nil {
		return err
	}
	return writeGo(filepath.Join(dir, "tile_gen_amd64.go"), calls.String()+stubs.String())
}

// writeGo writes a Go file with the given functions.
func writeGo(name, functions string) error {
	text := "// Code generated by " + generator + "; DO NOT EDIT.\n\npackage micro\n\nimport \"unsafe\"\n" +
		"\n// The functions call... run one assembly function each. They are neither inlined nor leaves: assembly cannot be preempted,\n" +
		"// and a loop that calls nothing else would hold up the garbage collector until it ends.\n" + functions
	formatted, err := format.Source([]byte(text))
	if err != nil {
		return err
	}
	return os.WriteFile(name, formatted, 0o644)
}
