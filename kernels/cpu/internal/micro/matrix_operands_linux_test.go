package micro

import (
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

// TestPairsOfOperandsTouchNothingOutside rearranges operands next to unreadable memory, at either end, for matrix
// registers.
func TestPairsOfOperandsTouchNothingOutside(t *testing.T) {
	if !isa.MatrixRegisters() {
		t.Skip("needs matrix registers (AMX), or an emulator of them (make amx)")
	}
	r := rand.New(rand.NewPCG(6, 89))
	for try := range 100 {
		rows, numbers, atStart := 1+r.IntN(70), 1+r.IntN(100), try%2 == 0
		from, pairs := numbers+r.IntN(5), (numbers+1)/2
		src := guard.Copy(t, make([]uint16, (rows-1)*from+numbers), atStart)
		TurnPairs(guard.Copy(t, make([]float32, (rows+31)/32*16*numbers), atStart), src, numbers, rows, from)
		CopyPairs(guard.Copy(t, make([]float32, rows*pairs), atStart), src, rows, numbers, pairs, pairs, from)
		panel := guard.Copy(t, make([]float32, pairs*PanelWidth[float32]()), atStart)
		TurnRows(panel, src, min(rows, PanelWidth[float32]()), numbers, from)
	}
}
