package kernelstest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// Each decomposition means what its op means: the reference runs both, in float64 and with every step rounded.
func TestDecompositionsEqualTheirOps(t *testing.T) {
	seen := map[ir.Op]bool{}
	for _, c := range kernelstest.Cases() {
		if !c.Op.IsComposite() {
			continue
		}
		seen[c.Op] = true
		expanded, err := ir.Expand(c.Program, nil)
		require.NoError(t, err, c.Name)
		require.NoError(t, expanded.Verify(), c.Name)
		want, err := reference.Run(c.Program, c.Inputs)
		require.NoError(t, err, c.Name)
		for _, round := range []bool{false, true} {
			got, err := reference.Interpreter{Round: round}.Run(expanded, c.Inputs)
			require.NoError(t, err, c.Name)
			units := c.Units
			if !round && units > 4 && c.Program.Type(c.Program.Outputs[0].Value).DType != ir.Float64 {
				units = 4 // constants are rounded to the type, nothing else is, but for float64, in which everything is computed
			}
			for i := range want {
				assert.NoError(t, kernelstest.Compare(got[i], want[i], units, c.Whole), "%s: output %d, rounded %v", c.Name, i, round)
			}
		}
	}
	for _, op := range ir.Ops() {
		assert.Equal(t, op.IsComposite(), seen[op], "%v", op)
	}
}

// Names are unique: the numbers of a case come from its name, so a second case of the name would add nothing.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range kernelstest.Cases() {
		assert.False(t, seen[c.Name], "two cases are called %q", c.Name)
		seen[c.Name] = true
		require.NoError(t, c.Program.Verify(), c.Name)
	}
	require.Greater(t, len(seen), 5000)
}
