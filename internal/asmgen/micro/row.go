package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The functions of this file multiply a row with a matrix, dst += x·b, and read the matrix in the order of memory. The products of eight
// rows of b are added up and their sum is added to dst, so that the additions to dst, which wait for each other, are few; the rows that are
// left over are added one by one.

// rowParameters are those of the functions that keep dst in memory: groups of 8 or 1 rows of b, stride bytes apart, each of a number of
// whole vectors and, if the mask is not 0, an incomplete one.
const rowParameters = "(dst, x, b unsafe.Pointer, groups, vectors, stride uintptr, mask uint64, maskTable unsafe.Pointer)"

// panelParameters are those of the functions that keep dst in registers: panels of b that follow each other, as do the parts of dst, each of
// groups of 8 rows of b and then the rest, of a fixed number of vectors.
const panelParameters = "(dst, x, b unsafe.Pointer, groups, rest, stride, panels uintptr, mask uint64, maskTable unsafe.Pointer)"

// panel is a function that keeps dst in registers: a whole packed panel, or a matrix with fewer columns than a vector has lanes.
type panel struct {
	kernel
	narrow bool // one incomplete vector
}

func (p panel) name() string {
	name := "rowPanel"
	if p.narrow {
		name = "rowNarrow"
	}
	if p.wide {
		return name + "AVX512"
	}
	return name + "AVX2"
}

func panels() []panel {
	var all []panel
	for _, wide := range []bool{true, false} {
		vectors := 4
		if wide {
			vectors = 2
		}
		all = append(all, panel{kernel{wide: wide, vectors: vectors}, false}, panel{kernel{wide: wide, vectors: 1}, true})
	}
	return all
}

// rowStubs declares the functions of this file in Go.
func rowStubs() string {
	var s strings.Builder
	s.WriteString("\n//go:noinline\nfunc callRowProduct(wide, eight bool, dst, x, b unsafe.Pointer, groups, vectors, stride uintptr, mask uint64, maskTable unsafe.Pointer) {\n\tswitch {\n")
	for _, wide := range []bool{true, false} {
		for _, rows := range []int{8, 1} {
			condition := "eight"
			if wide {
				condition = "wide && eight"
			}
			switch {
			case rows == 1 && wide:
				condition = "wide"
			case rows == 1:
				s.WriteString("\tdefault:\n")
			}
			if wide || rows == 8 {
				fmt.Fprintf(&s, "\tcase %s:\n", condition)
			}
			fmt.Fprintf(&s, "\t\t%s(dst, x, b, groups, vectors, stride, mask, maskTable)\n", rowName(wide, rows))
		}
	}
	s.WriteString("\t}\n}\n")
	for _, wide := range []bool{true, false} {
		for _, rows := range []int{8, 1} {
			fmt.Fprintf(&s, "\n//go:noescape\nfunc %s%s\n", rowName(wide, rows), rowParameters)
		}
	}
	s.WriteString("\n//go:noinline\nfunc callRowPanel(wide, narrow bool, dst, x, b unsafe.Pointer, groups, rest, stride, panels uintptr, mask uint64, maskTable unsafe.Pointer) {\n\tswitch {\n")
	for i, p := range panels() {
		fmt.Fprintf(&s, "\t%s:\n\t\t%s(dst, x, b, groups, rest, stride, panels, mask, maskTable)\n", []string{"case wide && !narrow", "case wide", "case !narrow", "default"}[i], p.name())
	}
	s.WriteString("\t}\n}\n")
	for _, p := range panels() {
		fmt.Fprintf(&s, "\n//go:noescape\nfunc %s%s\n", p.name(), panelParameters)
	}
	return s.String()
}

func rowName(wide bool, rows int) string {
	if wide {
		return fmt.Sprintf("rowProduct%dAVX512", rows)
	}
	return fmt.Sprintf("rowProduct%dAVX2", rows)
}

func emitRowProducts() {
	for _, wide := range []bool{true, false} {
		for _, rows := range []int{8, 1} {
			emitRowProduct(kernel{wide: wide}, rows)
		}
	}
	for _, p := range panels() {
		p.emit()
	}
}

// text begins a function with the given parameters; it returns what loads them.
func text(name, parameters string) func(name string) reg.GPVirtual {
	TEXT(name, NOSPLIT, "func"+strings.ReplaceAll(parameters, "unsafe.Pointer", "uintptr"))
	return func(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
}

// masks loads the lanes of an incomplete vector and returns what loads such a vector and what stores it.
func (k kernel) masks(mask, table reg.GPVirtual) (load func(m Mem, v reg.VecVirtual), store func(v reg.VecVirtual, m Mem)) {
	if k.wide {
		bits := K()
		KMOVW(mask.As32(), bits)
		return func(m Mem, v reg.VecVirtual) { k.loadMasked512(m, bits, v) }, func(v reg.VecVirtual, m Mem) { VMOVUPS(v, bits, m) }
	}
	lanes := YMM()
	VMOVDQU(Mem{Base: table}, lanes)
	return func(m Mem, v reg.VecVirtual) { k.loadMasked256(m, lanes, v) }, func(v reg.VecVirtual, m Mem) { VMASKMOVPS(v, lanes, m) }
}

// eightRows addresses rows from low (0 to 3) and high (4 to 7), which are advanced together.
type eightRows struct{ low, high, stride, stride3 reg.GPVirtual }

func newEightRows(stride reg.GPVirtual) eightRows {
	r := eightRows{GP64(), GP64(), stride, GP64()}
	LEAQ(Mem{Base: stride}.Idx(stride, 2), r.stride3)
	return r
}

func (r eightRows) begin(b reg.GPVirtual) {
	MOVQ(b, r.low)
	LEAQ(Mem{Base: b}.Idx(r.stride, 4), r.high)
}

func (r eightRows) at(row, offset int) Mem {
	m := Mem{Base: r.low, Disp: offset}
	if row >= 4 {
		m.Base = r.high
	}
	switch row % 4 {
	case 1:
		return m.Idx(r.stride, 1)
	case 2:
		return m.Idx(r.stride, 2)
	case 3:
		return m.Idx(r.stride3, 1)
	}
	return m
}

func emitRowProduct(k kernel, rows int) {
	param := text(rowName(k.wide, rows), rowParameters)
	dst, x, b, groups, vectors, stride := param("dst"), param("x"), param("b"), param("groups"), param("vectors"), param("stride")
	mask := param("mask")
	load, store := k.masks(mask, param("maskTable"))
	address := newEightRows(stride)
	scalars := make([]reg.VecVirtual, rows)
	for i := range scalars {
		scalars[i] = k.vector()
	}
	d, n := GP64(), GP64()
	Label("group")
	for i, v := range scalars {
		VBROADCASTSS(Mem{Base: x, Disp: 4 * i}, v)
	}
	MOVQ(dst, d)
	address.begin(b)
	MOVQ(vectors, n)
	for _, unroll := range []int{4, 1} {
		top, end := fmt.Sprintf("columns%d", unroll), fmt.Sprintf("done%d", unroll)
		Label(top)
		CMPQ(n, U8(unroll))
		JB(LabelRef(end))
		sums := make([]reg.VecVirtual, unroll)
		for j := range sums {
			sums[j] = k.vector()
			if rows == 1 {
				VMOVUPS(Mem{Base: d, Disp: j * k.vectorBytes()}, sums[j])
			} else {
				VMULPS(address.at(0, j*k.vectorBytes()), scalars[0], sums[j])
			}
		}
		for r, v := range scalars {
			for j, s := range sums {
				if r > 0 || rows == 1 {
					VFMADD231PS(address.at(r, j*k.vectorBytes()), v, s)
				}
			}
		}
		for j, s := range sums {
			if rows > 1 {
				VADDPS(Mem{Base: d, Disp: j * k.vectorBytes()}, s, s)
			}
			VMOVUPS(s, Mem{Base: d, Disp: j * k.vectorBytes()})
		}
		for _, p := range []reg.GPVirtual{d, address.low, address.high} {
			ADDQ(U32(unroll*k.vectorBytes()), p)
		}
		SUBQ(U8(unroll), n)
		JMP(LabelRef(top))
		Label(end)
	}
	TESTQ(mask, mask)
	JE(LabelRef("whole"))
	old, sum, part := k.vector(), k.vector(), k.vector()
	load(Mem{Base: d}, old)
	for r, v := range scalars {
		load(address.at(r, 0), part)
		switch {
		case rows == 1:
			VFMADD231PS(part, v, old)
		case r == 0:
			VMULPS(part, v, sum)
		default:
			VFMADD231PS(part, v, sum)
		}
	}
	if rows > 1 {
		VADDPS(sum, old, old)
	}
	store(old, Mem{Base: d})
	Label("whole")
	ADDQ(U32(4*rows), x)
	if rows == 8 {
		LEAQ(Mem{Base: b}.Idx(stride, 8), b)
	} else {
		ADDQ(stride, b)
	}
	DECQ(groups)
	JNE(LabelRef("group"))
	VZEROUPPER()
	RET()
}

func (p panel) emit() {
	param := text(p.name(), panelParameters)
	dst, first, b, count, rest, stride, panels := param("dst"), param("x"), param("b"), param("groups"), param("rest"), param("stride"), param("panels")
	load, store := func(m Mem, v reg.VecVirtual) { VMOVUPS(m, v) }, func(v reg.VecVirtual, m Mem) { VMOVUPS(v, m) }
	if p.narrow {
		load, store = p.masks(param("mask"), param("maskTable"))
	}
	address := newEightRows(stride)
	x, n := GP64(), GP64()
	scalar := p.vector()
	sums, parts := make([]reg.VecVirtual, p.vectors), make([]reg.VecVirtual, p.vectors)
	// product adds row r to the given sums, or begins them.
	product := func(r int, to []reg.VecVirtual, begin bool) {
		VBROADCASTSS(Mem{Base: x, Disp: 4 * r}, scalar)
		for j, s := range to {
			var factor Op = address.at(r, j*p.vectorBytes())
			if p.narrow {
				v := p.vector()
				load(factor.(Mem), v)
				factor = v
			}
			if begin {
				VMULPS(factor, scalar, s)
			} else {
				VFMADD231PS(factor, scalar, s)
			}
		}
	}
	address.begin(b)
	Label("panel")
	for j := range sums {
		sums[j], parts[j] = p.vector(), p.vector()
		load(Mem{Base: dst, Disp: j * p.vectorBytes()}, sums[j])
	}
	MOVQ(first, x)
	MOVQ(count, n)
	TESTQ(n, n)
	JE(LabelRef("rows"))
	Label("group")
	for r := range 8 {
		product(r, parts, r == 0)
	}
	for j, s := range sums {
		VADDPS(parts[j], s, s)
	}
	LEAQ(Mem{Base: address.low}.Idx(stride, 8), address.low)
	LEAQ(Mem{Base: address.high}.Idx(stride, 8), address.high)
	ADDQ(U32(32), x)
	DECQ(n)
	JNE(LabelRef("group"))
	Label("rows")
	MOVQ(rest, n)
	TESTQ(n, n)
	JE(LabelRef("done"))
	Label("row")
	product(0, sums, false)
	ADDQ(stride, address.low)
	ADDQ(stride, address.high)
	ADDQ(U32(4), x)
	DECQ(n)
	JNE(LabelRef("row"))
	Label("done")
	for j, s := range sums {
		store(s, Mem{Base: dst, Disp: j * p.vectorBytes()})
	}
	ADDQ(U32(p.vectors*p.vectorBytes()), dst)
	DECQ(panels)
	JNE(LabelRef("panel"))
	VZEROUPPER()
	RET()
}
