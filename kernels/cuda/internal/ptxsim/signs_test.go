package ptxsim_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
)

// What a real compiler gets wrong is rejected, in whichever way the sign is changed; what it gets right is not.
func TestForgottenSigns(t *testing.T) {
	for _, name := range []string{"max.s32", "min.s32", "max.u32", "min.u32"} {
		for negated, refused := range map[string]bool{"sub.s32 %r2, 0, %r1": true, "neg.s32 %r2, %r1": true, "mul.lo.s32 %r2, %r1, -1": true, "sub.s32 %r2, 4, %r1": false, "not.b32 %r2, %r1": false} {
			k := &ptx.Kernel{}
			for range 4 {
				k.Reg(ptx.B32)
			}
			k.Line("mov.u32 %%r1, %%tid.x")
			k.Line("%s", negated)
			k.Line("mov.b32 %%r3, %%r2")
			k.Line("%s %%r4, %%r1, %%r3", name)
			_, err := ptxsim.Parse(ptx.Header + k.Text("k"))
			if refused {
				assert.ErrorContains(t, err, "%r3 is a number with its sign changed", "%s after %s", name, negated)
			} else {
				require.NoError(t, err, "%s after %s", name, negated)
			}
		}
	}
}
