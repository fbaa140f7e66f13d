package plot

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// randomGraph has layers of nodes and links between neighbouring ones.
func randomGraph(r *rand.Rand) *graph {
	g := &graph{}
	for rank := range 4 {
		g.ranks = append(g.ranks, nil)
		for i := range 1 + r.IntN(5) {
			n := &node{w: 10 + 90*r.Float64(), h: 20, rank: rank, index: i, u: 100 * r.NormFloat64()}
			g.nodes, g.ranks[rank] = append(g.nodes, n), append(g.ranks[rank], n)
		}
	}
	for rank := range 3 {
		for _, a := range g.ranks[rank] {
			for _, b := range g.ranks[rank+1] {
				if r.IntN(2) == 0 {
					l := &link{a: a, b: b}
					a.down, b.up = append(a.down, l), append(b.up, l)
				}
			}
		}
	}
	return g
}

func TestCrossingsAreThoseOfAllPairs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		g := randomGraph(r)
		want := 0
		for _, rank := range g.ranks {
			for i, a := range rank {
				for _, b := range rank[:i] {
					for _, x := range a.down {
						for _, y := range b.down {
							if x.b.index < y.b.index {
								want++
							}
						}
					}
				}
			}
		}
		require.Equal(t, want, g.crossings())
	}
}

// The best positions keep the minimum distances, and no small change of all nodes or of a touching group lowers the
// sum.
func TestSettleFindsTheMinimum(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		g := randomGraph(r)
		rank := g.ranks[1]
		wish := wishes(true, true)
		cost := func() float64 {
			sum := 0.0
			for _, n := range rank {
				for _, l := range n.up {
					sum += l.weight() * math.Pow(n.u-l.a.u, 2)
				}
				for _, l := range n.down {
					sum += l.weight() * math.Pow(n.u-l.b.u, 2)
				}
			}
			return sum
		}
		settle(rank, wish)
		for i := 1; i < len(rank); i++ {
			require.GreaterOrEqual(t, rank[i].u-rank[i-1].u, distance(rank[i-1], rank[i])-1e-6)
		}
		best := cost()
		for range 200 {
			from := r.IntN(len(rank))
			to := from + 1 + r.IntN(len(rank)-from)
			step := 0.5 * r.NormFloat64()
			for _, n := range rank[from:to] {
				n.u += step
			}
			legal := true
			for i := 1; i < len(rank); i++ {
				legal = legal && rank[i].u-rank[i-1].u >= distance(rank[i-1], rank[i])-1e-9
			}
			if legal {
				require.GreaterOrEqual(t, cost(), best-0.05, "a better place exists")
			}
			for _, n := range rank[from:to] {
				n.u -= step
			}
		}
	}
}

func TestRanksPointForward(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		g := &graph{}
		for range 8 {
			g.nodes = append(g.nodes, &node{w: 10, h: 10})
		}
		for range 14 {
			a, b := g.nodes[r.IntN(8)], g.nodes[r.IntN(8)]
			if a != b {
				g.wires = append(g.wires, &wire{a: a, b: b})
			}
		}
		g.breakCycles()
		g.rankNodes()
		for _, w := range g.wires {
			from, to := w.ends()
			require.Less(t, from.rank, to.rank)
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(low, high float64) (out []string) {
		for _, m := range valueTicks(low, high) {
			out = append(out, m.label)
		}
		return out
	}
	require.Equal(t, []string{"0.0", "0.5", "1.0", "1.5", "2.0"}, labels(-0.1, 2.4))
	require.Equal(t, []string{"-20", "0", "20", "40", "60", "80"}, labels(-21, 90))
}
