package quant

import (
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
)

// ByRow reports whether a product of m rows with a matrix of eight bits is computed by [RunRow]: where no instruction
// adds products of bytes, and panels of floats would be used only once.
func ByRow(m, k int, bytes bool) bool { return m == 1 && k > 0 && bytes && active() == familyAVX2 }

// RowScratch returns the size of the scratch memory of [RunRow].
func RowScratch(k, block int) int {
	_, _, all := nibbleShape(k, block)
	return 4*group*all + line
}

// RunRow computes a product of one row with a matrix of Unsigned Bytes, which become floats in registers. It needs
// RowScratch bytes of scratch memory.
func RunRow(p *pool.Pool, a *NibbleArgs) {
	if a.N <= 0 {
		return
	}
	rows, blocks, all := nibbleShape(a.K, a.Block)
	memory := a.Scratch[-uintptr(unsafe.Pointer(&a.Scratch[0]))%4:]
	x := unsafe.Slice((*float32)(unsafe.Pointer(&memory[0])), all*group)
	for block := range blocks { // each begins with a new group
		to := x[block*groups(rows)*group:]
		from := a.A[block*rows : min((block+1)*rows, a.K)]
		clear(to[copy(to, from) : groups(len(from))*group])
	}
	a.padded = x
	p.Parallel((a.N+Width-1)/Width, max(1, 1<<16/(a.K*Width)), (*rowPanels)(a))
	if a.ReLU {
		(*nibbleRelu)(a).Run(0, 0, 1)
	}
	a.A, a.B, a.Scale, a.Zero, a.C, a.Scratch, a.Bias, a.padded = nil, nil, nil, nil, nil, nil, nil, nil
}

// rowPanels computes panels of one row.
type rowPanels NibbleArgs

// Run computes the panels [lo, hi).
func (r *rowPanels) Run(_, lo, hi int) {
	a := (*NibbleArgs)(r)
	rows, blocks, all := nibbleShape(a.K, a.Block)
	var y [Width]float32
	var own ownScales
	for panel := lo; panel < hi; panel++ {
		columns := min(Width, a.N-panel*Width)
		c := a.C[panel*Width:][:columns]
		a.begin(y[:columns], panel)
		if a.Accumulate {
			for j, v := range c {
				y[j] += v
			}
		}
		for block := range blocks {
			s, z := a.scales(block, panel, &own)
			first := block * groups(rows) * group
			bytesRowOf(y[:], a.padded[first:], a.B[(panel*all*group+first)*Width:], s, z, a.excess(), groups(min(rows, a.K-block*rows)))
		}
		copy(c, y[:])
	}
}
