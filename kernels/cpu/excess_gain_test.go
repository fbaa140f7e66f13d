package cpu

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestPairsForProgramsThatGain: where the processor multiplies pairs of bfloat16, programs do so whose products
// outweigh what rounding costs, in loops too; elsewhere none does.
func TestPairsForProgramsThatGain(t *testing.T) {
	loop := func(p *ir.Program, length int) *ir.Program {
		loop := passProgram{t, ir.New("loop")}
		in := make([]ir.Value, len(p.Inputs))
		for i, v := range p.Inputs {
			in[i] = loop.p.AddInput(v.Name, p.Type(v.Value))
		}
		loop.p.AddOutput("y", loop.add(ir.Scan, ir.ScanAttrs{Body: p, Length: length}, in...))
		return loop.p
	}
	for _, path := range isa.Paths() {
		t.Run(path.String(), func(t *testing.T) {
			defer isa.Override(path)()
			for _, c := range []struct {
				program *ir.Program
				gains   bool
			}{
				{twoProducts(t, ir.BFloat16, 1, 70), false},
				{twoProducts(t, ir.BFloat16, 9, 10), false},
				{twoProducts(t, ir.BFloat16, 16, 70), true},
				{twoProducts(t, ir.BFloat16, 32, 200), true},
				{loop(twoProducts(t, ir.BFloat16, 1, 70), 9), false},
				{loop(twoProducts(t, ir.BFloat16, 32, 200), 9), true},
			} {
				wide := widens(c.program)
				pairs := micro.Pairs() && (c.gains || isa.Active().Has(isa.AMXBF16))
				require.Equal(t, !pairs, wide(ir.BFloat16), "%v", c.program)
				require.True(t, wide(ir.Float16))
			}
		})
	}
}
