package programs_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/internal/programs"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
)

// TestEveryOperation: the programs of the conformance suite, with every operation there is, are read as they were
// written.
func TestEveryOperation(t *testing.T) {
	for _, c := range kernelstest.Selected() {
		text, err := programs.Encode(c.Program)
		require.NoError(t, err, c.Name)
		p, err := programs.Decode(text)
		require.NoError(t, err, c.Name)
		require.Equal(t, c.Program.Hash(), p.Hash(), c.Name)
		require.Equal(t, c.Program.String(), p.String(), c.Name)
	}
}

func TestBroken(t *testing.T) {
	p := ir.New("x")
	v := p.AddInput("w", ir.Type{DType: ir.Float32, Shape: ir.Shape{2}})
	out, err := p.Add("", ir.Neg, nil, v)
	require.NoError(t, err)
	p.AddOutput("y", out[0])
	text, err := programs.Encode(p)
	require.NoError(t, err)
	for i := range len(text) {
		_, err := programs.Decode(text[:i])
		require.ErrorIs(t, err, programs.ErrProgram)
	}
	_, err = programs.Decode(strings.Repeat("x", programs.MaxBytes+1))
	require.ErrorIs(t, err, programs.ErrProgram)
}

// FuzzDecode: no text does harm.
func FuzzDecode(f *testing.F) {
	for i, c := range kernelstest.Selected() {
		if text, err := programs.Encode(c.Program); err == nil && i%10 == 0 && len(text) < 4096 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := programs.Decode(text)
		if err != nil {
			require.ErrorIs(t, err, programs.ErrProgram)
			return
		}
		require.NoError(t, p.Verify())
	})
}
