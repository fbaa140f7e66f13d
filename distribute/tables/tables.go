// Package tables provides tables whose rows grow with their keys, in the memory of the process or, with package
// distribute/tables/disk, beyond it: layers.Embedding{Dynamic: true} looks up its rows in them. Parameter servers hold
// the same tables, divided into shards.
package tables

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"sync"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// Spill holds the rows of a table that are not in memory; see package distribute/tables/disk.
type Spill = protocol.Spill

// RegisterSpill sets the function that opens an empty spill, in a new folder below directory, that uses about memory
// bytes of memory.
func RegisterSpill(open func(directory string, memory int) (Spill, error)) {
	protocol.RegisterSpill(open)
}

// Stats are statistics of a table.
type Stats = protocol.RowStats

// ParsePolicy reads the name of an eviction policy, "least_frequent" or "least_recent"; "" means "least_frequent".
func ParsePolicy(name string) (parameters.Policy, error) { return protocol.ParsePolicy(name) }

// Spec describes a table.
type Spec struct {
	Name  string
	Width int             // numbers in a row
	Init  parameters.Init // what rows begin with
	Rule  parameters.Rule // how gradients update them; the zero value refuses gradients

	Text    bool              // keys stand for texts; see parameters.TextKey
	MaxRows int               // above which rows are evicted; 0: no bound
	MaxAge  int               // rows that were not updated during the last MaxAge updates of the table are evicted; 0: no bound
	Policy  parameters.Policy // which rows go first where there are more than MaxRows

	MemoryBytes int    // of the rows in memory, about; the others are on disk. 0: all are in memory
	Directory   string // for rows on disk; "": that of temporary files
}

// Table is a table in this process. Its methods may be called from many goroutines.
type Table struct {
	mu   sync.RWMutex
	spec Spec
	t    *protocol.Table
}

// New makes an empty table.
func New(s Spec) (*Table, error) {
	t := &Table{spec: s}
	var err error
	if t.t, err = s.open(); err != nil {
		return nil, fmt.Errorf("tables: %w", err)
	}
	return t, nil
}

func (s *Spec) open() (*protocol.Table, error) {
	if s.MaxRows < 0 || s.MaxAge < 0 || s.MemoryBytes < 0 {
		return nil, fmt.Errorf("table %s: MaxRows %d, MaxAge %d and MemoryBytes %d must not be negative", s.Name, s.MaxRows, s.MaxAge, s.MemoryBytes)
	}
	return protocol.NewTable(protocol.Definition{Name: s.Name, Variable: s.Name, Width: s.Width, Init: s.Init, Rule: s.Rule, Dynamic: true, Text: s.Text, MaxRows: s.MaxRows,
		MaxAge: uint64(s.MaxAge), Policy: s.Policy}, protocol.Limits{TableMemory: s.MemoryBytes, SpillDirectory: s.Directory})
}

// Spec returns the description of the table.
func (t *Table) Spec() Spec {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.spec
}

// Lookup returns the rows of keys, which must be strictly increasing; see parameters.Distinct. For a key without a row
// it returns the row's initial value, without creating the row.
func (t *Table) Lookup(keys []int64) ([]float32, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if keys == nil {
		keys = []int64{}
	}
	return t.t.Read(nil, keys)
}

// Gradient updates the rows of keys, which must be strictly increasing, from their gradients. names are the texts of
// the keys of a table with text keys, nil otherwise. It creates rows for keys that have none.
func (t *Table) Gradient(rate float64, keys []int64, names []string, rows []float32) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if names != nil {
		if err := t.t.Apply(&protocol.Update{Op: protocol.Naming, Sparse: true, IDs: keys, Names: names}); err != nil {
			return err
		}
	}
	return t.t.Apply(&protocol.Update{Op: protocol.Gradient, Rate: rate, Sparse: true, IDs: keys, Values: rows})
}

// Each calls f for all rows until it returns false. A row is valid during the call, which must not use the table.
func (t *Table) Each(f func(row parameters.Row) bool) error {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.t.Export(f)
}

// Rows returns all rows in the order of their keys.
func (t *Table) Rows() ([]parameters.Row, error) {
	var all []parameters.Row
	err := t.Each(func(row parameters.Row) bool {
		row.Values, row.Slots = slices.Clone(row.Values), slices.Clone(row.Slots)
		all = append(all, row)
		return true
	})
	sort.Slice(all, func(i, j int) bool { return all[i].Key < all[j].Key })
	return all, err
}

// State returns the history of the table.
func (t *Table) State() parameters.TableState {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return parameters.TableState{Version: t.t.Version, Step: t.t.Step, Rates: t.t.Rates()}
}

// Put stores rows of another table in this one, replacing existing ones.
func (t *Table) Put(of parameters.TableState, rows []parameters.Row) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.t.Put(&protocol.Put{Version: of.Version, Step: of.Step, Rates: of.Rates, Rows: rows})
}

// Clear removes all rows.
func (t *Table) Clear() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.replace(t.spec, nil)
}

// SetRule sets how gradients update rows. If the optimizer's state belongs to another rule, it starts over.
func (t *Table) SetRule(rule parameters.Rule) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spec.Rule == rule {
		return nil
	}
	s := t.spec
	s.Rule = rule
	return t.replace(s, t.t)
}

// replace rebuilds the table with the rows of another one.
func (t *Table) replace(s Spec, from *protocol.Table) error {
	fresh, err := s.open()
	if err != nil {
		return err
	}
	if from != nil {
		if err = move(fresh, from); err != nil {
			return errors.Join(err, fresh.Close())
		}
	}
	old := t.t
	t.spec, t.t = s, fresh
	return old.Close()
}

func move(to, from *protocol.Table) error {
	put := protocol.Put{Version: from.Version}
	same := slices.Equal(to.Rule.SlotNames(), from.Rule.SlotNames())
	if same {
		put.Step, put.Rates = from.Step, from.Rates()
	}
	var failed error
	err := from.Export(func(row protocol.Row) bool {
		if !same {
			row.Step, row.Slots = 0, to.FirstSlots()
		}
		put.Rows = []protocol.Row{row}
		failed = to.Put(&put)
		return failed == nil
	})
	if err == nil && failed == nil {
		put.Rows = nil
		err = to.Put(&put)
	}
	return errors.Join(err, failed)
}

// Stats returns the statistics of the table.
func (t *Table) Stats() Stats {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.t.RowStats()
}

// Close frees the table's disk space. The table must not be used afterwards.
func (t *Table) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.t.Close()
}
