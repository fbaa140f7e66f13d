package vec

import (
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
)

// TestHalvesTouchNothingOutside computes softmax of scores, scaled results and coarse functions with all operands next
// to unreadable memory, at either end.
func TestHalvesTouchNothingOutside(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(37, 38))
		for try := range 40 {
			atStart := try%2 == 0
			cols := 1 + rng.IntN(150)
			s := Scores{Rows: 1 + rng.IntN(20), Cols: cols, Stride: ScoreStride(cols), Seen: 1 + rng.IntN(cols), Step: rng.IntN(2)}
			to := s.Stride + rng.IntN(3)*16
			x := guard.Copy(t, s.draw(rng), atStart)
			dst := guard.Copy(t, make([]uint16, (s.Rows-1)*to+s.Stride), atStart)
			total, factors := guard.Copy(t, make([]float32, s.Rows), atStart), guard.Copy(t, make([]float32, s.Rows), atStart)
			SoftmaxHalves(dst, x, total, factors, s, 0.3, to)

			columns := 1 + rng.IntN(100)
			wide, from := columns+rng.IntN(9), columns+rng.IntN(9)
			results := guard.Copy(t, make([]float32, (s.Rows-1)*from+columns), atStart)
			rounded := guard.Copy(t, make([]uint16, (s.Rows-1)*wide+columns), atStart)
			ScaleHalves(rounded, results, factors, columns, wide, from)

			n := 1 + rng.IntN(100)
			y, dy := guard.Copy(t, make([]float32, n), atStart), guard.Copy(t, make([]float32, n), atStart)
			for _, f := range []func(dst, x []float32){CoarseGelu, CoarseExp, CoarseSigmoid} {
				f(y, dy)
			}
			CoarseGeluGrad(y, dy, dy)
		}
	})
}
