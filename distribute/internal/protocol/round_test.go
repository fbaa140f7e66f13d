package protocol

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRound: the parts of a round are applied as one gradient, their mean, with the same bits in whatever order they come, also over a restart.
func TestRound(t *testing.T) {
	define := []Definition{{Name: "dense", Rows: 4, Width: 2, Rule: rules["adam"]}, {Name: "sparse", Rows: 9, Width: 2, Rule: rules["momentum"]}}
	r := rand.New(rand.NewPCG(3, 4))
	parts := make([]*Push, 5)
	for i := range parts {
		parts[i] = push(uint64(i+1), Update{Op: Gradient, Rate: 0.1, Values: randoms(r, 8)},
			Update{Table: 1, Op: Gradient, Rate: 0.1, Sparse: true, IDs: []int64{int64(i), int64(i) + 2}, Values: randoms(r, 4)})
		parts[i].Parts, parts[i].Part, parts[i].Round = 5, i, 1
	}
	var want *State
	for try := range 20 {
		s := started(t, define...)
		for n, i := range r.Perm(5) {
			require.Zero(t, s.tables[0].Step)
			execute(t, s, parts[i])
			require.True(t, execute(t, s, parts[i]).Repeated)
			if n == 2 {
				var w Writer
				s.EncodeSnapshot(&w)
				var err error
				s, err = DecodeSnapshot(w.B, Limits{})
				require.NoError(t, err)
			}
		}
		require.Equal(t, uint64(1), s.tables[0].Step)
		late := push(9, Update{Op: Gradient, Values: make([]float32, 8)})
		late.Parts, late.Round = 5, 1
		_, err := s.Execute(late)
		require.ErrorIs(t, err, ErrStale)
		if try == 0 {
			want = s
			continue
		}
		require.Equal(t, want.tables, s.tables)
	}
	for _, bad := range []Push{{Parts: 2, Part: maxParts, Round: 1}, {Parts: 2}, {Part: 1}, {Parts: maxParts + 1, Round: 1}} {
		bad.Closure, bad.Low = ClosureID{1, 20}, 1
		_, err := want.Execute(&bad)
		require.ErrorContains(t, err, "expected numbers up to")
	}
	mean := started(t, define[0])
	sum := make([]float32, 8)
	for _, p := range parts {
		for i, v := range p.Updates[0].Values {
			sum[i] += v / 5
		}
	}
	execute(t, mean, push(1, Update{Op: Gradient, Rate: 0.1, Values: sum}))
	for i, v := range mean.tables[0].values[0] {
		require.InDelta(t, v, want.tables[0].values[0][i], 1e-6)
	}
}

func TestWindow(t *testing.T) {
	d := NewDispatcher(1, 10)
	d.Window = 3
	w := Worker{0, 1}
	d.Joined(w)
	for range 6 {
		_, err := d.Schedule(nil, -1)
		require.NoError(t, err)
	}
	for range 3 {
		_, ok := d.Next(w)
		require.True(t, ok)
	}
	_, ok := d.Next(w)
	require.False(t, ok)
	d.Result(w, 2, nil, nil, false)
	_, ok = d.Next(w)
	require.False(t, ok, "closure 1 has not ended")
	d.Result(w, 1, nil, nil, false)
	for range 2 {
		_, ok = d.Next(w)
		require.True(t, ok)
	}
	_, ok = d.Next(w)
	require.False(t, ok)
}
