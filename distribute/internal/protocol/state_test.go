package protocol

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// rules are one of each kind, with all that it can do.
var rules = map[string]Rule{
	"none":         {},
	"sgd":          {Kind: SGD},
	"momentum":     {Kind: SGD, Momentum: 0.9},
	"nesterov":     {Kind: SGD, Momentum: 0.9, Nesterov: true},
	"adagrad":      {Kind: Adagrad, Initial: 0.1, Epsilon: 1e-7},
	"adam":         {Kind: Adam, Beta1: 0.9, Beta2: 0.999, Epsilon: 1e-7},
	"rmsprop":      {Kind: RMSprop, Rho: 0.9, Epsilon: 1e-7},
	"rmsprop full": {Kind: RMSprop, Rho: 0.9, Epsilon: 1e-7, Momentum: 0.9, Centered: true},
	"ftrl":         {Kind: FTRL, Initial: 0.1, Power: -0.5, L1: 0.01, L2: 0.02, Shrinkage: 0.03, Beta: 0.1},
	"ftrl power":   {Kind: FTRL, Initial: 0.1, Power: -0.7},
	"decay":        {Kind: SGD, WeightLoss: 0.1},
}

func execute(t testing.TB, s *State, c Command) Reply {
	t.Helper()
	var w Writer
	EncodeCommand(&w, c)
	decoded, err := DecodeCommand(w.B)
	require.NoError(t, err)
	reply, err := s.Execute(decoded)
	require.NoError(t, err)
	return reply
}

func started(t testing.TB, definitions ...Definition) *State {
	t.Helper()
	s := NewState(Limits{})
	execute(t, s, &Take{Term: 1})
	for i, d := range definitions {
		require.Equal(t, Reply{Number: uint32(i)}, execute(t, s, &Create{Term: 1, Definition: d}))
	}
	return s
}

func push(sequence uint64, updates ...Update) *Push {
	return &Push{Closure: ClosureID{1, sequence}, Low: 1, Updates: updates}
}

func randoms(r *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64())
	}
	return out
}

// TestSparseIsDense: an update of some rows is, bit for bit, one of all rows with zeros for the others.
func TestSparseIsDense(t *testing.T) {
	for name, rule := range rules {
		if rule.Kind == NoRule {
			continue
		}
		t.Run(name, func(t *testing.T) {
			d := Definition{Name: "t", Rows: 7, Width: 3, Rule: rule, Init: Init{Kind: Uniform, A: -1, B: 1, Seed: 3}}
			sparse, dense := started(t, d), started(t, d)
			r := rand.New(rand.NewPCG(1, 2))
			for step := range uint64(12) {
				var ids []int64
				var values []float32
				all := make([]float32, 21)
				for id := range int64(7) {
					if r.IntN(3) == 0 {
						row := randoms(r, 3)
						ids, values = append(ids, id), append(values, row...)
						copy(all[3*id:], row)
					}
				}
				execute(t, sparse, push(step+1, Update{Op: Gradient, Rate: 0.05, IDs: ids, Sparse: true, Values: values}))
				execute(t, dense, push(step+1, Update{Op: Gradient, Rate: 0.05, Values: all}))
				require.Equal(t, dense.tables[0].values, sparse.tables[0].values, "step %d", step)
				require.Equal(t, dense.tables[0].slots, sparse.tables[0].slots, "step %d", step)
			}
		})
	}
}

func TestLazyLeavesOtherRows(t *testing.T) {
	rule := rules["adam"]
	rule.Lazy = true
	s := started(t, Definition{Name: "t", Rows: 3, Width: 2, Rule: rule, Init: Init{A: 1}})
	execute(t, s, push(1, Update{Op: Gradient, Rate: 0.1, IDs: []int64{1}, Sparse: true, Values: []float32{1, -1}}))
	execute(t, s, push(2, Update{Op: Gradient, Rate: 0.1, IDs: []int64{0}, Sparse: true, Values: []float32{1, -1}}))
	row, err := s.tables[0].Read(nil, []int64{1, 2})
	require.NoError(t, err)
	require.InDelta(t, 0.9, row[0], 1e-6) // the first step of Adam is the learning rate
	require.Equal(t, []float32{1, 1}, row[2:])
}

// TestSnapshot: what is restored is the same, and goes on the same.
func TestSnapshot(t *testing.T) {
	var all []Definition
	for name, rule := range rules {
		all = append(all, Definition{Name: name, Rows: 5, Width: 2, Rule: rule, Init: Init{Kind: Normal, B: 0.1, Seed: 9}})
		rule.Lazy = true
		all = append(all, Definition{Name: name + " dynamic", Width: 2, Rule: rule, Dynamic: true, MaxRows: 20, Init: Init{Kind: Normal, B: 0.1, Seed: 9}})
	}
	s := started(t, all...)
	execute(t, s, &Note{Term: 1, Key: "epoch", Value: []byte("3")})
	r := rand.New(rand.NewPCG(1, 2))
	step := func(s *State, r *rand.Rand, n uint64) {
		c := push(n)
		c.Low = n - min(n-1, 5)
		for i, d := range all {
			op := Gradient
			if d.Rule.Kind == NoRule {
				op = Add
			}
			ids := []int64{int64(r.IntN(2)), 2 + int64(r.IntN(3))}
			if d.Dynamic {
				ids = []int64{-int64(r.IntN(1000)), 1 + int64(r.IntN(30))}
			}
			c.Updates = append(c.Updates, Update{Table: uint32(i), Op: op, Rate: 0.1, IDs: ids, Sparse: true, Values: randoms(r, 4)})
		}
		execute(t, s, c)
	}
	for n := range uint64(50) {
		step(s, r, n+1)
	}
	var text bytes.Buffer
	w := NewWriter(&text)
	s.EncodeSnapshot(w)
	require.NoError(t, w.Flush())
	var plain Writer
	s.EncodeSnapshot(&plain)
	require.Equal(t, plain.B, text.Bytes())
	back, err := DecodeSnapshot(plain.B, Limits{})
	require.NoError(t, err)
	require.Equal(t, []byte("3"), back.Note("epoch"))
	seed := rand.NewPCG(7, 7)
	step(back, rand.New(seed), 51)
	step(s, rand.New(rand.NewPCG(7, 7)), 51)
	for i, d := range all {
		if !d.Dynamic {
			require.Equal(t, s.tables[i], back.tables[i])
			continue
		}
		rows := func(s *State) map[int64][]float32 {
			out := map[int64][]float32{}
			require.NoError(t, s.tables[i].Export(func(row Row) bool { out[row.Key] = slices.Concat(row.Values, row.Slots); return true }))
			return out
		}
		require.Equal(t, rows(s), rows(back))
		require.LessOrEqual(t, s.tables[i].Len(), 20)
	}
	require.True(t, execute(t, back, push(51)).Repeated)
	_, err = DecodeSnapshot(plain.B[:len(plain.B)-1], Limits{})
	require.ErrorIs(t, err, ErrMessage)
}

func TestExactlyOnce(t *testing.T) {
	s := started(t, Definition{Name: "counter", Rows: 1, Width: 1})
	one := Update{Op: Add, Values: []float32{1}}
	require.False(t, execute(t, s, push(1, one)).Repeated)
	require.True(t, execute(t, s, push(1, one)).Repeated)
	c := push(3, one)
	c.Low = 3
	execute(t, s, c)
	require.True(t, execute(t, s, c).Repeated)
	_, err := s.Execute(push(2, one)) // has ended
	require.ErrorIs(t, err, ErrStale)
	execute(t, s, &Take{Term: 2})
	_, err = s.Execute(push(4, one))
	require.ErrorIs(t, err, ErrStale)
	_, err = s.Execute(&Take{Term: 2})
	require.ErrorIs(t, err, ErrStale)
	next := push(1, one)
	next.Closure.Term = 2
	execute(t, s, next)
	got, err := s.tables[0].Read(nil, nil)
	require.NoError(t, err)
	require.Equal(t, []float32{3}, got)
}

func TestRefusals(t *testing.T) {
	s := started(t, Definition{Name: "w", Rows: 3, Width: 2, Rule: rules["sgd"]}, Definition{Name: "fixed", Rows: 1, Width: 1}, Definition{Name: "grows", Width: 2, Dynamic: true, Rule: rules["sgd"]})
	before := []float32{0, 0, 0, 0, 0, 0}
	for text, c := range map[string]Command{
		"no table 9":             push(1, Update{Op: Gradient, Values: before}, Update{Table: 9}),
		"is not trained":         push(1, Update{Table: 1, Op: Gradient, Values: []float32{1}}),
		"operation 9":            push(1, Update{Op: 9}),
		"rate is NaN":            push(1, Update{Op: Gradient, Rate: math.NaN(), Values: before}),
		"5 numbers for 3 rows":   push(1, Update{Op: Add, Values: before[:5]}),
		"received row 3":         push(1, Update{Op: Add, Sparse: true, IDs: []int64{0, 3}, Values: before[:4]}),
		"received row -1":        push(1, Update{Op: Add, Sparse: true, IDs: []int64{-1, 3}, Values: before[:4]}),
		"expected increasing":    push(1, Update{Op: Add, Sparse: true, IDs: []int64{1, 1}, Values: before[:4]}),
		"must name rows":         push(1, Update{Table: 2, Op: Add}),
		"coordinator has term 1": &Create{Term: 2, Definition: Definition{Name: "x"}},
		"exists with another":    &Create{Term: 1, Definition: Definition{Name: "w", Rows: 4, Width: 2}},
		"needs 1 to 1024 bytes":  &Create{Term: 1},
		"are too many":           &Create{Term: 1, Definition: Definition{Name: "big", Rows: math.MaxInt / 2, Width: 1 << 20}},
		"betas":                  &Create{Term: 1, Definition: Definition{Name: "x", Rule: Rule{Kind: Adam, Beta1: 1}}},
		"at most 262144 notes":   &Note{Term: 1, Key: "k", Value: make([]byte, maxNote+1)},
	} {
		_, err := s.Execute(c)
		require.ErrorContains(t, err, text)
	}
	got, err := s.tables[0].Read(nil, nil)
	require.NoError(t, err)
	require.Equal(t, before, got, "what is refused changes nothing")
	require.False(t, execute(t, s, push(1)).Repeated, "and its number is free")
	small := NewState(Limits{MaxBytes: 100, MaxTables: 1})
	execute(t, small, &Take{Term: 1})
	_, err = small.Execute(&Create{Term: 1, Definition: Definition{Name: "a", Rows: 20, Width: 2}})
	require.ErrorContains(t, err, "needs 160 bytes")
	_, err = small.Execute(&Create{Term: 1, Definition: Definition{Name: "a", Rows: math.MaxInt / 9, Width: 1, Rule: rules["adam"]}})
	require.ErrorContains(t, err, "are too many", "the bytes of values and slots together are no int")
	execute(t, small, &Create{Term: 1, Definition: Definition{Name: "a", Rows: 2, Width: 2}})
	_, err = small.Execute(&Create{Term: 1, Definition: Definition{Name: "b"}})
	require.ErrorContains(t, err, "at most 1")
}

func TestDynamicRows(t *testing.T) {
	d := Definition{Name: "t", Width: 2, Dynamic: true, MaxRows: 10, MaxAge: 50, Init: Init{Kind: Uniform, A: 1, B: 2, Seed: 5}}
	s := started(t, d)
	table := s.tables[0]
	first, err := table.Read(nil, []int64{-5, 1 << 60})
	require.NoError(t, err)
	require.Zero(t, table.Len(), "reading makes no rows")
	again, err := table.Read(nil, []int64{-5, 1 << 60})
	require.NoError(t, err)
	require.Equal(t, first, again)
	require.NotEqual(t, first[:2], first[2:])
	for n := range uint64(100) { // key 0 each time, others once
		execute(t, s, push(n+1, Update{Op: Add, Sparse: true, IDs: []int64{0, int64(n + 1)}, Values: []float32{1, 0, 1, 0}}))
		require.LessOrEqual(t, table.Len(), 10)
	}
	kept := map[int64]bool{}
	require.NoError(t, table.Export(func(row Row) bool { kept[row.Key] = true; return true }))
	require.True(t, kept[0], "a row that is used often stays")
	require.True(t, kept[100], "and the newest")
	require.False(t, kept[1])
	require.LessOrEqual(t, len(table.rows.pages), 1, "rows are used again")
}

func FuzzDecode(f *testing.F) {
	var w Writer
	EncodeCommand(&w, push(1, Update{Op: Gradient, Rate: 1, IDs: []int64{1, 2}, Sparse: true, Values: []float32{1, 2}}))
	f.Add(w.B)
	w = Writer{}
	EncodeCommand(&w, &Create{Term: 1, Definition: Definition{Name: "t", Rows: 3, Width: 2, Rule: rules["adam"]}})
	f.Add(w.B)
	w = Writer{}
	started(f, Definition{Name: "t", Rows: 3, Width: 2, Rule: rules["ftrl"]}, Definition{Name: "d", Width: 2, Dynamic: true}).EncodeSnapshot(&w)
	f.Add(w.B)
	f.Fuzz(func(t *testing.T, b []byte) {
		s := started(t, Definition{Name: "w", Rows: 3, Width: 2, Rule: rules["sgd"]})
		if c, err := DecodeCommand(b); err == nil {
			if create, ok := c.(*Create); ok && create.Bytes() > 1<<20 {
				return
			}
			_, _ = s.Execute(c) // it may be refused
			var w Writer
			EncodeCommand(&w, c)
			again, err := DecodeCommand(w.B)
			require.NoError(t, err)
			var w2 Writer
			EncodeCommand(&w2, again)
			require.Equal(t, w.B, w2.B)
		}
		if s, err := DecodeSnapshot(b, Limits{}); err == nil {
			var w Writer
			s.EncodeSnapshot(&w)
		}
	})
}

// TestNotes: the bytes of all notes are bounded, also after a snapshot; a note that is replaced or forgotten makes
// room.
func TestNotes(t *testing.T) {
	s := NewState(Limits{})
	execute(t, s, &Take{Term: 1})
	note := func(s *State, key int, length int) error {
		_, err := s.Execute(&Note{Term: 1, Key: strconv.Itoa(key), Value: make([]byte, length)})
		return err
	}
	most := allNotes / maxNote
	for key := range most {
		require.NoError(t, note(s, key, maxNote))
		require.NoError(t, note(s, key, maxNote))
	}
	require.ErrorContains(t, note(s, most, 1), "beside 64 of 67108864 bytes")
	require.NoError(t, note(s, 7, 0))
	require.NoError(t, note(s, most, maxNote-1))
	w := Writer{}
	s.EncodeSnapshot(&w)
	again, err := DecodeSnapshot(w.B, Limits{})
	require.NoError(t, err)
	require.NoError(t, note(again, 7, 1))
	require.ErrorContains(t, note(again, 8, maxNote+1), "at most")
	require.ErrorContains(t, note(again, most+1, 1), "bytes of all")
}
