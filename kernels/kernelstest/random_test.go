package kernelstest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// checkRandom checks what must hold of any program: it is sound, made the same again, hashes the same under other
// names, means the same expanded, and without its dead nodes; and rounding every step does not change much.
func checkRandom(t *testing.T, seed uint64) *ir.Program {
	p, inputs := kernelstest.RandomProgram(seed)
	require.NoError(t, p.Verify())
	again, inputsAgain := kernelstest.RandomProgram(seed)
	require.Equal(t, p.String(), again.String())
	require.Equal(t, inputs, inputsAgain)
	again.Name = "another"
	for i := range again.Nodes {
		again.Nodes[i].Scope = "another"
	}
	require.Equal(t, p.Hash(), again.Hash())
	want, err := reference.Run(p, inputs)
	require.NoError(t, err)
	expanded, err := ir.Expand(p, nil)
	require.NoError(t, err)
	live := *p
	live.Nodes = nil
	for i, alive := range p.Live() {
		if alive {
			live.Nodes = append(live.Nodes, p.Nodes[i])
		}
	}
	require.NoError(t, live.Verify())
	for name, q := range map[string]*ir.Program{"expanded": expanded, "live": &live} {
		for _, round := range []bool{false, true} {
			got, err := reference.Interpreter{Round: round}.Run(q, inputs)
			require.NoError(t, err)
			units := 4.0
			if round {
				units = 1 << 12 // half of what Run allows a backend
			}
			for i := range want {
				require.NoError(t, kernelstest.Compare(got[i], want[i], units, true), "seed %d, %s, output %d, rounded %v", seed, name, i, round)
			}
		}
	}
	return p
}

func TestRandomPrograms(t *testing.T) {
	used := map[ir.Op]int{}
	aliases := 0
	for seed := range uint64(1000) {
		p := checkRandom(t, seed)
		for _, n := range p.Nodes {
			used[n.Op]++
		}
		for _, out := range p.Outputs {
			if out.Alias >= 0 {
				aliases++
			}
		}
	}
	t.Log(used)
	assert.Greater(t, aliases, 500)
	for _, op := range []ir.Op{
		ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Rem, ir.Maximum, ir.Minimum, ir.Neg, ir.Abs, ir.Tanh, ir.Sigmoid, ir.Sin, ir.Relu, ir.Not, ir.BitAnd, ir.BitXor, ir.Compare, ir.Select,
		ir.Convert, ir.Reshape, ir.Transpose, ir.Broadcast, ir.Slice, ir.Pad, ir.Concat, ir.Reverse, ir.Reduce, ir.Dot, ir.Softmax,
	} {
		assert.Greater(t, used[op], 50, "%v is hardly ever used", op)
	}
}

func FuzzRandomProgram(f *testing.F) {
	f.Add(uint64(1 << 40))
	f.Fuzz(func(t *testing.T, seed uint64) { checkRandom(t, seed) })
}
