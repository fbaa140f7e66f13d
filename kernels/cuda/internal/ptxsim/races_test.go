package ptxsim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
)

// Accesses of different threads to the same place of global memory are an error where nothing orders them and one is a
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
