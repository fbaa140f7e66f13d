package parameterserver_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	_ "github.com/gokeras/gokeras/distribute/tables/disk"
	"github.com/gokeras/gokeras/kernels/ir"
)

var evictions = flag.Int("evictions", 1, "random sequences of each kind in TestEvictionAcrossRestarts; make chaos-ps runs many")

// order is the seed of the sequences in TestEvictionAcrossRestarts.
var order = flag.Uint64("schedule", 1, "seed of the sequences in TestEvictionAcrossRestarts")

// grace is for how many updates an evicted row is kept, as the guide to dynamic tables says.
const grace = 128

// modelRow is a row as the guide describes it.
type modelRow struct {
	values [2]float32
	count  int    // updates
	last   uint64 // update of the table that changed it last
	gone   uint64 // update of the table that evicted it; 0: none did
}

// modelTable is a dynamic table without processes, files or pages: what a server must be, whatever happens to it.
type modelTable struct {
	spec    parameters.Spec
	rows    map[int64]*modelRow
	version uint64
	evicted int
}

// read is the value of a key.
func (m *modelTable) read(key int64) [2]float32 {
	if r := m.rows[key]; r != nil {
		return r.values
	}
	return [2]float32{0.5, 0.5}
}

// change descends gradients, or adds.
func (m *modelTable) change(op parameters.Op, keys []int64, values []float32) {
	m.version++
	for i, key := range keys {
		r := m.rows[key]
		if r == nil {
			r = &modelRow{values: [2]float32{0.5, 0.5}}
			m.rows[key] = r
		}
		for k := range r.values {
			v := values[2*i+k]
			if op == parameters.Gradient {
				v *= -0.25 // exact, so that rounding does not matter
			}
			r.values[k] += v
		}
		r.count, r.last, r.gone = r.count+1, m.version, 0
	}
	m.evict()
}

func (m *modelTable) evict() {
	live := map[int64]*modelRow{}
	for key, r := range m.rows {
		switch {
		case r.gone == 0:
			live[key] = r
		case m.version-r.gone >= grace:
			delete(m.rows, key)
		}
	}
	n := 0
	if m.spec.MaxRows > 0 && len(live) > m.spec.MaxRows {
		n = len(live) - m.spec.MaxRows + m.spec.MaxRows/10
	}
	aged := m.spec.MaxAge > 0 && (n > 0 || m.version%max(m.spec.MaxAge/8, 1) == 0)
	order := slices.SortedFunc(maps.Keys(live), func(a, b int64) int {
		x, y := live[a], live[b]
		frequency, age := cmp.Compare(x.count, y.count), cmp.Compare(x.last, y.last)
		if m.spec.Policy == parameters.LeastRecent {
			frequency, age = age, frequency
		}
		return cmp.Or(frequency, age, cmp.Compare(a, b))
	})
	depart := func(key int64) {
		live[key].gone = m.version
		m.evicted++
		n--
	}
	for _, key := range order {
		if aged && m.version-live[key].last > m.spec.MaxAge {
			depart(key)
		}
	}
	for _, key := range order {
		if r := live[key]; n > 0 && r.gone == 0 && r.last < m.version {
			depart(key)
		}
	}
}

// TestEvictionAcrossRestarts: look-ups, updates, snapshots, kills, torn ends of the log and restarts at random, beside
// a table that is a map. What was acknowledged is there, an update under way at a kill counts once, and a row that was
// evicted begins anew when its grace is over: it never comes back with the values that it had.
func TestEvictionAcrossRestarts(t *testing.T) {
	for name, spec := range map[string]parameters.Spec{
		"frequency": {MaxRows: 40},
		"recency":   {MaxRows: 40, Policy: parameters.LeastRecent},
		"age":       {MaxAge: 60},
		"both":      {MaxRows: 60, MaxAge: 200},
		"disk":      {MaxRows: 1500},
	} {
		for n := range *evictions {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				t.Parallel()
				spec.Name, spec.Shape, spec.Dynamic = "t", ir.Shape{2}, true
				spec.Rule, spec.Init = parameters.Rule{Kind: parameters.SGD}, parameters.Init{A: 0.5}
				evictionRun(t, spec, name == "disk", rand.New(rand.NewPCG(*order, uint64(n))))
			})
		}
	}
}

func evictionRun(t *testing.T, spec parameters.Spec, disk bool, r *rand.Rand) {
	keys, batch := 160, 12
	if disk { // of a table most of whose rows are on disk
		keys, batch = 5000, 400
	}
	c := newCluster(t, 1, 1, func(o *parameterserver.Options) {
		o.LogBytes = int64(4000 + 20*batch*r.IntN(100)) // many snapshots
		if disk {
			o.TableMemory = 1
		}
	})
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), spec)
	require.NoError(t, err)
	m := &modelTable{spec: spec, rows: map[int64]*modelRow{}}
	some := func() []int64 {
		found := map[int64]bool{}
		for range 1 + r.IntN(batch) {
			found[int64(float64(keys)*r.Float64()*r.Float64())-20] = true
		}
		return slices.Sorted(maps.Keys(found))
	}
	restart := func() {
		c.servers[0].Close()
		if r.IntN(2) == 0 { // the end of a record that was not acknowledged
			logs, err := filepath.Glob(filepath.Join(c.dirs[0], "log-*"))
			require.NoError(t, err)
			require.Len(t, logs, 1)
			f, err := os.OpenFile(logs[0], os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = f.Write([]byte{40, 0, 0, 0, 1, 2, 3, 4, 5, 6}[:1+r.IntN(10)])
			require.NoError(t, err)
			require.NoError(t, f.Close())
		}
		c.startServer(0)
	}
	kills := 0
	for n := range 400 {
		ids := some()
		if r.IntN(3) == 0 {
			read := &parameters.Read{Variable: v, IDs: ids}
			require.NoError(t, j.Pull(t.Context(), read))
			for i, id := range ids {
				require.Equal(t, m.read(id), [2]float32(read.Values[2*i:]), "step %d, key %d", n, id)
			}
			continue
		}
		values := make([]float32, 2*len(ids))
		for i := range values {
			values[i] = float32(r.IntN(64)-32) / 16
		}
		change := parameters.Change{Variable: v, Op: parameters.Gradient, Rate: 0.25, IDs: ids, Values: values}
		if r.IntN(4) == 0 {
			change.Op = parameters.Add
		}
		if r.IntN(50) > 0 {
			require.NoError(t, j.Change(t.Context(), change))
		} else { // a kill while it is under way
			kills++
			done := make(chan error, 1)
			go func() { done <- j.Change(context.WithoutCancel(t.Context()), change) }()
			restart()
			require.NoError(t, <-done)
		}
		m.change(change.Op, ids, values)
		if r.IntN(60) == 0 {
			kills++
			restart()
		}
		if n%100 == 99 {
			got := map[int64][2]float32{}
			found, all, err := j.Export(t.Context(), v)
			require.NoError(t, err)
			for i, key := range found {
				got[key] = [2]float32(all[2*i:])
			}
			want := map[int64][2]float32{}
			for key, row := range m.rows {
				if row.gone == 0 {
					want[key] = row.values
				}
			}
			require.Equal(t, want, got, "step %d", n)
		}
	}
	require.Positive(t, m.evicted)
	require.Positive(t, kills)
	t.Logf("%d updates, %d kills, %d evictions, %d rows", m.version, kills, m.evicted, len(m.rows))
}
