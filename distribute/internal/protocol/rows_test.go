package protocol

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// mapSpill is a spill in memory.
type mapSpill struct {
	mu     sync.Mutex
	rows   map[int64][]byte
	closed bool
}

func (m *mapSpill) Get(key int64) ([]byte, error) { return m.rows[key], nil }

func (m *mapSpill) Write(keys []int64, records [][]byte, remove []int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, key := range keys {
		m.rows[key] = records[i]
	}
	for _, key := range remove {
		delete(m.rows, key)
	}
	return nil
}

func (m *mapSpill) Each(f func(key int64, record []byte) bool) error {
	for _, key := range slices.Sorted(maps.Keys(m.rows)) {
		if !f(key, m.rows[key]) {
			break
		}
	}
	return nil
}

func (m *mapSpill) Memory() int64 { return 0 }
func (m *mapSpill) Disk() int64   { return int64(len(m.rows)) }
func (m *mapSpill) Close() error  { m.closed = true; return nil }

func withSpill(t *testing.T) {
	RegisterSpill(func(string, int) (Spill, error) { return &mapSpill{rows: map[int64][]byte{}}, nil })
	t.Cleanup(func() { RegisterSpill(nil) })
}

func exported(t *testing.T, table *Table) map[int64][]float32 {
	out := map[int64][]float32{}
	require.NoError(t, table.Export(func(row Row) bool {
		require.NotContains(t, out, row.Key)
		out[row.Key] = slices.Concat(row.Values, row.Slots)
		return true
	}))
	return out
}

// TestDynamicIsPlain: a dynamic table is what a table with all rows is, bit for bit, with every rule, lazy or not, with
// changing learning rates, and with most of its rows out of memory.
func TestDynamicIsPlain(t *testing.T) {
	withSpill(t)
	const rows = 3 * dynamicPage
	for name, rule := range rules {
		for _, lazy := range []bool{false, true} {
			if rule.Kind == NoRule {
				continue
			}
			t.Run(fmt.Sprintf("%s/lazy=%v", name, lazy), func(t *testing.T) {
				rule.Lazy = lazy
				init := Init{Kind: TruncatedNormal, B: 0.5, Seed: 3}
				plain := started(t, Definition{Name: "t", Rows: rows, Width: 3, Rule: rule, Init: init})
				grows := started(t, Definition{Name: "t", Width: 3, Rule: rule, Init: init, Dynamic: true})
				disk := NewState(Limits{TableMemory: 1})
				execute(t, disk, &Take{Term: 1})
				execute(t, disk, &Create{Term: 1, Definition: grows.tables[0].Definition})
				r := rand.New(rand.NewPCG(1, 2))
				for step := range uint64(24) {
					seen := map[int64]bool{}
					for range 200 {
						seen[int64(float64(rows)*r.Float64()*r.Float64())] = true
					}
					ids := slices.Sorted(maps.Keys(seen))
					rate := 0.05
					if step > 10 {
						rate = 0.01 * float64(step%3+1)
					}
					u := Update{Op: Gradient, Rate: rate, IDs: ids, Sparse: true, Values: randoms(r, 3*len(ids))}
					if step%7 == 3 {
						u.Op = Add
					}
					if step == 15 {
						var w Writer
						disk.EncodeSnapshot(&w)
						var err error
						disk, err = DecodeSnapshot(w.B, disk.limits)
						require.NoError(t, err)
					}
					for _, s := range []*State{plain, grows, disk} {
						execute(t, s, push(step+1, u))
						require.NoError(t, s.Fault())
					}
				}
				all := make([]int64, rows)
				for i := range all {
					all[i] = int64(i)
				}
				want, err := plain.tables[0].Read(nil, all)
				require.NoError(t, err)
				for what, s := range map[string]*State{"in memory": grows, "on disk": disk} {
					got, err := s.tables[0].Read(nil, all)
					require.NoError(t, err)
					require.Equal(t, bytesOf(want), bytesOf(got), what)
				}
				require.Equal(t, exported(t, grows.tables[0]), exported(t, disk.tables[0]))
				require.Less(t, grows.tables[0].Len(), rows)
				stats := disk.tables[0].RowStats()
				require.Positive(t, stats.Disk)
				require.LessOrEqual(t, len(disk.tables[0].rows.index), disk.tables[0].rows.budget)
				require.NoError(t, disk.Close())
				require.True(t, disk.tables[0].rows.spill.(*mapSpill).closed)
			})
		}
	}
}

// TestNoRowInUseIsEvicted: the gradient of a row that was read and evicted meanwhile finds the row as it was; rows of
// an update survive it.
func TestNoRowInUseIsEvicted(t *testing.T) {
	for _, policy := range []Policy{LeastFrequent, LeastRecent} {
		t.Run(policy.String(), func(t *testing.T) {
			d := Definition{Name: "t", Width: 1, Dynamic: true, MaxRows: 20, Policy: policy, Rule: rules["adagrad"]}
			free := d
			free.MaxRows = 0
			bounded, unbounded := started(t, d), started(t, free)
			one := func(n uint64, key int64) {
				for _, s := range []*State{bounded, unbounded} {
					execute(t, s, push(n, Update{Op: Gradient, Rate: 0.1, Sparse: true, IDs: []int64{key}, Values: []float32{1}}))
				}
			}
			table := bounded.tables[0]
			one(1, -7)
			for n := range uint64(graceUpdates - 1) {
				one(n+2, int64(n))
			}
			require.LessOrEqual(t, table.Len(), 20)
			require.NotContains(t, exported(t, table), int64(-7), "it was evicted")
			before, err := table.Read(nil, []int64{-7})
			require.NoError(t, err)
			require.NotZero(t, before[0], "and is still read")
			one(graceUpdates+1, -7)
			require.Equal(t, exported(t, unbounded.tables[0])[-7], exported(t, table)[-7], "its update goes on where it was")
			var w Writer
			bounded.EncodeSnapshot(&w)
			back, err := DecodeSnapshot(w.B, Limits{})
			require.NoError(t, err)
			require.Equal(t, table.Len(), back.tables[0].Len())
			require.Equal(t, exported(t, table), exported(t, back.tables[0]))
			for n := range uint64(2 * graceUpdates) {
				one(graceUpdates+2+n, 1000+int64(n))
			}
			after, err := table.Read(nil, []int64{0})
			require.NoError(t, err)
			require.Zero(t, after[0], "in the end it is gone")
			require.Less(t, table.rows.total, 20+graceUpdates+5)
			many := make([]int64, 100)
			for i := range many {
				many[i] = 5000 + int64(i)
			}
			execute(t, bounded, push(9999, Update{Op: Gradient, Rate: 0.1, Sparse: true, IDs: many, Values: make([]float32, 100)}))
			kept := exported(t, table)
			for _, key := range many {
				require.Contains(t, kept, key, "rows of an update are not cut by it")
			}
			require.Positive(t, table.RowStats().Evictions)
		})
	}
}

func TestRowsGoByAge(t *testing.T) {
	s := started(t, Definition{Name: "t", Width: 1, Dynamic: true, MaxAge: 16, Rule: rules["sgd"]})
	for n := range uint64(64) {
		ids := []int64{1}
		if n == 0 {
			ids = []int64{0, 1}
		}
		execute(t, s, push(n+1, Update{Op: Gradient, Rate: 0.1, Sparse: true, IDs: ids, Values: make([]float32, len(ids))}))
	}
	require.Equal(t, []int64{1}, slices.Collect(maps.Keys(exported(t, s.tables[0]))))
}

func TestTextKeys(t *testing.T) {
	s := started(t, Definition{Name: "t", Width: 1, Dynamic: true, Text: true, Rule: rules["sgd"]}, Definition{Name: "n", Width: 1, Dynamic: true})
	key := TextKey(0, "berlin")
	require.Equal(t, key, TextKey(0, "berlin"))
	require.NotEqual(t, key, TextKey(1, "berlin"))
	require.Zero(t, TextKey(5, ""))
	naming := Update{Op: Naming, Sparse: true, IDs: []int64{key}, Names: []string{"berlin"}}
	execute(t, s, push(1, naming, Update{Op: Gradient, Rate: 1, Sparse: true, IDs: []int64{key}, Values: []float32{-2}}))
	var names []string
	require.NoError(t, s.tables[0].Export(func(row Row) bool {
		require.Equal(t, uint32(1), row.Count)
		names = append(names, row.Name)
		return true
	}))
	require.Equal(t, []string{"berlin"}, names)
	var w Writer
	s.EncodeSnapshot(&w)
	back, err := DecodeSnapshot(w.B, Limits{})
	require.NoError(t, err)
	name, _, err := back.tables[0].rows.nameOf(key)
	require.NoError(t, err)
	require.Equal(t, "berlin", name)
	other := naming
	other.Names = []string{"paris"}
	_, err = s.Execute(push(2, other))
	require.ErrorContains(t, err, `"berlin" and "paris" fall on the same number`)
	naming.Table = 1
	_, err = s.Execute(push(2, naming))
	require.ErrorContains(t, err, "a table with text keys")
	seen := map[int64]bool{}
	for i := range 200000 {
		key := TextKey(7, fmt.Sprintf("user:%d", i))
		require.False(t, seen[key] || key <= 0)
		seen[key] = true
	}
}

func TestPutRows(t *testing.T) {
	d := Definition{Name: "t", Width: 2, Dynamic: true, Rule: rules["adam"], Init: Init{Kind: Uniform, A: -1, B: 1}}
	from, to := started(t, d), started(t, d)
	step := func(s *State, n uint64) {
		execute(t, s, push(n, Update{Op: Gradient, Rate: 0.1, Sparse: true, IDs: []int64{int64(n % 3), 7}, Values: []float32{1, -1, 0.5, float32(n)}}))
	}
	for n := range uint64(5) {
		step(from, n+1)
	}
	a := from.tables[0]
	put := &Put{Term: 1, Version: a.Version, Step: a.Step, Rates: a.Rates()}
	require.NoError(t, a.Export(func(row Row) bool {
		row.Values, row.Slots = slices.Clone(row.Values), slices.Clone(row.Slots)
		put.Rows = append(put.Rows, row)
		return true
	}))
	execute(t, to, put)
	execute(t, to, put) // a command may be repeated
	step(from, 6)
	step(to, 6)
	require.Equal(t, exported(t, a), exported(t, to.tables[0]))
	put.Rows[0].Values = put.Rows[0].Values[:1]
	_, err := to.Execute(put)
	require.ErrorContains(t, err, "a row of 1 numbers")
	put.Rows = []Row{{Values: []float32{1, 2}, Slots: make([]float32, 4), Step: 99}}
	_, err = to.Execute(put)
	require.ErrorContains(t, err, "as of update 99")
}

// FuzzRows: commands with keys and rows, from a stranger, change a table or are refused.
func FuzzRows(f *testing.F) {
	for _, c := range []Command{
		push(1, Update{Op: Naming, Sparse: true, IDs: []int64{1, 5}, Names: []string{"a", "b"}}),
		push(1, Update{Op: Gradient, Rate: 1, Sparse: true, IDs: []int64{-1, 5}, Values: []float32{1, 2, 3, 4}}),
		&Put{Term: 1, Step: 3, Rates: Rates{{1, 0.5}}, Rows: []Row{{Key: 4, Name: "x", Step: 1, Values: []float32{1, 2}, Slots: []float32{1, 2, 3, 4}}}},
		&Create{Term: 1, Definition: Definition{Name: "u", Width: 3, Dynamic: true, Text: true, MaxRows: 4, Policy: LeastRecent}},
	} {
		var w Writer
		EncodeCommand(&w, c)
		f.Add(w.B)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s := started(t, Definition{Name: "t", Width: 2, Dynamic: true, Text: true, MaxRows: 4, MaxAge: 9, Rule: rules["adam"]})
		c, err := DecodeCommand(b)
		if err != nil {
			return
		}
		if create, ok := c.(*Create); ok && create.Bytes() > 1<<20 {
			return
		}
		if put, ok := c.(*Put); ok && put.Step > 1000 {
			put.Step = 1000 // a table that is as old catches up for as long
		}
		if _, err := s.Execute(c); err != nil {
			return
		}
		require.NoError(t, s.tables[0].Apply(&Update{Op: Gradient, Rate: 0.1, Sparse: true, IDs: []int64{1, 2}, Values: make([]float32, 4)}))
		var w Writer
		s.EncodeSnapshot(&w)
		back, err := DecodeSnapshot(w.B, Limits{})
		require.NoError(t, err)
		require.Equal(t, s.tables[0].Len(), back.tables[0].Len())
	})
}
