package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func (k kernel) zero(v reg.VecVirtual) {
	switch {
	case k.wide:
		VPXORD(v, v, v)
	default:
		VXORPS(v, v, v)
	}
}

func (k kernel) load(m Mem, v reg.VecVirtual) {
	if k.double {
		VMOVUPD(m, v)
	} else {
		VMOVUPS(m, v)
	}
}

func (k kernel) loadMasked512(m Mem, mask reg.OpmaskVirtual, v reg.VecVirtual) {
	if k.double {
		VMOVUPD_Z(m, mask, v)
	} else {
		VMOVUPS_Z(m, mask, v)
	}
}

func (k kernel) loadMasked256(m Mem, mask, v reg.VecVirtual) {
	if k.double {
		VMASKMOVPD(m, mask, v)
	} else {
		VMASKMOVPS(m, mask, v)
	}
}

func (k kernel) multiplyAdd(a Op, b, sum reg.VecVirtual) {
	if k.double {
		VFMADD231PD(a, b, sum)
	} else {
		VFMADD231PS(a, b, sum)
	}
}

func (k kernel) add(a, to reg.VecVirtual) {
	if k.double {
		VADDPD(a, to, to)
	} else {
		VADDPS(a, to, to)
	}
}

// max stores max(zero, v) in v: for NaN the instruction returns its last source, which is v.
func (k kernel) max(v, zero reg.VecVirtual) {
	if k.double {
		VMAXPD(v, zero, v)
	} else {
		VMAXPS(v, zero, v)
	}
}
