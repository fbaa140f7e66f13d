package protocol

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPlace: a command says where its numbers are, and is whole for who finds them.
func TestPlace(t *testing.T) {
	place := Place{Note: "there", Offset: 8, Count: 2}
	command := func() *Push {
		return &Push{Closure: ClosureID{1, 2}, Updates: []Update{
			{Table: 1, Op: Gradient, Rate: 0.5, Seen: 3, Values: []float32{7, 8}, Away: &place},
			{Table: 2, Op: Add, Sparse: true, IDs: []int64{4}, Values: []float32{9}},
		}}
	}
	var w Writer
	EncodeCommand(&w, command())
	require.LessOrEqual(t, len(w.B), SizeOf(command()))
	_, err := DecodeCommand(w.B)
	require.ErrorContains(t, err, "numbers lie elsewhere")
	_, err = DecodeCommandIn(w.B, func(Place) ([]float32, error) { return nil, ErrPlace })
	require.ErrorIs(t, err, ErrPlace)
	_, err = DecodeCommandIn(w.B, func(Place) ([]float32, error) { return nil, errors.New("broken") })
	require.EqualError(t, err, "broken")
	got, err := DecodeCommandIn(w.B, func(p Place) ([]float32, error) {
		require.Equal(t, place, p)
		return []float32{7, 8}, nil
	})
	require.NoError(t, err)
	want := command()
	want.Updates[0].Away = nil
	require.Equal(t, want, got)
	var whole, again Writer
	EncodeCommand(&whole, got)
	EncodeCommand(&again, want)
	require.Equal(t, again.B, whole.B)
}

// TestLeave: values that an update leaves elsewhere are those of the table, which is what it is without; also where
// they replace the gradient.
func TestLeave(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := range 200 {
		rule := Rule{Kind: RuleKind(1 + r.IntN(int(kinds)-1)), Beta1: 0.9, Beta2: 0.99, Rho: 0.9, Epsilon: 1e-3, Power: -0.5, Initial: 0.1, Momentum: float64(r.IntN(2)) * 0.5}
		d := Definition{Name: "t", Rows: 1 + r.IntN(5000), Width: r.IntN(5), Rule: rule, Init: Init{Kind: Uniform, A: -1, B: 1}}
		if n%3 == 0 {
			d.Constraint.Kind = NonNeg
		}
		plain, left := started(t, d), started(t, d)
		for step := range 2 {
			g := make([]float32, d.Rows*d.Width)
			for i := range g {
				g[i] = r.Float32() - 0.5
			}
			execute(t, plain, push(uint64(step)+2, Update{Op: Gradient, Rate: 0.1, Values: slices.Clone(g)}))
			p := push(uint64(step)+2, Update{Op: Gradient, Rate: 0.1, Values: g, After: make([]float32, len(g))})
			if n%2 == 0 {
				p.Updates[0].After = g
			}
			_, err := left.Execute(p)
			require.NoError(t, err)
			require.Equal(t, plain.tables[0].values, left.tables[0].values, "%+v", d)
			require.Equal(t, plain.tables[0].slots, left.tables[0].slots)
			require.Equal(t, n%3 != 0, p.Updates[0].Left)
			if p.Updates[0].Left {
				require.Equal(t, left.tables[0].values, p.Updates[0].After)
			}
		}
	}
}
