package ptxsim_test

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// sumOf plans a sum of n numbers by 256 threads that use barriers.
func sumOf(t *testing.T, n int) *lower.Plan {
	p := ir.New("sum")
	x := p.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{n}})
	y, err := p.Add("layer", ir.Reduce, ir.ReduceAttrs{Kind: ir.Sum, Axes: []int{0}}, x)
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	plan, err := lower.Program(p, lower.Options{})
	require.NoError(t, err)
	require.Len(t, plan.Steps, 1)
	return plan
}

// run sums 1, 2, ..., n with the kernel's text.
func run(t *testing.T, text string, plan *lower.Plan, n int, order ptxsim.Order) (float32, error) {
	m, err := ptxsim.Parse(text)
	require.NoError(t, err)
	var memory ptxsim.Memory
	x, y := memory.Alloc(4*n), memory.Alloc(4)
	for i := range n {
		binary.LittleEndian.PutUint32(memory.At(x)[4*i:], math.Float32bits(float32(i+1)))
	}
	s := plan.Steps[0]
	args := make([]uint64, len(s.Args))
	for i, a := range s.Args {
		args[i] = map[lower.Space]uint64{lower.Input: x, lower.Output: y}[a.Place.Space]
	}
	err = m.Kernels[s.Kernel].Run(ptxsim.Launch{Grid: s.Grid, Block: s.Block, Args: args, Memory: &memory, Order: order})
	return math.Float32frombits(binary.LittleEndian.Uint32(memory.At(y))), err
}

// The order of threads does not matter if all barriers are present; without any one of them the interpreter names the
// conflicting threads.
func TestBarriers(t *testing.T) {
	const n = 5000
	plan := sumOf(t, n)
	for _, order := range ptxsim.Orders() {
		sum, err := run(t, plan.Text, plan, n, order)
		require.NoError(t, err)
		assert.Equal(t, float32(n*(n+1)/2), sum)
	}
	parts := strings.Split(plan.Text, "\tbar.sync 0;\n")
	require.Greater(t, len(parts), 4)
	for i := 1; i < len(parts); i++ {
		broken := strings.Join(parts[:i], "\tbar.sync 0;\n") + strings.Join(parts[i:], "\tbar.sync 0;\n")
		found := false
		for _, order := range ptxsim.Orders() {
			_, err := run(t, broken, plan, n, order)
			found = found || err != nil
		}
		assert.True(t, found, "barrier %d was removed and nobody noticed", i)
	}
}

// kernel wraps instructions into an entry point with two pointers.
func kernel(body string) string {
	return `.version 6.4
.target sm_75
.address_size 64
.visible .entry k(.param .u64 param_0, .param .u64 param_1)
{
	.reg .pred %p<4>;
	.reg .b32 %r<9>;
	.reg .b64 %d<9>;
	.reg .f32 %f<9>;
	.shared .align 16 .b8 shared_memory[64];
	ld.param.u64 %d1, [param_0];
	mov.u32 %r1, %tid.x;
` + body + "\n\tret;\n}\n"
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"outside":              {"ld.global.u32 %r2, [%d1+16];", "outside of all allocations"},
		"misaligned":           {"ld.global.u32 %r2, [%d1+2];", "not a multiple"},
		"unwritten":            {"ld.shared.b32 %r2, [%r3];", "nobody has written"},
		"beyond shared memory": {"st.shared.b32 [%r3+64], %r1;", "shared address"},
		"race":                 {"st.shared.b32 [%r3], %r1;", "without a barrier"},
		"divergent barrier": {`setp.eq.s32 %p1, %r1, 0;
	@%p1 bra L;
	bar.sync 0;
L:`, "do not reach the barrier"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := ptxsim.Parse(kernel(c.body))
			require.NoError(t, err)
			var memory ptxsim.Memory
			x := memory.Alloc(16)
			err = m.Kernels["k"].Run(ptxsim.Launch{Grid: [3]int{1, 1, 1}, Block: 32, Args: []uint64{x, 0}, Memory: &memory})
			assert.ErrorContains(t, err, c.want)
		})
	}
	for name, body := range map[string]string{"unknown instruction": "frobnicate.u32 %r1, %r2;", "undeclared register": "mov.u32 %r77, %r1;", "missing label": "bra NOWHERE;"} {
		t.Run(name, func(t *testing.T) {
			_, err := ptxsim.Parse(kernel(body))
			assert.Error(t, err)
		})
	}
}

func TestMemory(t *testing.T) {
	var m ptxsim.Memory
	a := m.Alloc(8)
	n, bytes := m.Live()
	assert.Equal(t, 1, n)
	assert.Equal(t, int64(8), bytes)
	assert.Len(t, m.At(a+3), 5)
	require.NoError(t, m.Free(a))
	assert.Nil(t, m.At(a))
	assert.Error(t, m.Free(a))
}
