package protocol

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// drawnKeys is how many rows are drawn for a table, which has them all or, if it is dynamic, gets them.
func drawnKeys(d *Definition) []int64 {
	ids := make([]int64, d.Rows)
	if d.Dynamic {
		ids = make([]int64, 4)
	}
	for id := range ids {
		ids[id] = int64(id)
	}
	return ids
}

// drawnChange is what one part does to one table: before its gradient it may assign the table or some rows, add to it,
// or both.
func drawnChange(r *rand.Rand, d *Definition, number uint32, same []float32) (all []Update) {
	assign := []Op{Assign, AssignFirst}[number%2]
	rows := func(op Op) Update {
		ids := drawnKeys(d)
		u := Update{Table: number, Op: op, Rate: 0.3}
		if d.Dynamic || r.IntN(2) == 0 {
			ids = slices.DeleteFunc(ids, func(int64) bool { return r.IntN(2) == 0 })
			u.Sparse, u.IDs = true, ids
		}
		u.Values = randoms(r, len(ids)*d.Width)
		return u
	}
	switch r.IntN(6) {
	case 0, 1:
		all = append(all, rows(assign))
	case 2:
		all = append(all, rows(Add), rows(assign), rows(Add))
	case 3:
		all = append(all, rows(Add))
	case 4:
		if !d.Dynamic {
			all = append(all, Update{Table: number, Op: assign, Values: same})
		}
	}
	if d.Rule.Kind != NoRule {
		all = slices.Insert(all, r.IntN(len(all)+1), rows(Gradient))
	}
	return all
}

// replicas is the dumb version of a round: each part changes a copy of the table, the mean of the copies is assigned,
// or the first one, what all have added comes to it, and then the mean of the gradients, written out.
func replicas(t *testing.T, s *State, number uint32, parts [][]Update) {
	table := s.tables[number]
	ids := drawnKeys(&table.Definition)
	before, err := table.Read(nil, ids)
	require.NoError(t, err)
	sums, added, touched := make([]float64, len(before)), make([]float64, len(before)), map[int64]bool{}
	gradient, reached, trained := make([]float32, len(before)), map[int64]bool{}, false
	voices := len(parts)
	if slices.ContainsFunc(slices.Concat(parts...), func(u Update) bool { return u.Op == AssignFirst }) {
		voices = 1
	}
	for n, part := range parts {
		own, more := make([]float64, len(before)), make([]float64, len(before))
		for i, v := range before {
			own[i] = float64(v)
		}
		for _, u := range part {
			rows := ids
			if u.Sparse {
				rows = u.IDs
			}
			for k, id := range rows {
				at := int(id) * table.Width
				for j, v := range u.Values[k*table.Width : (k+1)*table.Width] {
					switch u.Op {
					case Assign, AssignFirst:
						own[at+j], more[at+j], touched[id] = float64(v), 0, true
					case Add:
						more[at+j] += float64(v)
						touched[id] = true
					default:
						gradient[at+j] += v / float32(len(parts))
						reached[id] = true
					}
				}
			}
			trained = trained || u.Op == Gradient
		}
		for i, v := range own {
			if added[i] += more[i]; n < voices {
				sums[i] += v
			}
		}
	}
	of := func(op Op, rows map[int64]bool, value func(i int) float32) Update {
		u := Update{Table: number, Op: op, Rate: 0.3, Sparse: true, IDs: []int64{}}
		for _, id := range ids {
			if rows[id] {
				u.IDs = append(u.IDs, id)
				for j := range table.Width {
					u.Values = append(u.Values, value(int(id)*table.Width+j))
				}
			}
		}
		return u
	}
	updates := []Update{of(Assign, touched, func(i int) float32 { return float32(sums[i]/float64(voices) + added[i]) })}
	if trained {
		updates = append(updates, of(Gradient, reached, func(i int) float32 { return gradient[i] }))
	}
	for i := range updates {
		require.NoError(t, updates[i].check(table))
		s.apply(&updates[i])
	}
}

// TestRoundAssigns draws rounds in which parts assign tables, add to them and train them, with rules and constraints
// that depend on the values, and lets the parts come in every order, twice, and over restarts from a snapshot: all end
// with the same bits, which are those of replicas whose values are combined before one update.
func TestRoundAssigns(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for try := range 60 {
		var define []Definition
		for i := range 1 + r.IntN(3) {
			d := Definition{Name: fmt.Sprint("t", i), Rows: 1 + r.IntN(4), Width: 1 + r.IntN(3), Init: Init{Kind: Normal, B: 1, Seed: 3}}
			switch r.IntN(5) {
			case 0:
			case 1:
				d.Rule = Rule{Kind: SGD, WeightLoss: 0.2}
			case 2:
				d.Rows, d.Dynamic, d.Rule = 0, true, Rule{Kind: Adagrad, Initial: 0.1, Epsilon: 1e-3}
			case 3:
				d.Rule, d.Constraint = Rule{Kind: SGD, Momentum: 0.5}, Constraint{Kind: NonNeg}
			default:
				d.Rule = Rule{Kind: Adam, Beta1: 0.9, Beta2: 0.99, Epsilon: 1e-2, WeightLoss: 0.1}
			}
			define = append(define, d)
		}
		n := 1 + r.IntN(4)
		parts, counted := make([]*Push, n), []int{}
		for i := range parts {
			parts[i] = push(uint64(i + 1))
			parts[i].Part, parts[i].Round = i, 1
			if len(counted) == 0 && i == n-1 || r.IntN(4) > 0 {
				counted = append(counted, i)
			}
		}
		for number, d := range define {
			same := randoms(r, d.Rows*d.Width)
			for _, p := range parts {
				p.Updates = append(p.Updates, drawnChange(r, &d, uint32(number), same)...)
			}
		}
		want := started(t, define...)
		for number := range define {
			var of [][]Update
			for _, i := range counted {
				var own []Update
				for _, u := range parts[i].Updates {
					if u.Table == uint32(number) {
						own = append(own, u)
					}
				}
				of = append(of, own)
			}
			replicas(t, want, uint32(number), of)
		}
		bits := make([][]float32, len(define)) // in the first order
		for order := range 6 {
			s := started(t, define...)
			for _, i := range r.Perm(n) {
				execute(t, s, parts[i])
				require.True(t, execute(t, s, parts[i]).Repeated)
				if r.IntN(3) == 0 {
					var w Writer
					s.EncodeSnapshot(&w)
					var err error
					s, err = DecodeSnapshot(w.B, Limits{})
					require.NoError(t, err)
				}
			}
			execute(t, s, &Settle{Term: 1, Settled: Settled{Round: 1, Parts: counted}})
			for number, d := range define {
				ids := drawnKeys(&d)
				a, err := want.tables[number].Read(nil, ids)
				require.NoError(t, err)
				b, err := s.tables[number].Read(nil, ids)
				require.NoError(t, err)
				require.InDeltaSlice(t, a, b, 1e-6, "try %d, order %d, table %+v", try, order, d)
				require.Equal(t, want.tables[number].Step, s.tables[number].Step)
				if order == 0 {
					bits[number] = b
				}
				require.Equal(t, bits[number], b)
			}
		}
	}
}

// TestRoundAgrees: parts that assign one value come to it, whatever it is and however many they are, also from values
// that no distance leads away from.
func TestRoundAgrees(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, before := range []float32{0, 1e30, inf, -inf, float32(math.NaN())} {
		for n := 1; n < 12; n++ {
			s := started(t, Definition{Name: "v", Rows: 1, Width: 3})
			execute(t, s, push(1, Update{Op: Assign, Values: []float32{before, before, before}}))
			value := []float32{0.1, -1.0 / 3, math.MaxFloat32}
			counted := make([]int, n)
			for i := range n {
				p := push(uint64(i+2), Update{Op: Assign, Values: value})
				p.Round, p.Part, counted[i] = 1, i, i
				execute(t, s, p)
			}
			execute(t, s, &Settle{Term: 1, Settled: Settled{Round: 1, Parts: counted}})
			require.Equal(t, value, s.tables[0].values, "from %v, %d parts", before, n)
		}
	}
}
