package ptxsim_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// launch runs a kernel of one or more warps on memory with the given words, and returns their new values. %d1 is their
// address, %r1 the thread's number and %r2 the address of its 64 bytes.
func launch(t *testing.T, body string, words []uint32, threads int, order ptxsim.Order) ([]uint32, error) {
	t.Helper()
	m, err := ptxsim.Parse(`.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 param_0)
{
	.reg .pred %p<4>;
	.reg .b32 %r<30>;
	.reg .b64 %d<9>;
	.reg .f32 %f<9>;
	.shared .align 16 .b8 shared_memory[2048];
	ld.param.u64 %d1, [param_0];
	mov.u32 %r1, %tid.x;
	mad.wide.u32 %d2, %r1, 64, %d1;
` + body + "\n\tret;\n}\n")
	require.NoError(t, err)
	var memory ptxsim.Memory
	x := memory.Alloc(4 * len(words))
	for i, w := range words {
		binary.LittleEndian.PutUint32(memory.At(x)[4*i:], w)
	}
	err = m.Kernels["k"].Run(ptxsim.Launch{Grid: [3]int{1, 1, 1}, Block: threads, Args: []uint64{x}, Memory: &memory, Order: order})
	out := make([]uint32, len(words))
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(memory.At(x)[4*i:])
	}
	return out, err
}

// product returns a kernel in which each lane reads registers of A, B and C, and writes those of the result in place of
// C.
func product(instruction string) string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "\tld.global.b32 %%r%d, [%%d2+%d];\n", 10+i, 4*i)
	}
	fmt.Fprintf(&b, "\t%s {%%r20, %%r21, %%r22, %%r23}, {%%r10, %%r11, %%r12, %%r13}, {%%r14, %%r15}, {%%r16, %%r17, %%r18, %%r19};\n", instruction)
	for i := range 4 {
		fmt.Fprintf(&b, "\tst.global.b32 [%%d2+%d], %%r%d;\n", 24+4*i, 20+i)
	}
	return b.String()
}

// Fragments are laid out as in the tables of "PTX ISA": element i of a lane's fragment, counted over its registers, is
// in the row and column that the manual's formulas give for %laneid.
func TestFragments(t *testing.T) {
	half := func(i, group, thread int) (rowA, columnA int) {
		rowA, columnA = group+8, thread*2+i&1
		if 0 <= i && i < 2 || 4 <= i && i < 6 {
			rowA = group
		}
		if i >= 4 {
			columnA += 8
		}
		return rowA, columnA
	}
	halfB := func(i, _, thread int) (rowB int) {
		if i >= 2 {
			return thread*2 + i&1 + 8
		}
		return thread*2 + i&1
	}
	tf32 := func(i, group, thread int) (rowA, columnA int) {
		rowA, columnA = group, thread
		if i == 1 || i == 3 {
			rowA += 8
		}
		if i == 2 || i == 3 {
			columnA += 4
		}
		return rowA, columnA
	}
	tf32B := func(i, _, thread int) int { return thread + 4*i }
	for name, c := range map[string]struct {
		depth, per int
		a          func(i, group, thread int) (int, int)
		b          func(i, group, thread int) int
		bits       func(x float32) uint32
	}{
		"m16n8k16.row.col.f32.bf16.bf16.f32": {16, 2, half, halfB, func(x float32) uint32 { return math.Float32bits(x) >> 16 }},
		"m16n8k16.row.col.f32.f16.f16.f32":   {16, 2, half, halfB, func(x float32) uint32 { return uint32(ir.Float16FromFloat32(x)) }},
		"m16n8k8.row.col.f32.tf32.tf32.f32":  {8, 1, tf32, tf32B, math.Float32bits},
	} {
		t.Run(name, func(t *testing.T) {
			var a, b, sum [16][16]float32
			number := func() float32 { return float32(rand.IntN(17) - 8) }
			for i := range 16 {
				for j := range 16 {
					a[i][j], b[i][j], sum[i][j] = number(), number(), number()
				}
			}
			words := make([]uint32, 32*16)
			for lane := range 32 {
				group, thread := lane>>2, lane%4
				own := words[16*lane:]
				for i := range 4 * c.per {
					row, column := c.a(i, group, thread)
					own[i/c.per] |= c.bits(a[row][column]) << (16 * (i % c.per))
				}
				for i := range 2 * c.per {
					own[4+i/c.per] |= c.bits(b[c.b(i, group, thread)][group]) << (16 * (i % c.per))
				}
				for i := range 4 {
					own[6+i] = math.Float32bits(sum[group+i/2*8][thread*2+i&1])
				}
			}
			got, err := launch(t, product("mma.sync.aligned."+name), words, 32, ptxsim.Shuffled)
			require.NoError(t, err)
			for lane := range 32 {
				for i := range 4 {
					row, column := lane>>2+i/2*8, lane%4*2+i&1
					want := sum[row][column]
					for k := range c.depth {
						want += a[row][k] * b[k][column]
					}
					require.Equal(t, want, math.Float32frombits(got[16*lane+6+i]), "row %d, column %d", row, column)
				}
			}
		})
	}
}

// TF32 products read 10 bits of each mantissa; cvt.rna rounds to 10 bits.
func TestTF32(t *testing.T) {
	words := make([]uint32, 32*16)
	for lane := range 32 {
		words[16*lane] = math.Float32bits(1 + 1.0/4096 + 1.0/1024)
	}
	got, err := launch(t, "\tld.global.f32 %f1, [%d2];\n\tcvt.rna.tf32.f32 %r3, %f1;\n\tst.global.b32 [%d2+4], %r3;\n", words, 32, ptxsim.Up)
	require.NoError(t, err)
	assert.Equal(t, float32(1+1.0/1024), math.Float32frombits(got[1]))
	for lane := range 32 {
		words[16*lane] = math.Float32bits(1 + 1.0/2048)
	}
	got, err = launch(t, "\tld.global.f32 %f1, [%d2];\n\tcvt.rna.tf32.f32 %r3, %f1;\n\tst.global.b32 [%d2+4], %r3;\n", words, 32, ptxsim.Up)
	require.NoError(t, err)
	assert.Equal(t, float32(1+1.0/1024), math.Float32frombits(got[1]), "halves go away from zero")
}

// ldmatrix gives lane l elements 2(l%4) and 2(l%4)+1 of row l/4 of each matrix, or of column l/4 if transposed.
func TestLoadMatrices(t *testing.T) {
	for name, transposed := range map[string]bool{"": false, ".trans": true} {
		words := make([]uint32, 32*16)
		for lane := range 32 { // each lane writes a row of 16 bytes: element e of row r of matrix m is 256m+16r+e
			for e := range 8 {
				x := uint32(lane/8*256 + lane%8*16 + e)
				words[16*lane+e/2] |= x << (16 * (e % 2))
			}
		}
		var body strings.Builder
		body.WriteString("\tmov.u32 %r3, shared_memory;\n\tmad.lo.s32 %r4, %r1, 48, %r3;\n") // rows need not be adjacent
		for i := range 4 {
			fmt.Fprintf(&body, "\tld.global.b32 %%r5, [%%d2+%d];\n\tst.shared.b32 [%%r4+%d], %%r5;\n", 4*i, 16+4*i)
		}
		body.WriteString("\tbar.sync 0;\n\tldmatrix.sync.aligned.m8n8.x4" + name + ".shared.b16 {%r10, %r11, %r12, %r13}, [%r4+16];\n")
		for i := range 4 {
			fmt.Fprintf(&body, "\tst.global.b32 [%%d2+%d], %%r%d;\n", 4*i, 10+i)
		}
		got, err := launch(t, body.String(), words, 32, ptxsim.Down)
		require.NoError(t, err)
		for lane := range 32 {
			for matrix := range 4 {
				for e := range 2 {
					row, column := lane/4, lane%4*2+e
					if transposed {
						row, column = column, row
					}
					require.Equal(t, uint32(matrix*256+row*16+column), got[16*lane+matrix]>>(16*e)&0xffff, "lane %d", lane)
				}
			}
		}
	}
}

func TestShuffle(t *testing.T) {
	got, err := launch(t, "\tshfl.sync.bfly.b32 %r3, %r1, 5, 31, -1;\n\tst.global.b32 [%d2], %r3;\n", make([]uint32, 64*16), 64, ptxsim.Shuffled)
	require.NoError(t, err)
	for i := range 64 {
		assert.Equal(t, uint32(i^5), got[16*i])
	}
}

// Instructions that only part of a warp executes, and copies used before they are waited for, are errors.
func TestFaultsOfWarps(t *testing.T) {
	const copied = "\tmov.u32 %r3, shared_memory;\n\tmad.lo.s32 %r4, %r1, 16, %r3;\n\tmov.u32 %r5, 16;\n\tcp.async.cg.shared.global [%r4+0], [%d2], 16, %r5;\n\tcp.async.commit_group;\n"
	const xor = "\tshfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n"
	for name, c := range map[string]struct {
		body, want string
		threads    int
	}{
		"part of a warp":   {"\tsetp.lt.u32 %p1, %r1, 7;\n\t@%p1 bra L;\n" + xor + "L:", "is not with its warp", 32},
		"small block":      {xor, "the warp has 8 threads", 8},
		"not waited for":   {copied + "\tld.shared.b32 %r6, [%r4];\n\tcp.async.wait_group 0;", "a copy is under way", 32},
		"never waited for": {copied, "ends while a copy", 32},
		"a group too few":  {copied + "\tcp.async.wait_group 1;\n\tld.shared.b32 %r6, [%r4];\n\tcp.async.wait_group 0;", "a copy is under way", 32},
		"no barrier":       {copied + "\tcp.async.wait_group 0;\n\txor.b32 %r6, %r4, 16;\n\tld.shared.b32 %r6, [%r6];", "nobody has written", 32},
		"misaligned":       {"\tmov.u32 %r4, shared_memory;\n\tmov.u32 %r5, 16;\n\tadd.u64 %d3, %d2, 8;\n\tcp.async.cg.shared.global [%r4+0], [%d3], 16, %r5;\n", "not a multiple", 32},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := launch(t, c.body, make([]uint32, 64*16), c.threads, ptxsim.Up)
			assert.ErrorContains(t, err, c.want)
		})
	}
	got, err := launch(t, copied+"\tcp.async.wait_group 0;\n\tbar.sync 0;\n\txor.b32 %r6, %r4, 16;\n\tld.shared.b32 %r6, [%r6];\n\tst.global.b32 [%d2+4], %r6;", []uint32{16: 7, 511: 0}, 32, ptxsim.Up)
	require.NoError(t, err)
	assert.Equal(t, uint32(7), got[1])
	got, err = launch(t, strings.ReplaceAll(copied, "%r5, 16;", "%r5, 4;")+"\tcp.async.wait_group 0;\n\tld.shared.b32 %r6, [%r4+4];\n\tst.global.b32 [%d2+8], %r6;", []uint32{0: 3, 1: 9, 2: 9, 511: 0}, 32, ptxsim.Up)
	require.NoError(t, err)
	assert.Zero(t, got[2], "behind what is copied are zeros")
}
