package tables_test

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/tables"
)

// A table of at most three users, whose rows begin with 0 and follow gradients. Rows that were updated longest ago make
// room for new ones.
func Example() {
	t, err := tables.New(tables.Spec{Name: "users", Width: 2, Rule: parameters.Rule{Kind: parameters.SGD}, MaxRows: 3, Policy: parameters.LeastRecent})
	if err != nil {
		fmt.Println(err)
		return
	}
	for user := range int64(5) {
		if err := t.Gradient(0.5, []int64{user}, nil, []float32{1, -float32(user)}); err != nil {
			fmt.Println(err)
			return
		}
	}
	rows, err := t.Lookup([]int64{0, 4})
	fmt.Println(rows, err)
	stats := t.Stats()
	fmt.Println(stats.Rows, "rows,", stats.Hits, "hit,", stats.Misses, "miss,", stats.Evictions, "evicted")
	// Output:
	// [-0.5 0 -0.5 2] <nil>
	// 3 rows, 2 hit, 0 miss, 2 evicted
}

// The rows of a table with the state of their optimizer, and what the table has been through, make another one that
// continues where this one is.
func ExampleTable_Put() {
	spec := tables.Spec{Name: "items", Width: 1, Rule: parameters.Rule{Kind: parameters.SGD, Momentum: 0.9}}
	one, err := tables.New(spec)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := one.Gradient(0.5, []int64{7}, nil, []float32{1}); err != nil {
		fmt.Println(err)
		return
	}
	rows, err := one.Rows()
	if err != nil {
		fmt.Println(err)
		return
	}
	row, state := rows[0], one.State()
	fmt.Println("key", row.Key, "value", row.Values, "momentum", row.Slots, "after", row.Count, "of", state.Step, "updates")
	other, err := tables.New(spec)
	if err == nil {
		err = other.Put(state, []parameters.Row{row})
	}
	if err == nil {
		err = other.Gradient(0.5, []int64{7}, nil, []float32{0})
	}
	values, failed := other.Lookup([]int64{7})
	fmt.Println(values, errors.Join(err, failed))
	// Output:
	// key 7 value [-0.5] momentum [-0.5] after 1 of 1 updates
	// [-0.95] <nil>
}

func ExampleParsePolicy() {
	policy, err := tables.ParsePolicy("least_recent")
	fmt.Println(policy, err)
	_, err = tables.ParsePolicy("oldest")
	fmt.Println(err)
	// Output:
	// least_recent <nil>
	// the policy "oldest" is not known; expected "least_frequent" or "least_recent"
}

// files is a Spill with a file for each row: the interface is small. Programs import distribute/tables/disk, which is
// fast.
type files struct{ folder string }

func (f files) path(key int64) string { return fmt.Sprintf("%s/%d", f.folder, key) }

func (f files) Get(key int64) ([]byte, error) {
	b, err := os.ReadFile(f.path(key))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

func (f files) Write(keys []int64, records [][]byte, remove []int64) error {
	var all []error
	for i, key := range keys {
		all = append(all, os.WriteFile(f.path(key), records[i], 0o600))
	}
	for _, key := range remove {
		_ = os.Remove(f.path(key)) // it need not be there
	}
	return errors.Join(all...)
}

func (f files) Each(call func(key int64, record []byte) bool) error {
	entries, err := os.ReadDir(f.folder)
	for _, e := range entries {
		var key int64
		if _, err := fmt.Sscan(e.Name(), &key); err != nil {
			return err
		}
		if b, err := f.Get(key); err != nil || !call(key, b) {
			return err
		}
	}
	return err
}

func (f files) Memory() int64 { return 0 }
func (f files) Disk() int64   { return 0 }
func (f files) Close() error  { return os.RemoveAll(f.folder) }

func ExampleSpill() {
	folder, err := os.MkdirTemp("", "rows")
	if err != nil {
		fmt.Println(err)
		return
	}
	var spill tables.Spill = files{folder}
	err = spill.Write([]int64{3, 5}, [][]byte{[]byte("three"), []byte("five")}, nil)
	if err == nil {
		err = spill.Write(nil, nil, []int64{5, 9})
	}
	three, failed := spill.Get(3)
	five, none := spill.Get(5)
	fmt.Println(string(three), five == nil, errors.Join(err, failed, none))
	var keys []int64
	err = spill.Each(func(key int64, _ []byte) bool {
		keys = append(keys, key)
		return true
	})
	fmt.Println(slices.Sorted(slices.Values(keys)), errors.Join(err, spill.Close()))
	// Output:
	// three true <nil>
	// [3] <nil>
}
