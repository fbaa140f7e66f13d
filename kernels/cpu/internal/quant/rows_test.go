package quant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRowCoding compares quantized rows of all short lengths and some long ones with what the formula says in float32,
// to the bit, rows with infinities and NaN among them, and checks that nothing else is written.
func TestRowCoding(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 6))
	lengths := []int{127, 128, 129, 718, 1040}
	for n := 1; n < 70; n++ {
		lengths = append(lengths, n)
	}
	for _, n := range lengths {
		rows := 1 + r.IntN(9)
		c := &RowCoding{Numerator: 127, Epsilon: 1e-7, Low: -127, High: 127}
		if n%3 == 0 {
			c = &RowCoding{Numerator: 8 + float32(r.IntN(120)), Epsilon: r.Float32(), Low: -int32(r.IntN(129)), High: int32(r.IntN(128))}
		}
		const guard = 77
		x := make([]float32, rows*n)
		want, scales := make([]int8, rows*n, rows*n+1), make([]float32, rows)
		for i := range rows {
			row, top := x[i*n:][:n], float32(0)
			for j := range row {
				switch row[j] = float32(r.NormFloat64()); r.IntN(9) {
				case 0:
					row[j] = 0
				case 1:
					row[j] = float32(math.Round(float64(row[j]))) / 2
				}
			}
			if r.IntN(4) == 0 {
				row[r.IntN(n)] = [...]float32{float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), math.MaxFloat32}[r.IntN(4)]
			}
			for _, v := range row {
				top = max(top, float32(math.Abs(float64(v)))) // NaN wins
			}
			scales[i] = c.Numerator / (top + c.Epsilon)
			for j, v := range row {
				rounded := max(min(math.RoundToEven(float64(v*scales[i])), float64(c.High)), float64(c.Low))
				if rounded != rounded {
					rounded = 0
				}
				want[i*n+j] = int8(rounded)
			}
		}
		got, by := append(make([]int8, rows*n), guard), append(make([]float32, rows), guard)
		c.Run(got, by[:rows], x, n)
		require.Equal(t, append(want, guard), got, "%d rows of %d", rows, n)
		for i, s := range append(scales, guard) {
			require.True(t, s == by[i] || s != s && by[i] != by[i], "scale %d of %d rows of %d: %v and %v", i, rows, n, s, by[i])
		}
	}
}
