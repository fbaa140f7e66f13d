package hlo_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/pjrt/internal/hlo"
)

func message(number uint64, inner ...byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(nil, number<<3|2), uint64(len(inner))), inner...)
}

// program has a loop and a conditional, with other fields before and between the names of operations.
func program() []byte {
	instruction := func(opcode string, called ...byte) []byte {
		own := append(message(1, []byte("name")...), message(2, []byte(opcode)...)...)
		own = append(own, 5<<3|1, 1, 2, 3, 4, 5, 6, 7, 8, 6<<3|5, 1, 2, 3, 4) // eight and four bytes
		if len(called) > 1 {
			own = append(own, message(38, called...)...) // packed
		} else if len(called) == 1 {
			own = append(binary.AppendUvarint(own, 38<<3), called...)
		}
		return message(2, own...)
	}
	computation := func(number byte, all ...[]byte) []byte {
		own := []byte{5 << 3, number}
		for _, one := range all {
			own = append(own, one...)
		}
		return message(3, own...)
	}
	own := append(message(1, []byte("module")...), 6<<3, 9) // begins at 9
	own = append(own, computation(9, instruction("parameter"), instruction("all-reduce"), instruction("while", 1, 2), instruction("conditional", 3, 4))...)
	own = append(own, computation(1, instruction("all-gather-start"), instruction("all-gather-done"))...)
	own = append(own, computation(2, instruction("add"), instruction("all-reduce"))...)
	own = append(own, computation(3, instruction("call", 5))...)
	own = append(own, computation(4, instruction("call", 2))...) // which runs anyway
	own = append(own, computation(5, instruction("all-to-all"))...)
	return append(own, computation(6, instruction("all-to-all"))...) // that nothing calls
}

func TestCollectives(t *testing.T) {
	want, branches := map[string]int{"all-reduce": 2, "all-gather": 1}, map[string]int{"all-to-all": 1}
	got, inBranches, err := hlo.Collectives(program(), "hlo")
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, branches, inBranches)
	got, inBranches, err = hlo.Collectives(append(message(1, program()...), message(2, 8, 2)...), "hlo_with_config")
	require.NoError(t, err)
	require.Equal(t, want, got)
	require.Equal(t, branches, inBranches)
	for _, c := range []struct {
		code            []byte
		format, message string
	}{
		{program(), "mlir", `format "mlir"; expected hlo or hlo_with_config`}, {[]byte{1<<3 | 2, 200}, "hlo", "cut short"},
		{[]byte{1<<3 | 2, 20, 1}, "hlo", "field 1 has 20 bytes, 1 are left"}, {[]byte{1<<3 | 7}, "hlo", "unknown kind 7"},
	} {
		_, _, err = hlo.Collectives(c.code, c.format)
		require.ErrorContains(t, err, c.message)
	}
}

func FuzzCollectives(f *testing.F) {
	f.Add(program(), "hlo")
	f.Add(message(1, program()...), "hlo_with_config")
	f.Fuzz(func(t *testing.T, code []byte, format string) {
		if counts, _, err := hlo.Collectives(code, format); err == nil {
			for name, n := range counts {
				require.Positive(t, n, name)
			}
		}
	})
}
