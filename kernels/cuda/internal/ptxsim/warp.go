package ptxsim

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// warpSize is the number of threads of a warp.
const warpSize = 32

// warpInstructions are those that all threads of a warp execute together: each lane provides operands and receives
// results. Registers are named as in NVIDIA's manual, "PTX ISA", section on warp-level matrix instructions.
var warpInstructions = map[string]func(w []thread, in *instruction) error{}

// halves are the conversions from the 16-bit floats that tensor cores multiply.
var halves = map[string]func(uint64) float64{
	"bf16": func(x uint64) float64 { return float64(f32(x & 0xffff << 16)) },
	"f16":  func(x uint64) float64 { return float64(ir.Float16ToFloat32(uint16(x))) },
}

func init() {
	for typ, widen := range halves {
		warpInstructions["mma.sync.aligned.m16n8k16.row.col.f32."+typ+"."+typ+".f32"] = func(w []thread, in *instruction) error {
			multiply(w, in, 16, 2, widen)
			return nil
		}
	}
	warpInstructions["mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"] = func(w []thread, in *instruction) error {
		multiply(w, in, 8, 1, func(x uint64) float64 { return float64(f32(x &^ 0x1fff)) }) // only the upper 10 bits of the mantissa are read
		return nil
	}
	warpInstructions["ldmatrix.sync.aligned.m8n8.x4.shared.b16"] = func(w []thread, in *instruction) error { return loadMatrices(w, in, false) }
	warpInstructions["ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"] = func(w []thread, in *instruction) error { return loadMatrices(w, in, true) }
	warpInstructions["shfl.sync.bfly.b32"] = shuffle(func(lane, mask int) int { return lane ^ mask })
	warpInstructions["shfl.sync.idx.b32"] = shuffle(func(_, from int) int { return from })
}

// meet executes the instruction that all threads of a warp have reached.
func (k *Kernel) meet(w []thread) error {
	pc, here := int32(-1), 0
	for i := range w {
		if w[i].state == meeting && k.code[w[i].pc-1].group == nil {
			pc = w[i].pc
			here++
		}
	}
	if here == 0 {
		return nil
	}
	in := &k.code[pc-1]
	for i := range w {
		if w[i].state != meeting || w[i].pc != pc {
			return fmt.Errorf("thread %d is not with its warp at line %d, %q", w[i].id, in.line, in.text)
		}
	}
	if len(w) != warpSize {
		return fmt.Errorf("line %d, %q: the warp has %d threads, and the instruction needs %d", in.line, in.text, len(w), warpSize)
	}
	if err := in.warp(w, in); err != nil {
		return fmt.Errorf("line %d, %q: %w", in.line, in.text, err)
	}
	for i := range w {
		if w[i].err != nil {
			return fmt.Errorf("thread %d, line %d, %q: %w", w[i].id, in.line, in.text, w[i].err)
		}
		w[i].state = running
	}
	return nil
}

// fragment is where a warp holds an element of a matrix: the lane, the register's number, and the element within the
// register.
type fragment struct{ lane, register, part int }

// fragmentA is where element (row, column) of A is. A has 16 rows, and as many columns as fill two of B's registers;
// each register of a lane holds per adjacent elements of a row.
func fragmentA(row, column, per int) fragment {
	width := 4 * per // columns of one register, over the lanes of a group
	return fragment{lane: row%8*4 + column%width/per, register: row/8 + column/width*2, part: column % per}
}

// fragmentB is where element (row, column) of B is. B has 8 columns.
func fragmentB(row, column, per int) fragment {
	width := 4 * per
	return fragment{lane: column*4 + row%width/per, register: row / width, part: row % per}
}

// fragmentC is where element (row, column) of C and of the result is. They have 16 rows of 8 columns.
func fragmentC(row, column int) fragment {
	return fragment{lane: row%8*4 + column/2, register: row/8*2 + column%2}
}

// multiply computes D = A·B + C, where A has 16 rows and B has 8 columns. NVIDIA promises neither the order nor the
// precision of hardware's sums; here they are rounded once.
func multiply(w []thread, in *instruction, depth, per int, widen func(uint64) float64) {
	const firstA, firstB, firstC = 4, 8, 10
	element := func(f fragment, first int) float64 {
		return widen(w[f.lane].regs[in.list[first+f.register]] >> (f.part * 16))
	}
	var a [16][16]float64
	var b [16][8]float64
	for k := range depth {
		for m := range 16 {
			a[m][k] = element(fragmentA(m, k, per), firstA)
		}
		for n := range 8 {
			b[k][n] = element(fragmentB(k, n, per), firstB)
		}
	}
	for m := range 16 {
		for n := range 8 {
			f := fragmentC(m, n)
			sum := float64(f32(w[f.lane].regs[in.list[firstC+f.register]]))
			for k := range depth {
				sum += a[m][k] * b[k][n]
			}
			w[f.lane].regs[in.list[f.register]] = bits32(float32(sum))
		}
	}
}

// loadMatrices reads four matrices of 8 by 8 16-bit elements. Lanes 8i to 8i+7 hold the addresses of the rows of matrix
// i; each lane receives two adjacent elements of a row, or of a column.
func loadMatrices(w []thread, in *instruction, transposed bool) error {
	var rows [warpSize][]byte
	for i := range w {
		if rows[i] = w[i].local(w[i].regs[in.list[4]]+uint64(in.offset), 16, false); rows[i] == nil {
			return w[i].err
		}
	}
	for lane := range w {
		for matrix := range 4 {
			var x uint32
			for part := range 2 {
				row, column := lane/4, lane%4*2+part
				if transposed {
					row, column = column, row
				}
				x |= uint32(binary.LittleEndian.Uint16(rows[matrix*8+row][2*column:])) << (16 * part)
			}
			w[lane].regs[in.list[matrix]] = uint64(x)
		}
	}
	return nil
}

// shuffle gives each lane another lane's operand; source computes which lane's.
func shuffle(source func(lane, operand int) int) func(w []thread, in *instruction) error {
	const result, operand, which, clamp, members = 0, 1, 2, 3, 4
	return func(w []thread, in *instruction) error {
		var given [warpSize]uint64
		for i := range w {
			if r := w[i].regs; r[in.list[clamp]] != warpSize-1 || uint32(r[in.list[members]]) != math.MaxUint32 {
				return fmt.Errorf("only shuffles among all lanes of a warp are known here")
			}
			given[i] = w[i].regs[in.list[operand]]
		}
		for i := range w {
			w[i].regs[in.list[result]] = given[source(i, int(w[i].regs[in.list[which]]&(warpSize-1)))]
		}
		return nil
	}
}
