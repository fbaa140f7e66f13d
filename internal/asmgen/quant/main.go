// Command quant writes the assembly of package kernels/cpu/internal/quant: products of rows of int8 with one panel of 64 columns.
package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const signature = "func(c, x, w, groups, ldc, ldx uintptr)"

func main() {
	ConstraintExpr("amd64")
	for _, rows := range []int{1, 2, 4, 6} {
		vnni(rows)
	}
	avx2()
	Generate()
}

// vnni adds the products of rows of x with the panel w to rows of c: 64 columns in four registers a row. VPDPBUSD multiplies bytes without a sign (the
// weights plus 128) by bytes with one and adds four products to each number.
func vnni(rows int) {
	TEXT(fmt.Sprintf("rows%dVNNI", rows), NOSPLIT, signature)
	Doc(fmt.Sprintf("rows%dVNNI adds %d rows of x times a panel to c.", rows, rows))
	c, x, w, groups := Load(Param("c"), GP64()), Load(Param("x"), GP64()), Load(Param("w"), GP64()), Load(Param("groups"), GP64())
	ldc, ldx := Load(Param("ldc"), GP64()), Load(Param("ldx"), GP64())
	x3 := GP64()
	if rows > 3 {
		LEAQ(Mem{Base: x, Index: ldx, Scale: 2}, x3)
		ADDQ(ldx, x3)
	}
	row := GP64()
	MOVQ(c, row)
	acc := make([][4]reg.VecVirtual, rows)
	for r := range acc {
		for v := range acc[r] {
			acc[r][v] = ZMM()
			VMOVDQU32(Mem{Base: row, Disp: 64 * v}, acc[r][v])
		}
		if r+1 < rows {
			ADDQ(ldc, row)
		}
	}
	at := func(r int) Mem {
		base := x
		if r >= 3 {
			base, r = x3, r-3
		}
		if r == 0 {
			return Mem{Base: base}
		}
		return Mem{Base: base, Index: ldx, Scale: uint8(r)}
	}
	weights, one := [4]reg.VecVirtual{ZMM(), ZMM(), ZMM(), ZMM()}, ZMM()
	Label("loop")
	for v := range weights {
		VMOVDQU32(Mem{Base: w, Disp: 64 * v}, weights[v])
	}
	for r := range acc {
		VPBROADCASTD(at(r), one)
		for v := range weights {
			VPDPBUSD(one, weights[v], acc[r][v])
		}
	}
	ADDQ(U32(256), w)
	ADDQ(Imm(4), x)
	if rows > 3 {
		ADDQ(Imm(4), x3)
	}
	DECQ(groups)
	JNE(LabelRef("loop"))
	for r := range acc {
		for v := range acc[r] {
			VMOVDQU32(acc[r][v], Mem{Base: c, Disp: 64 * v})
		}
		if r+1 < rows {
			ADDQ(ldc, c)
		}
	}
	VZEROUPPER()
	RET()
}

// avx2 does so for one row, widened to 16 bits so that no sum of two products overflows: the even bytes of the weights and the odd ones times the even
// and the odd numbers of x, which the caller has widened and put side by side.
func avx2() {
	TEXT("rowAVX2", NOSPLIT, "func(c, x, w, groups uintptr)")
	Doc("rowAVX2 adds a row of x times a panel to c.")
	c, x, w, groups := Load(Param("c"), GP64()), Load(Param("x"), GP64()), Load(Param("w"), GP64()), Load(Param("groups"), GP64())
	var acc [8]reg.VecVirtual
	for v := range acc {
		acc[v] = YMM()
		VMOVDQU(Mem{Base: c, Disp: 32 * v}, acc[v])
	}
	low, even, odd, a, b := YMM(), YMM(), YMM(), YMM(), YMM()
	VPCMPEQW(low, low, low)
	VPSRLW(Imm(8), low, low)
	Label("loop")
	VPBROADCASTD(Mem{Base: x}, even)
	VPBROADCASTD(Mem{Base: x, Disp: 4}, odd)
	for v := range acc {
		VMOVDQU(Mem{Base: w, Disp: 32 * v}, a)
		VPSRLW(Imm(8), a, b)
		VPAND(low, a, a)
		VPMADDWD(even, a, a)
		VPMADDWD(odd, b, b)
		VPADDD(a, acc[v], acc[v])
		VPADDD(b, acc[v], acc[v])
	}
	ADDQ(U32(256), w)
	ADDQ(Imm(8), x)
	DECQ(groups)
	JNE(LabelRef("loop"))
	for v := range acc {
		VMOVDQU(acc[v], Mem{Base: c, Disp: 32 * v})
	}
	VZEROUPPER()
	RET()
}
