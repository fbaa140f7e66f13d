package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// start returns the sums, which begin with the bias or with 0.
func (k kernel) start(arg func(int) Mem, mask reg.OpmaskVirtual) [][]reg.VecVirtual {
	sums := make([][]reg.VecVirtual, k.rows)
	for r := range sums {
		for range k.vectors {
			sums[r] = append(sums[r], k.vector())
		}
	}
	bias := GP64()
	MOVQ(arg(argBias), bias)
	TESTQ(bias, bias)
	JE(LabelRef("noBias"))
	for i, v := range sums[0] {
		m := Mem{Base: bias, Disp: i * k.vectorBytes()}
		switch {
		case i < k.vectors-1:
			k.load(m, v)
		case k.wide:
			k.loadMasked512(m, mask, v)
		default:
			table, lanes := GP64(), YMM()
			MOVQ(arg(argMaskTable), table)
			VMOVDQU(Mem{Base: table}, lanes)
			k.loadMasked256(m, lanes, v)
		}
	}
	for _, row := range sums[1:] {
		for i, v := range row {
			VMOVAPS(sums[0][i], v)
		}
	}
	JMP(LabelRef("started"))
	Label("noBias")
	for _, row := range sums {
		for _, v := range row {
			k.zero(v)
		}
	}
	Label("started")
	return sums
}

// epilogue adds C, applies relu and stores. AVX-512 always masks the last vector; AVX2, where masked stores are slow, has a path
// of its own for it.
func (k kernel) epilogue(sums [][]reg.VecVirtual, arg func(int) Mem, runC Mem, mask reg.OpmaskVirtual) {
	if k.wide {
		k.finish(sums, arg, runC, "", mask, nil)
		return
	}
	flags := GP64()
	MOVQ(arg(argFlags), flags)
	TESTQ(U32(flagMasked), flags)
	JNE(LabelRef("masked"))
	k.finish(sums, arg, runC, "", nil, nil)
	JMP(LabelRef("stored"))
	Label("masked")
	table, lanes := GP64(), YMM()
	MOVQ(arg(argMaskTable), table)
	VMOVDQU(Mem{Base: table}, lanes)
	k.finish(sums, arg, runC, "Masked", nil, lanes)
	Label("stored")
}

func (k kernel) finish(sums [][]reg.VecVirtual, arg func(int) Mem, runC Mem, suffix string, bits reg.OpmaskVirtual, lanes reg.VecVirtual) {
	flags, c, row := GP64(), GP64(), GP64()
	MOVQ(arg(argFlags), flags)
	MOVQ(arg(argCRow), row)
	TESTQ(U32(flagAccumulate), flags)
	JE(LabelRef("overwrite" + suffix))
	MOVQ(runC, c)
	k.eachVector(sums, c, row, func(m Mem, v reg.VecVirtual, last bool) {
		old := k.vector()
		switch {
		case last && bits != nil:
			k.loadMasked512(m, bits, old)
		case last && lanes != nil:
			k.loadMasked256(m, lanes, old)
		default:
			k.load(m, old)
		}
		k.add(old, v)
	})
	Label("overwrite" + suffix)
	TESTQ(U32(flagReLU), flags)
	JE(LabelRef("linear" + suffix))
	zero := k.vector()
	k.zero(zero)
	for r := range sums {
		for _, v := range sums[r] {
			k.max(v, zero)
		}
	}
	Label("linear" + suffix)
	MOVQ(runC, c)
	k.eachVector(sums, c, row, func(m Mem, v reg.VecVirtual, last bool) {
		switch {
		case last && bits != nil && k.double:
			VMOVUPD(v, bits, m)
		case last && bits != nil:
			VMOVUPS(v, bits, m)
		case last && lanes != nil && k.double:
			VMASKMOVPD(v, lanes, m)
		case last && lanes != nil:
			VMASKMOVPS(v, lanes, m)
		case k.double:
			VMOVUPD(v, m)
		default:
			VMOVUPS(v, m)
		}
	})
}

// eachVector visits the sums with their places in C; it advances c.
func (k kernel) eachVector(sums [][]reg.VecVirtual, c, row reg.GPVirtual, visit func(m Mem, v reg.VecVirtual, last bool)) {
	for r := range sums {
		for i, v := range sums[r] {
			visit(Mem{Base: c, Disp: i * k.vectorBytes()}, v, i == k.vectors-1)
		}
		if r < len(sums)-1 {
			ADDQ(row, c)
		}
	}
}
