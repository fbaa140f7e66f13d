package cpu

import (
	"bytes"
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// lent is a buffer with the given contents that ends, or begins, next to unreadable memory.
func lent(t *testing.T, typ ir.Type, contents []byte, atStart bool) kernels.Buffer {
	t.Helper()
	b := newBuffer(testDevice, typ)
	require.NoError(t, b.Borrow(guard.Copy(t, contents, atStart)))
	return b
}

// TestLinesTouchNothingOutside runs units that read lines through slices, for each instruction set, with all inputs and
// outputs next to unreadable memory.
func TestLinesTouchNothingOutside(t *testing.T) {
	count := uint64(60)
	if testing.Short() {
		count = 12
	}
	for seed := range count {
		p, inputs := randomLines(1000 + seed)
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		for i, path := range isa.Paths() {
			restore := isa.Override(path)
			e, err := Backend{}.load(p, kernels.CompileOptions{Device: testDevice}, false)
			require.NoError(t, err)
			var in, out []kernels.Buffer
			for _, v := range inputs {
				in = append(in, lent(t, v.Type, v.Bytes(), (seed+uint64(i))%3 == 2))
			}
			for _, o := range p.Outputs {
				typ := p.Type(o.Value)
				out = append(out, lent(t, typ, bytes.Repeat([]byte{math.MaxUint8}, typ.Bytes()), (seed+uint64(i))%3 == 2))
			}
			require.NoError(t, e.Run(context.Background(), in, out))
			e.Close()
			restore()
			for i, b := range out {
				got, err := reference.FromBytes(b.Type(), b.(*buffer).data)
				require.NoError(t, err)
				if err := kernelstest.Compare(got, want[i], 0, true); err != nil {
					t.Fatalf("%v, seed %d: output %d of %v: %v\n%v", path, seed, i, got.Type, err, p)
				}
			}
		}
	}
}
