package protocol

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRound: the parts of a round are applied as one gradient, their mean, with the same bits in whatever order they
// come, also over a restart.
func TestRound(t *testing.T) {
	define := []Definition{{Name: "dense", Rows: 4, Width: 2, Rule: rules["adam"]}, {Name: "sparse", Rows: 9, Width: 2, Rule: rules["momentum"]}}
	r := rand.New(rand.NewPCG(3, 4))
	parts := make([]*Push, 5)
	for i := range parts {
		parts[i] = push(uint64(i+1), Update{Op: Gradient, Rate: 0.1, Values: randoms(r, 8)},
			Update{Table: 1, Op: Gradient, Rate: 0.1, Sparse: true, IDs: []int64{int64(i), int64(i) + 2}, Values: randoms(r, 4)})
		parts[i].Part, parts[i].Round = i, 1
	}
	all := &Settle{Term: 1, Settled: Settled{Round: 1, Parts: []int{0, 1, 2, 3, 4}}}
	var want *State
	for try := range 20 {
		s := started(t, define...)
		for n, i := range r.Perm(5) {
			require.Zero(t, s.tables[0].Step)
			if n < 4 {
				_, err := s.Execute(all)
				require.ErrorContains(t, err, "is not on this server")
			}
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
		require.Zero(t, s.tables[0].Step, "a part may be computed again")
		require.False(t, execute(t, s, all).Repeated)
		require.True(t, execute(t, s, all).Repeated)
		require.Equal(t, uint64(1), s.tables[0].Step)
		require.Equal(t, all.Settled, s.Settled())
		late := push(9, Update{Op: Gradient, Values: make([]float32, 8)})
		late.Round = 1
		_, err := s.Execute(late)
		require.ErrorIs(t, err, ErrStale)
		if try == 0 {
			want = s
			continue
		}
		require.Equal(t, want.tables, s.tables)
	}
	for text, bad := range map[string]Command{
		"expected parts below": &Push{Closure: ClosureID{1, 20}, Low: 1, Part: maxParts, Round: 2},
		"part 1 of round 0":    &Push{Closure: ClosureID{1, 20}, Low: 1, Part: 1},
		"round 2 is under way": &Push{Closure: ClosureID{1, 20}, Low: 1, Part: 1, Round: 3},
		"cannot be settled":    &Settle{Term: 1, Settled: Settled{Round: 2}},
		"after round 1":        &Settle{Term: 1, Settled: Settled{Round: 3, Parts: []int{0}}},
		"round 0 is over":      &Settle{Term: 1, Settled: Settled{Parts: []int{0}}},
		"has term 1":           &Settle{Term: 2, Settled: Settled{Round: 2, Parts: []int{0}}},
	} {
		_, err := want.Execute(bad)
		require.ErrorContains(t, err, text)
	}
	mean := started(t, define[0])
	sum := make([]float32, 8)
	for _, p := range parts {
		for i, v := range p.Updates[0].Values {
			sum[i] += v / 5
		}
	}
	execute(t, mean, push(1, Update{Op: Gradient, Rate: 0.1, Values: sum}))
	for i, v := range mean.tables[0].values {
		require.InDelta(t, v, want.tables[0].values[i], 1e-6)
	}
}

// TestRoundCounts: of a round the parts count that it is settled with; what they add is added, and gradients are their
// mean, dense and sparse ones together.
func TestRoundCounts(t *testing.T) {
	s := started(t, Definition{Name: "v", Rows: 3, Width: 1}, Definition{Name: "w", Rows: 3, Width: 1, Rule: Rule{Kind: SGD}})
	for part := range 4 {
		p := push(uint64(part+1), Update{Op: Add, Values: []float32{float32(part), 2, 0}}, Update{Table: 1, Op: Gradient, Rate: 1, Values: []float32{-4, -4, -4}})
		if part == 1 {
			p.Updates[1].Sparse, p.Updates[1].IDs, p.Updates[1].Values = true, []int64{0, 2}, []float32{-8, -6}
		}
		p.Round, p.Part = 1, part
		execute(t, s, p)
	}
	execute(t, s, &Settle{Term: 1, Settled: Settled{Round: 1, Parts: []int{1, 3}}})
	require.Equal(t, []float32{4, 4, 0}, s.tables[0].values)
	require.Equal(t, []float32{6, 2, 5}, s.tables[1].values)
	require.Equal(t, uint64(1), s.tables[1].Step)
	for part, p := range []*Push{push(5, Update{Table: 1, Op: Gradient, Rate: 1, Values: []float32{-2, -2, -2}}),
		push(6, Update{Table: 1, Op: Gradient, Rate: 1, Sparse: true, IDs: []int64{1}, Values: []float32{-4}}), push(7, Update{Table: 1, Op: Gradient, Rate: 1, Sparse: true})} {
		p.Round, p.Part = 2, part
		execute(t, s, p)
	}
	execute(t, s, &Settle{Term: 1, Settled: Settled{Round: 2, Parts: []int{0, 1}}})
	require.Equal(t, []float32{7, 5, 6}, s.tables[1].values)
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
