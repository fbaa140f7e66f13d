package ptxsim_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
)

// boxed copies a box of 64 by 8 elements to shared memory and writes the element at an offset there to global memory.
// Tests remove single lines, those that begin with a number.
const boxed = `.version 8.0
.target sm_90a
.extern .shared .align 16 .b8 dynamic_memory[];
.visible .entry k(.param .u64 param_0, .param .align 64 .b8 map_0[128])
{
	.reg .pred %p<9>;
	.reg .b32 %r<9>;
	.reg .b64 %d<9>;
	ld.param.u64 %d1, [param_0];
	mov.b64 %d2, map_0;
	cvta.param.u64 %d2, %d2;
	mov.u32 %r1, dynamic_memory;
	add.s32 %r1, %r1, 1023;
	and.b32 %r1, %r1, -1024;
	add.s32 %r2, %r1, 1024;
	mov.u32 %r3, %tid.x;
	setp.ne.s32 %p1, %r3, 0;
	@%p1 bra L1;
	mbarrier.init.shared::cta.b64 [%r2], 1;
	fence.proxy.async.shared::cta;
L1:
	bar.sync 0;
	@%p1 bra L2;
	mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 1024;
	cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%d2, {X, Y}], [%r2];
L2:
	mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0;
	@!%p2 bra L2;
	@%p1 bra L3;
	add.s32 %r1, %r1, AT;
	ld.shared.u16 %r4, [%r1];
	st.global.u16 [%d1], %r4;
L3:
	ret;
}
`

// copied runs the kernel for a matrix of 10 lines of 100 elements with values 1000·line + column.
func copied(t *testing.T, text string, x, y, at int) (uint16, error) {
	m, err := ptxsim.Parse(strings.NewReplacer("X", fmt.Sprint(x), "Y", fmt.Sprint(y), "AT", fmt.Sprint(at)).Replace(text))
	require.NoError(t, err)
	var memory ptxsim.Memory
	out, from := memory.Alloc(16), memory.Alloc(10*208)
	for line := range 10 {
		for i := range 100 {
			binary.LittleEndian.PutUint16(memory.At(from)[208*line+2*i:], uint16(1000*line+i))
		}
	}
	words := ptxsim.TensorMap{Address: from, Rank: 2, Lengths: [3]int{100, 10}, Strides: [2]int{208}, Box: [3]int{64, 8}}.Words()
	err = m.Kernels["k"].Run(ptxsim.Launch{Grid: [3]int{1, 1, 1}, Block: 64, Shared: 4096, Args: append([]uint64{out}, words[:]...), Memory: &memory, Order: ptxsim.Down})
	return binary.LittleEndian.Uint16(memory.At(out)), err
}

// The layout of a box is that of NVIDIA's manual: lines of 128 bytes, whose 16-byte pieces are swizzled by the line's
// number, and zeros outside the matrix.
func TestBulkCopy(t *testing.T) {
	for _, c := range []struct {
		x, y, at int
		want     uint16
	}{
		{0, 0, 0, 0},
		{0, 0, 6, 3},
		{3, 2, 6, 2006},
		{0, 0, 128 + 16, 1000},         // line 1: its piece 0 comes second
		{0, 0, 128, 1008},              // and its piece 1 first
		{0, 0, 5*128 + 2*16 + 4, 5058}, // line 5: its piece 7 comes third
		{64, 0, 3 * 16, 64 + 24},       // columns 64 to 127
		{64, 0, 5 * 16, 0},             // of which only those below 100 exist
		{0, 7, 3 * 128, 0},             // line 10, outside
		{-8, 0, 0, 0},
		{-8, 0, 16, 0 + 0},
		{-8, 0, 18, 1},
	} {
		got, err := copied(t, boxed, c.x, c.y, c.at)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%+v", c)
	}
	for line, text := range map[string]string{
		"mbarrier.init.":                  "holds no mbarrier",
		"fence.proxy.async":               "copies do not see the mbarrier",
		"bar.sync 0":                      "holds no mbarrier",
		"mbarrier.arrive.expect_tx.":      "bytes have come that the mbarrier does not expect",
		"cp.async.bulk.tensor.":           "waits forever",
		"@!%p2 bra L2":                    "nobody has written",
		"mbarrier.try_wait.parity.shared": "nobody has written",
	} {
		from, rest, found := strings.Cut(boxed, "\t"+line)
		require.True(t, found, line)
		_, rest, _ = strings.Cut(rest, "\n")
		if strings.Contains(line, "try_wait") {
			rest = "\tsetp.eq.s32 %p2, 0, 0;\n" + rest
		}
		_, err := copied(t, from+rest, 0, 0, 0)
		assert.ErrorContains(t, err, text, "without %q", line)
	}
	_, err := copied(t, strings.Replace(boxed, "_, [%r2], 1024;", "_, [%r2], 1040;", 1), 0, 0, 0)
	assert.ErrorContains(t, err, "waits forever")
	_, err = copied(t, strings.Replace(boxed, "\tld.shared", "\tmbarrier.arrive.shared::cta.b64 _, [%r2];\n\tmbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 8;\n\tmbarrier.arrive.shared::cta.b64 _, [%r2];\n\tld.shared", 1), 0, 0, 0)
	assert.ErrorContains(t, err, "arrivals in a phase")
}
