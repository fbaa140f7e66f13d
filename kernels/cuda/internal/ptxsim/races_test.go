package ptxsim_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
)

// What the blocks of a launch write before they draw a ticket is visible to the block that draws the last one. Without
// a barrier before the ticket, a fence on either side of it, or a barrier after it, it is not.
func TestTickets(t *testing.T) {
	const (
		barrier = "bar.sync 0;\n\t"
		fence   = "fence.acq_rel.gpu;\n\t"
		write   = "mul.wide.u32 %d2, %r4, 4;\n\tadd.s64 %d2, %d1, %d2;\n\tst.global.b32 [%d2+64], %r4;\n\t"
		draw    = "atom.global.inc.u32 %r3, [%d1], 2;\n\t"
	)
	read := ""
	for i := range 96 {
		read += fmt.Sprintf("ld.global.b32 %%r5, [%%d1+%d];\n\tadd.u32 %%r6, %%r6, %%r5;\n\t", 64+4*i)
	}
	for name, c := range map[string]struct {
		before, after, last string
		race                bool
	}{
		"in order":                   {barrier, fence, barrier, false},
		"no barrier before it":       {"", fence, barrier, true},
		"no fence after it":          {barrier, "", barrier, true},
		"no barrier after it":        {barrier, fence, "", true},
		"no fence before the ticket": {barrier, fence, barrier, true},
	} {
		t.Run(name, func(t *testing.T) {
			first := fence
			if name == "no fence before the ticket" {
				first = ""
			}
			text := ptx.Header + ".visible .entry k(.param .u64 param_0)\n{\n\t.reg .pred %p<3>;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %d<6>;\n\t.shared .align 8 .b8 shared_memory[8];\n" +
				"\tld.param.u64 %d1, [param_0];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\tmad.lo.s32 %r4, %r2, 32, %r1;\n\tmov.u32 %r6, 0;\n\t" + write +
				c.before + "setp.ne.s32 %p1, %r1, 0;\n\t@%p1 bra skip;\n\t" + first + draw + c.after + "\nskip:\n\t" + c.last +
				"setp.ne.s32 %p2, %r2, 2;\n\t@%p2 bra end;\n\tsetp.ne.s32 %p2, %r1, 5;\n\t@%p2 bra end;\n\t" + read + "st.global.b32 [%d1+4], %r6;\nend:\n\tret;\n}\n"
			m, err := ptxsim.Parse(text)
			require.NoError(t, err)
			var memory ptxsim.Memory
			a := memory.Alloc(1024)
			clear(memory.At(a))
			for range 2 { // the tickets start again at 0
				err = m.Kernels["k"].Run(ptxsim.Launch{Grid: [3]int{3, 1, 1}, Block: 32, Args: []uint64{a}, Memory: &memory, Races: true})
				if c.race {
					assert.ErrorContains(t, err, "nothing orders them")
					return
				}
				require.NoError(t, err)
				assert.Equal(t, uint32(95*96/2), binary.LittleEndian.Uint32(memory.At(a)[4:]))
				assert.Zero(t, binary.LittleEndian.Uint32(memory.At(a)))
			}
		})
	}
}

// Different threads' accesses to the same place in global memory are an error if nothing orders them and one is a
// write, in whatever order the interpreter runs the threads.
func TestRaces(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		race bool
	}{
		"own places":                       {"add.s64 %d2, %d1, %d3;\n\tld.global.b32 %r3, [%d2];\n\tst.global.b32 [%d2], %r3", false},
		"all read one place":               {"ld.global.b32 %r3, [%d1]", false},
		"all write one place":              {"st.global.b32 [%d1], %r1", true},
		"one writes what others read":      {"ld.global.b32 %r3, [%d1];\n\tadd.s64 %d2, %d1, %d3;\n\tst.global.b32 [%d2], %r3", true},
		"a barrier orders no blocks":       {"ld.global.b32 %r3, [%d1];\n\tbar.sync 0;\n\tadd.s64 %d2, %d1, %d3;\n\tst.global.b32 [%d2], %r3", true},
		"a barrier orders a block":         {"mad.wide.u32 %d2, %r2, 512, %d1;\n\tld.global.b32 %r3, [%d2];\n\tbar.sync 0;\n\tmad.wide.u32 %d2, %r1, 4, %d2;\n\tst.global.b32 [%d2], %r3", false},
		"bytes of one word, each its own":  {"add.s64 %d2, %d1, %d4;\n\tst.global.u8 [%d2], %r1", false},
		"writes of several sizes, crossed": {"add.s64 %d2, %d1, %d4;\n\tst.global.u8 [%d2], %r1;\n\tld.global.b32 %r3, [%d1]", true},
	} {
		t.Run(name, func(t *testing.T) {
			text := ptx.Header + ".visible .entry k(.param .u64 param_0)\n{\n\t.reg .b32 %r<5>;\n\t.reg .b64 %d<6>;\n" +
				"\tld.param.u64 %d1, [param_0];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r2, %ctaid.x;\n\tmad.lo.s32 %r4, %r2, 32, %r1;\n" +
				"\tmul.wide.u32 %d3, %r4, 4;\n\tmul.wide.u32 %d4, %r4, 1;\n\t" + c.body + ";\n\tret;\n}\n"
			m, err := ptxsim.Parse(text)
			require.NoError(t, err)
			var memory ptxsim.Memory
			a := memory.Alloc(1024)
			err = m.Kernels["k"].Run(ptxsim.Launch{Grid: [3]int{2, 1, 1}, Block: 32, Args: []uint64{a}, Memory: &memory, Races: true})
			if c.race {
				assert.ErrorContains(t, err, "nothing orders them")
			} else {
				assert.NoError(t, err)
			}
		})
	}
}
