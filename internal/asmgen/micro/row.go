package main

import (
	"fmt"
	"strings"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// The functions of this file multiply a row with a matrix, dst += x·b, and read the matrix in memory order. The
// products of eight rows of b are summed before they are added to dst, so that there are few additions to dst, which
// depend on each other; remaining rows are added one by one.

// rowParameters are those of the functions that keep dst in memory. They process groups of 8 or 1 rows of b, stride
// bytes apart, each with a number of whole vectors and, if the mask is not 0, a partial one.
const rowParameters = "(dst, x, b unsafe.Pointer, groups, vectors, stride uintptr, mask uint64, maskTable unsafe.Pointer)"

// panelParameters are those of the functions that keep dst in registers. They process contiguous panels of b, and
// contiguous parts of dst; a panel has groups of 8 rows of b, then the remaining rows, with a fixed number of vectors.
const panelParameters = "(dst, x, b unsafe.Pointer, groups, rest, stride, panels uintptr, mask uint64, maskTable unsafe.Pointer)"

// panel is a function that keeps dst in registers: for a whole packed panel, or for a matrix with fewer columns than a
// vector has lanes.
type panel struct {
	kernel
	narrow bool   // a single partial vector
	half   string // the type of 16-bit numbers, F16 or BF16, which are widened in registers; "" for none
}

func (p panel) name() string {
	name := "rowPanel" + p.half
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
		all = append(all, panel{kernel{wide: wide, vectors: vectors}, false, ""}, panel{kernel{wide: wide, vectors: 1}, true, ""})
	}
	return all
}

func halfPanels() []panel {
	var all []panel
	for _, half := range []string{"F16", "BF16"} {
		all = append(all, panel{kernel{wide: true, vectors: 2}, false, half}, panel{kernel{wide: false, vectors: 4}, false, half})
	}
	return all
}

// rowStubs returns the Go declarations of this file's functions.
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
	s.WriteString("\n//go:noinline\nfunc callRowPanelHalf(wide, bfloat bool, dst, x, b unsafe.Pointer, groups, rest, stride, panels uintptr, mask uint64, maskTable unsafe.Pointer) {\n\tswitch {\n")
	for i, p := range halfPanels() {
		fmt.Fprintf(&s, "\t%s:\n\t\t%s(dst, x, b, groups, rest, stride, panels, mask, maskTable)\n", []string{"case wide && !bfloat", "case !bfloat", "case wide", "default"}[i], p.name())
	}
	s.WriteString("\t}\n}\n")
	for _, p := range append(panels(), halfPanels()...) {
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
	for _, p := range append(panels(), halfPanels()...) {
		p.emit()
	}
}

// text begins a function with the given parameters; it returns a function that loads a parameter.
func text(wide bool, name, parameters string) func(name string) Scalar {
	begin(wide, name, strings.Trim(parameters, "()"))
	return func(name string) Scalar { return Parameter(name) }
}

// masks loads the mask of a partial vector and returns functions that load and store such a vector.
func (k kernel) masks(mask, table Scalar) (load func(m Memory, v Vector), store func(v Vector, m Memory)) {
	if k.wide {
		bits := MaskBits(mask)
		return func(m Memory, v Vector) { LoadWhere(v, bits, m) }, func(v Vector, m Memory) { StoreWhere(m, bits, v) }
	}
	lanes := MaskTable(Memory{Base: table})
	return func(m Memory, v Vector) { LoadWhere(v, lanes, m) }, func(v Vector, m Memory) { StoreWhere(m, lanes, v) }
}

// eightRows addresses rows from low (0 to 3) and high (4 to 7), which advance together.
type eightRows struct{ low, high, stride, stride3 Scalar }

func newEightRows(stride Scalar) eightRows {
	r := eightRows{NewScalar(), NewScalar(), stride, NewScalar()}
	Address(r.stride3, Memory{Base: stride}.Indexed(stride, 2))
	return r
}

func (r eightRows) begin(b Scalar) {
	Assign(r.low, b)
	Address(r.high, Memory{Base: b}.Indexed(r.stride, 4))
}

func (r eightRows) at(row, offset int) Memory {
	m := Memory{Base: r.low, Offset: offset}
	if row >= 4 {
		m.Base = r.high
	}
	switch row % 4 {
	case 1:
		return m.Indexed(r.stride, 1)
	case 2:
		return m.Indexed(r.stride, 2)
	case 3:
		return m.Indexed(r.stride3, 1)
	}
	return m
}

func emitRowProduct(k kernel, rows int) {
	param := text(k.wide, rowName(k.wide, rows), rowParameters)
	dst, x, b, groups, vectors, stride := param("dst"), param("x"), param("b"), param("groups"), param("vectors"), param("stride")
	mask := param("mask")
	load, store := k.masks(mask, param("maskTable"))
	address := newEightRows(stride)
	scalars := make([]Vector, rows)
	for i := range scalars {
		scalars[i] = k.vector()
	}
	d, n := NewScalar(), NewScalar()
	Label("group")
	for i, v := range scalars {
		Broadcast(v, Memory{Base: x, Offset: 4 * i})
	}
	Assign(d, dst)
	address.begin(b)
	Assign(n, vectors)
	for _, unroll := range []int{4, 1} {
		top, end := fmt.Sprintf("columns%d", unroll), fmt.Sprintf("done%d", unroll)
		Label(top)
		JumpBelow(n, Number(unroll), end)
		sums := make([]Vector, unroll)
		for j := range sums {
			sums[j] = k.vector()
			if rows == 1 {
				Load(sums[j], Memory{Base: d, Offset: j * k.vectorBytes()})
			} else {
				Multiply(sums[j], scalars[0], address.at(0, j*k.vectorBytes()))
			}
		}
		for r, v := range scalars {
			for j, s := range sums {
				if r > 0 || rows == 1 {
					AddProduct(s, v, address.at(r, j*k.vectorBytes()))
				}
			}
		}
		for j, s := range sums {
			if rows > 1 {
				Add(s, s, Memory{Base: d, Offset: j * k.vectorBytes()})
			}
			Store(Memory{Base: d, Offset: j * k.vectorBytes()}, s)
		}
		for _, p := range []Scalar{d, address.low, address.high} {
			Increase(p, Number(unroll*k.vectorBytes()))
		}
		Decrease(n, Number(unroll))
		Jump(top)
		Label(end)
	}
	JumpZero(mask, "whole")
	old, sum, part := k.vector(), k.vector(), k.vector()
	load(Memory{Base: d}, old)
	for r, v := range scalars {
		load(address.at(r, 0), part)
		switch {
		case rows == 1:
			AddProduct(old, v, part)
		case r == 0:
			Multiply(sum, v, part)
		default:
			AddProduct(sum, v, part)
		}
	}
	if rows > 1 {
		Add(old, old, sum)
	}
	store(old, Memory{Base: d})
	Label("whole")
	Increase(x, Number(4*rows))
	if rows == 8 {
		Address(b, Memory{Base: b}.Indexed(stride, 8))
	} else {
		Increase(b, stride)
	}
	Countdown(groups, 1, "group")
	End()
}

// widened loads a vector of 16-bit numbers and widens it to float32.
func (p panel) widened(from Memory) Vector {
	v := p.vector()
	if p.half == "F16" {
		LoadFloat16(v, from)
	} else {
		WidenWords(v, from)
		ShiftLeft(v, v, 16)
	}
	return v
}

func (p panel) emit() {
	param := text(p.wide, p.name(), panelParameters)
	dst, first, b, count, rest, stride, panels := param("dst"), param("x"), param("b"), param("groups"), param("rest"), param("stride"), param("panels")
	load, store := func(m Memory, v Vector) { Load(v, m) }, func(v Vector, m Memory) { Store(m, v) }
	if p.narrow {
		load, store = p.masks(param("mask"), param("maskTable"))
	}
	address := newEightRows(stride)
	x, n := NewScalar(), NewScalar()
	scalar := p.vector()
	sums, parts := make([]Vector, p.vectors), make([]Vector, p.vectors)
	// product adds row r to the given sums, or starts them.
	product := func(r int, to []Vector, begin bool) {
		Broadcast(scalar, Memory{Base: x, Offset: 4 * r})
		for j, s := range to {
			var factor Operand = address.at(r, j*p.vectorBytes())
			switch {
			case p.half != "":
				factor = p.widened(address.at(r, j*p.vectorBytes()/2))
			case p.narrow:
				v := p.vector()
				load(factor.(Memory), v)
				factor = v
			}
			if begin {
				Multiply(s, scalar, factor)
			} else {
				AddProduct(s, scalar, factor)
			}
		}
	}
	address.begin(b)
	Label("panel")
	for j := range sums {
		sums[j], parts[j] = p.vector(), p.vector()
		load(Memory{Base: dst, Offset: j * p.vectorBytes()}, sums[j])
	}
	Assign(x, first)
	Assign(n, count)
	JumpZero(n, "rows")
	Label("group")
	for r := range 8 {
		product(r, parts, r == 0)
	}
	for j, s := range sums {
		Add(s, s, parts[j])
	}
	Address(address.low, Memory{Base: address.low}.Indexed(stride, 8))
	Address(address.high, Memory{Base: address.high}.Indexed(stride, 8))
	Increase(x, Number(32))
	Countdown(n, 1, "group")
	Label("rows")
	Assign(n, rest)
	JumpZero(n, "done")
	Label("row")
	product(0, sums, false)
	Increase(address.low, stride)
	Increase(address.high, stride)
	Increase(x, Number(4))
	Countdown(n, 1, "row")
	Label("done")
	for j, s := range sums {
		store(s, Memory{Base: dst, Offset: j * p.vectorBytes()})
	}
	Increase(dst, Number(p.vectors*p.vectorBytes()))
	Countdown(panels, 1, "panel")
	End()
}
