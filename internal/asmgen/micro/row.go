package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowParameters are those of the functions of this file.
const rowParameters = "(dst, x, b unsafe.Pointer, groups, vectors, stride uintptr, mask uint64, maskTable unsafe.Pointer)"

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
	return s.String()
}

func rowName(wide bool, rows int) string {
	if wide {
		return fmt.Sprintf("rowProduct%dAVX512", rows)
	}
	return fmt.Sprintf("rowProduct%dAVX2", rows)
}

// emitRowProducts emits the products of one row with a matrix, dst += x·b, which read the matrix in the order of memory: groups of
// 8 or 1 rows of it, stride bytes apart, each of a number of whole vectors and, if the mask is not 0, an incomplete one.
func emitRowProducts() {
	for _, wide := range []bool{true, false} {
		for _, rows := range []int{8, 1} {
			emitRowProduct(kernel{wide: wide}, rows)
		}
	}
}

func emitRowProduct(k kernel, rows int) {
	TEXT(rowName(k.wide, rows), NOSPLIT, "func"+strings.ReplaceAll(rowParameters, "unsafe.Pointer", "uintptr"))
	param := func(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }
	dst, x, b, groups, vectors, stride := param("dst"), param("x"), param("b"), param("groups"), param("vectors"), param("stride")
	mask := param("mask")
	var bits reg.OpmaskVirtual
	var lanes reg.VecVirtual
	if k.wide {
		bits = K()
		KMOVW(mask.As32(), bits)
	} else {
		lanes = YMM()
		VMOVDQU(Mem{Base: param("maskTable")}, lanes)
	}
	stride3 := GP64()
	LEAQ(Mem{Base: stride}.Idx(stride, 2), stride3)
	scalars := make([]reg.VecVirtual, rows)
	for i := range scalars {
		scalars[i] = k.vector()
	}
	d, low, high, n := GP64(), GP64(), GP64(), GP64()
	at := func(r, offset int) Mem {
		m := Mem{Base: low, Disp: offset}
		if r >= 4 {
			m.Base = high
		}
		switch r % 4 {
		case 1:
			return m.Idx(stride, 1)
		case 2:
			return m.Idx(stride, 2)
		case 3:
			return m.Idx(stride3, 1)
		}
		return m
	}
	Label("group")
	for i, v := range scalars {
		VBROADCASTSS(Mem{Base: x, Disp: 4 * i}, v)
	}
	MOVQ(dst, d)
	MOVQ(b, low)
	LEAQ(Mem{Base: b}.Idx(stride, 4), high)
	MOVQ(vectors, n)
	for _, unroll := range []int{4, 1} {
		top, end := fmt.Sprintf("columns%d", unroll), fmt.Sprintf("done%d", unroll)
		Label(top)
		CMPQ(n, U8(unroll))
		JB(LabelRef(end))
		sums := make([]reg.VecVirtual, unroll)
		for j := range sums {
			sums[j] = k.vector()
			VMOVUPS(Mem{Base: d, Disp: j * k.vectorBytes()}, sums[j])
		}
		for r, v := range scalars {
			for j, s := range sums {
				VFMADD231PS(at(r, j*k.vectorBytes()), v, s)
			}
		}
		for j, s := range sums {
			VMOVUPS(s, Mem{Base: d, Disp: j * k.vectorBytes()})
		}
		for _, p := range []reg.GPVirtual{d, low, high} {
			ADDQ(U32(unroll*k.vectorBytes()), p)
		}
		SUBQ(U8(unroll), n)
		JMP(LabelRef(top))
		Label(end)
	}
	TESTQ(mask, mask)
	JE(LabelRef("whole"))
	sum, part := k.vector(), k.vector()
	load := func(m Mem, v reg.VecVirtual) {
		if k.wide {
			k.loadMasked512(m, bits, v)
		} else {
			k.loadMasked256(m, lanes, v)
		}
	}
	load(Mem{Base: d}, sum)
	for r, v := range scalars {
		load(at(r, 0), part)
		VFMADD231PS(part, v, sum)
	}
	if k.wide {
		VMOVUPS(sum, bits, Mem{Base: d})
	} else {
		VMASKMOVPS(sum, lanes, Mem{Base: d})
	}
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
