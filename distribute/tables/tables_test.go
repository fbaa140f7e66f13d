package tables_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/tables"
)

// A table of user vectors that grows as users are met.
func ExampleTable() {
	users, err := tables.New(tables.Spec{
		Name: "users", Width: 2,
		Init: parameters.Init{Kind: parameters.Constant, A: 1},
		Rule: parameters.Rule{Kind: parameters.SGD},
	})
	if err != nil {
		panic(err)
	}
	defer users.Close()
	if err := users.Gradient(0.5, []int64{-3, 1 << 40}, nil, []float32{1, 0, 0, 2}); err != nil {
		panic(err)
	}
	rows, err := users.Lookup([]int64{-3, 5, 1 << 40})
	fmt.Println(rows, users.Stats().Rows, err)
	// Output: [0.5 1 1 1 1 0] 2 <nil>
}

// A table says which texts its keys stand for.
func ExampleSpec() {
	spec := tables.Spec{Name: "cities", Width: 1, Text: true, Rule: parameters.Rule{Kind: parameters.SGD}, MaxRows: 1 << 20, Policy: parameters.LeastRecent}
	cities, err := tables.New(spec)
	if err != nil {
		panic(err)
	}
	defer cities.Close()
	key := parameters.TextKey(spec.Init.Seed, "berlin")
	if err := cities.Gradient(1, []int64{key}, []string{"berlin"}, []float32{-4}); err != nil {
		panic(err)
	}
	rows, err := cities.Rows()
	fmt.Println(rows[0].Name, rows[0].Values, err)
	// Output: berlin [4] <nil>
}

func TestRuleChanges(t *testing.T) {
	table, err := tables.New(tables.Spec{Name: "t", Width: 1})
	require.NoError(t, err)
	require.ErrorContains(t, table.Gradient(1, []int64{4}, nil, []float32{1}), "is not trained")
	require.NoError(t, table.SetRule(parameters.Rule{Kind: parameters.SGD}))
	require.NoError(t, table.Gradient(1, []int64{4, 9}, nil, []float32{1, 2}))
	require.NoError(t, table.SetRule(parameters.Rule{Kind: parameters.Adagrad, Initial: 0.5}))
	rows, err := table.Rows()
	require.NoError(t, err)
	require.Equal(t, []parameters.Row{{Key: 4, Count: 1, Last: 1, Values: []float32{-1}, Slots: []float32{0.5}}, {Key: 9, Count: 1, Last: 1, Values: []float32{-2}, Slots: []float32{0.5}}}, rows)
	require.NoError(t, table.Gradient(1, []int64{4}, nil, []float32{2}))
	other, err := tables.New(table.Spec())
	require.NoError(t, err)
	rows, err = table.Rows()
	require.NoError(t, err)
	require.NoError(t, other.Put(table.State(), rows))
	again, err := other.Rows()
	require.NoError(t, err)
	require.Equal(t, rows, again)
	require.NoError(t, table.Clear())
	rows, err = table.Rows()
	require.NoError(t, err)
	require.Empty(t, rows)
}

func TestRefusals(t *testing.T) {
	for text, s := range map[string]tables.Spec{
		"a name needs":         {Width: 1},
		"no rows for a":        {Name: "t"},
		"must not be negative": {Name: "t", Width: 1, MaxAge: -1},
		"tables/disk":          {Name: "t", Width: 1, MemoryBytes: 1 << 20},
	} {
		_, err := tables.New(s)
		require.ErrorContains(t, err, text)
	}
	table, err := tables.New(tables.Spec{Name: "t", Width: 2, Rule: parameters.Rule{Kind: parameters.SGD}})
	require.NoError(t, err)
	_, err = table.Lookup([]int64{3, 3})
	require.ErrorContains(t, err, "increasing")
	require.ErrorContains(t, table.Gradient(1, []int64{3}, []string{"x"}, []float32{1, 1}), "text keys")
	require.ErrorContains(t, table.Gradient(1, []int64{3}, nil, []float32{1}), "1 numbers for 1 rows of 2")
	require.ErrorContains(t, table.Put(parameters.TableState{}, []parameters.Row{{Values: []float32{1}}}), "a row of 1 numbers")
	p, err := tables.ParsePolicy("")
	require.NoError(t, err)
	require.Equal(t, parameters.LeastFrequent, p)
	_, err = tables.ParsePolicy("random")
	require.ErrorContains(t, err, `expected "least_frequent" or "least_recent"`)
	require.True(t, slices.IsSorted([]string{p.String(), parameters.LeastRecent.String()}))
}
